"""Each boot is stored once, all of it or nothing, whoever writes and dies meanwhile."""

import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import logs
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from conftest import BOOTS, answer, fleet
from firstlight_fleet import ingest
from firstlight_fleet.batch import Batch
from firstlight_fleet.engine import Duck
from firstlight_fleet.labels import Labels
from firstlight_fleet.store import open_or_create, open_store

#: How often an ingest is killed. `FIRSTLIGHT_KILLS=200` is the long form.
KILLS = int(os.environ.get("FIRSTLIGHT_KILLS", "20"))

#: Columns of the tables of `firstlight rows` that the store needs.
_TEXTS = ["boot_id", "at_from", "day", "product", "board", "release", "kernel", "clock", "zero",
          "boot_kind", "status", "reason", "doubts", "source"]
_NUMBERS = ["at_ns", "first_light_ns", "items", "source_bytes", "schema_version"]
_ROWS = {
    "boots": pa.schema([(n, pa.string()) for n in _TEXTS] + [(n, pa.int64()) for n in _NUMBERS]),
    "items": pa.schema([(n, pa.string()) for n in ["boot_id", "kind", "name", "raw_name"]]
                       + [(n, pa.int64()) for n in ["start_ns", "dur_ns"]]),
}

_WHOLE = """
select (select count(*) from boots) as boots,
  (select count(distinct boot_id) from boots) as ids,
  (select count(*) from items) as items,
  (select sum(item_count) from boots) as counted,
  (select cast(sum(n) as bigint) from boots_hist where metric = 'boots') as in_hist,
  (select cast(sum(sum_ns) as bigint) from items_hist) as hist_ns,
  (select cast(sum(dur_ns) as bigint) from items) as items_ns
"""


def whole(store: Path, boots: int) -> None:
    """Asserts that the store has so many boots, each once, with items and histograms."""
    (row,) = answer("sql", store, _WHOLE)["rows"]
    assert row["boots"] == row["ids"] == row["in_hist"] == boots, row
    assert row["items"] == row["counted"], row
    assert row["hist_ns"] == row["items_ns"], row


def test_what_is_stored_is_known_the_second_time(store: Path, logs_folder: Path) -> None:
    whole(store, 3 * BOOTS)
    done = answer("ingest", store, logs_folder)
    assert (done["stored"], done["known"]) == (0, 3 * BOOTS)
    whole(store, 3 * BOOTS)


def test_a_boot_is_the_same_in_an_archive_and_under_another_name(
    tmp_path: Path, store: Path, logs_folder: Path
) -> None:
    one = logs_folder / "1.9/b1/0001"
    other = tmp_path / "other/boot"
    other.mkdir(parents=True)
    for number, name in enumerate(["systemd-analyze.txt", "dmesg.txt"]):
        shutil.copy(one / name, other / f"{number}.log")
    with tarfile.open(tmp_path / "boots.tar.gz", "w:gz") as tar:
        tar.add(logs_folder / "1.9/b1", "boots")
    listed = f"{other}\n{tmp_path / 'boots.tar.gz'}\n"
    done = fleet("ingest", store, "-", "--json", input=listed).stdout
    assert '"stored": 0' in done
    whole(store, 3 * BOOTS)


def _writer(store: Path, *inputs: Path) -> subprocess.Popen:
    command = [sys.executable, "-m", "firstlight_fleet", "ingest", str(store), "--batch", "10"]
    return subprocess.Popen([*command, *map(str, inputs)], stdout=subprocess.DEVNULL)


def test_writers_at_once_store_each_boot_once(tmp_path: Path, logs_folder: Path) -> None:
    boards = sorted(logs_folder.glob("*/b2"))
    # Each two of the writers have boots in common.
    pairs = [[boards[0], boards[1]], [boards[1], boards[2]], [boards[2], boards[0]]]
    writers = [_writer(tmp_path / "store", *pair) for pair in pairs]
    for writer in writers:
        assert writer.wait(timeout=300) == 0
    whole(tmp_path / "store", 3 * round(BOOTS * logs.BOARDS["b2"]))


