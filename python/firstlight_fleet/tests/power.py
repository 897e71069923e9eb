"""A disk whose writes are kept, and what is on it if power goes at a moment of them.

QEMU's storage daemon gives a file through FUSE and keeps what is written to it with its
flushes; the file's ext4 is mounted by the kernel of this machine. No machine is booted.
"""

import mmap
import os
import random
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: The filesystem, and behind it a block for each mark.
FILESYSTEM = 192 << 20
DISK = FILESYSTEM + (1 << 20)
BLOCK = 4096

_SECTOR = 512

#: What a machine needs for that.
TOOLS = ["qemu-storage-daemon", "mke2fs", "e2fsck", "mount", "umount"]


def missing() -> str | None:
    """Why no disk can be watched here; None if one can."""
    if os.geteuid() != 0:
        return "mounting a disk needs root"
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    absent = [tool for tool in TOOLS if not shutil.which(tool)]
    if absent:
        return f"{absent[0]} is not there"
    return None if Path("/dev/fuse").exists() else "this kernel has no FUSE"


def _run(*command: object) -> None:
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


@contextmanager
def mounted(image: Path, at: Path, options: str) -> Iterator[Path]:
    """An image's filesystem, as long as it is needed."""
    at.mkdir(exist_ok=True)
    _run("mount", "-o", f"loop,{options}", image, at)
    try:
        yield at
    finally:
        _run("umount", at)


@contextmanager
def syncing(at: Path, syncs: bool) -> Iterator[None]:
    """Has a filesystem written to its disk all the time, if `syncs`."""
    ended = threading.Event()

    def sync() -> None:
        while not ended.wait(0.02):
            _run("sync", "-f", at)

    thread = threading.Thread(target=sync)
    if syncs:
        thread.start()
    try:
        yield
    finally:
        # The last sync is over before the filesystem is unmounted.
        ended.set()
        if syncs:
            thread.join()


def check(image: Path) -> None:
    """Asserts that the kernel left nothing that a check of the filesystem finds."""
    _run("e2fsck", "-f", "-n", image)


class Watched:
    """A disk that is written to."""

    def __init__(self, folder: Path):
        self.before = folder / "before"
        self.log = folder / "log"
        self._disk = folder / "disk"
        self._shown = folder / "shown"
        with self.before.open("wb") as file:
            file.truncate(DISK)
        _run("mke2fs", "-q", "-F", "-t", "ext4", "-b", BLOCK, self.before, FILESYSTEM // BLOCK)
        _run("cp", "--sparse=always", self.before, self._disk)
        self.log.touch()
        self._shown.touch()

    @contextmanager
    def mounted(self, at: Path, options: str) -> Iterator[Path]:
        """Its filesystem."""
        layers = "blklogwrites,node-name=both,file=disk,log=log,log-super-update-interval=1"
        daemon = subprocess.Popen(
            [
                "qemu-storage-daemon",
                *["--blockdev", f"file,filename={self._disk},node-name=disk"],
                *["--blockdev", f"file,filename={self.log},node-name=log"],
                *["--blockdev", layers],
                "--export",
                f"fuse,id=shown,node-name=both,mountpoint={self._shown},writable=on",
            ]
        )
        try:
            begun = time.monotonic()
            while self._shown.stat().st_size != DISK:
                assert daemon.poll() is None, "qemu-storage-daemon gives no file"
                assert time.monotonic() - begun < 30, "qemu-storage-daemon gives no file"
                time.sleep(0.02)
            with mounted(self._shown, at, options):
                yield at
        finally:
            daemon.terminate()
            daemon.wait()

    def mark(self, number: int) -> None:
        """Leaves a mark on the disk, without a flush: only what was flushed before is safe."""
        block = mmap.mmap(-1, BLOCK)
        block.write(b"mark" * (BLOCK // 4))
        file = os.open(self._shown, os.O_WRONLY | os.O_DIRECT)
        try:
            os.pwrite(file, block, FILESYSTEM + number * BLOCK)
        finally:
            os.close(file)

    def writes(self) -> list[tuple[int, bytes] | None]:
        """Place and bytes of each write; None is a flush.

        The format is that of the kernel's `device-mapper/log-writes.rst`.
        """
        log, at, found = self.log.read_bytes(), _SECTOR, []
        while at + 32 <= len(log):
            sector, sectors, flags, _ = struct.unpack_from("<4Q", log, at)
            if sectors == 0 and flags == 0:
                break
            at += _SECTOR
            if flags & 1:
                found.append(None)
            # A discard has no bytes.
            if not flags & 4 and sectors:
                size = sectors * _SECTOR
                found.append((sector * _SECTOR, log[at : at + size]))
                at += size
            if flags & 2:
                found.append(None)
        return found


def marks(writes: list[tuple[int, bytes] | None]) -> list[int]:
    """Behind which write each mark is on the disk."""
    places = {w[0]: n + 1 for n, w in enumerate(writes) if w and w[0] >= FILESYSTEM}
    return [places[place] for place in sorted(places)]


def at_moment(
    before: Path,
    writes: list[tuple[int, bytes] | None],
    moment: int,
    chance: random.Random,
    image: Path,
) -> None:
    """Makes the disk as it is if power goes after so many writes and flushes: it has all that
    was flushed, and any blocks of what came after."""
    _run("cp", "--sparse=always", before, image)
    done = writes[:moment]
    flushed = max((n for n, write in enumerate(done) if write is None), default=0)
    with image.open("r+b") as file:
        for number, write in enumerate(done):
            if write is None:
                continue
            place, data = write
            keep = len(data)
            if number >= flushed:
                kept = [0, chance.randrange(len(data) // BLOCK + 1) * BLOCK, keep]
                keep = chance.choice(kept)
            file.seek(place)
            file.write(data[:keep])
