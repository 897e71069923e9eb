"""Inputs in pieces: what is one boot stays in one piece."""

from pathlib import Path

import pytest
from conftest import fleet
from firstlight_fleet import pieces


def _made(folder: Path, *names: str) -> Path:
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    return folder


def test_a_folder_is_one_boot_unless_folders_are_beside_its_files(tmp_path: Path) -> None:
    made = _made(
        tmp_path,
        "a/x/dmesg", "a/x/blame", "b/1.log", "b/y/2.log", "top.log", ".hidden/z", "a/x/.part",
    )
    (piece,) = pieces.of_input(str(made), [])
    assert piece.where == str(made)
    assert piece.inputs == ["a/x", "b/1.log", "b/y", "top.log"]
    assert [path for path, _ in piece.files] == [
        "a/x/blame", "a/x/dmesg", "b/1.log", "b/y/2.log", "top.log",
    ]


def test_a_capture_has_all_that_is_below_it(tmp_path: Path) -> None:
    made = _made(tmp_path, "one/manifest.json", "one/traces/a", "one/traces/deep/b", "two/dmesg")
    (piece,) = pieces.of_input(str(made), [])
    assert piece.inputs == ["one", "two"]
    assert len(piece.files) == 4


def test_boots_are_not_torn_by_small_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_FILES", 3)
    made = _made(tmp_path, *[f"{boot}/{name}" for boot in "abcd" for name in ["dmesg", "blame"]])
    found = list(pieces.of_input(str(made), []))
    assert [piece.inputs for piece in found] == [["a", "b"], ["c", "d"]]


def test_a_file_and_a_folder_without_folders(tmp_path: Path) -> None:
    made = _made(tmp_path, "dmesg", "blame")
    (piece,) = pieces.of_input(str(made), [])
    assert piece.inputs == ["."]
    (piece,) = pieces.of_input(str(made / "dmesg"), [])
    assert (piece.where, piece.inputs) == (str(made), ["dmesg"])


def test_an_engine_that_reads_nothing(tmp_path: Path) -> None:
    done = fleet("ingest", tmp_path / "store", tmp_path, "--engine", "flink", code=2)
    assert "unknown engine 'flink'" in done.stderr
