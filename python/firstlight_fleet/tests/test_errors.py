"""What goes wrong is said in one sentence, with exit code 2."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import logs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import fleet, sentence
from deltalake import write_deltalake

COUNT = "select count(*) from boots"


def test_no_store(tmp_path: Path) -> None:
    assert "there is no store; `firstlight fleet ingest" in sentence("sql", tmp_path / "x", COUNT)


def test_a_foreign_table(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "other", pa.table({"a": [1]}))
    assert "is not a store of firstlight-fleet" in sentence("sql", tmp_path / "other", COUNT)
    logs.boot(tmp_path / "boot", "1.9", "b1", 1)
    text = sentence("ingest", tmp_path / "other", tmp_path / "boot")
    assert "is not a store of firstlight-fleet" in text


def test_a_folder_with_other_files(tmp_path: Path) -> None:
    logs.boot(tmp_path / "boot", "1.9", "b1", 1)
    text = sentence("ingest", tmp_path / "boot", tmp_path / "boot")
    assert "the folder has files but no store in it" in text


def test_a_newer_store(store: Path) -> None:
    first = store / "_delta_log/00000000000000000000.json"
    text = first.read_text()
    assert "firstlight-fleet/2" in text
    first.write_text(text.replace("firstlight-fleet/2", "firstlight-fleet/3"))
    for checkpoint in store.glob("_delta_log/*checkpoint*"):
        checkpoint.unlink()
    text = sentence("sql", store, COUNT)
    assert "the store has version 3, but this program reads up to 2" in text


def test_a_torn_file(store: Path) -> None:
    """Whichever file it is: the engine opens the first one earlier than the others."""
    files = sorted(store.glob("part=boots/**/*.parquet"))
    assert len(files) > 1
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[: len(whole) // 2])
        text = sentence("sql", store, "select count(first_light_ns) from boots")
        file.write_bytes(whole)
        assert "a file of the store cannot be read" in text
        assert file.name in text


def test_a_torn_log_of_commits(store: Path) -> None:
    newest = sorted(store.glob("_delta_log/*.json"))[-1]
    newest.write_text(newest.read_text()[:200])
    assert "cannot be opened" in sentence("sql", store, COUNT)


_AS_NOBODY = """
import os, sys
import pyarrow as pa
from firstlight_fleet import engine, ingest, schema, store
from firstlight_fleet.errors import FleetError

class Batch:
    boots, repeated = [{"boot_id": "a", "part": "boots"}], 0
    def ids(self): return {"a"}
    def without(self, stored, quarantined): pass
    def tables(self):
        row = {n: ["x" if t == pa.string() else 1] for n, t in schema.COLUMNS.items()}
        return pa.table(row, schema=schema.SCHEMA), 0

opened = store.open_store(sys.argv[1])
engine.Duck(opened)
os.setgid(65534)
os.setuid(65534)
try:
    ingest.store_batch(opened, Batch(), ingest.Report())
except FleetError as error:
    sys.exit(str(error))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody without rights")
def test_a_store_without_rights(store: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        there = shutil.copytree(store, Path(folder) / "store")
        for path in [there, *there.rglob("*")]:
            os.chmod(path, 0o755 if path.is_dir() else 0o644)
        command = [sys.executable, "-c", _AS_NOBODY, str(there)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert "the boots cannot be stored" in lines[0]
    assert "ermission denied" in lines[0]


def test_wrong_words(tmp_path: Path, stored: Path) -> None:
    assert "the query failed" in sentence("sql", stored, "select nothing from nowhere")
    text = sentence("blame", stored, "--base", "1.9", "--release", "7")
    assert "no boots of release '7'; releases: 1.10, 1.11, 1.9" in text
    assert "unknown engine 'ray'" in sentence("releases", stored, "--engine", "ray")
    logs.boot(tmp_path / "boot", "1.9", "b1", 1)
    asked = ["ingest", tmp_path / "store"]
    assert "no such file" in sentence(*asked, tmp_path / "missing")
    assert "unknown boot kind" in sentence(*asked, "--boot-kind", "hot", tmp_path / "boot")
    assert "is not a name" in sentence(*asked, "--product", "a/b", tmp_path / "boot")
    (tmp_path / "map.csv").write_text("pattern,color\n*,red\n")
    text = sentence(*asked, "--map", tmp_path / "map.csv", tmp_path / "boot")
    assert "unknown column color" in text


def test_tables_of_another_version(tmp_path: Path) -> None:
    from firstlight_fleet.batch import Batch
    from firstlight_fleet.errors import FleetError
    from firstlight_fleet.labels import Labels

    file = tmp_path / "boots.parquet"
    table = pa.table({"boot_id": ["a"]}).replace_schema_metadata({"firstlight.schema": "9"})
    pq.write_table(table, file)
    with pytest.raises(FleetError, match="tables of version 9, expected 1"):
        Batch(file, file, Labels({}, []), redact=False)


def test_a_program_that_is_missing(tmp_path: Path) -> None:
    env = {**os.environ, "FIRSTLIGHT": str(tmp_path / "nothing")}
    done = fleet("ingest", tmp_path / "store", tmp_path, code=2, env=env)
    assert done.stderr.count("\n") == 1
    assert "cannot be started" in done.stderr


def test_json_has_a_schema(stored: Path) -> None:
    document = json.loads(fleet("outliers", stored, "--json").stdout)
    assert document["schema"] == "firstlight.fleet.outliers/1"
