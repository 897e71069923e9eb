//! `proc_diskstats.log`: what disks did, from /proc/diskstats.

use super::log::{Found, Log, permille};
use super::notes as note;
use crate::text;
use record::{Recorder, Unit};
use std::collections::BTreeMap;

/// Sectors of /proc/diskstats are of 512 bytes, whatever the disk's are
/// (Documentation/admin-guide/iostats.rst).
const SECTOR_BYTES: u64 = 512;

/// What a disk did since it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    reads: u64,
    sectors_read: u64,
    writes: u64,
    sectors_written: u64,
    /// Milliseconds in which it had anything to do; kernels before 2.6.25 do
    /// not say so for partitions.
    busy_ms: u64,
}

impl Counters {
    /// A line: major, minor, name, and 11, 15 or 17 counters; 4 for a partition
    /// before Linux 2.6.25.
    fn of(line: &[u8]) -> Option<(&[u8], Self)> {
        let words = || line.split(|b| b.is_ascii_whitespace());
        let mut words = words().filter(|w| !w.is_empty());
        number(words.next()?)?;
        number(words.next()?)?;
        let name = words.next()?;
        let mut counters = [0_u64; 17];
        let mut count = 0;
        for word in words {
            *counters.get_mut(count)? = number(word)?;
            count += 1;
        }
        let c = counters;
        let counters = match count {
            4 => Self {
                reads: c[0],
                sectors_read: c[1],
                writes: c[2],
                sectors_written: c[3],
                busy_ms: 0,
            },
            11..=17 => Self {
                reads: c[0],
                sectors_read: c[2],
                writes: c[4],
                sectors_written: c[6],
                busy_ms: c[9],
            },
            _ => return None,
        };
        Some((name, counters))
    }

    fn is_idle(&self) -> bool {
        *self == Self::default()
    }

    /// What was added since `before`, and whether anything went back.
    fn since(&self, before: &Self) -> (Self, bool) {
        let back = self.reads < before.reads
            || self.sectors_read < before.sectors_read
            || self.writes < before.writes
            || self.sectors_written < before.sectors_written;
        let delta = Self {
            reads: self.reads.saturating_sub(before.reads),
            sectors_read: self.sectors_read.saturating_sub(before.sectors_read),
            writes: self.writes.saturating_sub(before.writes),
            sectors_written: self.sectors_written.saturating_sub(before.sectors_written),
            busy_ms: self.busy_ms.saturating_sub(before.busy_ms),
        };
        (delta, back)
    }
}

fn number(word: &[u8]) -> Option<u64> {
    match text::number(word)? {
        (value, []) => Some(value),
        _ => None,
    }
}

/// Whether a line looks like one of /proc/diskstats.
pub(super) fn is_disk(line: &[u8]) -> bool {
    Counters::of(line).is_some()
}

/// What a device is in the tree of block devices, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Nothing below it is a block device: what it does counts.
    Bottom,
    /// It passes on to others in the list, where it counts already.
    Stacked,
    /// It is a piece of another one in the list.
    Partition,
}

/// Devices that pass on what they do to other block devices, or to memory.
const STACKED: [&str; 7] = ["dm-", "md", "bcache", "loop", "drbd", "zd", "zram"];

/// Where `name` stands among `all`.
fn place(name: &str, all: &BTreeMap<String, Disk>) -> Place {
    if partition_of(name).is_some_and(|disk| all.contains_key(disk)) {
        return Place::Partition;
    }
    let stacked = STACKED.iter().any(|s| {
        name.strip_prefix(s)
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    });
    // `nvme0c1n1` is one of several ways to `nvme0n1`.
    let path = name.strip_prefix("nvme").is_some_and(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.starts_with('c')
    });
    if stacked || path {
        Place::Stacked
    } else {
        Place::Bottom
    }
}

/// The disk that a device of this name is a partition of, if there is such a
/// disk: `sda1` of `sda`, `nvme0n1p2` of `nvme0n1` (`disk_name` in the kernel:
/// a `p` stands between if the disk's name ends with a digit). `mtdblock12` is
/// none of `mtdblock1`.
fn partition_of(name: &str) -> Option<&str> {
    let disk = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if disk.len() == name.len() {
        return None;
    }
    let ends_with_digit = |s: &str| s.ends_with(|c: char| c.is_ascii_digit());
    match disk.strip_suffix('p') {
        Some(d) if ends_with_digit(d) => Some(d),
        _ => Some(disk),
    }
}

