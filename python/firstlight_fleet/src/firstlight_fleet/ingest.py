"""Storing boots: each once, all of it or nothing."""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import (
    CommitProperties,
    PostCommitHookProperties,
    Transaction,
    write_deltalake,
)
from deltalake.exceptions import CommitFailedError, DeltaError

from firstlight_fleet import engine, pieces, rows
from firstlight_fleet.batch import Batch
from firstlight_fleet.errors import FleetError, first_line
from firstlight_fleet.labels import Labels
from firstlight_fleet.store import WRITER, Store, is_remote

if TYPE_CHECKING:
    from firstlight_fleet.spark import Readers

#: All writers of a store name this application in their commits. Of two that commit at the
#: same version Delta refuses the second, which then looks again which boots are stored.
APPLICATION = "firstlight-fleet-ingest"

#: How often a commit is tried while other writers win.
MOST_TRIES = 200


@dataclass
class Report:
    """What became of the boots."""

    stored: int = 0
    known: int = 0
    quarantined: int = 0
    items: int = 0
    read_bytes: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def ingest(
    store: Store,
    inputs: list[str],
    labels: Labels,
    *,
    every: int,
    redact: bool = False,
    options: list[str] | None = None,
    spark: Readers | None = None,
) -> Report:
    """Reads boots and stores those that the store does not have.

    Inputs may be in object stores. With `spark`, its executors read the boots.
    """
    report = Report()
    with tempfile.TemporaryDirectory(prefix="firstlight-fleet-") as name:
        folder = Path(name)
        for within, (boots_file, items_file) in _tables(
            store, inputs, every, folder, options or [], spark
        ):
            batch = Batch(boots_file, items_file, labels, redact, within)
            store_batch(store, batch, report)
            boots_file.unlink()
            items_file.unlink()
    return report


def _tables(
    store: Store,
    inputs: list[str],
    every: int,
    folder: Path,
    options: list[str],
    spark: Readers | None,
) -> Iterator[tuple[str | None, tuple[Path, Path]]]:
    """The tables of all inputs, pair by pair, each with the folder or URL of its sources."""
    given = [f"{key}={value}" for key, value in store.options.items()]
    if spark:
        listed = [line for text in inputs for line in (_list() if text == "-" else [text])]
        each = [piece for text in listed for piece in pieces.of_input(text, given)]
        yield from spark.read(each, every, folder, options, given)
        return
    here = [text for text in inputs if not is_remote(text)]
    if here:
        yield from ((None, pair) for pair in rows.batches(here, every, folder, options))
    for url in filter(is_remote, inputs):
        for piece in pieces.of_input(url, given):
            for pair in pieces.read(piece, every, folder, options, given):
                yield piece.where, pair


def _list() -> list[str]:
    """The inputs that standard input lists, one per line."""
    return [line for line in sys.stdin.read().splitlines() if line]


def store_batch(store: Store, batch: Batch, report: Report) -> None:
    """Commits a batch; waits for its turn where others write too."""
    read = len(batch.boots) + batch.repeated
    for attempt in range(MOST_TRIES):
        stored, quarantined = engine.known(store, batch.ids())
        batch.without(stored, quarantined)
        if not batch.boots:
            break
        table, names = batch.tables()
        try:
            _commit(store, table)
        except CommitFailedError:
            # Somebody else was first.
            time.sleep(random.uniform(0, min(2.0, 0.05 * (attempt + 1))))
            store.refresh()
            continue
        except (DeltaError, OSError) as error:
            raise FleetError(
                f"{store.where}: the boots cannot be stored: {first_line(error)}"
            ) from error
        if names:
            report.warnings.append(
                f"{names} distinct item names in one batch of {len(batch.boots)} boots; names that "
                "only one boot has share the histogram '(rare)'"
            )
        break
    else:
        raise FleetError(
            f"{store.where}: other writers won {MOST_TRIES} times; run the same command again"
        )
    for row in batch.boots:
        if row["part"] == "quarantine":
            report.quarantined += 1
            reason = row["reason"] or row["status"]
            report.reasons[reason] = report.reasons.get(reason, 0) + 1
        else:
            report.stored += 1
            report.items += row["item_count"]
        report.read_bytes += row["source_bytes"] or 0
    report.known += read - len(batch.boots)


def _commit(store: Store, table: pa.Table) -> None:
    if store.is_local and not os.access(store.where, os.W_OK):
        raise PermissionError(f"Permission denied: no right to write in {store.where}")
    store.upgrade()
    version = (store.table.transaction_version(APPLICATION) or 0) + 1
    write_deltalake(
        store.table,
        table,
        mode="append",
        schema_mode="merge",
        writer_properties=WRITER,
        commit_properties=CommitProperties(
            app_transactions=[Transaction(APPLICATION, version)], max_commit_retries=3
        ),
        post_commithook_properties=PostCommitHookProperties(
            create_checkpoint=True, cleanup_expired_logs=False
        ),
    )
    store.settle()
