"""The page shows what the ready questions answer, and loads nothing from elsewhere."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import logs
import pytest
from conftest import BOOTS, answer, fleet, sentence
from firstlight_fleet import report

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, stored: Path) -> Path:
    out = tmp_path_factory.mktemp("page") / "fleet.html"
    said = fleet("report", stored, "-o", out, "--boot-pages").stdout
    assert f"{3 * BOOTS} boots on a page of {out.stat().st_size} bytes" in said
    return out


def _data(page: Path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    assert found
    return json.loads(found.group(1))


def test_the_page_has_the_answers_of_the_questions(page: Path, stored: Path) -> None:
    data = _data(page)
    assert data["schema"] == "firstlight.fleet.report/1"
    assert data["counts"]["boots"] == 3 * BOOTS
    assert data["boards"] == answer("boards", stored)["rows"]
    asked = answer("releases", stored)["rows"]
    assert [{**row, "items": row.get("items", [])} for row in data["releases"]] == asked
    blamed = answer("blame", stored, "--base", "1.9", "--release", "1.10")["rows"]
    moved = [row for row in data["moved"] if (row["release"], row["board"]) == ("1.10", "all")]
    assert [row["name"] for row in moved] == [
        row["name"] for row in blamed if row["verdict"] in ("slower", "faster")
    ]
    assert moved[0]["name"] == logs.NEW_UNIT
    # What changed on one board only is there too.
    assert logs.BOARD_CALL in {r["name"] for r in data["moved"] if r["release"] == "1.11"}
    assert len(data["outliers"]) == logs.ODD_BOOTS
    histories = answer("item", stored, logs.SLOWER_UNIT)["rows"]
    assert [r for r in data["history"] if r["name"] == logs.SLOWER_UNIT] == histories
    assert sum(row["n"] for row in data["histograms"]) == 3 * BOOTS
    assert sum(row["boots"] for row in data["days"]) == 3 * BOOTS


def test_each_listed_boot_has_its_items_and_its_page(page: Path) -> None:
    data = _data(page)
    boots = {boot["boot_id"]: boot for boot in data["boots"]}
    listed = [row["boot_id"] for row in data["outliers"]]
    listed += [boot["boot_id"] for row in data["moved"] for boot in row["boots"]]
    assert set(listed) == set(boots)
    odd = boots[data["outliers"][0]["boot_id"]]
    assert odd["odd"][0]["name"] == logs.ODD_UNIT
    for boot in boots.values():
        assert "Firstlight" in (page.parent / boot["page"]).read_text()


def test_the_page_names_no_folder_of_who_made_it(page: Path, stored: Path) -> None:
    text = page.read_text()
    assert str(stored.parent) not in text
    data = _data(page)
    assert data["store"] == f"{stored.parent.name}/{stored.name}"
    assert all(len(Path(boot["source"]).parts) == 2 for boot in data["boots"])


def test_the_page_allows_only_its_own_script_and_style(page: Path) -> None:
    text = page.read_text()
    assert not re.search(r'(?:src|href)=["\']?(?:https?:)?//', text)
    for tag in ["script", "style"]:
        found = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert found
        hashed = base64.b64encode(hashlib.sha256(found.group(1).encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{hashed}'" in text


def test_names_from_logs_cannot_end_the_data(page: Path) -> None:
    data = _data(page)
    name = "</script><script>alert(1)</script>{{data}}"
    data["moved"][0]["name"] = data["store"] = name
    text = report.page(data)
    assert text.count("<script>") == 1
    assert "<title>&lt;/script&gt;" in text
    other = page.with_name("other.html")
    other.write_text(text)
    assert _data(other)["moved"][0]["name"] == name


def test_a_store_without_boots_has_a_page(tmp_path: Path) -> None:
    (tmp_path / "empty.log").write_bytes(b"")
    fleet("ingest", tmp_path / "store", tmp_path / "empty.log")
    fleet("report", tmp_path / "store", "-o", tmp_path / "fleet.html")
    data = _data(tmp_path / "fleet.html")
    assert data["releases"] == []
    assert "the file is empty" in data["quarantine"][0]["reason"]


def test_a_place_that_cannot_be_written(stored: Path, tmp_path: Path) -> None:
    text = sentence("report", stored, "-o", tmp_path / "missing" / "fleet.html")
    assert "fleet.html: cannot be written: No such file or directory" in text


@pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium to look at the page with")
def test_a_browser_draws_the_page(page: Path) -> None:
    boot = _data(page)["outliers"][0]["boot_id"]
    asked = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000",
             "--dump-dom", f"file://{page}#boot={boot}"]
    done = subprocess.run([CHROMIUM, *asked], capture_output=True, text=True, check=True)
    shown = done.stdout[done.stdout.index('<div id="page">'): done.stdout.index('id="data"')]
    for title in ["Releases", "Over time", "Boards", "Items that moved", "Outliers",
                  f"Boot {boot[:12]}", "Data quality"]:
        assert f">{title}</h2>" in shown
    assert shown.count("<svg") == 3
    assert f"unit {logs.NEW_UNIT}" in shown
    assert "NaN" not in shown and "undefined" not in shown
