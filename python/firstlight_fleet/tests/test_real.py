"""2,000 boots of two real machines: every ready question finds what was planted in them."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest
import real
from conftest import answer, fleet
from firstlight_fleet import questions
from firstlight_fleet.engine import Duck
from firstlight_fleet.store import open_store

#: Boots of each release: of the PC of the lab on two boards, and of a Raspberry Pi.
PC, PI = {"b1": 330, "b2": 150}, 280
RELEASES = ["2.9", "2.10", "2.11"]

#: Takes three times as long in 2.10, and as before in 2.11.
SLOWER, FACTOR = "acpi_init", 3.0
#: Twice as slow in 2.11, on b2 alone.
OF_BOARD, BOARD_FACTOR = "nfit_init", 2.0
#: In three boots of 2.11 on b1 this takes 10 s longer.
ODD, ODD_NS, ODD_BOOTS = "cubictcp_register", 10 * 10**9, 3
#: The Pi has no items: in 2.10 what is before this line takes half as long again.
LINE, LINE_FACTOR = "Run /sbin/init as init process", 1.5


def _planted(release: str, board: str, odd: bool) -> Callable[[str, int], float]:
    def longer(text: str, took: int) -> float:
        if text.startswith(f"initcall {SLOWER}+") and release == "2.10":
            return took * (FACTOR - 1)
        if text.startswith(f"initcall {OF_BOARD}+") and (release, board) == ("2.11", "b2"):
            return took * (BOARD_FACTOR - 1)
        return ODD_NS / 1000 if text.startswith(f"initcall {ODD}+") and odd else 0

    return longer


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not real.PI.is_file():
        pytest.skip(f"{real.PI} is missing; FIRSTLIGHT_SAMPLES says where the samples are")
    field = tmp_path_factory.mktemp("real") / "field"
    debian, pi, seed = real.debian(), real.pi(), 0
    (slow,) = [at for at, text in pi if LINE in text]

    def longer(text: str, _: int) -> float:
        return slow * (LINE_FACTOR - 1) if LINE in text else 0

    for release in RELEASES:
        for board, boots in PC.items():
            place = field / "pc" / release / board
            place.mkdir(parents=True)
            for number in range(boots):
                odd = (release, board) == ("2.11", "b1") and number < ODD_BOOTS
                seed += 1
                text = real.varied(debian, random.Random(seed), _planted(release, board, odd))
                (place / f"{number}.log").write_text(text)
        if release != "2.11":
            place = field / "pi" / release / "zero-w"
            place.mkdir(parents=True)
            for number in range(PI):
                seed += 1
                planted = longer if release == "2.10" else None
                text = real.varied(pi, random.Random(seed), planted)
                (place / f"{number}.log").write_text(text)
    assert seed == 2000
    rows = ["pattern,product,board,release"]
    rows += [f"*/pc/{r}/{b}/*,pc,{b},{r}" for r in RELEASES for b in PC]
    rows += [f"*/pi/{r}/*,pi,zero-w,{r}" for r in RELEASES]
    (field.parent / "map.csv").write_text("\n".join(rows) + "\n")
    said = fleet("ingest", field.parent / "store", "--map", field.parent / "map.csv", field).stdout
    assert said.startswith("2000 boots stored"), said
    return field.parent / "store"


def _of(rows: list[dict], **values: object) -> list[dict]:
    return [row for row in rows if all(row[key] == value for key, value in values.items())]


def test_releases(store: Path) -> None:
    rows = answer("releases", store)["rows"]
    (slower,) = _of(rows, product="pc", metric="first_light", release="2.10")
    assert slower["items"][0]["name"] == SLOWER
    (kernel,) = _of(rows, product="pi", metric="kernel", release="2.10")
    assert kernel["verdict"] == "slower"
    (before,) = _of(rows, product="pi", metric="kernel", release="2.9")
    assert abs(kernel["p50_ns"] / before["p50_ns"] / LINE_FACTOR - 1) < 0.02
    assert {row["verdict"] for row in _of(rows, metric="userspace", product="pi")} <= {
        "first", "same"
    }


def test_boards(store: Path) -> None:
    rows = answer("boards", store)["rows"]
    assert sum(row["boots"] for row in rows) == 2000
    assert _of(rows, product="pi", release="2.10")[0]["verdict"] == "slower"


def test_blame(store: Path) -> None:
    rows = answer("blame", store, "--base", "2.9", "--release", "2.10")["rows"]
    slower = _of(rows, verdict="slower")
    assert [row["name"] for row in slower] == [SLOWER]
    assert abs(slower[0]["release_median_ns"] / slower[0]["base_median_ns"] / FACTOR - 1) < 0.02
    assert len(slower[0]["boots"]) == 5
    asked = ["blame", store, "--base", "2.10", "--release", "2.11"]
    of_b2 = answer(*asked, "--board", "b2")["rows"]
    assert of_b2[0]["name"].split()[0] == OF_BOARD
    of_b1 = answer(*asked, "--board", "b1", "--top", 1000)["rows"]
    assert [row["name"] for row in of_b1 if row["verdict"] == "slower"] == []
    assert _of(of_b1, name=SLOWER)[0]["verdict"] == "faster"


def test_outliers_and_why(store: Path) -> None:
    rows = answer("outliers", store)["rows"]
    assert len(rows) == ODD_BOOTS
    for row in rows:
        assert (row["product"], row["release"], row["board"]) == ("pc", "2.11", "b1")
        assert row["odd"][0]["name"].split()[0] == ODD
        why = answer("why", store, row["boot_id"])
        assert Path(why["boot"]["source"]).is_file()
        assert abs(why["rows"][0]["excess_ns"] / ODD_NS - 1) < 0.02


def test_item_and_days(store: Path) -> None:
    rows = answer("item", store, SLOWER)["rows"]
    assert [row["release"] for row in rows] == RELEASES
    assert rows[1]["p50_ns"] > 2.9 * rows[0]["p50_ns"]
    assert {row["share"] for row in rows} == {1}
    days = Duck(open_store(str(store))).rows(questions.filled("days"))
    assert sum(row["boots"] for row in days) == 2000


def test_the_page_names_all_of_it(store: Path, tmp_path: Path) -> None:
    said = fleet("report", store, "-o", tmp_path / "fleet.html", "--json").stdout
    moved = {(r["name"].split()[0], r["release"], r["board"], r["verdict"])
             for r in json.loads(said)["moved"]}
    assert (SLOWER, "2.10", "all", "slower") in moved
    assert (SLOWER, "2.11", "all", "faster") in moved
    assert (OF_BOARD, "2.11", "b2", "slower") in moved or (
        OF_BOARD, "2.11", "all", "slower") in moved
