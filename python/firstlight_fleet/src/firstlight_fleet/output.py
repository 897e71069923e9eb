"""Answers as a table, as JSON or as CSV."""

import csv
import json
import sys
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TextIO

Rows = list[dict[str, Any]]


def duration(ns: int | float | None) -> str:
    """A duration as the rest of Firstlight prints it: `1.234 s`, `56.7 ms`, `890 us`."""
    if ns is None:
        return "-"
    size = abs(ns)
    for unit, factor, digits in [("s", 1e9, 3), ("ms", 1e6, 1), ("us", 1e3, 0)]:
        if size >= factor:
            return f"{ns / factor:.{digits}f} {unit}"
    return f"{ns:.0f} ns"


def as_json(kind: str, rows: Rows, **more: Any) -> str:
    """One JSON object with a `schema` key."""
    document = {"schema": f"firstlight.fleet.{kind}/1", **more, "rows": rows}
    return json.dumps(document, indent=1, default=plain) + "\n"


def plain(value: Any) -> Any:
    """A value of an engine as JSON knows it."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, date | datetime):
        return value.isoformat()
    return str(value)


def as_csv(rows: Rows, names: list[str], out: TextIO) -> None:
    """Comma-separated values with a line of names."""
    writer = csv.DictWriter(out, names, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)


def as_table(rows: Rows, names: list[str], out: TextIO | None = None) -> None:
    """A table for people: durations with units, numbers at the right."""
    out = out or sys.stdout
    if not rows:
        out.write("no rows\n")
        return
    times = [name for name in names if name.endswith("_ns")]
    heads = [name.removesuffix("_ns") for name in names]
    cells = [[_cell(name, row.get(name)) for name in names] for row in rows]
    right = [
        name in times or all(isinstance(row.get(name), int | float | None) for row in rows)
        for name in names
    ]
    widths = [max(len(line[i]) for line in [heads, *cells]) for i in range(len(names))]
    for line in [heads, *cells]:
        padded = [
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        ]
        out.write("  ".join(padded).rstrip() + "\n")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name.endswith("_ns"):
        return duration(value)
    if name == "chance" and value < 1e-9:
        return "<1e-9"
    if isinstance(value, float):
        return f"{value:.3g}"
    return str(value)
