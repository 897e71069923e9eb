"""The same store and the same SQL on Spark: many machines."""

import os
from typing import Any

import pyarrow as pa

from firstlight_fleet import schema
from firstlight_fleet.errors import FleetError, first_line

Rows = list[dict[str, Any]]


def _sql(kind: pa.DataType) -> str:
    return "string" if kind == pa.string() else "bigint"


#: What Spark needs to read Delta tables, from Maven. Spark 4.3.0 fails to read them.
PACKAGE = "io.delta:delta-spark_2.13:4.4.0"

#: Jars that are there already, separated by commas; then nothing is fetched.
JARS = "FIRSTLIGHT_DELTA_JARS"


class Spark:
    """A store's tables as views of a Spark session."""

    def __init__(self, master: str, where: str):
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
        try:
            self.session = builder.getOrCreate()
            frame = self.session.read.format("delta").load(where)
        except Exception as error:
            raise FleetError(f"{where}: Spark at {master} failed: {first_line(error)}") from error
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
        try:
            return [row.asDict(recursive=True) for row in self.session.sql(query).collect()]
        except Exception as error:
            raise FleetError(f"the query failed on Spark: {first_line(error)}") from error

    def stop(self) -> None:
        """Ends the session."""
        self.session.stop()
