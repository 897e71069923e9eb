"""The page of a fleet: one HTML file with releases, boards, items and boots."""

import base64
import hashlib
import html
import json
import subprocess
from datetime import datetime, timezone
from importlib import resources
from pathlib import Path
from typing import Any

from firstlight_fleet import output, questions, rows
from firstlight_fleet.questions import Engine, Rows
from firstlight_fleet.store import is_remote

#: The newest releases of each product that the page shows.
MOST_RELEASES = 12

#: Items of each pair of releases, outliers, and boots with items of their own.
MOST_ITEMS, MOST_OUTLIERS, MOST_BOOTS = 20, 40, 200

#: Boards that are also looked at by themselves: the largest ones, for the newest releases.
MOST_BOARDS, BOARDS_OF_RELEASES = 8, 3

#: Items that are listed for a boot.
_ITEMS_OF_A_BOOT = 12

#: An item is listed for a boot if it adds this share of first light.
_WORTH_A_LINE = 0.001

#: Boots that the ready questions on releases use.
_USED = "boot_kind in ('cold', 'warm', 'unknown')"


def gather(engine: Engine, where: str) -> dict[str, Any]:
    """Everything that the page shows, from the ready questions."""
    known = engine.rows("select product, release, ordinal from releases order by 1, 3")
    newest = {
        (row["product"], row["release"])
        for row in known
        if row["ordinal"] > max(r["ordinal"] for r in known if r["product"] == row["product"])
        - MOST_RELEASES
    }

    def shown(found: Rows) -> Rows:
        return [row for row in found if (row["product"], row["release"]) in newest]

    releases = shown(questions.releases(engine))
    boards = shown(engine.rows(questions.filled("boards")))
    moved = _moved(engine, releases, boards)
    names = sorted({row["name"] for row in moved})
    outliers = questions.outliers(engine, MOST_OUTLIERS)
    ids = [row["boot_id"] for row in outliers]
    ids += [boot["boot_id"] for row in moved for boot in row["boots"]]
    (counts,) = engine.rows(
        "select (select count(*) from boots) as boots, (select count(*) from items) as items,"
        " (select count(*) from quarantine) as quarantined,"
        " (select count(*) from boots where doubts is not null) as doubted,"
        f" (select count(*) from boots where not {_USED}) as other_kinds"
    )
    return {
        "schema": "firstlight.fleet.report/1",
        "store": _shown(where),
        "made": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "counts": counts,
        "left_out_releases": len(known) - len(newest),
        "releases": releases,
        "boards": boards,
        "days": shown(engine.rows(questions.filled("days"))),
        "histograms": shown(engine.rows(
            "select product, clock, zero, release, bucket, cast(sum(n) as bigint) as n"
            f" from boots_hist where metric = 'first_light' and {_USED}"
            " group by product, clock, zero, release, bucket order by 1, 2, 3, 4, 5"
        )),
        "moved": moved,
        "history": shown(engine.rows(questions.filled("item", name=names))) if names else [],
        "outliers": outliers,
        "boots": _boots(engine, list(dict.fromkeys(ids))[:MOST_BOOTS]),
        "quarantine": engine.rows(
            "select product, status, reason, count(*) as boots from quarantine"
            " group by product, status, reason order by boots desc, reason limit 20"
        ),
        "kinds": engine.rows(
            "select product, boot_kind, status, count(*) as boots from boots"
            " group by product, boot_kind, status order by 1, 2, 3"
        ),
    }


