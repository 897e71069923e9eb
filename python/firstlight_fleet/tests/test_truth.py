"""Aggregates are true: percentiles against exact ones, and the rate of false alarms."""

import duckdb
import logs
import numpy as np
import pyarrow as pa
from conftest import answer
from firstlight_fleet import questions, release
from firstlight_fleet.engine import Duck
from firstlight_fleet.store import open_store

_LN = np.log(1.02)


def _exact(store, query: str, share: float) -> float:
    """The percentile by rank, from raw rows."""
    rows = answer("sql", store, query)["rows"]
    times = np.sort([row["ns"] for row in rows])
    return float(times[int(np.ceil(share * len(times))) - 1])


def test_percentiles_of_releases_and_boards_are_within_two_percent(stored) -> None:
    columns = {"first_light": "first_light_ns", "kernel": "kernel_ns", "userspace": "userspace_ns"}
    checked = 0
    for row in answer("releases", stored)["rows"]:
        where = f"from boots where release = '{row['release']}'"
        for share, name in [(0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns")]:
            query = f"select {columns[row['metric']]} as ns {where}"
            assert abs(row[name] / _exact(stored, query, share) - 1) <= 0.02
            checked += 1
    assert checked == 3 * 3 * 3
    for row in answer("boards", stored)["rows"]:
        where = f"where release = '{row['release']}' and board = '{row['board']}'"
        for share, name in [(0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns")]:
            exact = _exact(stored, f"select first_light_ns as ns from boots {where}", share)
            assert abs(row[name] / exact - 1) <= 0.02
    days = Duck(open_store(str(stored))).rows(questions.filled("days"))
    assert len(days) == 3
    for row in days:
        where = f"where release = '{row['release']}' and day = '{row['day']}'"
        for share, name in [(0.5, "p50_ns"), (0.95, "p95_ns")]:
            exact = _exact(stored, f"select first_light_ns as ns from boots {where}", share)
            assert abs(row[name] / exact - 1) <= 0.02


def test_percentiles_and_medians_of_items_are_within_two_percent(stored) -> None:
    name = logs.SLOWER_UNIT
    for row in answer("item", stored, name)["rows"]:
        query = f"select dur_ns as ns from items where name = '{name}'"
        query += f" and release = '{row['release']}'"
        for share, column in [(0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns")]:
            assert abs(row[column] / _exact(stored, query, share) - 1) <= 0.02
    blamed = answer("blame", stored, "--base", "1.9", "--release", "1.10", "--board", "b1")["rows"]
    for row in blamed:
        query = f"select dur_ns as ns from items where name = '{row['name']}'"
        query += " and board = 'b1' and release = '1.10'"
        if row["name"] != "session-*.scope":
            assert abs(row["release_median_ns"] / _exact(stored, query, 0.5) - 1) <= 0.02


def test_usual_times_of_why_and_outliers_are_within_two_percent(stored) -> None:
    for boot in answer("outliers", stored)["rows"]:
        peers = "where release = '1.11' and board = 'b1'"
        exact = _exact(stored, f"select first_light_ns as ns from boots {peers}", 0.5)
        assert abs(boot["peers_median_ns"] / exact - 1) <= 0.02
        query = f"select dur_ns as ns from items {peers} and name = '{logs.ODD_UNIT}'"
        assert abs(boot["odd"][0]["usual_ns"] / _exact(stored, query, 0.5) - 1) <= 0.02


def simulated(fleets: int, boots: int, items: int, seed: int, shift: float = 1.0):
    """Histograms of fleets, a product each, with two releases of `boots` boots.

    Items differ in size, scatter and form (normal, two modes, heavy tails, timer ticks), some
    are absent from most boots, and the second release has another mix of boards. The first
    item changes by `shift`; nothing else does.
    """
    chance = np.random.default_rng(seed)
    found, totals = [], []
    for fleet in range(fleets):
        scale = chance.lognormal(np.log(5e7), 1.5, items)
        sigma = chance.choice([0.01, 0.05, 0.2, 0.6], items)
        form = chance.integers(0, 4, items)
        present = chance.choice([1.0, 0.9, 0.3], items, p=[0.8, 0.1, 0.1])
        if shift != 1.0:
            sigma[0], form[0], present[0] = 0.1, 0, 1.0
        for board, factor in enumerate([1.0, 1.6]):
            for side, mix in enumerate([[0.7, 0.3], [0.4, 0.6]]):
                n = int(boots * mix[board])
                x = chance.normal(0, 1, (n, items))
                x = np.where((form == 1) & (chance.random((n, items)) < 0.3), x + 6, x)
                x = np.where(form == 2, np.abs(chance.standard_cauchy((n, items))), x)
                took = scale * factor * np.exp(np.clip(x * sigma, -5, 8))
                took = np.where(form == 3, np.round(took / 4e6) * 4e6, took)
                took = np.where((side == 1) & (np.arange(items) == 0), took * shift, took)
                bucket = np.floor(np.log(np.maximum(took, 1)) / _LN).astype(int)
                there = chance.random((n, items)) < present
                totals.append((fleet, board, side, n))
                for item in range(items):
                    values, counts = np.unique(bucket[there[:, item], item], return_counts=True)
                    place = np.tile([fleet, board, side, item], (len(values), 1))
                    found.append(np.column_stack([place, values, counts]))
    hist = np.concatenate(found)
    connection = duckdb.connect()
    names = ["fleet", "board", "side", "item", "bucket", "n"]
    connection.register("h", pa.table(dict(zip(names, hist.T, strict=True))))
    connection.register("t", pa.table(dict(zip(names[:3] + ["n"], zip(*totals), strict=True))))
    place = (
        "'f' || fleet as product, '2026-01-01' as day, 'b' || board as board, 'r' || side as"
        " release, 'r' || side as release_key, 'printk' as clock, 'unknown' as boot_kind"
    )
    connection.execute(
        f"create table items_hist as select {place}, 'unit' as kind, 'i' || item as name, bucket,"
        " n, 0 as sum_ns from h"
    )
    # The first item also serves as first light, which the question on releases judges.
    connection.execute(
        f"create table boots_hist as select {place}, 'z' as zero, 'with:unit' as metric,"
        f" 0 as bucket, n, 0 as sum_ns from t union all select {place}, 'z', 'first_light',"
        " bucket, n, 0 from h where item = 0"
    )
    return connection


def _judged(connection, query: str) -> list[dict]:
    return connection.sql(query).to_arrow_table().to_pylist()


_BLAME = questions.filled("blame", base="r0", release="r1", board="all", top=10**9)
_CHANGED = ("slower", "faster", "too few boots")


def test_at_most_one_fleet_in_a_hundred_gives_a_false_alarm() -> None:
    fleets = 0
    alarms = {"blame": set(), "releases": set(), "boards": set()}
    for seed, boots in enumerate([60, 100, 200, 400]):
        connection = simulated(250, boots, 12, seed)
        fleets += 250
        queries = {"blame": _BLAME, **{n: questions.filled(n) for n in ["releases", "boards"]}}
        for name, query in queries.items():
            rows = _judged(connection, query)
            assert len({row["product"] for row in rows}) == 250
            wrong = {(seed, row["product"]) for row in rows if row["verdict"] in _CHANGED}
            alarms[name] |= wrong
    assert fleets == 1000
    for name, wrong in alarms.items():
        print(f"{name}: {len(wrong)} of {fleets} fleets")
        assert len(wrong) <= fleets // 100, name


def test_a_change_is_found_and_nothing_else() -> None:
    rows = _judged(simulated(100, 400, 12, 99, shift=1.1), _BLAME)
    found = {row["product"] for row in rows if (row["name"], row["verdict"]) == ("i0", "slower")}
    assert len(found) >= 95
    others = {r["product"] for r in rows if r["name"] != "i0" and r["verdict"] in _CHANGED}
    assert len(others) <= 4


def test_two_percent_on_a_board_of_five_percent_of_boots_is_found() -> None:
    # 100,000 boots of a release, of which 5,000 are of the board that is slower.
    chance = np.random.default_rng(5)
    found = []
    for board, n in enumerate([95_000, 5_000]):
        for side in (0, 1):
            factor = 1.02 if (board, side) == (1, 1) else 1.0
            took = chance.lognormal(np.log(7e9), 0.1, n) * factor
            values, counts = np.unique(
                np.floor(np.log(took) / _LN).astype(int), return_counts=True
            )
            found.append(np.column_stack([np.tile([board, side], (len(values), 1)), values, counts]))
    hist = np.concatenate(found)
    connection = duckdb.connect()
    names = ["board", "side", "bucket", "n"]
    connection.register("h", pa.table(dict(zip(names, hist.T, strict=True))))
    connection.execute(
        "create table boots_hist as select 'p' as product, 'd' as day, 'b' || board as board,"
        " 'r' || side as release, 'r' || side as release_key, 'printk' as clock, 'unknown' as"
        " boot_kind, 'z' as zero, 'first_light' as metric, bucket, n, 0 as sum_ns from h"
    )
    rows = _judged(connection, questions.filled("boards"))
    verdicts = {(row["board"], row["release"]): row["verdict"] for row in rows}
    assert verdicts[("b1", "r1")] == "slower"
    assert verdicts[("b0", "r1")] == "same"


def test_releases_sort_as_people_count() -> None:
    ordered = ["1.0-alpha", "1.0-rc1", "1.0-rc2", "1.0", "1.0.1", "1.0-hotfix", "1.9", "1.10",
               "2.0", "2026.1", "2026.11"]
    assert sorted(reversed(ordered), key=release.key) == ordered
    assert release.key("1.9") < release.key("1.10") < release.key("1.10.1")
    assert release.key("v1.9") < release.key("v1.10")
    assert release.key("") < release.key("1")
