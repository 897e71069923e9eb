"""Tables as `firstlight rows` writes them, of boots that never happened.

Times vary as those of a real fleet do: each item has a size and a scatter of its own, each board
a factor, and the clock counts microseconds. Releases roll out one after the other, and changes
are planted, so that every ready question has an answer.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

RELEASES = ["1.7", "1.8", "1.9", "1.10", "1.11"]
BOARDS, SHARES, FACTORS = ["b1", "b2", "b3", "b4"], [0.5, 0.3, 0.15, 0.05], [1.0, 1.3, 0.8, 2.0]
DAYS = 30
_DAY_NS = 86_400 * 10**9
_FIRST_DAY = 1_767_225_600 * 10**9

#: 1.10 makes this item slower by a quarter; 1.11 makes it as it was.
SLOWER, FACTOR = "unit-003.service", 1.25
#: In 1.11 this item is slower by 2 %, on a board with 5 % of all boots.
FEW, FEW_FACTOR = "unit-005.service", 1.02
#: One boot in so many takes this much longer by this item.
ODD, ODD_NS, ODD_EVERY = "unit-001.service", 20 * 10**9, 5_000


class Fleet:
    """A fleet of boots with `items` items each."""

    def __init__(self, items: int, seed: int = 1):
        chance = np.random.default_rng(seed)
        self.names = [f"unit-{number:03}.service" for number in range(items)]
        self.scale = np.sort(chance.lognormal(np.log(2e7), 1.5, items))
        self.scatter = chance.choice([0.02, 0.05, 0.1], items)

    def pair(self, folder: Path, number: int, boots: int) -> tuple[Path, Path]:
        """Writes the tables number `number`: boots, and items."""
        chance = np.random.default_rng([number, 2])
        items = len(self.names)
        board = chance.choice(len(BOARDS), boots, p=SHARES)
        day = chance.integers(0, DAYS, boots)
        # A release takes a week to replace the one before it.
        age = (day + chance.uniform(-4, 4, boots)) / DAYS * len(RELEASES)
        release = np.clip(age.astype(int), 0, len(RELEASES) - 1)
        took = self.scale * np.exp(chance.normal(0, 1, (boots, items)) * self.scatter)
        took *= np.array(FACTORS)[board][:, None]
        place = {name: at for at, name in enumerate(self.names)}
        took[release == 3, place[SLOWER]] *= FACTOR
        took[(release == 4) & (board == 3), place[FEW]] *= FEW_FACTOR
        odd = (np.arange(boots) + number * boots) % ODD_EVERY == ODD_EVERY - 1
        took[odd, place[ODD]] += ODD_NS
        took = np.maximum(np.round(took / 1e3), 1).astype(np.int64) * 1000
        kernel = (chance.lognormal(np.log(1.5e9), 0.03, boots) / 1e3).astype(np.int64) * 1000
        start = kernel[:, None] + np.cumsum(took, axis=1) - took
        first_light = kernel + took.sum(axis=1)
        at = _FIRST_DAY + day * _DAY_NS + chance.integers(0, _DAY_NS, boots)
        days = np.datetime_as_string(at.astype("datetime64[ns]"), unit="D")
        ids = [bytes(row).hex() for row in chance.integers(0, 256, (boots, 16), dtype=np.uint8)]
        text, none = pa.string(), pa.nulls(boots, pa.int64())
        one = lambda word: pa.array([word] * boots, text)  # noqa: E731
        columns = {
            "boot_id": pa.array(ids),
            "at_ns": at,
            "at_from": one("rtc"),
            "day": pa.array(days.tolist()),
            "product": one("gateway"),
            "board": pa.array(np.array(BOARDS)[board]),
            "release": pa.array(np.array(RELEASES)[release]),
            "kernel": one("6.12.48"),
            "clock": one("printk"),
            "zero": one("kernel-clock-start"),
            "boot_kind": one("unknown"),
            "status": one("ok"),
            "reason": pa.nulls(boots, text),
            "first_light_ns": first_light,
            "items": np.full(boots, items),
            "doubts": pa.nulls(boots, text),
            "source": pa.array([f"uploads/{name}/{boot[:12]}.tar.gz" for name, boot in
                                zip(days, ids, strict=True)]),
            "source_bytes": chance.integers(20_000, 60_000, boots),
            "schema_version": np.full(boots, 1),
            **{f"{name}_ns": none for name in ["firmware", "loader", "decompression", "initrd",
                                               "app"]},
            "kernel_ns": kernel,
            "userspace_ns": first_light - kernel,
        }
        every = {
            "boot_id": pa.array(np.repeat(ids, items)),
            "kind": pa.array(["unit"] * (boots * items)),
            "name": pa.array(np.tile(self.names, boots)),
            "raw_name": pa.nulls(boots * items, text),
            "start_ns": start.ravel(),
            "dur_ns": took.ravel(),
        }
        files = folder / f"boots-{number}.parquet", folder / f"items-{number}.parquet"
        for file, table in zip(files, [columns, every], strict=True):
            facts = {"firstlight.schema": "1"}
            pq.write_table(pa.table(table).replace_schema_metadata(facts), file)
        return files