def test_an_ingest_that_is_killed_loses_and_doubles_nothing(
    tmp_path: Path, logs_folder: Path
) -> None:
    store, boots = tmp_path / "store", sorted(logs_folder.glob("*/b2"))
    expected = 3 * round(BOOTS * logs.BOARDS["b2"])
    chance = random.Random(7)
    begun = time.monotonic()
    assert _writer(tmp_path / "timed", *boots).wait() == 0
    usual = time.monotonic() - begun
    killed = 0
    while killed < KILLS:
        begun = time.monotonic()
        writer = _writer(store, *boots)
        try:
            # The host may have been busier when the first was timed.
            assert writer.wait(chance.uniform(0.2 * usual, usual)) == 0
            usual = time.monotonic() - begun
        except subprocess.TimeoutExpired:
            writer.send_signal(signal.SIGKILL)
            killed += writer.wait() == -signal.SIGKILL
        if (store / "_delta_log").is_dir() and any((store / "_delta_log").glob("*.json")):
            (row,) = answer("sql", store, _WHOLE)["rows"]
            assert row["boots"] == row["ids"] <= expected, row
            assert row["items"] == (row["counted"] or 0), row
        if row_count(store) == expected:
            shutil.rmtree(store)
    assert _writer(store, *boots).wait() == 0
    whole(store, expected)


def row_count(store: Path) -> int:
    """How many boots a store has; 0 if there is no store yet."""
    if not any(store.glob("_delta_log/*.json")):
        return 0
    return answer("sql", store, "select count(*) as n from boots")["rows"][0]["n"]


def test_compaction_beside_a_writer_loses_nothing(tmp_path: Path, logs_folder: Path) -> None:
    store, boots = tmp_path / "store", sorted(logs_folder.glob("*/b2"))
    fleet("ingest", store, "--batch", 10, boots[0])
    writer = _writer(store, *boots)
    while writer.poll() is None:
        answer("compact", store)
    assert writer.returncode == 0
    answer("compact", store)
    whole(store, 3 * round(BOOTS * logs.BOARDS["b2"]))


def test_bad_boots_are_in_quarantine_with_the_reason(tmp_path: Path) -> None:
    boots = tmp_path / "boots"
    logs.boot(boots / "good", "1.9", "b1", 1)
    for name, content in {
        "empty": b"",
        "garbage": bytes(range(256)) * 9,
        "torn": b"\x28\xb5\x2f\xfd torn zstd",
    }.items():
        (boots / name).mkdir()
        (boots / name / "boot.log").write_bytes(content)
    long = "[    0.000000] Linux version 6.1.0\n[864000.000000] firstlight: mark first-light\n"
    (boots / "ten-days").mkdir()
    (boots / "ten-days/boot.log").write_text(long)
    done = answer("ingest", tmp_path / "store", boots)
    assert (done["stored"], done["quarantined"]) == (1, 4)
    assert sum(row["boots"] for row in done["rows"]) == 4
    query = "select source, status, reason from quarantine order by source"
    rows = {Path(row["source"]).parent.name or row["source"]: row
            for row in answer("sql", tmp_path / "store", query)["rows"]}
    reasons = " ".join(row["reason"] for row in rows.values())
    assert "the file is empty" in reasons
    assert "more than the 86400 s that a boot may take" in reasons
    whole(tmp_path / "store", 1)
    # They are known now, and counted once.
    assert answer("ingest", tmp_path / "store", boots)["known"] == 5


def test_a_log_bomb_is_in_quarantine(tmp_path: Path) -> None:
    zeros = bytes(1 << 20)
    with gzip.open(tmp_path / "dmesg.txt.gz", "wb", compresslevel=1) as bomb:
        bomb.write(b"[    0.000000] Linux version 6.1.0\n")
        for _ in range(65):
            bomb.write(zeros)
    logs.boot(tmp_path / "good", "1.9", "b1", 1)
    listed = [tmp_path / "dmesg.txt.gz", tmp_path / "good"]
    done = answer("ingest", tmp_path / "store", *listed)
    assert (done["stored"], done["quarantined"]) == (1, 1)
    assert "unpacks to more than the 67108864 bytes that a log may have" in done["rows"][0][
        "reason"
    ]


def test_a_million_names_share_a_histogram(tmp_path: Path) -> None:
    boots, each = 5_000, 200
    rows = [{"boot_id": f"{n:032x}", "status": "ok", "items": each + 1, "schema_version": 1,
             "first_light_ns": 10**9} for n in range(boots)]
    ids = np.repeat([row["boot_id"] for row in rows], each + 1)
    names = np.array([[f"a-{n}-{k}" for k in range(each)] + ["usual"] for n in range(boots)])
    items = {
        "boot_id": ids.tolist(),
        "kind": ["unit"] * len(ids),
        "name": names.ravel().tolist(),
        "raw_name": [None] * len(ids),
        "start_ns": np.arange(len(ids)),
        "dur_ns": np.full(len(ids), 1_000_000),
    }
    report = _stored(tmp_path, rows, pa.table(items, schema=_ROWS["items"]))
    (warning,) = report.warnings
    assert "1000001 distinct item names in one batch of 5000 boots" in warning
    query = "select name, cast(sum(n) as bigint) as n from items_hist group by name order by name"
    assert answer("sql", tmp_path / "store", query)["rows"] == [
        {"name": "(rare)", "n": boots}, {"name": "usual", "n": boots},
    ]
    query = "select count(distinct name) as n from items"
    assert answer("sql", tmp_path / "store", query)["rows"] == [{"n": boots * each + 1}]


