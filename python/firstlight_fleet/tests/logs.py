"""A small fleet of real logs: those of corpus/, with times that vary and planted changes."""

import random
import re
import sys
from pathlib import Path

CORPUS = Path(__file__).parents[3] / "corpus"

RELEASES = ["1.9", "1.10", "1.11"]
BOARDS = {"b1": 0.7, "b2": 0.3}

#: Slower by this factor in 1.10, on every board.
SLOWER_UNIT, SLOWER_FACTOR = "dbus.service", 1.25
#: Only in 1.10 and later.
NEW_UNIT, NEW_NS = "telemetry.service", 800_000_000
#: Slower by this factor in 1.11, on b2.
BOARD_CALL, BOARD_FACTOR = "kcompactd_init", 3.0
#: Takes this much longer in a few boots of 1.11.
ODD_UNIT, ODD_NS, ODD_BOOTS = "e2scrub_reap.service", 30_000_000_000, 3

_CALLS = {"percpu_enable_async": 20e6, "kcompactd_init": 150e6, "slow_init": 90e6,
          "inet6_init": 40e6, "outer_init": 10e6}


def _units() -> list[tuple[str, float]]:
    """The units of a real Debian, as systemd-analyze blamed them."""
    text = (CORPUS / "systemd/debian12.txt").read_text()
    found = re.findall(r"^ *([\d.]+)(s|ms) (\S+)$", text, re.MULTILINE)
    return [(name, float(n) * (1e9 if unit == "s" else 1e6)) for n, unit, name in found]


UNITS = _units()


def _seconds(ns: float) -> str:
    return f"{ns / 1e9:.3f}s"


def boot(folder: Path, release: str, board: str, seed: int, odd: bool = False) -> None:
    """Writes the two logs of one boot into a folder."""
    chance = random.Random(seed)

    def varied(ns: float) -> float:
        return max(ns * chance.lognormvariate(0, 0.05), 1e6)

    board_factor = 1.0 if board == "b1" else 1.5
    kernel = 1e9 * board_factor
    lines = ["[    0.000000] Linux version 6.1.0 (user@host) #1 SMP"]
    at = 0.5e9
    for name, base in _CALLS.items():
        factor = BOARD_FACTOR if (name, release, board) == (BOARD_CALL, "1.11", "b2") else 1
        took = varied(base * board_factor * factor)
        kernel += took
        symbol = f"{name}+0x0/0x{chance.randrange(16, 255):x}"
        lines.append(f"[{at / 1e9:12.6f}] calling  {symbol} @ 1")
        at += took
        lines.append(
            f"[{at / 1e9:12.6f}] initcall {symbol} returned 0 after {int(took / 1e3)} usecs"
        )
    user = 5e9 * board_factor
    blamed = []
    for name, base in [*UNITS, ("session-1.scope", 20e6)]:
        took = varied(base * board_factor)
        if name == SLOWER_UNIT and release == "1.10":
            took *= SLOWER_FACTOR
        if name == ODD_UNIT and odd:
            took += ODD_NS
        if name.startswith("session"):
            name = f"session-{chance.randrange(1, 99)}.scope"
        user += took
        blamed.append((name, took))
    if release != "1.9":
        took = varied(NEW_NS)
        user += took
        blamed.append((NEW_UNIT, took))
    # The marks that the two logs share must agree.
    lines.append(f"[{kernel / 1e9:12.6f}] Run /sbin/init as init process")
    analyze = [
        f"Startup finished in {_seconds(kernel)} (kernel) + {_seconds(user)} (userspace)"
        f" = {_seconds(kernel + user)} ",
        *[f"{_seconds(took).rjust(8)} {name}" for name, took in blamed],
    ]
    folder.mkdir(parents=True)
    (folder / "dmesg.txt").write_text("\n".join(lines) + "\n")
    (folder / "systemd-analyze.txt").write_text("\n".join(analyze) + "\n")


def fleet(root: Path, boots: int) -> Path:
    """Writes `boots` boots of each release: `root/RELEASE/BOARD/NUMBER/`."""
    for release in RELEASES:
        for board, share in BOARDS.items():
            for number in range(round(boots * share)):
                odd = release == "1.11" and board == "b1" and number < ODD_BOOTS
                seed = number + 10_000 * RELEASES.index(release) + 100_000 * (board == "b2")
                boot(root / release / board / f"{number:04}", release, board, seed, odd)
    return root


def label_map(path: Path) -> Path:
    """A map of the folders of `fleet` to labels."""
    rows = ["pattern,product,board,release"]
    rows += [f"*/{r}/{b}/*,gateway,{b},{r}" for r in RELEASES for b in BOARDS]
    path.write_text("\n".join(rows) + "\n")
    return path


if __name__ == "__main__":
    # The example of docs/fleet.ipynb: `logs.py FOLDER` makes FOLDER/field and FOLDER/map.csv.
    folder = Path(sys.argv[1])
    fleet(folder / "field", 70)
    label_map(folder / "map.csv")
