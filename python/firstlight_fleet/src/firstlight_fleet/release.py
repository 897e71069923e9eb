"""The order of releases: 1.9 before 1.10, and 1.10-rc1 before 1.10."""

import re

#: Words that mark a release as one before the release of that number.
BEFORE = {"alpha", "beta", "dev", "pre", "preview", "rc"}


def key(release: str) -> str:
    """A text that sorts as the release does.

    Each part becomes a letter and its value: words before a release ``a``, the end
    ``b``, numbers ``c`` (padded), other words ``d``.
    """
    parts = []
    for number, word in re.findall(r"(\d+)|([A-Za-z]+)", release):
        if number:
            parts.append("c" + number.lstrip("0").rjust(12, "0"))
        else:
            parts.append(("a" if word.lower() in BEFORE else "d") + word.lower())
    return ".".join([*parts, "b"])
