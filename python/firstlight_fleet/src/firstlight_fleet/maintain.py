"""Keeping a store fast and small: compaction and retention."""

import random
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError

from firstlight_fleet import schema
from firstlight_fleet.engine import connected
from firstlight_fleet.errors import FleetError, first_line
from firstlight_fleet.store import WRITER, Store

#: The size that compaction aims at, bytes.
FILE_BYTES = 256 << 20

#: So many bytes of histograms are merged in one commit.
MERGED_BYTES = 32 << 20

#: Files that no version of the store names are removed when they are this old. A writer
#: that is still at work has none as old.
VACUUM_HOURS = 7 * 24

_MOST_TRIES = 20


def compact(store: Store) -> dict[str, int]:
    """Merges histograms and small files, and removes files that nobody needs."""
    before = len(store.table.file_uris())
    for part in ["boots_hist", "items_hist"]:
        for product, days in _crowded(store, part):
            _tried(store, lambda p=part, q=product, d=days: _merge(store, p, q, d))
    _tried(
        store,
        lambda: store.table.optimize.compact(target_size=FILE_BYTES, writer_properties=WRITER),
    )
    # Before files go that the commits replaced.
    store.settle()
    removed = _tried(
        store, lambda: store.table.vacuum(retention_hours=VACUUM_HOURS, dry_run=False)
    )
    store.settle()
    return {
        "files_before": before,
        "files_after": len(store.table.file_uris()),
        "files_removed": len(removed),
    }


def _crowded(store: Store, part: str) -> list[tuple[str, list[str]]]:
    """Partitions of a part with more than one file: a product and days, as many as one commit
    merges."""
    there: dict[tuple[str, str], list[int]] = {}
    files = pa.table(store.table.get_add_actions(flatten=True)).select(
        ["partition.part", "partition.product", "partition.day", "size_bytes"]
    )
    for row in files.to_pylist():
        if row["partition.part"] == part:
            place = (row["partition.product"], row["partition.day"])
            there.setdefault(place, []).append(row["size_bytes"])
    runs: list[tuple[str, list[str]]] = []
    taken = 0
    for (product, day), sizes in sorted(there.items()):
        if len(sizes) < 2:
            continue
        if not runs or runs[-1][0] != product or taken >= MERGED_BYTES:
            runs.append((product, []))
            taken = 0
        runs[-1][1].append(day)
        taken += sum(sizes)
    return runs


def _merge(store: Store, part: str, product: str, days: list[str]) -> None:
    """Adds up the histograms of some days, in one commit that replaces what it read."""
    place = [("part", "=", part), ("product", "=", product), ("day", "in", days)]
    rows = store.table.to_pyarrow_table(filters=place)
    keys = [name for name in schema.TABLES[part] if name not in {"n", "sum_ns"}]
    with connected() as connection:
        connection.register("old", rows)
        merged = connection.sql(
            f"select part, {', '.join(keys)}, cast(sum(n) as bigint) as n,"
            " cast(sum(sum_ns) as bigint) as sum_ns from old group by all order by all"
        ).to_arrow_table()
    columns = {
        name: merged[name] if name in merged.column_names else [None] * merged.num_rows
        for name in schema.COLUMNS
    }
    listed = ", ".join(f"'{day}'" for day in days)
    write_deltalake(
        store.table,
        pa.table(columns, schema=schema.SCHEMA),
        mode="overwrite",
        predicate=f"part = '{part}' and product = '{product}' and day in ({listed})",
        writer_properties=WRITER,
    )


def expire(store: Store, days: int, only_items: bool) -> dict[str, Any]:
    """Deletes what is older than `days`: everything, or only the raw items."""
    limit = (datetime.now(timezone.utc) - timedelta(days=days)).strftime("%Y-%m-%d")
    predicate = f"day < '{limit}'"
    if only_items:
        predicate += " and part = 'items'"
    done = _tried(store, lambda: store.table.delete(predicate))
    store.settle()
    return {"before_day": limit, "files_deleted": done.get("num_removed_files", 0)}


def _tried(store: Store, action: Callable[[], Any]) -> Any:
    """Repeats an action that lost against a writer."""
    for attempt in range(_MOST_TRIES):
        try:
            return action()
        except CommitFailedError:
            time.sleep(random.uniform(0, 0.1 * (attempt + 1)))
            store.refresh()
        except (DeltaError, OSError) as error:
            raise FleetError(f"{store.where}: {first_line(error)}") from error
    raise FleetError(f"{store.where}: writers changed the store all the time; try again later")