def _moved(engine: Engine, releases: Rows, boards: Rows) -> Rows:
    """The items that made a release slower or faster than the one before it: on all boards
    together, and then on a board by itself what did not show there."""
    asked: dict[tuple[str, str, str], set[tuple[str, str]]] = {}

    def ask(row: dict[str, Any], board: str) -> None:
        place = (row["product"], row["clock"])
        asked.setdefault((row["previous"], row["release"], board), set()).add(place)

    judged = [row for row in releases if row["metric"] == "first_light" and row["previous"]]
    for row in judged:
        ask(row, "all")
    largest = sorted(boards, key=lambda row: -row["boots"])
    for row in judged:
        place = (row["product"], row["clock"])
        later = [r["release"] for r in judged if (r["product"], r["clock"]) == place]
        there = [r for r in largest if (r["product"], r["clock"]) == place
                 and r["release"] == row["release"] and r["previous"]]
        if row["release"] in later[-BOARDS_OF_RELEASES:] and len(there) > 1:
            for of_board in there[:MOST_BOARDS]:
                ask(of_board, of_board["board"])
    found: Rows = []
    seen = set()
    for (base, release, board), places in asked.items():
        for item in questions.blame(engine, base, release, board, MOST_ITEMS):
            place = (item["product"], item["clock"])
            what = (*place, release, item["kind"], item["name"], item["verdict"])
            if place in places and item["verdict"] in ("slower", "faster") and what not in seen:
                found.append({"base": base, "release": release, "board": board, **item})
                if board == "all":
                    seen.add(what)
    return found


def _boots(engine: Engine, ids: list[str]) -> Rows:
    """Boots with the items that took longer in them than in their peers."""
    if not ids:
        return []
    odd = engine.rows(questions.filled("why", boots=ids, each=_ITEMS_OF_A_BOOT))
    listed = ", ".join(f"'{boot_id}'" for boot_id in ids)
    boots = engine.rows(
        "select boot_id, product, release, board, boot_kind, day, clock, kernel, status, reason,"
        " first_light_ns, firmware_ns, loader_ns, decompression_ns, kernel_ns, initrd_ns,"
        f" userspace_ns, app_ns, item_count, doubts, source from boots where boot_id in ({listed})"
        " order by boot_id"
    )
    for boot in boots:
        boot["odd"] = [
            {key: value for key, value in item.items() if key != "boot_id"}
            for item in odd
            if item["boot_id"] == boot["boot_id"]
            and item["excess_ns"] >= _WORTH_A_LINE * (boot["first_light_ns"] or 0)
        ]
    return boots


def pages_of_boots(data: dict[str, Any], out: Path) -> int:
    """Makes a page of each listed boot whose logs are still there, in a folder beside `out`,
    and returns how many."""
    folder = out.with_name(f"{out.stem}-boots")
    made = 0
    for boot in data["boots"]:
        source = boot["source"]
        if not source or not Path(source).exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"{boot['boot_id']}.html"
        command = [rows.program(), "report", source, "-o", str(page)]
        done = subprocess.run(command, capture_output=True, check=False)
        if done.returncode == 0:
            boot["page"] = f"{folder.name}/{page.name}"
            made += 1
    return made


def _shown(path: str) -> str:
    """The end of a path: a page that is sent says nothing of the folders of who made it."""
    return path if is_remote(path) else "/".join(Path(path).parts[-2:]).lstrip("/")


def page(data: dict[str, Any]) -> str:
    """The page: one file that loads nothing from elsewhere."""
    boots = [{**boot, "source": _shown(boot["source"] or "") or None} for boot in data["boots"]]
    data = {**data, "boots": boots}

    def part(name: str) -> str:
        return resources.files(__package__).joinpath(f"page/{name}").read_text("utf-8").strip()

    def digest(text: str) -> str:
        hashed = hashlib.sha256(text.encode()).digest()
        return f"'sha256-{base64.b64encode(hashed).decode()}'"

    style, script = part("fleet.css"), part("fleet.js")
    # Within a script element, only `<` can end the data.
    text = json.dumps(data, separators=(",", ":"), default=output.plain).replace("<", "\\u003c")
    slots = {
        "style-hash": digest(style),
        "script-hash": digest(script),
        "style": style,
        "script": script,
        "title": html.escape(data["store"]),
        "data": text,
    }
    made = []
    # Each slot is there once; what is put in is not looked through again.
    for piece in part("fleet.html").split("{{"):
        name, end, rest = piece.partition("}}")
        made.append(slots[name] + rest if end else piece)
    return "".join(made) + "\n"
