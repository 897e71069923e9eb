//! `kernel_pacct`: processes that exited, from the kernel's process accounting
//! (acct(5), `struct acct_v3` in `linux/acct.h`).

use super::blocks::TICK_NS;
use super::notes as note;
use super::stat::BootTime;
use crate::source::Sniff;
use record::{ClockId, Nanos, Origin, Process, Recorder, SourceId};
use std::collections::BTreeMap;

/// Records are of this size in every version and on every machine.
const RECORD_BYTES: usize = 64;

/// In the version: the machine's numbers have their high byte first
/// (`ACCT_BYTEORDER`).
const HIGH_BYTE_FIRST: u8 = 0x80;

/// The version that has process ids.
const VERSION: u8 = 3;

/// One process that exited.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Exited<'a> {
    pid: u32,
    parent: u32,
    /// What `wait` would give.
    status: u32,
    /// When it was forked, in seconds since 1970.
    begin_s: u32,
    /// How long it lived, in nanoseconds.
    lived_ns: i64,
    user_ns: i64,
    system_ns: i64,
    name: &'a [u8],
}

/// A field of `N` bytes.
fn field<const N: usize>(record: &[u8], at: usize) -> Option<[u8; N]> {
    record.get(at..)?.first_chunk().copied()
}

impl<'a> Exited<'a> {
    fn of(record: &'a [u8]) -> Option<Self> {
        let version = *record.get(1)?;
        if version & !HIGH_BYTE_FIRST != VERSION {
            return None;
        }
        let high_first = version & HIGH_BYTE_FIRST != 0;
        let u16_at = |at| {
            let bytes = field::<2>(record, at)?;
            Some(if high_first {
                u16::from_be_bytes(bytes)
            } else {
                u16::from_le_bytes(bytes)
            })
        };
        let u32_at = |at| {
            let bytes = field::<4>(record, at)?;
            Some(if high_first {
                u32::from_be_bytes(bytes)
            } else {
                u32::from_le_bytes(bytes)
            })
        };
        let name = record.get(48..RECORD_BYTES)?;
        let end = memchr::memchr(0, name).unwrap_or(name.len());
        Some(Self {
            status: u32_at(4)?,
            pid: u32_at(16)?,
            parent: u32_at(20)?,
            begin_s: u32_at(24)?,
            lived_ns: float_ticks(u32_at(28)?)?,
            user_ns: i64::from(comp(u16_at(32)?)).saturating_mul(TICK_NS),
            system_ns: i64::from(comp(u16_at(34)?)).saturating_mul(TICK_NS),
            name: name.get(..end)?,
        })
    }

    /// What it exited with; a signal that killed it is negative.
    fn exit(&self) -> i32 {
        let [signal, code, ..] = self.status.to_le_bytes();
        match signal & 0x7f {
            0 => i32::from(code),
            signal => -i32::from(signal),
        }
    }
}

/// `comp_t`: a fraction of 13 bits, and an exponent of 3 to the base 8.
fn comp(value: u16) -> u32 {
    let exponent = u32::from(value >> 13);
    u32::from(value & 0x1fff) << (3 * exponent)
}

/// A number of ticks that the kernel wrote as an IEEE float of 32 bits, in
/// nanoseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "what is no time, or one of 292 years, is refused first"
)]
fn float_ticks(bits: u32) -> Option<i64> {
    let ns = f64::from(f32::from_bits(bits)) * 1e7;
    (0.0..9.0e18).contains(&ns).then_some(ns as i64)
}

/// Whether these are the first bytes of an accounting file.
pub(super) fn sniff(head: &[u8]) -> Sniff {
    let records: Vec<&[u8]> = head.chunks_exact(RECORD_BYTES).take(8).collect();
    let looks_right = |r: &&[u8]| {
        Exited::of(r).is_some_and(|e| {
            let printable = e.name.iter().all(|b| matches!(b, 0x20..=0x7e));
            e.pid > 0 && !e.name.is_empty() && printable
        })
    };
    match records.iter().filter(|r| looks_right(r)).count() {
        right if right * 2 < records.len() || right == 0 => Sniff::No,
        1 => Sniff::Maybe,
        _ => Sniff::Yes,
    }
}

/// What is known of the boot beside its accounting.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub source: SourceId,
    pub clock: ClockId,
    pub boot_times: &'a [BootTime],
}

/// How far the time of an accounted start may lie from that of a sampled one:
/// accounting has whole seconds, and so has the time of the boot.
const SECOND_NS: i64 = 1_000_000_000;

/// How exactly an end by accounting must fit the samples around it.
const SLACK_NS: i64 = 2 * SECOND_NS;

