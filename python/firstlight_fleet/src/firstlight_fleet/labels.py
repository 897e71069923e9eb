"""What a boot's log does not say: product, board, release and kind of boot."""

import csv
import re
from fnmatch import fnmatchcase

from firstlight_fleet.errors import FleetError

NAMES = ["product", "board", "release", "boot_kind"]

BOOT_KINDS = ["cold", "warm", "factory", "after-update", "recovery", "unknown"]

#: Products are names of folders in the store.
_PRODUCT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class Labels:
    """Labels from the command line, and from a file of path patterns."""

    def __init__(self, fixed: dict[str, str | None], patterns: list[dict[str, str]]):
        self.fixed = {name: value for name, value in fixed.items() if value}
        self.patterns = patterns

    @classmethod
    def of(cls, fixed: dict[str, str | None], map_file: str | None) -> "Labels":
        """Labels of the options; `map_file` is a table (CSV) with a column `pattern`."""
        labels = cls(fixed, _patterns(map_file) if map_file else [])
        for row in [labels.fixed, *labels.patterns]:
            _check(row, map_file)
        return labels

    def of_source(self, source: str) -> dict[str, str]:
        """The labels of a boot that was read from `source`. The command line wins, then the
        first pattern that matches."""
        for row in self.patterns:
            if fnmatchcase(source, row["pattern"]):
                return {**{name: row[name] for name in NAMES if row.get(name)}, **self.fixed}
        return self.fixed


def _patterns(path: str) -> list[dict[str, str]]:
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FleetError(f"{path}: the map cannot be read: {error}") from error
    for number, row in enumerate(rows, start=2):
        unknown = [str(name) for name in row if name not in [*NAMES, "pattern"]]
        if unknown or not row.get("pattern"):
            what = f"unknown column {unknown[0]}" if unknown else "no pattern"
            raise FleetError(
                f"{path}:{number}: {what}; columns are pattern, product, board, release, boot_kind"
            )
    return rows


def _check(row: dict[str, str], path: str | None) -> None:
    where = f"{path}: " if path and "pattern" in row else ""
    product, kind = row.get("product"), row.get("boot_kind")
    if product and not _PRODUCT.fullmatch(product):
        raise FleetError(
            f"{where}product '{product}' is not a name; use letters, digits, '.', '_' and '-'"
        )
    if kind and kind not in BOOT_KINDS:
        raise FleetError(f"{where}unknown boot kind '{kind}'; kinds are {', '.join(BOOT_KINDS)}")
