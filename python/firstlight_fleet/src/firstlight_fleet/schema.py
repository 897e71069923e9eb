"""The one table of a store, and the tables that users see in it.

Everything of a batch of boots is one commit of one Delta table, so that a writer that is
killed leaves all of a boot or nothing. The partition column ``part`` says which of the
tables a row belongs to; views give each its own name and columns.
"""

import pyarrow as pa

#: The version of the layout. Readers accept this version and older ones.
VERSION = 2

#: What the table is called in its own metadata; the version follows the slash.
NAME = "firstlight-fleet"

PARTITIONS = ["part", "product", "day"]

PHASES = ["firmware", "loader", "decompression", "kernel", "initrd", "userspace", "app"]

_TEXT, _INT = pa.string(), pa.int64()

#: Columns of the whole table: name and type.
COLUMNS: dict[str, pa.DataType] = {
    "part": _TEXT,
    "product": _TEXT,
    "day": _TEXT,
    "boot_id": _TEXT,
    "board": _TEXT,
    "release": _TEXT,
    "release_key": _TEXT,
    "clock": _TEXT,
    "zero": _TEXT,
    "boot_kind": _TEXT,
    "kind": _TEXT,
    "name": _TEXT,
    "raw_name": _TEXT,
    "start_ns": _INT,
    "dur_ns": _INT,
    "start_n": _INT,
    "start_unit_ns": _INT,
    "start_rest_ns": _INT,
    "dur_n": _INT,
    "dur_unit_ns": _INT,
    "dur_rest_ns": _INT,
    "metric": _TEXT,
    "bucket": _INT,
    "n": _INT,
    "sum_ns": _INT,
    "at_ns": _INT,
    "at_from": _TEXT,
    "kernel": _TEXT,
    "status": _TEXT,
    "reason": _TEXT,
    "first_light_ns": _INT,
    **{f"{phase}_ns": _INT for phase in PHASES},
    "item_count": _INT,
    "doubts": _TEXT,
    "source": _TEXT,
    "source_bytes": _INT,
    "ingested_ns": _INT,
    "schema_version": _INT,
}

SCHEMA = pa.schema([pa.field(name, kind) for name, kind in COLUMNS.items()])

_PLACE = ["product", "day", "board", "release", "release_key", "clock", "boot_kind"]

_BOOTS = [
    "boot_id",
    *_PLACE,
    "zero",
    "at_ns",
    "at_from",
    "kernel",
    "status",
    "reason",
    "first_light_ns",
    *[f"{phase}_ns" for phase in PHASES],
    "item_count",
    "doubts",
    "source",
    "source_bytes",
    "ingested_ns",
    "schema_version",
]

#: The tables that users see, and the columns of each.
TABLES: dict[str, list[str]] = {
    "boots": _BOOTS,
    "quarantine": _BOOTS,
    "items": ["boot_id", *_PLACE, "kind", "name", "raw_name", "start_ns", "dur_ns"],
    "boots_hist": [*_PLACE, "zero", "metric", "bucket", "n", "sum_ns"],
    "items_hist": [*_PLACE, "kind", "name", "bucket", "n", "sum_ns"],
}

#: Columns that are stored in another form. Times of items are whole numbers of microseconds and a
#: rest, or of milliseconds where all times of a name are: clocks of boots count these, and
#: nanoseconds would take twice the space. Version 1 stored nanoseconds.
EXPRESSIONS = {
    ("items", f"{time}_ns"): f"coalesce({time}_n * {time}_unit_ns + {time}_rest_ns, {time}_ns)"
    for time in ["start", "dur"]
}

#: The columns that these are made of.
TIMES = [f"{time}_{part}" for time in ["start", "dur"] for part in ["n", "unit_ns", "rest_ns"]]


def stored(table: str) -> list[str]:
    """The columns of the whole table that a table is made of."""
    return [*TABLES[table], *(TIMES if table == "items" else [])]


def chosen(table: str, columns: list[str]) -> list[str]:
    """What to select from the stored columns to get these columns of a table."""
    return [
        f"{EXPRESSIONS[table, name]} as {name}" if (table, name) in EXPRESSIONS else name
        for name in columns
    ]


#: Views over those tables, in portable SQL. A boot that was in quarantine and could be
#: read later is no longer there.
VIEWS = {
    "releases": (
        "select product, release, release_key,"
        " cast(row_number() over (partition by product order by release_key, release)"
        " as bigint) as ordinal"
        " from (select distinct product, release, release_key from boots_hist) r"
    ),
}
