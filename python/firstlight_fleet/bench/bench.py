"""`./x bench fleet`: how fast boots are read, stored and asked, and how many bytes they take.

    python bench.py FOLDER [--boots 1000000] [--logs 2000]

FIRSTLIGHT names the program that reads logs. FOLDER gets a store of less than 2 GB and is
emptied at the end.
"""

import argparse
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import synthetic
from firstlight_fleet import __version__, ingest, maintain, questions, report, rows, schema
from firstlight_fleet.batch import Batch
from firstlight_fleet.engine import Duck
from firstlight_fleet.labels import Labels
from firstlight_fleet.store import Store, open_or_create, open_store

# The logs of real machines are those of the tests.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import real  # noqa: E402

ITEMS = 20
BOOTS_IN_A_BATCH = 25_000


def say(what: str, figure: str) -> None:
    """Prints a line of the answer."""
    print(f"{what:<58} {figure}", flush=True)


def logs(folder: Path, boots: int, traced: bool) -> tuple[float, float]:
    """Writes logs; the mean bytes of one, and of one by zstd -3."""
    lines = real.debian()
    call = re.compile(r"calling  |initcall |probe of ")
    if not traced:
        lines = [line for line in lines if not call.match(line[1])]
    units = synthetic.Fleet(ITEMS)
    codec = pa.Codec("zstd", compression_level=3)
    raw = packed = 0
    for number in range(boots):
        chance = random.Random(number)
        texts = {"dmesg.txt": real.varied(lines, chance)}
        if not traced:
            blamed = sorted(
                ((took * math.exp(chance.gauss(0, scatter)), name) for name, took, scatter
                 in zip(units.names, units.scale, units.scatter, strict=True)), reverse=True)
            texts["blame.txt"] = "".join(f"{max(t / 1e6, 1):7.0f}ms {n}\n" for t, n in blamed)
        place = folder / f"{number:06}"
        place.mkdir(parents=True)
        for name, text in texts.items():
            (place / name).write_text(text)
            raw += len(text)
            packed += len(codec.compress(text.encode(), asbytes=True))
    return raw / boots, packed / boots


