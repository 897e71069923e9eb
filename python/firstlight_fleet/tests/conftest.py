"""What the tests share: the program, a fleet of small logs, a store of it."""

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import logs
import pytest
from firstlight_fleet import cli

ROOT = Path(__file__).parents[3]

#: Boots of each release in the fleet of logs.
BOOTS = 130


@pytest.fixture(scope="session", autouse=True)
def firstlight() -> Path:
    """The program that reads boots: FIRSTLIGHT, else what cargo built."""
    built = [ROOT / f"target/{profile}/firstlight" for profile in ("release", "debug")]
    named = os.environ.get("FIRSTLIGHT")
    found = [Path(named)] if named else [path for path in built if path.is_file()]
    if not found:
        pytest.exit("no program `firstlight`: run `cargo build --bin firstlight`", 2)
    os.environ["FIRSTLIGHT"] = str(found[0])
    return found[0]


def fleet(*arguments: object, code: int = 0, **more: object) -> subprocess.CompletedProcess:
    """Runs firstlight-fleet as a user does."""
    command = [sys.executable, "-W", "error", "-m", "firstlight_fleet", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


def answer(*arguments: object) -> dict:
    """The JSON of a command, which runs in this process: to start Python takes longer."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert cli.run([*map(str, arguments), "--json"]) == 0
    document = json.loads(said.getvalue())
    assert document["schema"].startswith("firstlight.fleet.")
    return document


def sentence(*arguments: object) -> str:
    """The one sentence with which a command ends that could not do it."""
    done = fleet(*arguments, code=2)
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("firstlight-fleet: ")
    return lines[0]


@pytest.fixture(scope="session")
def logs_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of a fleet."""
    return logs.fleet(tmp_path_factory.mktemp("logs") / "fleet", BOOTS)


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory, logs_folder: Path) -> Path:
    """A store with that fleet. Tests only read it."""
    folder = tmp_path_factory.mktemp("store")
    labels = logs.label_map(folder / "map.csv")
    fleet("ingest", folder / "store", "--map", labels, "--batch", 100, logs_folder)
    return folder / "store"


@pytest.fixture
def store(tmp_path: Path, stored: Path) -> Path:
    """A copy of that store, to be changed."""
    return Path(shutil.copytree(stored, tmp_path / "store"))
