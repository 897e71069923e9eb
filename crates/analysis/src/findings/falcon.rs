//! What goes if the first stage of the loader starts the kernel, and what stays.

use super::found::{Found, Scope};
use super::loader::{LONGEST_STEP, USUAL_RATE};
use super::text::falcon as text;
use super::view::{Line, View, transfer};
use record::{Mark, Nanos, Phase};

/// First stages that can start a kernel, by their marks: U-Boot's SPL, of which a
/// bootstage report has another name, and AT91Bootstrap.
const FIRST: [(&str, &str); 4] = [
    ("U-Boot SPL", "SPL"),
    ("SPL", "SPL"),
    ("spl", "SPL"),
    ("AT91Bootstrap", "AT91Bootstrap"),
];

/// What they start otherwise.
const SECOND: [(&str, &str); 4] = [
    ("U-Boot", "U-Boot"),
    ("board_init_f", "U-Boot"),
    ("board_init_r", "U-Boot"),
    ("barebox", "barebox"),
];

/// The shortest second stage that leaving out is worth the work.
const SECOND_STAGE: Nanos = Nanos::from_millis(100);

/// A line that ends a file's loading, with the time that it took: `4308200 bytes read in
/// 451 ms (9.1 MiB/s)` (U-Boot, `fs/fs.c`).
const TIMED: &str = "bytes read in ";

/// Lines behind which U-Boot reads, until it writes on (U-Boot, `cmd/nand.c`, `cmd/mmc.c`,
/// `cmd/legacy-mtd-utils.c`, `cmd/ubi.c`, `fs/ubifs/ubifs.c`).
const READS: [&str; 6] = [
    "NAND read: ",
    "MMC read: ",
    "Loading from ",
    "Loading file ",
    "device 0 offset ",
    " bytes from volume ",
];

/// Lines behind which U-Boot brings to its place what lies in memory or in flash that
/// the processor reads by itself. Where nothing else is read, that is the loading.
const MOVES: [&str; 2] = ["Loading Kernel Image", "Moving Image from"];

/// U-Boot decompresses a kernel behind this line. SPL would have to do it as well.
const UNPACKS: &str = "Uncompressing Kernel Image";

/// The last line of SPL before it reads (U-Boot, `common/spl/spl.c`).
const SPL_READS: &str = "Trying to boot from";

/// All texts of lines that are looked for.
pub(super) const WATCH: &[&str] = &[
    TIMED,
    "NAND read: ",
    "MMC read: ",
    "Loading from ",
    "Loading file ",
    "device 0 offset ",
    " bytes from volume ",
    "Loading Kernel Image",
    "Moving Image from",
    UNPACKS,
    SPL_READS,
    "Data Size:",
    "to stop autoboot",
];

/// A kernel whose size is not known: 8 MiB, between the compressed kernels of small
/// products (2 to 5 MiB) and those of distributions (10 MiB and more).
const USUAL_KERNEL: u64 = 8 << 20;

/// How much slower SPL may read than U-Boot, at worst: its caches may be off.
const SLOWER: i64 = 2;

