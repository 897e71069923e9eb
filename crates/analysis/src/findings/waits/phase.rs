//! Phases of which nothing but their length is known.

use super::waited::{is_hardly_longer, length};
use super::{jobs, timeout, worth};
use crate::console::is_serial;
use crate::findings::evidence::Evidence;
use crate::findings::found::Found;
use crate::findings::quiet::is_programs;
use crate::findings::silence::OF_PROGRAMS;
use crate::findings::text::waits as text;
use crate::findings::units::{JOB_TIMED_OUT, NEVER_CAME};
use crate::findings::view::View;
use crate::phases::PhaseRow;
use crate::place::Place;
use record::{Message, Nanos, Phase, Span, SpanKind};

/// Of a phase of usual length: a rule of thumb. Published changes took a tenth to nearly all of
/// it away: a menu, a wait, or an initrd that is not needed, goes as a whole.
const PARTS: (i64, i64, i64) = (10, 45, 98);

/// Of what a phase is longer than usual: something in it waits, and most of that can go.
const OF_EXCESS: (i64, i64, i64) = (30, 80, 98);

/// The fact that systemd's line of the whole boot leaves.
const TOTAL: &str = "systemd.startup_total_ns";

/// What a long but usual loader, kernel or initrd takes.
const USUAL: Nanos = Nanos(10_000_000_000);

/// The same of firmware and userspace. A userspace of usual length is the work of many units, of
/// which its length tells nothing: only a longer one is a finding.
const USUAL_FIRMWARE: Nanos = Nanos(20_000_000_000);
const USUAL_USERSPACE: Nanos = Nanos(20_000_000_000);

/// Of a kernel that only starts an initrd in which systemd runs: the initrd loads the modules,
/// and what is longer is mostly the unpacking of it.
const USUAL_BEFORE_INITRD: Nanos = Nanos(3_000_000_000);

/// No firmware takes so long. Its time is a counter's, which some machines do not set to zero
/// when they restart: it then has the time before, too.
const IMPOSSIBLE_FIRMWARE: Nanos = Nanos(1_200_000_000_000);

/// Lines that end a boot are written within this time after it.
const NEAR: Nanos = Nanos(86_400_000_000_000);

/// The phases that an input gives no more than the length of.
pub(in crate::findings) fn opaque(view: &View<'_>) -> Vec<Found> {
    let least = worth(view);
    let rows = view.phases.phases.iter();
    let long = rows.filter(|p| {
        let time = length(view, p);
        time >= least && (p.name < Phase::Userspace || is_long_userspace(p.name, time))
    });
    // A journal has systemd's line of the whole boot, too.
    let totals = view.record.facts().iter();
    let totals: Vec<Place> = totals
        .filter(|f| view.record.name(f.key) == TOTAL)
        .map(|f| Place::of(view.record, f.origin))
        .collect();
    let summed_up = |p: &PhaseRow| {
        let mut sources = view.record.sources().iter();
        let source = sources.find(|s| s.name == p.origin.source);
        source.is_some_and(|s| s.format.starts_with("systemd")) || totals.contains(&p.origin)
    };
    // Waits that other findings name.
    let named: Vec<Nanos> = jobs::limits(view).chain(missing_device(view)).collect();
    let opaque = long
        .filter(|&p| summed_up(p) || is_silent_initrd(p))
        .filter(|p| p.stages.is_empty() && (!is_known(view, p) || is_unexplained(view, p)))
        .filter(|p| {
            !named
                .iter()
                .any(|wait| is_hardly_longer(p.name, length(view, p), *wait))
        });
    let found = opaque.map(|row| {
        let time = length(view, row);
        let found = Found::new()
            .title(text::phase(row.name, time))
            .evidence([Evidence {
                text: text::took(row.name.as_str(), time, row.start, row.start + time),
                place: row.origin.clone(),
            }])
            .within(time)
            .names([row.name.as_str()]);
        if row.name == Phase::Firmware && time >= IMPOSSIBLE_FIRMWARE {
            return found.why(text::IMPOSSIBLE_FIRMWARE);
        }
        // systemd counts an initrd as a part of its own only if systemd runs in it.
        let has_initrd = view.phases.phases.iter().any(|p| p.name == Phase::Initrd);
        let usual = match row.name {
            Phase::Kernel if has_initrd && summed_up(row) => USUAL_BEFORE_INITRD,
            Phase::Firmware => USUAL_FIRMWARE,
            Phase::Userspace => USUAL_USERSPACE,
            _ => USUAL,
        };
        let part = |parts: i64, excess: i64| {
            let usual = time.min(usual);
            Nanos(usual.0 / 100 * parts + (time - usual).0 / 100 * excess)
        };
        let low = part(PARTS.0, OF_EXCESS.0);
        let expected = part(PARTS.1, OF_EXCESS.1);
        let high = part(PARTS.2, OF_EXCESS.2);
        let mut found = found
            .why(match is_known(view, row) {
                true => text::UNEXPLAINED_WHY,
                false => text::phase_why(row.name),
            })
            .saving(low, expected, high);
        if row.name == Phase::Kernel
            && let Some(getty) = serial_getty(view)
        {
            found = found.names(["quiet"]);
            found.more.push_str(&text::with_serial_console(getty));
        } else if row.name == Phase::Kernel && !shows_units(view) && !view.knows_cmdline() {
            found = found.names(["quiet"]);
            found.more.push_str(text::WITH_ANY_CONSOLE);
        }
        let timed_out = match row.name {
            Phase::Initrd => timeout::of_initrd(time)
                .map(|waited| (waited, text::INITRD_TIMED_OUT, &[] as &[&str])),
            Phase::Userspace => timeout::of_userspace(time).copied(),
            _ => None,
        };
        if let Some((waited, why, names)) = timed_out {
            let (low, expected, _) = timeout::PARTS;
            let part = |percent: i64| Nanos(waited.0 / 100 * percent);
            found = found
                .saving(part(low), part(expected), high)
                .names(names.iter().copied());
            found.more.push_str(why);
        }
        if row.name == Phase::Kernel && summed_up(row) {
            found = found.names(["initramfs"]);
            found.more.push_str(match has_initrd {
                true => text::UNPACKS_INITRAMFS,
                false => text::WITH_INITRAMFS,
            });
        }
        found
    });
    found.collect()
}

