//! How many processors a boot has, and how busy they are.

use record::{Nanos, Record, TaskState, Unit};
use std::collections::BTreeSet;

/// The processors of a boot while programs start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// How many there are; `None` if the input does not show it.
    pub processors: Option<usize>,
    /// How much of all of them was busy, in thousandths; `None` if nothing sampled it.
    pub busy: Option<i64>,
}

/// A part of something, in millionths: the expected one and the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub expected: i64,
    pub most: i64,
}

impl Part {
    /// What is expected of so much.
    pub fn of_expected(self, all: Nanos) -> Nanos {
        share(all, self.expected)
    }

    /// The most of so much.
    pub fn of_most(self, all: Nanos) -> Nanos {
        share(all, self.most)
    }
}

fn share(all: Nanos, millionths: i64) -> Nanos {
    let share = i128::from(all.get()) * i128::from(millionths) / i128::from(WHOLE);
    Nanos(i64::try_from(share).unwrap_or(i64::MAX))
}

/// All of something.
const WHOLE: i64 = 1_000_000;

/// What the log of a kernel says of its processors, and what stands before the number.
const COUNTS: [&str; 4] = [
    "Brought up ",
    "Total of ",
    "smpboot: Allowing ",
    "SLUB: HWalign",
];

/// Of the processors from `from` to `to`.
#[must_use]
pub fn load(record: &Record, from: Nanos, to: Nanos) -> Load {
    let traced = traced(record, from, to);
    let (on, busy) = traced.unzip();
    Load {
        processors: counted(record).or(on).or_else(|| charted(record)),
        busy: busy.or_else(|| sampled(record, from, to)),
    }
}

/// The count that the kernel says.
fn counted(record: &Record) -> Option<usize> {
    let mut said = record.messages().iter().filter_map(|m| {
        let text = record.text(m);
        if !COUNTS.iter().any(|c| text.contains(c)) {
            return None;
        }
        of_line(text)
    });
    said.next_back().filter(|n| *n > 0)
}

/// The count of a bootchart.
fn charted(record: &Record) -> Option<usize> {
    let count = record.fact("bootchart.proc_stat.cpus")?;
    count.parse().ok().filter(|n| *n > 0)
}