/// The first stage could start the kernel itself.
pub(super) fn falcon(view: &View<'_>) -> Option<Found> {
    let (spl, first) = stage(view, &FIRST)?;
    let (proper, second) = stage(view, &SECOND)?;
    let rows = &view.phases.phases;
    let end = rows.iter().find(|p| p.name > Phase::Loader)?.start;
    if proper.at < spl.at || end <= proper.at {
        return None;
    }
    let time = end - proper.at;
    if time < SECOND_STAGE {
        return None;
    }
    let within = |l: &Line<'_>| {
        l.message
            .at
            .is_some_and(|at| (proper.at..end).contains(&at))
    };
    let wait = view
        .said("to stop autoboot")
        .filter(within)
        .find_map(|l| view.silence_after(&l))
        .unwrap_or_default()
        .min(time);
    let work = time - wait;
    let loading = loading(view, &within).or_else(|| between_stages(view, proper.at, end, wait));
    let mut found = Found::new().evidence([
        view.evidence(text::starts(first), spl.origin),
        view.evidence(text::proper(second, time), proper.origin),
    ]);
    // SPL does not read U-Boot then; but firmware that it starts in this time stays.
    let reads_proper = view
        .said(SPL_READS)
        .filter_map(|l| l.message.at)
        .find(|at| (spl.at..proper.at).contains(at))
        .map_or(Nanos::ZERO, |at| proper.at - at);
    let (stays, least, why) = match loading {
        Some(Loading { time: stays, lines }) => {
            let evidence = lines.iter().take(super::evidence::SHOWN);
            found = found.evidence(evidence.map(|l| view.quote(l)));
            let slow = Nanos(stays.0.saturating_mul(SLOWER));
            (
                stays,
                work - slow,
                text::measured(first, second, time, stays),
            )
        }
        None => {
            let size = view.said("Data Size:").find_map(|l| l.number("Data Size:"));
            let stays = transfer(size.unwrap_or(USUAL_KERNEL), USUAL_RATE);
            (
                stays,
                Nanos::ZERO,
                text::modelled(first, second, time, stays),
            )
        }
    };
    let saved = (work - stays).max(Nanos::ZERO);
    if saved < SECOND_STAGE {
        return None;
    }
    let mut why = why;
    if wait > Nanos::ZERO {
        why.push_str(&text::countdown(wait));
    }
    Some(
        found
            .title(text::title(first, second, saved))
            .why(why)
            .saving(least, saved, saved + reads_proper)
            .scope(Scope::Serial),
    )
}

/// The first mark of these, and what its stage is called.
fn stage<'a>(
    view: &'a View<'_>,
    names: &[(&str, &'static str)],
) -> Option<(&'a Mark, &'static str)> {
    view.record.marks().iter().find_map(|mark| {
        let name = view.record.name(mark.name);
        let known = names.iter().find(|n| n.0 == name)?;
        Some((mark, known.1))
    })
}

/// What U-Boot proper does that SPL has to do in its place.
struct Loading<'a> {
    time: Nanos,
    lines: Vec<Line<'a>>,
}

/// The loading that lines tell of.
fn loading<'a>(view: &'a View<'_>, within: &dyn Fn(&Line<'_>) -> bool) -> Option<Loading<'a>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut time = Nanos::ZERO;
    for line in view.said(TIMED).filter(|l| within(l)) {
        let ms = line.number(TIMED).and_then(|n| i64::try_from(n).ok());
        time = time + Nanos(ms.unwrap_or(0).saturating_mul(1_000_000));
        lines.push(line);
    }
    let mut silent = |texts: &[&str], lines: &mut Vec<Line<'a>>| {
        for line in texts
            .iter()
            .flat_map(|t| view.said(t))
            .filter(|l| within(l))
        {
            // The end of the loading may be told with its time.
            let timed = view.after(&line).next();
            let timed = timed.is_some_and(|l| l.text.contains(TIMED));
            let took = view.silence_after(&line).filter(|t| *t < LONGEST_STEP);
            let known = lines.iter().any(|l| l.at == line.at);
            if let Some(took) = took.filter(|_| !timed && !known) {
                time = time + took;
                lines.push(line);
            }
        }
    };
    silent(&READS, &mut lines);
    if lines.is_empty() {
        silent(&MOVES, &mut lines);
    }
    if lines.is_empty() {
        return None;
    }
    silent(&[UNPACKS], &mut lines);
    Some(Loading { time, lines })
}

/// The loading, where U-Boot's own stages tell of no line: all of the time from the start
/// of its commands to that of `bootm`, less a wait for a key.
fn between_stages<'a>(
    view: &View<'_>,
    from: Nanos,
    end: Nanos,
    wait: Nanos,
) -> Option<Loading<'a>> {
    let at = |name| stage(view, &[(name, "")]).map(|s| s.0.at);
    let (commands, boot) = (at("main_loop")?, at("bootm_start")?);
    let is_proper = from <= commands && commands < boot && boot < end;
    is_proper.then(|| Loading {
        time: (boot - commands - wait).max(Nanos::ZERO),
        lines: Vec::new(),
    })
}
