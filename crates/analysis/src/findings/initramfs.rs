//! The initramfs: how it is unpacked, and what of it is used.

use super::evidence::Evidence;
use super::found::Found;
use super::modules::loaded;
use super::packing::Packing;
use super::probes::count;
use super::text::initramfs as text;
use super::view::{Line, View, transfer};
use crate::system::{ImageFact, ImageKind};
use crate::unpacking::{BEGINS, CALL, ENDS};
use record::{Nanos, Origin};

/// An initramfs that is unpacked faster is not worth a word.
const SHORT_UNPACKING: Nanos = Nanos::from_millis(20);

/// How long the initramfs took to unpack, and the lines that say so.
pub(super) fn unpacked<'a>(view: &'a View<'_>) -> Option<(Nanos, Line<'a>, Option<Line<'a>>)> {
    let begin = BEGINS.iter().find_map(|words| view.said(words).next())?;
    let from = begin.message.at?;
    let end = view.said(ENDS).next();
    let calls = view.initcalls(|f| f == CALL);
    let of_call = calls.first().map(|(_, time, _)| *time);
    let of_lines = end.and_then(|e| Some(e.message.at? - from));
    let time = match (of_call, of_lines) {
        // Since 5.13 the unpacking goes on aside, and the call only begins it.
        (Some(a), Some(b)) => a.max(b),
        (a, b) => a.or(b)?,
    };
    (time >= SHORT_UNPACKING).then_some((time, begin, end))
}

/// The size of the packed initramfs in KiB, which the line at its end says.
pub(super) fn packed_kib(end: Option<&Line<'_>>) -> Option<u64> {
    end?.number("Freeing initrd memory: ")
}

/// Says that several findings are of one time.
pub(super) fn same_time(unpacking: Nanos) -> String {
    text::same_time(unpacking)
}

/// The unpacking of the initramfs, as the kernel's log shows it.
pub(super) fn unpacking(view: &View<'_>) -> Option<Found> {
    let (time, begin, end) = unpacked(view)?;
    let (to, part) = faster_packing(view, time);
    let packed = packed_kib(end.as_ref());
    let size = packed.map_or_else(String::new, text::size);
    // What nobody loads has a finding of its own.
    let apart = unused(view).map(|u| (u.part(time), u.bytes));
    let left = apart.as_ref().map_or_else(String::new, |(part, bytes)| {
        text::left_out(part, bytes, same_time(time))
    });
    let mut why = text::unpacking_why(size, to, left);
    let slow = packed.and_then(|k| crawl(k, time));
    let rest = time - apart.map_or(Nanos::ZERO, |(part, _)| part);
    let (low, expected, high) = match slow {
        // It is the processor that is slow, and no packing.
        Some(rate) => {
            why.push_str(&text::crawls(rate));
            OF_CRAWL
        }
        None => (0, part, 95),
    };
    Some(
        Found::new()
            .title(text::unpacking(time))
            .why(why)
            .evidence([view.quote(&begin)])
            .evidence(end.map(|e| view.quote(&e)))
            .parts(rest, low, expected, high)
            .treatment(format!("initramfs={to}")),
    )
}

/// A processor at its speed unpacks more of any packing, in KiB a second.
const CRAWL: u64 = 512;

/// A shorter time tells no rate.
const SEEN_RATE: Nanos = Nanos(1_000_000_000);

/// What is saved once the processor runs at its speed: published boots of boards with such
/// a loader went from 20 s to less than one.
const OF_CRAWL: (i64, i64, i64) = (50, 90, 98);

/// The rate of an unpacking, in KiB a second, if it is too low for a processor at its speed.
fn crawl(packed: u64, time: Nanos) -> Option<u64> {
    let ms = u64::try_from(time.0 / 1_000_000).ok()?.max(1);
    let rate = packed.saturating_mul(1_000) / ms;
    (time >= SEEN_RATE && rate < CRAWL).then_some(rate)
}

/// What writing an unpacked byte into the root takes, in instructions.
const WRITING: u64 = 3;

/// The packing that unpacks soonest on this processor, and how much less it takes
/// than the present one that took `time`, in percent. What is not known is taken for gzip.
fn faster_packing(view: &View<'_>, time: Nanos) -> (&'static str, i64) {
    let to = match view.arm() {
        Some(arm) if arm.aligned => "lzo",
        _ => "lz4",
    };
    let now = view.system.images.iter().find_map(|i| match &i.what {
        ImageKind::Initramfs {
            compression,
            unpacked,
            ..
        } => Some((compression.as_str(), *unpacked)),
        _ => None,
    });
    let work = |name| Packing::named(name).map_or(1, |p| p.work(view)) + WRITING;
    let (before, after) = (work(now.map_or("gzip", |n| n.0)), work(to));
    let percent = i64::try_from(before.saturating_sub(after) * 100 / before).unwrap_or(0);
    // Where it took less than such bytes usually do, they are long runs, which every packing
    // copies alike.
    let speed = view.speed();
    let usual = now.filter(|_| !speed.is_assumed);
    let usual = usual.map(|(_, bytes)| transfer(bytes.saturating_mul(before), speed.rate));
    let percent = match usual {
        Some(usual) if time < usual => {
            let part = i128::from(percent) * i128::from(time.0) / i128::from(usual.0.max(1));
            i64::try_from(part).unwrap_or(percent)
        }
        _ => percent,
    };
    (to, percent)
}