/// `smp: Brought up 1 node, 4 CPUs`, `SMP: Total of 4 processors activated`,
/// `SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=4, Nodes=1`.
fn of_line(text: &str) -> Option<usize> {
    if let Some((_, count)) = text.split_once("CPUs=") {
        return number(count);
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_unit = |w: &str| {
        let plain = w.trim_end_matches([',', '.']);
        matches!(plain, "CPU" | "CPUs" | "processor" | "processors")
    };
    words
        .windows(2)
        .find_map(|w| number(w.first()?).filter(|_| w.get(1).is_some_and(|u| is_unit(u))))
}

fn number(text: &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.get(..end.unwrap_or(text.len()))?.parse().ok()
}

/// How many processors tasks ran on, and how much of them was taken.
fn traced(record: &Record, from: Nanos, to: Nanos) -> Option<(usize, i64)> {
    if record.wakes().is_empty() || to <= from {
        return None;
    }
    let running = record
        .slices()
        .iter()
        .filter(|s| s.state == TaskState::Running && s.busy.is_none() && s.pid != 0);
    let (mut processors, mut taken) = (BTreeSet::new(), 0_i128);
    for slice in running {
        processors.insert(slice.cpu);
        let within = slice.end.min(to) - slice.start.max(from);
        taken += i128::from(within.get().max(0));
    }
    let all = i128::from((to - from).get()) * i128::try_from(processors.len()).ok()?;
    let busy = taken.saturating_mul(1_000).checked_div(all)?;
    Some((processors.len(), i64::try_from(busy).ok()?.min(1_000)))
}

/// What processors do when they are neither idle nor wait for storage, as samplers name
/// it.
const WORK: [&str; 3] = ["cpu.user", "cpu.system", "cpu.busy"];

/// How much of the processors readings say was busy.
fn sampled(record: &Record, from: Nanos, to: Nanos) -> Option<i64> {
    let of_all = record.series().iter().filter(|s| {
        s.of.is_none() && s.unit == Unit::Permille && WORK.contains(&record.name(s.name))
    });
    let means = of_all.filter_map(|s| {
        let within = s.samples.iter().filter(|x| x.at > from && x.at <= to);
        // A reading is of the time since the one before.
        let (mut sum, mut time, mut last) = (0_i128, 0_i128, from);
        for sample in within {
            let length = i128::from((sample.at - last).get());
            sum += length * i128::from(sample.value);
            time += length;
            last = sample.at;
        }
        i64::try_from(sum.checked_div(time)?).ok()
    });
    let means: Vec<i64> = means.collect();
    (!means.is_empty()).then(|| means.iter().sum::<i64>().clamp(0, 1_000))
}

/// How busy processors are taken to be where nothing says it, in thousandths.
const USUAL: i64 = 500;

/// One part in so many of the time that a unit takes to start is work: else it waits.
const WAITS: i64 = 2;

impl Load {
    /// How much of the work beside the path delays what is on it. All processors must be
    /// busy for that, and then the work is shared by all of them.
    pub(crate) fn felt(self) -> Part {
        let processors = self.processors.unwrap_or(1).max(1);
        let busy = self.busy.unwrap_or(USUAL);
        let expected = all_busy(busy, processors) / count(processors) / WAITS;
        let most = match (processors, self.busy) {
            (1, _) => WHOLE,
            (n, None) => WHOLE / count(n),
            // The load is a mean: there are times at which it is higher.
            (n, Some(busy)) => (busy * (WHOLE / 1_000) / count(n)).max(expected),
        };
        Part { expected, most }
    }

    /// How much longer the same work takes on `with` processors, of so much time; less than
    /// nothing: shorter. `None` if the input does not show how many there are, or how busy.
    ///
    /// While all processors are busy, half of what runs is taken to be beside the path, and
    /// to delay it half of the time. The work needs its time on all processors together at
    /// least.
    pub(crate) fn longer(self, time: Nanos, with: usize) -> Option<Nanos> {
        let (now, busy) = (self.processors?.max(1), self.busy?);
        let others = |n: usize| {
            let work = busy.saturating_mul(count(now)) / count(n);
            all_busy(work.min(1_000), n) / count(n) / 4
        };
        let longer = share(time, others(with) - others(now));
        let work = i128::from(time.get()) * i128::from(busy) * i128::from(count(now));
        let least = work / i128::from(count(with)) / 1_000;
        let least = Nanos(i64::try_from(least).unwrap_or(i64::MAX)) - time;
        Some(match with < now {
            true => longer.max(least),
            false => longer,
        })
    }
}

fn count(n: usize) -> i64 {
    i64::try_from(n.max(1)).unwrap_or(i64::MAX)
}

/// How often all of `n` processors are busy, in millionths, if each is so for `busy`
/// thousandths of the time.
fn all_busy(busy: i64, n: usize) -> i64 {
    let part = busy.clamp(0, 1_000) * (WHOLE / 1_000);
    (0..n.min(64)).fold(WHOLE, |all, _| all * part / WHOLE)
}

#[cfg(test)]
mod tests {
    use super::{Load, Part, WHOLE, of_line};
    use record::Nanos;

    #[test]
    fn kernels_say_how_many_processors_they_have() {
        for (line, count) in [
            ("smp: Brought up 1 node, 4 CPUs", Some(4)),
            ("smp: Brought up 1 node, 1 CPU", Some(1)),
            ("Brought up 8 CPUs", Some(8)),
            ("SMP: Total of 2 processors activated.", Some(2)),
            (
                "SLUB: HWalign=64, Order=0-3, MinObjects=0, CPUs=6, Nodes=1",
                Some(6),
            ),
            ("smpboot: Allowing 16 CPUs, 8 hotplug CPUs", Some(16)),
            ("Brought up the interface", None),
        ] {
            assert_eq!(of_line(line), count, "{line}");
        }
    }

    #[test]
    fn work_beside_the_path_is_felt_where_no_processor_is_idle() {
        let felt = |processors, busy| {
            Load {
                processors: Some(processors),
                busy,
            }
            .felt()
        };
        let part = |expected, most| Part { expected, most };
        assert_eq!(felt(1, Some(1_000)), part(WHOLE / 2, WHOLE));
        assert_eq!(felt(1, Some(0)), part(0, WHOLE));
        assert_eq!(felt(4, Some(1_000)), part(WHOLE / 8, WHOLE / 4));
        assert_eq!(felt(4, Some(0)), part(0, 0));
        assert_eq!(felt(4, Some(500)), part(7_812, 125_000));
        assert!(felt(4, None).expected < WHOLE / 50);
        assert_eq!(Load::default().felt(), part(WHOLE / 4, WHOLE));
    }

    #[test]
    fn the_same_work_takes_less_time_on_more_processors() {
        let load = Load {
            processors: Some(2),
            busy: Some(800),
        };
        let second = Nanos::from_millis(1_000);
        let longer = [1, 2, 3, 4, 8].map(|n| load.longer(second, n).unwrap());
        // 1.6 s of work have to be done on the one.
        assert_eq!(longer[0], Nanos::from_millis(600));
        assert_eq!(longer[1], Nanos::ZERO);
        assert!(longer.windows(2).all(|w| w[0] > w[1]), "{longer:?}");
        assert!(longer[4] > Nanos::from_millis(-100), "{longer:?}");
        assert_eq!(Load::default().longer(second, 4), None);
    }
}
