"""Boots of real machines: their logs, with gaps that vary and changes that are planted."""

import math
import os
import random
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).parents[3]

#: A boot of Debian in the lab, with initcall_debug: 2,046 lines, 708 initcalls.
CAPTURE = ROOT / "corpus/captures/v1-debian-all.tar.zst"

#: Logs of others' machines, which are not in the source tree.
SAMPLES = Path(os.environ.get("FIRSTLIGHT_SAMPLES", ROOT / "../shared/samples"))
PI = SAMPLES / "dmesg/rpi-zero-w-normal-dmesg.txt"

END = "firstlight: mark first-light"

Lines = list[tuple[int, str]]


def debian() -> Lines:
    """The kernel's log of the boot in the lab: microseconds, and text."""
    packed = pa.CompressedInputStream(pa.OSFile(str(CAPTURE)), "zstd")
    with tarfile.open(fileobj=packed, mode="r|") as tar:
        for member in tar:
            if member.name.endswith("kmsg"):
                text = tar.extractfile(member).read().decode("utf-8", "replace")
                found = re.findall(r"^\d+,\d+,(\d+),[^;\n]*;(.*)$", text, re.MULTILINE)
                # What the agent says of a hardware counter is true of that boot only.
                return [(int(at), line) for at, line in found if "firstlight" not in line]
    raise FileNotFoundError(f"{CAPTURE}: no kernel log")


def pi() -> Lines:
    """The log of a Raspberry Pi Zero W, without initcall_debug."""
    found = re.findall(r"^\[ *(\d+)\.(\d{6})\] (.*)$", PI.read_text(errors="replace"), re.MULTILINE)
    return [(int(s) * 1_000_000 + int(us), line) for s, us, line in found]


def varied(
    lines: Lines, chance: random.Random, longer: Callable[[str, int], float] | None = None
) -> str:
    """The log of another boot of a machine.

    Gaps between lines vary by 5 % and a microsecond, as the initcalls of three boots of one
    Raspberry Pi 4 do (samples, 10 us to 1 ms). `longer` says how many microseconds more are
    before a line; it gets the text, and how long the initcall took that ends there.
    """
    said, before, at, begun = [], 0, 0, {}
    for stamp, text in lines:
        if stamp > before:
            gap = (stamp - before) * math.exp(chance.gauss(0, 0.05)) + chance.gauss(0, 1)
            at += max(0, round(gap))
        if longer:
            word, _, rest = text.partition(" ")
            symbol = rest.strip().partition("+")[0]
            if word == "calling":
                begun[symbol] = stamp
            at += round(longer(text, stamp - begun.get(symbol, stamp)))
        before = stamp
        said.append(f"[{at // 1_000_000:5}.{at % 1_000_000:06}] {text}")
    said.append(f"[{at // 1_000_000:5}.{at % 1_000_000:06}] {END}")
    return "\n".join(said) + "\n"
