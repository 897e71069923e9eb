"""Inputs in pieces of whole boots, which can be fetched and read one by one, also elsewhere."""

import os
import posixpath
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.fs as pafs
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from firstlight_fleet import rows
from firstlight_fleet.errors import FleetError, first_line
from firstlight_fleet.store import is_remote, storage_options

#: A folder with this file in it is a capture: one boot with all that is below it.
MANIFEST = "manifest.json"

#: A piece has no more boots once it has so many bytes or files.
PIECE_BYTES = 64 << 20
PIECE_FILES = 2_000


@dataclass(frozen=True)
class Piece:
    """A few boots of one input."""

    #: The folder or the URL that the paths are below.
    where: str
    #: The files: path below `where`, and seconds since 1970 when it was written.
    files: list[tuple[str, float]]
    #: What `firstlight rows` is given: files and folders below `where`.
    inputs: list[str]


def of_input(text: str, options: list[str]) -> Iterator[Piece]:
    """The pieces of a file, a folder, or a prefix of an object store, in order."""
    listing = _objects(text, options) if is_remote(text) else _files(Path(text))
    if isinstance(listing, Piece):
        yield listing
        return
    captures = {
        posixpath.dirname(path)
        for path, _, _ in listing
        if posixpath.basename(path) == MANIFEST
    }
    groups: dict[str, list[tuple[str, int, float]]] = {}
    for entry in sorted(listing):
        folder = posixpath.dirname(entry[0])
        # The outermost capture has all that is below it.
        whole = next((f for f in reversed(_above(folder)) if f in captures), folder)
        groups.setdefault(whole, []).append(entry)
    with_folders = {parent for folder in groups for parent in _above(folder) if parent != folder}
    files: list[tuple[str, float]] = []
    inputs: list[str] = []
    taken = 0
    for folder, entries in groups.items():
        # As `firstlight rows` has it: the files of a folder without folders may be one boot;
        # beside folders, each file is one.
        together = folder in captures or folder not in with_folders
        inputs += [folder or "."] if together else [path for path, _, _ in entries]
        files += [(path, written) for path, _, written in entries]
        taken += sum(size for _, size, _ in entries)
        if taken >= PIECE_BYTES or len(files) >= PIECE_FILES:
            yield Piece(text, files, inputs)
            files, inputs, taken = [], [], 0
    if files:
        yield Piece(text, files, inputs)


def read(
    piece: Piece, every: int, folder: Path, rows_options: list[str], options: list[str]
) -> Iterator[tuple[Path, Path]]:
    """The tables of a piece, pair by pair, as `rows.batches` gives them. The sources in them are
    below `piece.where`.
    """
    if not is_remote(piece.where):
        within = Path(piece.where)
        yield from rows.batches(piece.inputs, every, folder, rows_options, within)
        return
    with tempfile.TemporaryDirectory(prefix="firstlight-fleet-") as fetched:
        _fetch(piece, Path(fetched), options)
        yield from rows.batches(piece.inputs, every, folder, rows_options, Path(fetched))


def _above(folder: str) -> list[str]:
    """A folder and those above it, the next first; "" is the outermost."""
    found = [folder]
    while folder:
        folder = posixpath.dirname(folder)
        found.append(folder)
    return found


def _files(path: Path) -> list[tuple[str, int, float]] | Piece:
    """The files below a folder: path, bytes, seconds since 1970; or the piece of a file alone."""
    if not path.is_dir():
        if not path.exists():
            raise FleetError(f"{path}: no such file or folder")
        return Piece(str(path.parent), [(path.name, path.stat().st_mtime)], [path.name])
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            file = Path(folder, name)
            if not name.startswith(".") and file.is_file():
                at = file.stat()
                found.append((str(file.relative_to(path)), at.st_size, at.st_mtime))
    return found


def _filesystem(where: str, options: list[str]) -> pafs.FileSystem:
    handler = DeltaStorageHandler(where, storage_options(where, options))
    return pafs.PyFileSystem(handler)


def _objects(url: str, options: list[str]) -> list[tuple[str, int, float]] | Piece:
    """The objects below a URL: path, bytes, seconds since 1970; or the piece of an object alone."""
    url = url.rstrip("/")
    parent, _, name = url.rpartition("/")
    try:
        selector = pafs.FileSelector("", allow_not_found=True, recursive=True)
        infos = _filesystem(url, options).get_file_info(selector)
        found = [
            (info.path, info.size, info.mtime.timestamp() if info.mtime else 0.0)
            for info in infos
            if info.type == pafs.FileType.File
            and not any(part.startswith(".") for part in info.path.split("/"))
        ]
        if found or parent.endswith("/"):
            return found
        alone = _filesystem(parent, options).get_file_info(name)
    except (DeltaError, OSError, ValueError) as error:
        raise FleetError(f"{url}: the objects cannot be listed: {first_line(error)}") from error
    if alone.type != pafs.FileType.File:
        raise FleetError(f"{url}: no object has this name, and none is below it")
    return Piece(parent, [(name, alone.mtime.timestamp() if alone.mtime else 0.0)], [name])


def _fetch(piece: Piece, folder: Path, options: list[str]) -> None:
    store = _filesystem(piece.where, options)
    for path, written in piece.files:
        # A key may be anything; a file stays in the folder.
        if "\n" in path or any(part in {"", ".", ".."} for part in path.split("/")):
            raise FleetError(f"{piece.where}/{path}: this key is no path")
        file = folder / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with store.open_input_stream(path) as source, file.open("wb") as copy:
                shutil.copyfileobj(source, copy)
        except (DeltaError, OSError) as error:
            raise FleetError(
                f"{piece.where}/{path}: the object cannot be read: {first_line(error)}"
            ) from error
        os.utime(file, (written, written))
