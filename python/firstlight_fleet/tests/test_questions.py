"""Every ready question finds what was planted in the logs."""

import json
from pathlib import Path

import logs
from conftest import BOOTS, answer, fleet, sentence


def _of(rows: list[dict], **values: object) -> list[dict]:
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def test_sql_counts_the_boots(stored: Path) -> None:
    document = answer("sql", stored, "select count(*) as n from boots")
    assert document == {"schema": "firstlight.fleet.sql/1", "rows": [{"n": 3 * BOOTS}]}
    csv = fleet("sql", stored, "select release, ordinal from releases order by 2", "--csv").stdout
    assert csv == "release,ordinal\n1.9,1\n1.10,2\n1.11,3\n"
    table = fleet("sql", stored, "select 1 as a, 'x' as b").stdout
    assert table == "a  b\n1  x\n"


def test_releases_name_the_slower_one_and_its_items(stored: Path) -> None:
    rows = _of(answer("releases", stored)["rows"], metric="first_light")
    assert [row["release"] for row in rows] == logs.RELEASES
    assert [row["previous"] for row in rows] == [None, "1.9", "1.10"]
    assert rows[0]["verdict"] == "first"
    assert rows[1]["verdict"] == "slower"
    assert rows[1]["chance"] < 0.005
    names = [item["name"] for item in rows[1]["items"]]
    assert names == [logs.NEW_UNIT, logs.SLOWER_UNIT]


def test_blame_lists_the_largest_regression_first(stored: Path) -> None:
    document = answer("blame", stored, "--base", "1.9", "--release", "1.10")
    first, second, third = document["rows"][:3]
    assert (document["base"], document["release"]) == ("1.9", "1.10")
    assert (first["kind"], first["name"]) == ("unit", logs.NEW_UNIT)
    assert (first["base_share"], first["release_share"]) == (0, 1)
    assert first["base_median_ns"] is None
    assert abs(first["release_median_ns"] / logs.NEW_NS - 1) < 0.05
    assert second["name"] == logs.SLOWER_UNIT
    ratio = second["release_median_ns"] / second["base_median_ns"]
    assert abs(ratio / logs.SLOWER_FACTOR - 1) < 0.05
    assert {first["verdict"], second["verdict"]} == {"slower"}
    assert third["verdict"] != "slower"
    # The boots to look at are those in which the item took longest.
    boot = second["boots"][0]
    query = f"select release, dur_ns from items where boot_id = '{boot['boot_id']}'"
    rows = answer("sql", stored, f"{query} and name = '{logs.SLOWER_UNIT}'")["rows"]
    assert rows == [{"release": "1.10", "dur_ns": boot["dur_ns"]}]


def test_blame_of_a_release_that_is_faster_names_what_was_fixed(stored: Path) -> None:
    rows = answer("blame", stored, "--base", "1.10", "--release", "1.11", "--top", 100)["rows"]
    fixed = _of(rows, name=logs.SLOWER_UNIT)
    assert fixed[0]["verdict"] == "faster"
    assert fixed[0]["delta_ns"] < 0


def test_blame_of_a_board_finds_the_change_of_that_board(stored: Path) -> None:
    asked = ["blame", stored, "--base", "1.10", "--release", "1.11"]
    of_b2 = answer(*asked, "--board", "b2")["rows"]
    assert (of_b2[0]["name"], of_b2[0]["verdict"]) == (logs.BOARD_CALL, "slower")
    of_b1 = answer(*asked, "--board", "b1", "--top", 100)["rows"]
    assert _of(of_b1, name=logs.BOARD_CALL)[0]["verdict"] == "same"


def test_boards_show_each_board_by_itself(stored: Path) -> None:
    rows = answer("boards", stored)["rows"]
    assert [(row["board"], row["release"]) for row in rows] == [
        (board, release) for board in logs.BOARDS for release in logs.RELEASES
    ]
    assert {row["verdict"] for row in _of(rows, release="1.10")} == {"slower"}
    assert sum(row["boots"] for row in rows) == 3 * BOOTS


def test_outliers_are_the_planted_boots_and_say_what_is_odd(stored: Path) -> None:
    rows = answer("outliers", stored)["rows"]
    assert len(rows) == logs.ODD_BOOTS
    for row in rows:
        assert row["release"] == "1.11"
        assert (row["odd"][0]["kind"], row["odd"][0]["name"]) == ("unit", logs.ODD_UNIT)
        assert abs(row["odd"][0]["excess_ns"] / logs.ODD_NS - 1) < 0.05


def test_item_shows_the_history_of_an_item(stored: Path) -> None:
    rows = answer("item", stored, logs.NEW_UNIT)["rows"]
    assert [(row["release"], row["share"]) for row in rows] == [("1.10", 1), ("1.11", 1)]
    rows = answer("item", stored, "session-*.scope")["rows"]
    assert [row["share"] for row in rows] == [1, 1, 1]
    text = sentence("item", stored, "telemetry")
    assert "no item is called 'telemetry'; similar: telemetry.service" in text


def test_why_compares_a_boot_with_its_peers(stored: Path) -> None:
    boot = answer("outliers", stored)["rows"][0]["boot_id"]
    document = answer("why", stored, boot[:12])
    assert document["boot"]["boot_id"] == boot
    # Back to the raw logs.
    assert (Path(document["boot"]["source"]) / "dmesg.txt").is_file()
    assert document["rows"][0]["name"] == logs.ODD_UNIT
    assert "first light" in fleet("why", stored, boot).stdout
    assert "not a boot id" in sentence("why", stored, "xyz")
    assert "more than one boot" in sentence("why", stored, boot[0]) or len(boot) == 1


def test_names_are_canonical_and_the_raw_name_stays_beside(stored: Path) -> None:
    query = "select distinct name, raw_name is null as same from items where name like 'session%'"
    assert answer("sql", stored, query)["rows"] == [{"name": "session-*.scope", "same": False}]


def test_after_compaction_every_answer_is_the_same(store: Path) -> None:
    asked = [
        ["releases"],
        ["boards"],
        ["blame", "--base", "1.9", "--release", "1.10"],
        ["outliers"],
        ["item", logs.SLOWER_UNIT],
    ]

    def answers() -> str:
        return json.dumps([answer(words[0], store, *words[1:]) for words in asked])

    before = answers()
    done = answer("compact", store)
    assert done["files_after"] < done["files_before"]
    assert answers() == before


def test_expire_deletes_items_or_everything(store: Path) -> None:
    count = "select (select count(*) from boots) as boots, (select count(*) from items) as items"
    answer("expire", store, "--older-than", "1d")
    assert answer("sql", store, count)["rows"][0]["items"] > 0
    # All boots are of today; nothing is older than the day after tomorrow's limit.
    from firstlight_fleet.maintain import expire
    from firstlight_fleet.store import open_store

    expire(open_store(str(store)), -2, only_items=True)
    assert answer("sql", store, count)["rows"] == [{"boots": 3 * BOOTS, "items": 0}]
    assert answer("releases", store)["rows"]
    expire(open_store(str(store)), -2, only_items=False)
    assert answer("sql", store, count)["rows"] == [{"boots": 0, "items": 0}]