/// systemd waits so long for a device that another finding names, if it says so.
fn missing_device(view: &View<'_>) -> Option<Nanos> {
    let says = [NEVER_CAME, JOB_TIMED_OUT].iter();
    says.flat_map(|s| view.said(s)).next()?;
    Some(timeout::TIMEOUT)
}

fn is_long_userspace(phase: Phase, time: Nanos) -> bool {
    phase == Phase::Userspace && time > USUAL_USERSPACE
}

/// Whether the input has units: one of a login would show a serial console.
fn shows_units(view: &View<'_>) -> bool {
    let mut spans = view.record.spans().iter();
    spans.any(|s| s.kind == SpanKind::Unit)
}

/// systemd starts such a unit on the kernel's console.
const GETTY: &str = "serial-getty@";

/// The unit that shows that the kernel prints on a serial line, unless its command line says
/// what it prints.
fn serial_getty<'v>(view: &'v View<'_>) -> Option<&'v str> {
    let units = view.record.spans().iter();
    let units = units.filter(|s| s.kind == SpanKind::Unit);
    let mut units = units.map(|s| view.record.name(s.name));
    units.find(|unit| {
        let line = unit
            .strip_prefix(GETTY)
            .and_then(|u| u.strip_suffix(".service"));
        line.is_some_and(is_serial) && !view.knows_cmdline()
    })
}

/// An initrd between two lines of a log. Of a longer one the silence is told.
fn is_silent_initrd(row: &PhaseRow) -> bool {
    row.name == Phase::Initrd && row.end - row.start < OF_PROGRAMS
}

/// A unit that takes so long may be what waits.
const LONG_UNIT: Nanos = Nanos(20_000_000_000);

/// Whether a userspace is hardly longer than systemd waits for a device that never appears, and
/// nothing that is known of it takes that time: no unit, and no time between known instants but
/// the one before the first. Such a device has no unit that starts.
fn is_unexplained(view: &View<'_>, row: &PhaseRow) -> bool {
    let time = length(view, row);
    if row.name != Phase::Userspace || !is_hardly_longer(row.name, time, timeout::TIMEOUT) {
        return false;
    }
    let record = view.record;
    let mut units = record.spans().iter().filter(|s| s.kind == SpanKind::Unit);
    let is_long = |s: &Span| s.duration().or(s.reported).is_some_and(|t| t >= LONG_UNIT);
    let messages = record.messages().iter().filter_map(|m| m.at);
    let starts = record.spans().iter().filter_map(|s| s.start);
    let inside = messages
        .chain(starts)
        .filter(|t| row.start < *t && *t < row.end);
    let first = inside.min().unwrap_or(row.end);
    shows_units(view) && !units.any(is_long) && first - row.start >= timeout::MOST_OF_IT
}

/// Whether anything is known of what happened in a phase, but for how it began.
fn is_known(view: &View<'_>, row: &PhaseRow) -> bool {
    let inside = |at: Option<Nanos>| at.is_some_and(|t| row.start < t && t < row.end);
    let record = view.record;
    // `systemd-analyze blame` does not tell when its units ran, and an excerpt of a journal may
    // have no lines but those that end the boot.
    let of_row = |s: &Span| row.name == Phase::Userspace && s.kind == SpanKind::Unit;
    // Without the time between both, lines with the time of day lie years behind the boot. The
    // kernel's tell nothing of programs.
    let near = row.end..row.end + NEAR;
    let ends = |m: &Message| {
        let is_near = m.at.is_some_and(|t| near.contains(&t));
        row.name == Phase::Userspace && is_near && is_programs(record.text(m))
    };
    record.messages().iter().any(|m| inside(m.at) || ends(m))
        || record
            .spans()
            .iter()
            .any(|s| inside(s.start) || inside(s.end) || of_row(s))
}