/// So many bytes of modules that nobody loads are worth a word.
const MUCH: u64 = 1 << 20;

/// What of the modules in an initramfs this boot did not load.
struct Unused<'a> {
    image: &'a ImageFact,
    /// How many modules it has.
    modules: usize,
    /// Those that were not loaded, the largest first.
    names: Vec<&'a str>,
    /// Their bytes.
    bytes: u64,
    /// All bytes that it unpacks to.
    all: u64,
    /// How many the boot loaded, and the first of the list.
    loaded: (usize, Origin),
}

impl Unused<'_> {
    /// As large a part of a time as their bytes are of all.
    fn part(&self, time: Nanos) -> Nanos {
        let bytes = i128::from(self.bytes.min(self.all));
        let ns = i128::from(time.0) * bytes / i128::from(self.all.max(1));
        Nanos(i64::try_from(ns).unwrap_or(0))
    }
}

fn unused<'a>(view: &'a View<'_>) -> Option<Unused<'a>> {
    let (image, modules, all) = view.system.images.iter().find_map(|i| match &i.what {
        ImageKind::InitramfsModules { modules, unpacked } => Some((i, modules, *unpacked)),
        _ => None,
    })?;
    let loaded = loaded(view);
    let list = loaded.values().next()?;
    let mut unused: Vec<(&str, u64)> = modules
        .iter()
        .filter(|(name, _)| !loaded.contains_key(name.as_str()))
        .map(|(name, bytes)| (name.as_str(), *bytes))
        .collect();
    let bytes = unused
        .iter()
        .fold(0_u64, |sum, (_, n)| sum.saturating_add(*n));
    unused.sort_by_key(|(name, n)| (std::cmp::Reverse(*n), *name));
    (bytes >= MUCH).then(|| Unused {
        image,
        modules: modules.len(),
        names: unused.iter().map(|(name, _)| *name).collect(),
        bytes,
        all,
        loaded: (loaded.len(), list.origin),
    })
}

/// Modules in the initramfs that this boot did not load.
pub(super) fn unused_modules(view: &View<'_>) -> Option<Found> {
    let unused = unused(view)?;
    let Unused { bytes, all, .. } = unused;
    let shown: Vec<&str> = unused
        .names
        .iter()
        .take(super::evidence::SHOWN)
        .copied()
        .collect();
    let n = unused.names.len();
    let text = text::unused(
        count(unused.modules, "module", "modules"),
        n,
        bytes,
        if n == 1 { "is" } else { "are" },
        shown.join(", "),
        if n > shown.len() { ", ..." } else { "" },
    );
    let (loaded, list) = unused.loaded;
    let seen = match loaded {
        1 => "1 module is loaded".to_owned(),
        n => text::loaded(n),
    };
    let measured = unpacked(view);
    let same = measured.as_ref().map(|(time, ..)| same_time(*time));
    let why = text::unused_why(bytes, all, same.unwrap_or_default());
    let found = Found::new()
        .why(why)
        .evidence([
            Evidence {
                text,
                place: unused.image.place.clone(),
            },
            view.evidence(seen, list),
        ])
        .evidence(measured.as_ref().map(|(_, begin, _)| view.quote(begin)));
    let debian = view.system.root.as_ref().and_then(|tree| {
        let is = |path: &str| path == "etc/initramfs-tools/initramfs.conf";
        tree.lines(is)
            .next()
            .map(|_| "initramfs-modules=dep".to_owned())
    });
    let found = found.maybe_treatment(debian);
    Some(match measured {
        // Since 5.13 other initcalls run beside the unpacking, on other processors.
        Some((time, ..)) => found.parts(unused.part(time), 30, 100, 110).at_most(time),
        None => found,
    })
}

/// What initramfs-tools says when the device of a hibernated system did not appear.
pub(super) const NO_RESUME: &str = "Gave up waiting for suspend/resume device";

/// How long it waits for that device, unless `rootdelay=` says otherwise
/// (`local_device_setup` in its scripts/local).
const RESUME_DELAY: Nanos = Nanos(30_000_000_000);

/// The initramfs waited in vain for the device of a hibernated system.
pub(super) fn resume(view: &View<'_>) -> Option<Found> {
    let line = view.said(NO_RESUME).next()?;
    let measured = view.silence_before(&line).filter(|t| *t > Nanos::ZERO);
    let time = measured.unwrap_or(RESUME_DELAY);
    Some(
        Found::new()
            .evidence([view.quote(&line)])
            .parts(time, 50, 95, 100)
            .within(time)
            .names(["resume"])
            .treatment("cmdline+=noresume"),
    )
}