/// One device.
#[derive(Clone, Debug, Default)]
struct Disk {
    /// What it had done at the first sample that has it, if that is the log's
    /// first: else it came later, and did all of it since.
    first: Counters,
    last: Counters,
    /// What it did between samples: (index of the later sample, counters).
    deltas: Vec<(u32, Counters)>,
    /// The first line that has it.
    offset: u64,
}

/// Records a rate for each disk that did anything, and for all together.
pub(super) fn read(log: &Log<'_>, recorder: &mut Recorder) {
    let mut disks: BTreeMap<String, Disk> = BTreeMap::new();
    // The samples that rates are for: when, and how long after the one before.
    let mut times: Vec<(i64, i64)> = Vec::new();
    let mut last = None;
    log.each_sample(recorder, |block, recorder| {
        let later = last.is_none_or(|l| block.at > l);
        let mut found = Found::Nothing;
        for line in block.lines() {
            let Some((name, now)) = Counters::of(line.bytes) else {
                recorder.note(log.origin(line.offset), &note::UNREADABLE_LINE, String::new);
                continue;
            };
            found = Found::Events;
            let known = std::str::from_utf8(name)
                .ok()
                .and_then(|n| disks.get_mut(n));
            let disk = match known {
                Some(disk) => disk,
                None => disks
                    .entry(text::lossy(name).into_owned())
                    .or_insert_with(|| {
                        let before = if last.is_none() {
                            now
                        } else {
                            Counters::default()
                        };
                        Disk {
                            first: before,
                            last: before,
                            deltas: Vec::new(),
                            offset: line.offset,
                        }
                    }),
            };
            if !later {
                continue;
            }
            let (delta, back) = now.since(&disk.last);
            if back {
                recorder.note(log.origin(line.offset), &note::COUNTER_BACK, String::new);
            }
            disk.last = now;
            if !delta.is_idle() {
                let index = u32::try_from(times.len()).unwrap_or(u32::MAX);
                disk.deltas.push((index, delta));
            }
        }
        if later && found == Found::Events {
            times.push((block.at, last.map_or(0, |l| block.at.saturating_sub(l))));
            last = Some(block.at);
        }
        found
    });
    log.fact("devices", disks.len(), recorder);
    facts(log, &disks, recorder);
    series(log, &disks, &times, recorder);
}

fn facts(log: &Log<'_>, disks: &BTreeMap<String, Disk>, recorder: &mut Recorder) {
    for (name, disk) in disks {
        if disk.last.is_idle() {
            continue;
        }
        let (d, _) = disk.last.since(&disk.first);
        let bytes = |sectors: u64| sectors.saturating_mul(SECTOR_BYTES);
        for (key, value) in [
            ("reads", d.reads),
            ("read_bytes", bytes(d.sectors_read)),
            ("writes", d.writes),
            ("written_bytes", bytes(d.sectors_written)),
            ("read_bytes_since_boot", bytes(disk.last.sectors_read)),
            ("written_bytes_since_boot", bytes(disk.last.sectors_written)),
        ] {
            let key = format!("bootchart.disk.{name}.{key}");
            recorder.fact(&key, &value.to_string(), log.origin(disk.offset));
        }
    }
}

/// What is read of a disk between two samples.
const SERIES: [(&str, Unit); 3] = [
    ("disk.read", Unit::BytesPerSecond),
    ("disk.write", Unit::BytesPerSecond),
    ("disk.busy", Unit::Permille),
];

fn series(
    log: &Log<'_>,
    disks: &BTreeMap<String, Disk>,
    times: &[(i64, i64)],
    recorder: &mut Recorder,
) {
    let places: Vec<Place> = disks.keys().map(|name| place(name, disks)).collect();
    let active = |p: Place| {
        let mut of = disks.values().zip(&places);
        of.any(|(d, &q)| p == q && !d.deltas.is_empty())
    };
    // Where no disk at the bottom is to be seen, what is on it is.
    let counts = if active(Place::Bottom) || !active(Place::Stacked) {
        Place::Bottom
    } else {
        Place::Stacked
    };
    let mut all = vec![Counters::default(); times.len()];
    for ((name, disk), place) in disks.iter().zip(&places) {
        if disk.deltas.is_empty() || *place == Place::Partition {
            continue;
        }
        let mut of_disk = vec![Counters::default(); times.len()];
        for &(index, delta) in &disk.deltas {
            if let Some(slot) = of_disk.get_mut(index as usize) {
                *slot = delta;
            }
        }
        record_rates(log, Some(name), disk.offset, times, &of_disk, recorder);
        if *place == counts {
            for (sum, one) in all.iter_mut().zip(of_disk) {
                sum.sectors_read = sum.sectors_read.saturating_add(one.sectors_read);
                sum.sectors_written = sum.sectors_written.saturating_add(one.sectors_written);
                // The machine is as busy as its busiest disk.
                sum.busy_ms = sum.busy_ms.max(one.busy_ms);
            }
        }
    }
    if all.iter().any(|c| !c.is_idle()) {
        record_rates(log, None, 0, times, &all, recorder);
    }
}

