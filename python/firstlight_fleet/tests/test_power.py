"""Power that goes while boots are stored, merged and deleted.

What was reported stored is there afterwards, each boot whole and once; the store opens without
anybody's help; and the same command, again, ends what was cut off.
"""

import contextlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import power
import pytest
from conftest import answer
from firstlight_fleet import durable
from firstlight_fleet.errors import FleetError
from logs import fleet as make_logs
from test_ingest import _WHOLE

#: How many moments are looked at: `FIRSTLIGHT_POWER_CUTS=200` is the long form.
CUTS = int(os.environ.get("FIRSTLIGHT_POWER_CUTS", "5"))

#: From what the moments are drawn.
SEED = int(os.environ.get("FIRSTLIGHT_POWER_SEED", "1"))

#: Boots of each release.
BOOTS = 20

#: When old boots were, in seconds since 1970: in September 2020.
OLD = 1_600_000_000

#: How the disk is mounted, and whether something syncs all the time, so that what is half done
#: reaches the disk.
MOUNTS = [
    ("noatime", False),
    ("noatime,commit=1", True),
    # Nothing is written for a rename, and a file may be as long as it should be without its data.
    ("noatime,data=writeback,noauto_da_alloc", False),
    ("noatime,data=writeback,noauto_da_alloc", True),
]


def ids(store: Path) -> set[str]:
    """The boots of a store; asserts that each is whole and there once."""
    (row,) = answer("sql", store, _WHOLE)["rows"]
    assert row["boots"] == row["ids"] == (row["in_hist"] or 0), row
    assert row["items"] == (row["counted"] or 0), row
    assert row["hist_ns"] == row["items_ns"], row
    return {r["boot_id"] for r in answer("sql", store, "select boot_id from boots")["rows"]}


def stores(folder: Path) -> Callable[[Path], None]:
    return lambda store: answer("ingest", store, "--batch", "10", folder)


def compacts(store: Path) -> None:
    answer("compact", store)


def expires(store: Path) -> None:
    answer("expire", store, "--older-than", "90d")