/// Completes `processes` by those that were accounted for when they exited:
/// their ends, and those that lived between two samples.
pub(super) fn read(
    bytes: &[u8],
    around: Around<'_>,
    processes: &mut Vec<Process>,
    recorder: &mut Recorder,
) {
    let mut by_pid: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, p) in processes.iter().enumerate() {
        by_pid.entry(p.pid).or_default().push(at);
    }
    let mut records = 0_u64;
    for (number, record) in bytes.chunks(RECORD_BYTES).enumerate() {
        let offset = (number as u64).saturating_mul(RECORD_BYTES as u64);
        let source = around.source;
        let origin = Origin { source, offset };
        let Some(exited) = Exited::of(record) else {
            let old = record
                .get(1)
                .is_some_and(|v| v & !HIGH_BYTE_FIRST < VERSION);
            let kind = if old && record.len() == RECORD_BYTES {
                &note::NO_PIDS
            } else {
                &note::BAD_ACCOUNTING
            };
            recorder.skipped(origin, kind);
            continue;
        };
        records += 1;
        let sampled = by_pid.get(&exited.pid).map_or(&[][..], Vec::as_slice);
        let fits = |at: &&usize| processes.get(**at).is_some_and(|p| is_end_of(&exited, p));
        // The same id may have been used before: the end tells which it was.
        let found = sampled.iter().find(fits).copied();
        if let Some(process) = found.and_then(|at| processes.get_mut(at)) {
            complete(process, &exited);
            recorder.took(source);
            continue;
        }
        match between_samples(&exited, around, origin, recorder) {
            Some(process) => {
                recorder.note(origin, &note::ONLY_ACCOUNTED, String::new);
                processes.push(process);
                recorder.took(source);
            }
            None => recorder.skipped(origin, &note::ACCOUNTING_NOT_PLACED),
        }
    }
    let origin = Origin {
        source: around.source,
        offset: 0,
    };
    recorder.fact(
        "bootchart.kernel_pacct.records",
        &records.to_string(),
        origin,
    );
}

/// Whether a sampled process may be this one: it is gone, or is a zombie, when
/// this one had lived its time.
fn is_end_of(exited: &Exited<'_>, process: &Process) -> bool {
    let (Some(start), Some(end)) = (process.start, process.end) else {
        return false;
    };
    let died = start.0.saturating_add(exited.lived_ns);
    let unseen = process.last_seen.0.min(end.0).saturating_sub(SLACK_NS);
    let gone = end.0.max(process.last_seen.0).saturating_add(SLACK_NS);
    process.exit.is_none() && (unseen..=gone).contains(&died)
}

fn complete(process: &mut Process, exited: &Exited<'_>) {
    let start = process.start.unwrap_or(process.first_seen);
    let died = start + Nanos(exited.lived_ns);
    // Not before it was last seen; accounting is the finer one otherwise.
    process.end = Some(died.max(process.first_seen));
    process.exit = Some(exited.exit());
    process.user = process.user.max(Some(Nanos(exited.user_ns)));
    process.system = process.system.max(Some(Nanos(exited.system_ns)));
}

/// Start and end of a process, if the kernel took this for the time of the boot
/// when it exited: accounting counts back from then.
fn placed(exited: &Exited<'_>, boot: &BootTime) -> Option<(i64, i64)> {
    let since_boot = i64::from(exited.begin_s).checked_sub_unsigned(boot.time_s)?;
    let start = since_boot.checked_mul(SECOND_NS)?;
    let end = start.checked_add(exited.lived_ns)?;
    let (first, last) = boot.samples;
    let during = first.saturating_sub(SLACK_NS)..=last.saturating_add(SLACK_NS);
    (start >= -SECOND_NS && during.contains(&end)).then_some((start.max(0), end))
}

/// A process that no sample has; its start is known to the second.
fn between_samples(
    exited: &Exited<'_>,
    around: Around<'_>,
    origin: Origin,
    recorder: &mut Recorder,
) -> Option<Process> {
    let mut times = around.boot_times.iter();
    let (start, end) = times.find_map(|b| placed(exited, b))?;
    Some(Process {
        pid: exited.pid,
        parent: (exited.parent > 0).then_some(exited.parent),
        name: recorder.name_lossy(exited.name),
        command: None,
        start: Some(Nanos(start)),
        end: Some(Nanos(end)),
        first_seen: Nanos(start),
        last_seen: Nanos(end),
        user: Some(Nanos(exited.user_ns)),
        system: Some(Nanos(exited.system_ns)),
        kernel_thread: false,
        exit: Some(exited.exit()),
        origin,
        clock: around.clock,
    })
}

#[cfg(test)]
mod tests {
    use super::{Exited, comp, sniff};
    use crate::source::Sniff;

    /// A record as the kernel writes it.
    fn record(high_first: bool) -> Vec<u8> {
        let mut r = vec![0x02, if high_first { 0x83 } else { 3 }];
        let u16_of = |v: u16| {
            if high_first {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        let u32_of = |v: u32| {
            if high_first {
                v.to_be_bytes()
            } else {
                v.to_le_bytes()
            }
        };
        r.extend(u16_of(0));
        for v in [0x0100, 0, 0, 520, 515, 1_106_999_776, 12.0_f32.to_bits()] {
            r.extend(u32_of(v));
        }
        for v in [3_u16, 0x2001, 0, 0, 0, 0, 0, 0] {
            r.extend(u16_of(v));
        }
        r.extend(b"accton\0\0\0\0\0\0\0\0\0\0");
        r
    }

    #[test]
    fn both_byte_orders_say_the_same() {
        let (low, high) = (record(false), record(true));
        let of = Exited::of(&low);
        assert_eq!(of, Exited::of(&high));
        let of = of.map(|e| {
            (
                e.pid,
                e.parent,
                e.lived_ns,
                e.user_ns,
                e.system_ns,
                e.exit(),
            )
        });
        assert_eq!(of, Some((520, 515, 120_000_000, 30_000_000, 80_000_000, 1)));
        assert_eq!(sniff(&low), Sniff::Maybe);
        assert_eq!(sniff(&low.repeat(3)), Sniff::Yes);
        assert_eq!(sniff(&[0; 640]), Sniff::No);
        assert_eq!(Exited::of(&low[..63]), None);
    }

    #[test]
    fn times_are_eighths_with_an_exponent() {
        assert_eq!(comp(0x1fff), 0x1fff);
        assert_eq!(comp(0x2001), 8);
        assert_eq!(comp(0xffff), 0x1fff << 21);
    }
}
