"""The same SQL on a Spark cluster of one master and two workers gives the same rows."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import logs
import pytest
from conftest import answer
from firstlight_fleet import questions

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")

#: A folder with the jars of delta-spark, which the stage fetches from Maven.
JARS = os.environ.get("FIRSTLIGHT_DELTA_JAR_DIR", "")

pytestmark = [
    pytest.mark.skipif(not shutil.which("java"), reason="there is no java"),
    pytest.mark.skipif(not JARS, reason="FIRSTLIGHT_DELTA_JAR_DIR is not set"),
]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A cluster on loopback that ends with the tests."""
    home = Path(pyspark.__file__).parent
    work = tmp_path_factory.mktemp("spark")
    port, web = _free_port(), _free_port()
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(home),
        "SPARK_LOG_DIR": str(work),
        "PYSPARK_PYTHON": sys.executable,
    }
    # 200 partitions, the default, are for tables that are a million times as large.
    (work / "spark-defaults.conf").write_text("spark.sql.shuffle.partitions 2\n")
    os.environ.update(
        SPARK_LOCAL_IP="127.0.0.1", PYSPARK_PYTHON=sys.executable, SPARK_CONF_DIR=str(work)
    )
    run = [str(home / "bin/spark-class")]
    log = (work / "cluster.log").open("wb")
    names = "org.apache.spark.deploy"
    started = []

    def start(*words: str) -> None:
        started.append(subprocess.Popen([*run, *words], env=env, stdout=log, stderr=log))

    start(f"{names}.master.Master", "--host", "127.0.0.1", "--port", str(port),
          "--webui-port", str(web))
    url = f"spark://127.0.0.1:{port}"
    try:
        for _ in range(2):
            start(f"{names}.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory",
                  "1g", "--webui-port", str(_free_port()), "--work-dir", str(work), url)
        for _ in range(600):
            try:
                page = f"http://127.0.0.1:{web}/json/"
                with urllib.request.urlopen(page, timeout=5) as answered:
                    if b'"aliveworkers" : 2' in answered.read():
                        break
            except OSError:
                pass
            time.sleep(0.2)
        else:
            pytest.fail((work / "cluster.log").read_text()[-2000:])
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()
        log.close()


def _asked(stored: Path) -> dict[str, str]:
    boots = [row["boot_id"] for row in answer("outliers", stored)["rows"]]
    suspects = [f"unit|{logs.SLOWER_UNIT}", f"unit|{logs.NEW_UNIT}"]
    values = {
        "releases": {},
        "boards": {},
        "blame": {"base": "1.9", "release": "1.10", "board": "all", "top": 100},
        "blame_boots": {"release": "1.10", "suspects": suspects, "each": 5},
        "outliers": {"top": 20},
        "why": {"boots": boots, "each": 5},
        "item": {"name": [logs.SLOWER_UNIT, logs.NEW_UNIT]},
        "days": {},
    }
    assert sorted(values) == sorted(questions.NAMES)
    return {name: questions.filled(name, **values[name]) for name in questions.NAMES}


def _rounded(rows: list[dict]) -> list[dict]:
    """Shares and chances agree to six digits: engines add up in their own order."""
    return [
        {key: round(v, 6) if isinstance(v, float) else v for key, v in row.items()} for row in rows
    ]


@pytest.fixture(autouse=True)
def jars(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jars of delta-spark, so that Spark fetches nothing."""
    found = ",".join(str(jar) for jar in sorted(Path(JARS).glob("*.jar")))
    monkeypatch.setenv("FIRSTLIGHT_DELTA_JARS", found)


def test_every_question_gives_the_same_rows_on_spark(master: str, stored: Path) -> None:
    from firstlight_fleet.engine import Duck
    from firstlight_fleet.spark import Spark
    from firstlight_fleet.store import open_store

    here, spark = Duck(open_store(str(stored))), Spark(master, str(stored))
    try:
        assert spark.session.sparkContext.master == master
        for name, query in _asked(stored).items():
            begun = time.monotonic()
            there = spark.rows(query)
            print(f"{name}: {len(there)} rows in {time.monotonic() - begun:.1f} s on Spark")
            expected = here.rows(query)
            assert expected, name
            assert _rounded(there) == _rounded(expected), name
    finally:
        spark.stop()


def test_executors_read_boots(
    master: str,
    stored: Path,
    logs_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from firstlight_fleet import pieces

    # More pieces than workers.
    monkeypatch.setattr(pieces, "PIECE_FILES", 50)
    labels = logs.label_map(tmp_path / "map.csv")
    store = tmp_path / "store"
    words = ["ingest", store, logs_folder, "--map", labels, "--engine", master]
    (row,) = answer("sql", stored, "select count(*) as n from boots")["rows"]
    assert answer(*words)["stored"] == row["n"]
    query = "select boot_id, release, board, first_light_ns, item_count from boots order by boot_id"
    assert answer("sql", store, query)["rows"] == answer("sql", stored, query)["rows"]
