"""A store in the file system of this machine, and power that goes.

Delta makes a commit visible before its files are on the disk, so that power that goes may leave
one without them. `settle` waits for the disk, and notes up to which version all is there: only
then a boot is reported as stored. `recover` takes back what came later and is not whole, of which
nobody was told. An object store needs neither: what it has answered is there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

#: In the folder of a store: the last version of which everything is on the disk, and of which
#: start of the machine that was noted. Readers of Delta tables skip names that begin so.
SETTLED = "_settled"

#: What is added to the name of a file of the log that is taken back. It is kept to be looked at.
TAKEN_BACK = ".taken-back"

#: How delta-rs says how many files a commit adds and removes: writes and deletions, compaction.
_COUNTS = {
    "add": ["num_added_files", "numFilesAdded"],
    "remove": ["num_removed_files", "numFilesRemoved"],
}


def settle(store: Path) -> None:
    """Waits until all of a store is on the disk."""
    log = store / "_delta_log"
    unsettled = _versions(log, _settled(store)[0])
    folders = {log, store}
    for version in unsettled:
        for add in _adds(_actions(_commit(log, version)) or []):
            file = _file(store, add)
            if file and _to_disk(file):
                folders.update(_between(file.parent, store))
        for file in [_commit(log, version), *_checkpoints(log, version)]:
            _to_disk(file)
    _to_disk(log / "_last_checkpoint")
    for folder in sorted(folders, reverse=True):
        _to_disk(folder)
    if unsettled:
        # Of two writers at once either may be the last to note it: a version that is too low
        # only makes the next one look at more.
        beside = store / f"{SETTLED}.{os.getpid()}"
        beside.write_text(f"{unsettled[-1]} {_start()}\n")
        _to_disk(beside)
        beside.rename(store / SETTLED)
        _to_disk(store)


def recover(store: Path) -> None:
    """Takes back commits that power cut off, which are the last ones of a store.

    As long as the machine runs that noted what is on the disk, none is.
    """
    log = store / "_delta_log"
    settled, start = _settled(store)
    if start == _start() or not log.is_dir():
        return
    # A store of an earlier version of this program: nobody noted anything.
    unsettled = _versions(log, settled) if start else _versions(log, settled)[-1:]
    whole = [_is_whole(store, version) for version in unsettled]
    torn = unsettled[whole.index(False) :] if False in whole else []
    # The last first: what is left is a table at each moment.
    for version in reversed(torn):
        _take_back(_commit(log, version))
    for version in unsettled:
        for checkpoint in _checkpoints(log, version):
            if version in torn or not _reads(checkpoint):
                _take_back(checkpoint)
    last = log / "_last_checkpoint"
    if last.exists() and not _checkpoints(log, _version_of(last)):
        last.unlink(missing_ok=True)


def is_left_over(store: Path) -> bool:
    """Whether a folder has nothing but what is left of a store that power cut off while it was
    made."""
    names = {name for name in os.listdir(store) if not name.startswith(SETTLED)}
    return names == {"_delta_log"} and not _versions(store / "_delta_log", -1)


def _start() -> str:
    """Which start of the machine this is."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _settled(store: Path) -> tuple[int, str | None]:
    """The last version of which everything is on the disk, and at which start that was noted."""
    try:
        text, start = (store / SETTLED).read_text().split()
        version = int(text)
        newest = max(_versions(store / "_delta_log", -1), default=-1)
    except (OSError, ValueError):
        return -1, None
    # What was noted of another store, which was in this folder before, says nothing.
    return (version, start) if version <= newest else (-1, None)


def _versions(log: Path, after: int) -> list[int]:
    """The versions of a log, in order, that are later than one of them."""
    names = [name for name in os.listdir(log) if re.fullmatch(r"\d{20}\.json", name)]
    return sorted(v for v in (int(name[:20]) for name in names) if v > after)


def _commit(log: Path, version: int) -> Path:
    return log / f"{version:020}.json"


def _checkpoints(log: Path, version: int) -> list[Path]:
    return sorted(log.glob(f"{version:020}.checkpoint*.parquet"))


def _actions(commit: Path) -> list[dict[str, Any]] | None:
    """What a commit says; None if it is not whole."""
    try:
        lines = commit.read_bytes().split(b"\n")
        actions = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError):
        return None
    if not actions or not all(isinstance(action, dict) for action in actions):
        return None
    # Its end may be missing between two lines.
    info = next((a["commitInfo"] for a in actions if "commitInfo" in a), {})
    metrics = info.get("operationMetrics") or {}
    for kind, names in _COUNTS.items():
        said = max((int(metrics[name]) for name in names if name in metrics), default=0)
        if sum(kind in action for action in actions) < said:
            return None
    return actions


def _adds(actions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return (action["add"] for action in actions if "add" in action)


def _file(store: Path, add: dict[str, Any]) -> Path | None:
    """A file that a commit adds, unless it is of another place."""
    path = unquote(add["path"])
    return None if "://" in path or path.startswith("/") else store / path


def _is_whole(store: Path, version: int) -> bool:
    """Whether a commit can be read, and all files that it adds."""
    actions = _actions(_commit(store / "_delta_log", version))
    if actions is None:
        return False
    files = ((_file(store, add), add["size"]) for add in _adds(actions))
    return all(_reads(file, size) for file, size in files if file)


def _reads(file: Path, size: int | None = None) -> bool:
    """Whether a file is as long as it should be and can be read to its end."""
    try:
        if size is not None and file.stat().st_size != size:
            return False
        with pq.ParquetFile(file) as parquet:
            for _ in parquet.iter_batches():
                pass
    except (OSError, pa.ArrowException):
        return False
    return True


def _version_of(last: Path) -> int:
    """The version that `_last_checkpoint` names; -1, which none is, if it is torn."""
    try:
        return int(json.loads(last.read_bytes())["version"])
    except (ValueError, KeyError, TypeError):
        return -1


def _take_back(file: Path) -> None:
    # Somebody else may have seen it, too.
    with suppress(FileNotFoundError):
        file.rename(file.with_name(file.name + TAKEN_BACK))


def _between(folder: Path, store: Path) -> Iterator[Path]:
    """A folder of a store and those above it."""
    while folder != store:
        yield folder
        folder = folder.parent


def _to_disk(path: Path) -> bool:
    """Waits until a file or folder is on the disk; False if it is gone, as compaction may
    remove files meanwhile."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        os.fsync(file)
    finally:
        os.close(file)
    return True
