"""The embedded engine: DuckDB over the files of a store."""

import re
from contextlib import suppress
from typing import Any

import duckdb
import pyarrow as pa

from firstlight_fleet import schema
from firstlight_fleet.errors import FleetError, first_line
from firstlight_fleet.store import Store

Rows = list[dict[str, Any]]


def connected() -> duckdb.DuckDBPyConnection:
    """A connection without DuckDB's bar of progress, which would come between the answers."""
    connection = duckdb.connect()
    # A notebook without the package that draws bars has none, and refuses to be asked.
    with suppress(duckdb.InvalidInputException):
        connection.execute("set enable_progress_bar = false")
    return connection


class Duck:
    """A store's tables in DuckDB, at one version of the store."""

    def __init__(self, store: Store):
        self.connection = connected()
        self.store = store
        self.missing = [*schema.TABLES, *schema.VIEWS]

    def _open(self, query: str) -> None:
        """Opens the tables that a query may name: of each, all files are looked at."""

        def named(text: str) -> list[str]:
            return [n for n in self.missing if re.search(rf"\b{n}\b", text, re.IGNORECASE)]

        tables = [*schema.TABLES, *schema.VIEWS]
        says_none = not any(re.search(rf"\b{n}\b", query, re.IGNORECASE) for n in tables)
        wanted = [*self.missing] if says_none else named(query)
        for view in [name for name in wanted if name in schema.VIEWS]:
            wanted += [name for name in named(schema.VIEWS[view]) if name not in wanted]
        # Views come after the tables that they are made of.
        for name in sorted(wanted, key=lambda name: name in schema.VIEWS):
            if name in schema.TABLES:
                _view(self.connection, self.store, name, schema.TABLES[name])
            else:
                self.connection.execute(f"create view {name} as {schema.VIEWS[name]}")
            self.missing.remove(name)

    def table(self, query: str) -> pa.Table:
        """The answer to a query."""
        self._open(query)
        try:
            return self.connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            raise FleetError(f"the query failed: {first_line(error)}") from error

    def rows(self, query: str) -> Rows:
        """The answer to a query, row by row."""
        return self.table(query).to_pylist()


def _view(
    connection: duckdb.DuckDBPyConnection, store: Store, part: str, columns: list[str]
) -> None:
    files = store.files(part)
    names = ", ".join(schema.chosen(part, columns))
    stored = schema.stored(part) if names != ", ".join(columns) else columns
    fields = [(name, schema.COLUMNS[name]) for name in stored]
    if not files:
        fields = [(name, schema.COLUMNS[name]) for name in columns]
        connection.register(part, pa.schema(fields).empty_table())
        return
    if store.is_local:
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        types = "{'part': varchar, 'product': varchar, 'day': varchar}"
        # Files of an older version may lack columns; the empty table has them all.
        connection.register(f"{part}_columns", pa.schema(fields).empty_table())
        try:
            connection.execute(
                f"create view {part} as select {names} from (select * from"
                f" read_parquet([{listed}], hive_partitioning = true, hive_types = {types},"
                f" union_by_name = true) union all by name select * from {part}_columns)"
            )
        except duckdb.Error as error:
            raise FleetError(
                f"{store.where}: a file of the store cannot be read: {first_line(error)}"
            ) from error
        return
    dataset = store.table.to_pyarrow_dataset(file_pruning_predicate=f"part = '{part}'")
    connection.register(f"{part}_files", dataset)
    there = set(dataset.schema.names)
    whole = ", ".join(
        name if name in there else f"cast(null as {_sql(schema.COLUMNS[name])}) as {name}"
        for name in stored
    )
    connection.execute(
        f"create view {part} as select {names} from (select {whole} from {part}_files)"
    )


def _sql(kind: pa.DataType) -> str:
    return "varchar" if kind == pa.string() else "bigint"


def known(store: Store, ids: set[str]) -> tuple[set[str], set[str]]:
    """Which of these boots are stored, and which are in quarantine."""
    with connected() as connection:
        connection.register("asked", pa.table({"boot_id": sorted(ids)}))
        found = []
        for part in ["boots", "quarantine"]:
            _view(connection, store, part, ["boot_id"])
            query = f"select boot_id from {part} where boot_id in (select boot_id from asked)"
            found.append({row[0] for row in connection.execute(query).fetchall()})
    return found[0], found[1]
