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
        #: Whether files of older versions are expected, which lack columns. To look for them
        #: opens every file before the first answer.
        self.mixed = False

    def _open(self, query: str) -> None:
        """Opens the tables that a query may name: of each, all files are looked at."""
        query = re.sub(r"--[^\n]*", "", query)

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
                self.mixed |= _view(
                    self.connection, self.store, name, schema.TABLES[name], self.mixed
                )
            else:
                self.connection.execute(f"create view {name} as {schema.VIEWS[name]}")
            self.missing.remove(name)

    def table(self, query: str) -> pa.Table:
        """The answer to a query."""
        self._open(query)
        try:
            return self.connection.sql(query).to_arrow_table()
        except duckdb.Error as error:
            if not self.mixed and "schema mismatch" in str(error):
                self.connection = connected()
                self.missing = [*schema.TABLES, *schema.VIEWS]
                self.mixed = True
                return self.table(query)
            # Opening a table reads the first of its files only; the others are opened here.
            stored = (file for part in schema.TABLES for file in self.store.files(part))
            if self.store.is_local and any(file in str(error) for file in stored):
                raise _unreadable(self.store, error) from error
            raise FleetError(f"the query failed: {first_line(error)}") from error

    def rows(self, query: str) -> Rows:
        """The answer to a query, row by row."""
        return self.table(query).to_pylist()


def _view(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    part: str,
    columns: list[str],
    mixed: bool,
) -> bool:
    """Opens a table, and says whether its files are taken for those of several versions."""
    files = store.files(part)
    names = ", ".join(schema.chosen(part, columns))
    stored = schema.stored(part) if names != ", ".join(columns) else columns
    fields = [(name, schema.COLUMNS[name]) for name in stored]
    if not files:
        fields = [(name, schema.COLUMNS[name]) for name in columns]
        connection.register(part, pa.schema(fields).empty_table())
        return mixed
    if store.is_local:
        listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
        types = "{'part': varchar, 'product': varchar, 'day': varchar}"
        read = f"read_parquet([{listed}], hive_partitioning = true, hive_types = {types}"
        try:
            if not mixed:
                # The columns of all files are those of the first one, if that has all.
                first = connection.sql(f"select * from {read})").columns
                mixed = not set(stored) <= set(first)
            if not mixed:
                connection.execute(f"create view {part} as select {names} from {read})")
                return False
            # The empty table has all columns.
            connection.register(f"{part}_columns", pa.schema(fields).empty_table())
            connection.execute(
                f"create view {part} as select {names} from (select * from"
                f" {read}, union_by_name = true) union all by name select * from"
                f" {part}_columns)"
            )
        except duckdb.Error as error:
            raise _unreadable(store, error) from error
        return True
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
    return mixed


def _unreadable(store: Store, error: duckdb.Error) -> FleetError:
    return FleetError(f"{store.where}: a file of the store cannot be read: {first_line(error)}")


def _sql(kind: pa.DataType) -> str:
    return "varchar" if kind == pa.string() else "bigint"


def known(store: Store, ids: set[str]) -> tuple[set[str], set[str]]:
    """Which of these boots are stored, and which are in quarantine."""
    with connected() as connection:
        connection.register("asked", pa.table({"boot_id": sorted(ids)}))
        found = []
        for part in ["boots", "quarantine"]:
            _view(connection, store, part, ["boot_id"], mixed=False)
            query = f"select boot_id from {part} where boot_id in (select boot_id from asked)"
            found.append({row[0] for row in connection.execute(query).fetchall()})
    return found[0], found[1]