fn record_rates(
    log: &Log<'_>,
    name: Option<&str>,
    offset: u64,
    times: &[(i64, i64)],
    counters: &[Counters],
    recorder: &mut Recorder,
) {
    let of = name.map(|n| recorder.name(n));
    let ids = SERIES.map(|(name, unit)| {
        let name = recorder.name(name);
        recorder.series(log.clock, (name, of), unit, log.origin(offset))
    });
    for (&(at, step), c) in times.iter().zip(counters) {
        if step <= 0 {
            continue;
        }
        let rate = |sectors: u64| {
            let bytes = u128::from(sectors) * u128::from(SECTOR_BYTES);
            let rate = bytes * 1_000_000_000 / u128::from(step.unsigned_abs());
            i64::try_from(rate).unwrap_or(i64::MAX)
        };
        let step_ms = step.unsigned_abs() / 1_000_000;
        // The kernel adds up busy time when requests end, so a stretch may
        // seem busier than it was long.
        let busy = permille(c.busy_ms, step_ms).min(1_000);
        let values = [rate(c.sectors_read), rate(c.sectors_written), busy];
        for (id, value) in ids.into_iter().zip(values) {
            recorder.sample(id, at, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counters, Disk, Place, place};
    use std::collections::BTreeMap;

    #[test]
    fn lines_of_every_kernel_are_read() {
        for (line, name, read, written) in [
            (
                "   8       0 sda 369 694 17826 706 5 6 70 8 0 613 706",
                "sda",
                17_826,
                70,
            ),
            (" 3 1 hda1 20 276 5 608", "hda1", 276, 608),
            (
                "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
                "nvme0n1",
                3,
                7,
            ),
            (
                "104 0 cciss/c0d0 1 2 3 4 5 6 7 8 9 10 11",
                "cciss/c0d0",
                3,
                7,
            ),
        ] {
            let (found, counters) = Counters::of(line.as_bytes()).unwrap_or_default();
            assert_eq!(found, name.as_bytes(), "{line}");
            assert_eq!(counters.sectors_read, read, "{line}");
            assert_eq!(counters.sectors_written, written, "{line}");
        }
        for line in [
            "",
            "8 0 sda",
            "8 0 sda 1 2 3",
            "a b c 1 2 3 4",
            "8 0 sda 1 2 -3 4",
        ] {
            assert_eq!(Counters::of(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn partitions_and_what_is_stacked_are_told_from_disks() {
        let names = [
            "sda",
            "sda1",
            "sdaa",
            "sdaa12",
            "hda",
            "hda5",
            "xvda1",
            "vda",
            "vda15",
            "nvme0n1",
            "nvme0n1p2",
            "nvme0c1n1",
            "mmcblk0",
            "mmcblk0p1",
            "mmcblk0boot0",
            "mtdblock1",
            "mtdblock12",
            "ubiblock0_1",
            "dm-0",
            "dm-10",
            "md127",
            "md127p1",
            "loop0",
            "loop0p1",
            "sr0",
            "cciss/c0d0",
            "cciss/c0d0p1",
            "zram0",
            "dasda",
            "dasda1",
        ];
        let all: BTreeMap<String, Disk> = names
            .iter()
            .map(|n| ((*n).to_owned(), Disk::default()))
            .collect();
        let of = |wanted: Place| -> Vec<&str> {
            let mut found = names.to_vec();
            found.retain(|n| place(n, &all) == wanted);
            found
        };
        assert_eq!(
            of(Place::Partition),
            [
                "sda1",
                "sdaa12",
                "hda5",
                "vda15",
                "nvme0n1p2",
                "mmcblk0p1",
                "md127p1",
                "loop0p1",
                "cciss/c0d0p1",
                "dasda1"
            ]
        );
        assert_eq!(
            of(Place::Stacked),
            ["nvme0c1n1", "dm-0", "dm-10", "md127", "loop0", "zram0"]
        );
    }
}