def test_a_clock_of_1970_takes_the_day_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "boot"
    folder.mkdir()
    rtc = "setting system clock to 1970-01-01T00:00:12 UTC (12)"
    text = (
        "[    0.000000] Linux version 6.1.0\n"
        f"[    1.000000] rtc-ds1307 0-0068: {rtc}\n"
        "[    2.000000] firstlight: mark first-light\n"
    )
    (folder / "dmesg.txt").write_text(text)
    os.utime(folder / "dmesg.txt", (1_767_323_045, 1_767_323_045))
    fleet("ingest", tmp_path / "store", folder / "dmesg.txt")
    (row,) = answer("sql", tmp_path / "store", "select day, at_from, doubts from boots")["rows"]
    assert (row["day"], row["at_from"]) == ("2026-01-02", "file")
    assert "clock_not_set=1" in row["doubts"]


def test_labels_of_the_command_line_win_over_the_map(tmp_path: Path) -> None:
    logs.boot(tmp_path / "fleet/a", "1.9", "b1", 1)
    logs.boot(tmp_path / "fleet/b", "1.9", "b1", 2)
    table = tmp_path / "map.csv"
    table.write_text("pattern,board,release,boot_kind\n*/a,x,1,cold\n*,y,2,\n")
    fleet("ingest", tmp_path / "store", "--map", table, "--board", "z", tmp_path / "fleet")
    query = "select board, release, boot_kind from boots order by release"
    assert answer("sql", tmp_path / "store", query)["rows"] == [
        {"board": "z", "release": "1", "boot_kind": "cold"},
        {"board": "z", "release": "2", "boot_kind": "unknown"},
    ]


def test_redaction_leaves_no_path_and_no_raw_name(tmp_path: Path) -> None:
    logs.boot(tmp_path / "fleet/secret-host", "1.9", "b1", 1)
    fleet("ingest", tmp_path / "store", "--redact", tmp_path / "fleet")
    query = "select count(raw_name) + (select count(source) from boots) as n from items"
    assert answer("sql", tmp_path / "store", query)["rows"] == [{"n": 0}]
    everything = b"".join(p.read_bytes() for p in (tmp_path / "store").rglob("*") if p.is_file())
    assert b"secret-host" not in everything


def _stored(folder: Path, boots: list[dict], items: pa.Table) -> ingest.Report:
    """What becomes of tables of `firstlight rows` in a new store."""
    facts = {"firstlight.schema": "1"}
    tables = [("boots", pa.Table.from_pylist(boots, schema=_ROWS["boots"])), ("items", items)]
    for name, table in tables:
        pq.write_table(table.replace_schema_metadata(facts), folder / name)
    batch = Batch(folder / "boots", folder / "items", Labels({}, []), redact=False)
    report = ingest.Report()
    ingest.store_batch(open_or_create(str(folder / "store")), batch, report)
    return report


def test_times_are_stored_to_the_nanosecond(tmp_path: Path) -> None:
    boot = {"boot_id": "ab" * 16, "status": "ok", "items": 9, "schema_version": 1}
    times = [(0, 7), (1_000, 2_500_000), (None, 1_999_999_999), (-5, 3)]
    items = [{"boot_id": "ab" * 16, "kind": kind, "name": f"n{number}", "raw_name": None,
              "start_ns": start, "dur_ns": took}
             for kind in ["unit", "initcall"] for number, (start, took) in enumerate(times)]
    items += [{**items[0], "kind": "probe", "start_ns": 5_000_000, "dur_ns": 0}]
    _stored(tmp_path, [boot], pa.Table.from_pylist(items, schema=_ROWS["items"]))
    query = "select kind, name, start_ns, dur_ns from items order by kind, name"
    there = Duck(open_store(str(tmp_path / "store"))).rows(query)
    keys = ["kind", "name", "start_ns", "dur_ns"]
    asked = sorted(({key: item[key] for key in keys} for item in items),
                   key=lambda item: (item["kind"], item["name"]))
    assert there == asked
