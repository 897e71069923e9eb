"""From the tables of `firstlight rows` to the rows of one commit."""

from datetime import datetime, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from firstlight_fleet import release, schema
from firstlight_fleet.engine import connected
from firstlight_fleet.errors import FleetError
from firstlight_fleet.labels import Labels

#: Buckets of the histograms are this factor wide.
WIDTH = 1.02

#: With more names than this in a batch, names that one boot alone has share one histogram.
MANY_NAMES = 50_000

#: The version of the tables of `firstlight rows` that is understood.
ROWS_VERSION = 1

#: Boots with these are counted, but no question uses them.
QUARANTINED = {"bad", "implausible"}

_PLACE = "product, day, board, release, release_key, clock, boot_kind"

_BUCKET = f"cast(floor(ln(greatest({{0}}, 1)) / ln({WIDTH})) as bigint)"


class Batch:
    """The boots of a pair of tables, labeled, each once."""

    def __init__(
        self,
        boots_file: Path,
        items_file: Path,
        labels: Labels,
        redact: bool,
        within: str | None = None,
    ):
        """`within` is the folder or URL that the sources in the tables are below."""
        boots = pq.read_table(boots_file)
        version = (boots.schema.metadata or {}).get(b"firstlight.schema") or (
            pq.read_metadata(boots_file).metadata or {}
        ).get(b"firstlight.schema", b"?")
        if version != str(ROWS_VERSION).encode():
            raise FleetError(
                f"`firstlight rows` wrote tables of version {version.decode()}, expected "
                f"{ROWS_VERSION}; install versions of firstlight and firstlight-fleet that match"
            )
        self.repeated = 0
        rows = boots.to_pylist()
        if within is not None:
            for row in rows:
                row["source"] = f"{within}/{(row['source'] or '').removeprefix('./')}"
        self.boots = self._labeled(rows, labels, redact)
        self.items_file = items_file
        self.redact = redact

    def _labeled(self, rows: list[dict], labels: Labels, redact: bool) -> list[dict]:
        now = datetime.now(timezone.utc)
        now_ns = int(now.timestamp() * 1e9)
        today = now.strftime("%Y-%m-%d")
        seen: dict[str, dict] = {}
        for row in rows:
            if row["boot_id"] in seen:
                self.repeated += 1
                continue
            row.update(labels.of_source(row["source"] or ""))
            row["product"] = row["product"] or "default"
            row["board"] = row["board"] or "unknown"
            row["release"] = row["release"] or "unknown"
            row["release_key"] = release.key(row["release"])
            row["clock"] = row["clock"] or "none"
            row["zero"] = row["zero"] or "none"
            # A clock that runs ahead would open a partition of the future.
            if row["day"] is None or row["at_ns"] > now_ns + 2 * 86_400 * 10**9:
                row["at_from"] = "ingest"
                row["at_ns"], row["day"] = now_ns, today
            row["part"] = "quarantine" if row["status"] in QUARANTINED else "boots"
            row["item_count"] = row.pop("items")
            row["ingested_ns"] = now_ns
            if redact:
                row["source"] = None
            seen[row["boot_id"]] = row
        return list(seen.values())

    def ids(self) -> set[str]:
        """The ids of its boots."""
        return {row["boot_id"] for row in self.boots}

    def without(self, stored: set[str], quarantined: set[str]) -> None:
        """Drops boots that the store has. One in quarantine may come back if it can be read
        now."""
        self.boots = [
            row
            for row in self.boots
            if row["boot_id"] not in stored
            and not (row["boot_id"] in quarantined and row["part"] == "quarantine")
        ]

    def tables(self) -> tuple[pa.Table, int]:
        """The rows of the commit, and how many names were too many for a histogram each."""
        columns = {
            name: pa.array([row.get(name) for row in self.boots], kind)
            for name, kind in schema.COLUMNS.items()
        }
        boots = pa.table(columns)
        with connected() as engine:
            engine.execute("set threads = 2")
            engine.execute("set preserve_insertion_order = true")
            engine.register("all_boots", boots)
            engine.execute("create table boots as select * from all_boots where part = 'boots'")
            engine.execute(
                f"create table items as select i.*, {_PLACE} from read_parquet(?) i"
                " join boots using (boot_id)",
                [str(self.items_file)],
            )
            if self.redact:
                engine.execute("update items set raw_name = null")
            rare = self._fold_rare(engine)
            parts = [boots]
            for query in [self._items(), self._items_hist(), *self._boots_hists()]:
                parts.append(_completed(engine.sql(query).to_arrow_table()))
        return pa.concat_tables(parts), rare

    def _fold_rare(self, engine: duckdb.DuckDBPyConnection) -> int:
        engine.execute(
            "create table names as select kind, name, count(distinct boot_id) as n_boots"
            " from items group by all"
        )
        (names,) = engine.execute("select count(*) from names").fetchone()
        if names <= MANY_NAMES:
            engine.execute("create view counted as select * from items")
            return 0
        engine.execute(
            "create view counted as select i.* exclude (name),"
            " case when n_boots = 1 then '(rare)' else name end as name"
            " from items i join names using (kind, name)"
        )
        return names

    @staticmethod
    def _items() -> str:
        """Items of a name stand together: their times differ by little, which takes the least
        space."""

        def unit(time: str) -> str:
            return (
                f"cast(min(case when {time}_ns % 1000000 = 0 then 1000000 else 1000 end)"
                f" over (partition by kind, name) as bigint) as {time}_unit_ns"
            )

        def split(time: str) -> str:
            return (
                f"cast(floor({time}_ns / {time}_unit_ns) as bigint) as {time}_n, {time}_unit_ns,"
                f" {time}_ns - {time}_n * {time}_unit_ns as {time}_rest_ns"
            )

        return (
            f"select 'items' as part, boot_id, {_PLACE}, kind, name, raw_name,"
            f" {split('start')}, {split('dur')}"
            f" from (select *, {unit('start')}, {unit('dur')} from items)"
            " order by product, day, kind, name, board, release, boot_id, start_n"
        )

    @staticmethod
    def _items_hist() -> str:
        """Of several items of one name in a boot the sum counts."""
        return (
            f"with sums as (select boot_id, {_PLACE}, kind, name, sum(dur_ns) as dur"
            " from counted group by all)"
            f" select 'items_hist' as part, {_PLACE}, kind, name,"
            f" {_BUCKET.format('dur')} as bucket, count(*) as n,"
            " cast(sum(dur) as bigint) as sum_ns from sums group by all order by all"
        )

    @staticmethod
    def _boots_hists() -> list[str]:
        place = f"{_PLACE}, zero"
        head = f"select 'boots_hist' as part, {place}"
        times = {"first_light": "first_light_ns"}
        times.update({phase: f"{phase}_ns" for phase in schema.PHASES})
        of_times = [
            f"{head}, '{metric}' as metric, {_BUCKET.format(column)} as bucket, count(*) as n,"
            f" cast(sum({column}) as bigint) as sum_ns from boots where {column} is not null"
            " group by all"
            for metric, column in times.items()
        ]
        counts = (
            f"{head}, 'boots' as metric, 0 as bucket, count(*) as n, 0 as sum_ns from boots"
            " group by all"
        )
        # Whether an item is absent, or whether its kind was not recorded at all.
        kinds = (
            f"{head}, 'with:' || kind as metric, 0 as bucket, count(*) as n, 0 as sum_ns from"
            " boots join (select distinct boot_id, kind as kind from items) k using (boot_id)"
            " group by all"
        ).replace("|| kind as", "|| k.kind as")
        return [*of_times, counts, kinds]


def _completed(table: pa.Table) -> pa.Table:
    """The table with all columns of the store."""
    columns = [
        table[name].cast(kind) if name in table.column_names else pa.nulls(table.num_rows, kind)
        for name, kind in schema.COLUMNS.items()
    ]
    return pa.table(columns, schema=schema.SCHEMA)
