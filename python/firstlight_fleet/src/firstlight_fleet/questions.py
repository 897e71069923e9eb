"""The ready questions: SQL files, and the answers put together from them."""

import re
from importlib import resources
from typing import Any, Protocol

Rows = list[dict[str, Any]]

#: The ready questions, each a file `questions/NAME.sql`.
NAMES = ["releases", "boards", "blame", "blame_boots", "outliers", "why", "item", "days"]

#: How many suspects get a list of boots: the raw items are read for these only.
_SUSPECTS = 20

#: An item is odd in an outlier if it explains this share of what the boot took longer.
_ODD_SHARE = 0.05


class Engine(Protocol):
    """What answers SQL over the tables of a store."""

    def rows(self, query: str) -> Rows:
        """The answer, row by row."""


def text(name: str) -> str:
    """The SQL of a question, as it is in its file."""
    return resources.files(__package__).joinpath(f"questions/{name}.sql").read_text("utf-8")


def filled(question: str, /, **values: str | int | list[str]) -> str:
    """The SQL of a question with its parameters (`:name`) in place, ready for any engine."""

    def literal(match: re.Match[str]) -> str:
        value = values.get(match.group(1))
        if value is None:
            return match.group(0)
        if isinstance(value, int):
            return str(value)
        listed = value if isinstance(value, list) else [value]
        return ", ".join("'" + v.replace("'", "''") + "'" for v in listed) or "null"

    lines = text(question).splitlines()
    code = "\n".join(line for line in lines if not line.lstrip().startswith("--"))
    return re.sub(r"(?<![:\w]):([a-z_]+)", literal, code)


def releases(engine: Engine) -> Rows:
    """Percentiles by release; a slower release names the items that made it slower."""
    rows = engine.rows(filled("releases"))
    for row in rows:
        if row["metric"] == "first_light" and row["verdict"] == "slower":
            items = engine.rows(
                filled("blame", base=row["previous"], release=row["release"], board="all", top=50)
            )
            same = [i for i in items if (i["product"], i["clock"]) == (row["product"], row["clock"])]
            slower = [i for i in same if i["verdict"] == "slower"]
            row["items"] = [
                {name: item[name] for name in ["kind", "name", "delta_ns", "chance"]}
                for item in slower[:5]
            ]
    return rows


def blame(engine: Engine, base: str, release: str, board: str, top: int) -> Rows:
    """Items by how much they changed; those that are slower with the boots to look at."""
    rows = engine.rows(filled("blame", base=base, release=release, board=board, top=top))
    suspects = [row for row in rows if row["verdict"] == "slower"][:_SUSPECTS]
    names = sorted({f"{row['kind']}|{row['name']}" for row in suspects})
    worst = (
        engine.rows(filled("blame_boots", release=release, suspects=names, each=5)) if names else []
    )
    for row in rows:
        row["boots"] = [
            {name: boot[name] for name in ["boot_id", "board", "dur_ns"]}
            for boot in worst
            if all(boot[key] == row[key] for key in ["product", "kind", "name"])
            and row in suspects
        ]
    return rows


def outliers(engine: Engine, top: int) -> Rows:
    """Boots that are far slower than their peers, each with the items that are odd in it."""
    rows = engine.rows(filled("outliers", top=top))
    ids = [row["boot_id"] for row in rows]
    odd = engine.rows(filled("why", boots=ids, each=3)) if ids else []
    for row in rows:
        row["odd"] = [
            {key: value for key, value in item.items() if key != "boot_id"}
            for item in odd
            if item["boot_id"] == row["boot_id"]
            and item["excess_ns"] >= _ODD_SHARE * row["excess_ns"]
        ]
    return rows