def measured(command: list[str]) -> tuple[float, float, int]:
    """Wall seconds, processor seconds and the most memory (bytes) of a program.

    The memory is read while it runs: that of `wait4` begins with what this process has.
    """
    begun, most = time.monotonic(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        found, status, usage = os.wait4(process.pid, os.WNOHANG)
        if found:
            break
        high = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        most = max(most, int(high.group(1)) * 1024 if high else 0)
        time.sleep(0.01)
    if status:
        raise SystemExit(f"{command[0]} failed")
    return time.monotonic() - begun, usage.ru_utime + usage.ru_stime, most


def at_rest(store: Store, boots: int) -> dict[str, float]:
    """Bytes a boot of each part of a store."""
    sizes = {}
    for part in schema.TABLES:
        files = [Path(file.removeprefix("file://")) for file in store.files(part)]
        sizes[part] = sum(file.stat().st_size for file in files) / boots
    return sizes


def read(folder: Path, boots: int, traced: bool) -> None:
    """Logs are read, stored and compacted."""
    kind = "with initcall_debug" if traced else f"and {ITEMS} units"
    raw, packed = logs(folder / "logs", boots, traced)
    wall, used, memory = measured(
        [rows.program(), "rows", "--out", str(folder / "rows"), str(folder / "logs")])
    lines = (folder / "logs/000000/dmesg.txt").read_text().count("\n")
    say(f"rows: {boots} boots of {lines} lines {kind}",
        f"{boots / used * 60:,.0f} boots a minute and core ({wall:.1f} s, {used:.1f} s of"
        f" processor, {memory / 2**20:.0f} MB at most)")
    store = open_or_create(str(folder / "store"))
    batch = Batch(folder / "rows/boots.parquet", folder / "rows/items.parquet",
                  Labels({"release": "1"}, []), redact=False)
    items = sum(row["item_count"] for row in batch.boots) / boots
    ingest.store_batch(store, batch, ingest.Report())
    sizes = at_rest(store, boots)
    total = sum(sizes.values())
    say(f"at rest: {items:.0f} items a boot",
        f"{total:.0f} bytes a boot, 1/{packed / total:.1f} of the log by zstd -3 ({packed:.0f} of"
        f" {raw:.0f}); boots {sizes['boots']:.0f}, items {sizes['items']:.0f}, histograms"
        f" {sizes['boots_hist'] + sizes['items_hist']:.0f}")
    shutil.rmtree(folder)


def fill(where: Path, boots: int) -> None:
    """Makes the store of boots that never happened."""
    store, fleet, done = open_or_create(str(where)), synthetic.Fleet(ITEMS), ingest.Report()
    wall = used = 0.0
    for number in range(boots // BOOTS_IN_A_BATCH):
        files = fleet.pair(where.parent, number, BOOTS_IN_A_BATCH)
        begun, before = time.monotonic(), time.process_time()
        ingest.store_batch(store, Batch(*files, Labels({}, []), redact=False), done)
        wall, used = wall + time.monotonic() - begun, used + time.process_time() - before
        for file in files:
            file.unlink()
    say(f"store: {done.stored} boots of {ITEMS} items that `rows` has read",
        f"{done.stored / wall:,.0f} boots a second ({1e6 * used / done.stored:.0f} us of processor"
        " a boot)")
    begun = time.monotonic()
    files = maintain.compact(store)
    say("compact", f"{time.monotonic() - begun:.1f} s, {files['files_before']} files became"
        f" {files['files_after']}")
    sizes = at_rest(open_store(str(where)), done.stored)
    say("at rest", ", ".join(f"{part} {size:.1f}" for part, size in sizes.items() if size)
        + " bytes a boot")


#: From raw items, without histograms.
FROM_ITEMS = {
    "percentiles of each item": "select release, kind, name, count(*) as boots,"
    " percentile_cont(0.5) within group (order by dur_ns) as p50,"
    " percentile_cont(0.95) within group (order by dur_ns) as p95,"
    " percentile_cont(0.99) within group (order by dur_ns) as p99"
    " from items group by release, kind, name order by release, kind, name",
    "change of each item by board": "select b.board, b.kind, b.name, r.m - b.m as delta from"
    " (select board, kind, name, median(dur_ns) as m from items where release = '1.9'"
    " group by all) b join (select board, kind, name, median(dur_ns) as m from items"
    " where release = '1.10' group by all) r using (board, kind, name) order by delta desc",
    "boots in which an item took longest": "select boot_id, release, dur_ns from items"
    f" where name = '{synthetic.SLOWER}' order by dur_ns desc limit 20",
}


def best(action: Callable[[], object], times: int = 3) -> tuple[float, float]:
    """The shortest of a few times: seconds, and seconds of processor."""
    took = []
    for _ in range(times):
        begun, used = time.monotonic(), time.process_time()
        action()
        took.append((time.monotonic() - begun, time.process_time() - used))
    return min(took)


def alone(where: Path, query: str) -> list:
    """The answer of DuckDB that reads the same files, which it finds by their names."""
    with duckdb.connect() as connection:
        connection.execute("set enable_progress_bar = false")
        for part, columns in schema.TABLES.items():
            if part in query and any(where.glob(f"part={part}/**/*.parquet")):
                names = ", ".join(schema.chosen(part, columns))
                connection.execute(
                    f"create view {part} as select {names} from read_parquet("
                    f"'{where}/part={part}/**/*.parquet', hive_partitioning = true,"
                    " hive_types = {'part': varchar, 'product': varchar, 'day': varchar})"
                )
        return connection.sql(query).to_arrow_table().to_pylist()


def ask(where: Path) -> None:
    """Each question as a user asks it, beside DuckDB on the same files."""
    fleet = Duck(open_store(str(where)))
    boots = [row["boot_id"] for row in questions.outliers(fleet, 20)]
    values = {
        "releases": {}, "boards": {}, "days": {},
        "blame": {"base": "1.9", "release": "1.10", "board": "all", "top": 20},
        "blame_boots": {"release": "1.10", "suspects": [f"unit|{synthetic.SLOWER}"], "each": 5},
        "outliers": {"top": 20}, "why": {"boots": boots, "each": 5},
        "item": {"name": [synthetic.SLOWER]},
    }
    asked = {name: questions.filled(name, **value) for name, value in values.items()}
    asked.update(FROM_ITEMS)
    print(f"\n{'question':<36} {'firstlight fleet':>18} {'DuckDB alone':>20} {'ratio':>6}")
    print(f"{'':<36} {'wall, processor':>18} {'wall, processor':>20} {'of wall':>6}")
    for name, query in asked.items():
        ours = best(lambda q=query: Duck(open_store(str(where))).rows(q))
        theirs = best(lambda q=query: alone(where, q))
        print(f"{name:<36} {ours[0]:>8.2f} s {ours[1]:>6.2f} s {theirs[0]:>10.2f} s"
              f" {theirs[1]:>6.2f} s {ours[0] / theirs[0]:>6.2f}", flush=True)
    begun = time.monotonic()
    page = report.page(report.gather(fleet, str(where)))
    say("\npage", f"{time.monotonic() - begun:.1f} s, {len(page) / 1e3:.0f} kB")
    found = {row["name"] for row in questions.blame(fleet, "1.9", "1.10", "all", 1)}
    of_few = questions.blame(fleet, "1.10", "1.11", synthetic.BOARDS[-1], 1)
    say("planted causes found", f"{found == {synthetic.SLOWER}}"
        f" (a quarter of an item), {[r['name'] for r in of_few] == [synthetic.FEW]}"
        f" (2 % of an item on a board with 5 % of the boots)")


def main() -> None:
    """Runs the bench."""
    parser = argparse.ArgumentParser(description="Bench of firstlight-fleet.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--boots", type=int, default=1_000_000)
    parser.add_argument("--logs", type=int, default=2_000)
    parser.add_argument("--only", choices=["logs", "store"])
    args = parser.parse_args()
    say("firstlight-fleet", f"{__version__}, DuckDB {duckdb.__version__}, {os.cpu_count()} cores,"
        f" load {os.getloadavg()[0]:.1f}")
    shutil.rmtree(args.folder, ignore_errors=True)
    args.folder.mkdir(parents=True)
    try:
        if args.only != "store":
            read(args.folder / "traced", args.logs, traced=True)
            read(args.folder / "plain", args.logs, traced=False)
        if args.only != "logs":
            fill(args.folder / "store", args.boots)
            ask(args.folder / "store")
        say("load at the end", f"{os.getloadavg()[0]:.1f}")
    finally:
        shutil.rmtree(args.folder)


if __name__ == "__main__":
    sys.exit(main())
