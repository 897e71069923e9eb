"""A store on S3: moto's server on loopback stands for it."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import logs
import pytest
from conftest import answer, sentence
from test_ingest import whole

pytest.importorskip("moto", reason="moto is not installed")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of a server that ends with the test."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    try:
        for _ in range(200):
            try:
                request = urllib.request.Request(f"{url}/fleet", method="PUT")
                urllib.request.urlopen(request, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            pytest.fail("moto's server did not start")
        yield "s3://fleet"
    finally:
        server.terminate()
        server.wait()


def test_writers_at_once_on_s3_and_every_answer(
    bucket: str, stored: Path, logs_folder: Path, tmp_path: Path
) -> None:
    store = f"{bucket}/store"
    labels = logs.label_map(tmp_path / "map.csv")
    command = [sys.executable, "-m", "firstlight_fleet", "ingest", store, "--batch", "100"]
    command += ["--map", str(labels)]
    releases = [str(logs_folder / release) for release in logs.RELEASES]
    writers = [
        subprocess.Popen([*command, *inputs], stdout=subprocess.DEVNULL, env=dict(os.environ))
        for inputs in (releases[:2], releases[1:])
    ]
    for writer in writers:
        assert writer.wait(timeout=300) == 0
    (row,) = answer("sql", stored, "select count(*) as n from boots")["rows"]
    whole(store, row["n"])
    for words in [["releases"], ["blame", "--base", "1.9", "--release", "1.10"], ["outliers"]]:
        here = answer(words[0], stored, *words[1:])["rows"]
        there = answer(words[0], store, *words[1:])["rows"]
        assert there == here, words
    answer("compact", store)
    whole(store, row["n"])


def test_boots_are_read_from_a_prefix_of_objects(
    bucket: str, stored: Path, logs_folder: Path, tmp_path: Path
) -> None:
    files = sorted(path for path in logs_folder.rglob("*") if path.is_file())
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    for path in files:
        key = f"field/{path.relative_to(logs_folder)}"
        request = urllib.request.Request(
            f"{endpoint}/fleet/{key}",
            data=path.read_bytes(),
            headers={"Content-Type": "application/octet-stream"},
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=30).close()
    labels = logs.label_map(tmp_path / "map.csv")
    store = tmp_path / "store"
    done = answer("ingest", store, f"{bucket}/field/", "--map", labels)
    (row,) = answer("sql", stored, "select count(*) as n from boots")["rows"]
    assert done["stored"] == row["n"]
    query = "select boot_id, release, board, first_light_ns from boots order by boot_id"
    assert answer("sql", store, query)["rows"] == answer("sql", stored, query)["rows"]
    (row,) = answer("sql", store, "select min(source) as s from boots")["rows"]
    assert row["s"].startswith(f"{bucket}/field/")
    # One object, and one that is not there.
    one = next(path for path in files if path.name.startswith("dmesg"))
    again = answer("ingest", store, f"{bucket}/field/{one.relative_to(logs_folder)}")
    assert again["stored"] + again["known"] + again["quarantined"] == 1
    assert "no object has this name" in sentence("ingest", store, f"{bucket}/field/no-such-log")