@pytest.mark.parametrize(("options", "syncs"), MOUNTS)
def test_what_was_stored_survives_a_power_cut(
    tmp_path: Path, options: str, syncs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [make_logs(tmp_path / f"logs{n}", BOOTS) / f"1.{n}" for n in (9, 10, 11)]
    steps = [*map(stores, folders[:2]), compacts, stores(folders[2]), compacts]
    survives(tmp_path, options, syncs, monkeypatch, steps)


@pytest.mark.parametrize(("options", "syncs"), MOUNTS)
def test_what_is_not_old_survives_a_power_cut_while_the_rest_is_deleted(
    tmp_path: Path, options: str, syncs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [make_logs(tmp_path / f"logs{n}", BOOTS) / f"1.{n}" for n in (9, 10, 11)]
    for log in folders[0].rglob("*"):
        os.utime(log, (OLD, OLD))
    steps = [*map(stores, folders[:2]), expires, stores(folders[2]), expires, compacts]
    states = survives(tmp_path, options, syncs, monkeypatch, steps)
    assert len(states[2]) == 2 * BOOTS
    assert len(states[3]) == BOOTS


def survives(
    tmp_path: Path,
    options: str,
    syncs: bool,
    monkeypatch: pytest.MonkeyPatch,
    steps: list[Callable[[Path], None]],
) -> list[set[str]]:
    """Cuts the power while the steps run, and asserts what must be true of the store then. Gives
    the boots before and after each step."""
    if why := power.missing():
        pytest.skip(why)
    disk, at = power.Watched(tmp_path), tmp_path / "at"
    # What is in the store after each step.
    expected: list[set[str]] = [set()]
    with disk.mounted(at, options) as root, power.syncing(root, syncs):
        disk.mark(0)
        for number, step in enumerate(steps, 1):
            step(root / "store")
            disk.mark(number)
            expected.append(ids(root / "store"))
    writes = disk.writes()
    marks = power.marks(writes)
    assert len(marks) == len(expected)

    # Afterwards the machine starts anew.
    monkeypatch.setattr(durable, "_start", lambda: "another")
    losses, torn = [], 0
    image = tmp_path / "image"
    for cut in range(CUTS):
        chance = random.Random(f"{SEED} {options} {syncs} {cut}")
        number = chance.randrange(len(steps))
        reported = chance.random() < 0.25
        until = marks[number + 1]
        moment = until if reported else chance.randrange(marks[number], until)
        power.at_moment(disk.before, writes, moment, chance, image)
        # Each of these, and none but them.
        sides = [expected[number + reported], expected[number + 1]]
        try:
            with power.mounted(image, at, options) as root:
                after_cut(root / "store", sides, expected[-1], steps)
                torn += any(root.glob(f"store/_delta_log/*{durable.TAKEN_BACK}"))
            power.check(image)
        except (AssertionError, FleetError) as error:
            losses.append(f"cut {cut}, step {number}, {moment} of {len(writes)}: {error}")
            print(losses[-1])
            if kept := os.environ.get("FIRSTLIGHT_POWER_KEEP"):
                shutil.copy(image, f"{kept}/{SEED}-{MOUNTS.index((options, syncs))}-{cut}")
    print(
        f"{CUTS} power cuts ({options}, syncs: {syncs}), {torn} with something taken back, "
        f"{len(losses)} losses"
    )
    assert not losses, losses
    return expected


def after_cut(
    store: Path, sides: list[set[str]], last: set[str], steps: list[Callable[[Path], None]]
) -> None:
    """Asserts what must be true of a store that lost power between two states."""
    least, most = set.intersection(*sides), set.union(*sides)
    try:
        found = ids(store)
    except FleetError as error:
        # Nothing was reported yet, so that there may be no store.
        assert not least and "there is no store" in str(error), error
        found = set()
    assert least <= found, f"{len(least - found)} of {len(least)} are lost"
    assert found <= most, f"{len(found - most)} are back"
    for step in steps:
        step(store)
    assert ids(store) == last


def cut_short(file: Path, keep: int) -> None:
    """Leaves so many bytes of a file."""
    file.write_bytes(file.read_bytes()[:keep])


def one_boot_later(store: Path) -> tuple[set[str], Path, Path]:
    """Stores more, of which nobody is told; gives what was there before, the commit, and a file
    that it adds."""
    before = ids(store)
    settled = (store / durable.SETTLED).read_text()
    folder = make_logs(store.parent / "more", 1)
    # Another seed, so that these are boots of their own.
    for log in folder.rglob("dmesg.txt"):
        log.write_text(log.read_text().replace("[    0.000000]", "[    0.000001]"))
    answer("ingest", store, "--release", "2.0", folder)
    assert ids(store) > before
    (store / durable.SETTLED).write_text(settled)
    commit = max((store / "_delta_log").glob("*.json"))
    adds = [json.loads(line).get("add") for line in commit.read_text().splitlines()]
    return before, commit, store / next(add["path"] for add in adds if add)


@pytest.mark.parametrize("torn", ["empty", "middle", "between lines", "file gone", "no data"])
def test_a_commit_that_is_not_whole_is_taken_back(
    store: Path, torn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, commit, file = one_boot_later(store)
    match torn:
        case "empty":
            cut_short(commit, 0)
        case "middle":
            cut_short(commit, 3000)
        case "between lines":
            cut_short(commit, commit.read_bytes().rindex(b"\n{\"add\""))
        case "file gone":
            file.unlink()
        case _:
            file.write_bytes(bytes(file.stat().st_size))
    # The machine that wrote it still runs: then no power has gone, and nothing is touched.
    with contextlib.suppress(FleetError, AssertionError):
        ids(store)
    assert commit.exists()
    monkeypatch.setattr(durable, "_start", lambda: "another")
    assert ids(store) == before
    assert not commit.exists()
    assert commit.with_name(commit.name + durable.TAKEN_BACK).exists()
    answer("ingest", store, "--release", "2.0", store.parent / "more")
    assert ids(store) > before


def test_a_whole_commit_stays_and_a_torn_checkpoint_goes(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, commit, _ = one_boot_later(store)
    checkpoint = commit.with_name(f"{commit.stem}.checkpoint.parquet")
    checkpoint.write_bytes(b"PAR1")
    (commit.parent / "_last_checkpoint").write_bytes(b"")
    monkeypatch.setattr(durable, "_start", lambda: "another")
    assert ids(store) > before
    assert commit.exists()
    assert not checkpoint.exists()


def test_a_note_of_another_store_says_nothing(store: Path) -> None:
    (store / durable.SETTLED).write_text(f"99 {durable._start()}\n")
    assert ids(store)
    answer("compact", store)
    version, start = (store / durable.SETTLED).read_text().split()
    assert int(version) < 99
    assert start == durable._start()
