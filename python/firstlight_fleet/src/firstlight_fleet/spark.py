"""The same store and the same SQL on Spark: many machines."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from firstlight_fleet import pieces, rows, schema
from firstlight_fleet.errors import FleetError, first_line
from firstlight_fleet.pieces import Piece

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = list[dict[str, Any]]


def _sql(kind: pa.DataType) -> str:
    return "string" if kind == pa.string() else "bigint"


#: What Spark needs to read Delta tables, from Maven. Spark 4.3.0 fails to read them.
PACKAGE = "io.delta:delta-spark_2.13:4.4.0"

#: Jars that are there already, separated by commas; then nothing is fetched.
JARS = "FIRSTLIGHT_DELTA_JARS"


def _session(master: str) -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise FleetError(
            "--engine needs PySpark; install it with `pip install 'firstlight-fleet[spark]'`"
        ) from error
    jars = os.environ.get(JARS)
    builder = SparkSession.builder.master(master.removeprefix("spark+"))
    builder = (
        builder.appName("firstlight-fleet")
        .config("spark.jars" if jars else "spark.jars.packages", jars or PACKAGE)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog",
            "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        )
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    return builder.getOrCreate()


@contextmanager
def _of_spark(what: str) -> Iterator[None]:
    """Says in one sentence what Spark says in many lines."""
    try:
        yield
    except FleetError:
        raise
    except Exception as error:
        raise FleetError(f"{what}: {first_line(error)}") from error


class Readers:
    """Executors that read boots: each node has this package and the program `firstlight`."""

    def __init__(self, master: str):
        with _of_spark(f"Spark at {master} failed"):
            self.session = _session(master)

    def read(
        self,
        given: list[Piece],
        every: int,
        folder: Path,
        rows_options: list[str],
        options: list[str],
    ) -> Iterator[tuple[str, tuple[Path, Path]]]:
        """The tables of each piece, pair by pair in `folder`, and where their sources are."""
        if not given:
            return
        with _of_spark("Spark could not read the boots"):
            texts = [json.dumps(asdict(piece)) for piece in given]
            program = os.environ.get(rows.PROGRAM, "")
            reader = partial(_read_there, every, rows_options, options, program)
            tables = self.session.sparkContext.parallelize(texts, len(texts)).flatMap(reader)
            for place, boots, items in tables.toLocalIterator(prefetchPartitions=True):
                pair = folder / "boots.parquet", folder / "items.parquet"
                pair[0].write_bytes(boots)
                pair[1].write_bytes(items)
                yield place, pair

    def stop(self) -> None:
        """Ends the session."""
        self.session.stop()


def _read_there(
    every: int, rows_options: list[str], options: list[str], program: str, text: str
) -> Iterator[tuple[str, bytes, bytes]]:
    """Runs on an executor: `firstlight rows` reads a piece. Gives the folder or URL of the sources
    and the bytes of both tables."""
    if os.access(program, os.X_OK):
        os.environ[rows.PROGRAM] = program
    piece = pieces.Piece(**json.loads(text))
    with tempfile.TemporaryDirectory(prefix="firstlight-fleet-") as folder:
        for boots, items in pieces.read(piece, every, Path(folder), rows_options, options):
            yield piece.where, boots.read_bytes(), items.read_bytes()
            boots.unlink()
            items.unlink()


class Spark:
    """A store's tables as views of a Spark session."""

    def __init__(self, master: str, where: str):
        with _of_spark(f"{where}: Spark at {master} failed"):
            self.session = _session(master)
            frame = self.session.read.format("delta").load(where)
        there = set(frame.columns)
        for table, columns in schema.TABLES.items():
            part = frame.where(frame["part"] == table)
            whole = [
                name if name in there else f"cast(null as {_sql(schema.COLUMNS[name])}) as {name}"
                for name in schema.stored(table)
            ]
            part = part.selectExpr(*whole).selectExpr(*schema.chosen(table, columns))
            if table.endswith("_hist"):
                # Small, and read several times by each question.
                part = part.persist()
            part.createOrReplaceTempView(table)
        for name, query in schema.VIEWS.items():
            self.session.sql(query).createOrReplaceTempView(name)

    def rows(self, query: str) -> Rows:
        """The answer to a query, row by row."""
        with _of_spark("the query failed on Spark"):
            return [row.asDict(recursive=True) for row in self.session.sql(query).collect()]

    def stop(self) -> None:
        """Ends the session."""
        self.session.stop()
