"""Stores that older versions wrote can be read and written. `kept/` has one of each version,
which is never made again."""

import shutil
from pathlib import Path

import logs
import pytest
from conftest import answer
from deltalake import DeltaTable
from firstlight_fleet import schema
from test_ingest import whole

KEPT = Path(__file__).parent / "kept"


@pytest.mark.parametrize("version", sorted(path.name for path in KEPT.iterdir()))
def test_an_old_store_answers_and_takes_more_boots(version: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    shutil.copytree(KEPT / version, store)
    whole(store, 4)
    (bad,) = answer("sql", store, "select reason from quarantine")["rows"]
    assert "the file is empty" in bad["reason"]
    rows = answer("blame", store, "--base", "1.9", "--release", "1.10", "--top", 100)["rows"]
    assert logs.NEW_UNIT in {row["name"] for row in rows}
    logs.boot(tmp_path / "boot", "1.11", "b1", 77)
    assert answer("ingest", store, "--release", "1.11", tmp_path / "boot")["stored"] == 1
    whole(store, 5)
    # Older programs refuse it from now on, because they would not see all times.
    assert DeltaTable(store).metadata().name == f"{schema.NAME}/{schema.VERSION}"


def test_there_is_a_kept_store_of_this_version() -> None:
    assert (KEPT / f"v{schema.VERSION}").is_dir()


def test_a_store_without_a_column_reads_as_null_and_gets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    shutil.copytree(KEPT / "v1", store)
    # A later version of the same layout has one column more.
    import pyarrow as pa

    monkeypatch.setitem(schema.COLUMNS, "cpus", pa.int64())
    monkeypatch.setattr(
        schema, "SCHEMA", pa.schema([pa.field(n, k) for n, k in schema.COLUMNS.items()])
    )
    for table in ["boots", "quarantine"]:
        monkeypatch.setitem(schema.TABLES, table, [*schema.TABLES[table], "cpus"])
    assert answer("sql", store, "select max(cpus) as c from boots")["rows"] == [{"c": None}]
    logs.boot(tmp_path / "boot", "1.11", "b1", 77)
    answer("ingest", store, tmp_path / "boot")
    assert "cpus" in {field.name for field in DeltaTable(store).schema().fields}
    whole(store, 5)
