//! Block requests on one screen.

use super::Style;
use super::bar::share;
use super::layout::{BOLD, DIM, PLAIN, Screen, TIME, WARN, clean, fit, fit_end, left, right, time};
use super::show;
use crate::words::{self, bytes, plural, thousands};
use analysis::{Io, IoFile, IoProcess, IoStretch, Latency, Owner, OwnersFrom, ProcessOf};
use record::Nanos;
use std::cmp::Reverse;

/// The columns of a count and of a size.
const COUNT: usize = 10;
const SIZE: usize = 10;

/// Block requests: what was lost, sums, latency, time, processes, files, the
/// ledger. `top` limits processes and files; 0 gives all.
#[must_use]
pub fn io(io: &Io, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let ledger = io.ledger.clone().by_kind();
    if io.is_empty() {
        show::data_loss(&mut screen, &ledger);
        screen.line("Nothing in these sources asks a block device or names a file.");
        screen.line("Trace with `blktrace -d DEVICE`, or with the kernel's `block:*` events.");
        show::ledger(&mut screen, &ledger);
        show::sources(&mut screen, &ledger);
        return screen.finish();
    }
    show::data_loss(&mut screen, &ledger);
    if io.requests > 0 {
        headline(&mut screen, io);
        operations(&mut screen, io);
        failures(&mut screen, io);
        latency(&mut screen, io);
        devices(&mut screen, io);
        timeline(&mut screen, io);
        processes(&mut screen, io, top);
    }
    owners(&mut screen, io, top);
    files(&mut screen, &io.files, top);
    show::ledger(&mut screen, &ledger);
    show::sources(&mut screen, &ledger);
    screen.finish()
}

fn headline(screen: &mut Screen, io: &Io) {
    let first = io.timeline.first().map(|s| s.start);
    let last = io.timeline.last().map(|s| s.end);
    let title = screen.paint(BOLD, "Block requests");
    let count = screen.paint(BOLD, &thousands(io.requests));
    let span = match (first, last) {
        (Some(first), Some(last)) => format!(" in {}", last - first),
        _ => String::new(),
    };
    let devices: Vec<String> = io.devices.iter().map(|d| d.device.to_string()).collect();
    let on = fit(&devices.join(", "), screen.width() / 2);
    screen.line(&format!("{title}  {count}{span} on {on}"));
    if let Some(first) = first {
        let text = format!("the first is {first} after {}", clean(&io.zero));
        screen.wrapped("", 16, DIM, &text);
    }
    if let Some(clock) = &io.clock {
        screen.wrapped("", 16, DIM, words::clock(clock.kind));
    }
    if io.kept < io.requests {
        let text = format!(
            "sums are of all, and what follows \"by operation\" is of the first {}",
            thousands(io.kept)
        );
        screen.wrapped("", 16, WARN, &text);
    }
}

fn operations(screen: &mut Screen, io: &Io) {
    screen.heading(
        "By operation",
        "a request counts once, however often it was dispatched",
    );
    let head = format!(
        "  {}  {}  {}  {}  {}  {}  {}",
        left("", 8),
        right("requests", COUNT),
        right("size", SIZE),
        right("dispatched", COUNT),
        right("requeued", 8),
        right("completed", COUNT),
        right("merged", 8),
    );
    screen.columns(&head);
    for o in &io.operations {
        let line = format!(
            "  {}  {}  {}  {}  {}  {}  {}",
            screen.paint(BOLD, &left(o.operation.as_str(), 8)),
            screen.paint(BOLD, &right(&count(o.totals.requests), COUNT)),
            right(&size(o.totals.bytes), SIZE),
            right(&count(o.events.issued.count), COUNT),
            right(&count(o.events.requeued.count), 8),
            right(&count(o.events.completed.count), COUNT),
            right(&count(o.events.merged.count), 8),
        );
        screen.line(&line);
    }
}

/// What ended with an error.
fn failures(screen: &mut Screen, io: &Io) {
    if io.failures.is_empty() {
        return;
    }
    let about = format!(
        "{} of {} requests ended with an error, and moved nothing; sums and times have them",
        thousands(io.failed()),
        thousands(io.requests)
    );
    screen.heading("Failed", &about);
    let head = format!(
        "  {}  {}  {}  {}  {}  error",
        left("", 8),
        left("device", 8),
        right("requests", COUNT),
        right("size", SIZE),
        right("first", TIME),
    );
    screen.columns(&head);
    for f in &io.failures {
        let error = match f.meaning() {
            Some(meaning) => format!("{} {meaning}", f.error),
            None => f.error.to_string(),
        };
        let line = format!(
            "  {}  {}  {}  {}  {}  {}",
            screen.paint(BOLD, &left(f.operation.as_str(), 8)),
            left(&f.device.to_string(), 8),
            right(&count(f.requests), COUNT),
            right(&size(f.bytes), SIZE),
            time(f.first),
            screen.paint(WARN, &error),
        );
        screen.line(&line);
    }
}

/// A count; nothing for none.
fn count(n: u64) -> String {
    match n {
        0 => "-".to_owned(),
        n => thousands(n),
    }
}

fn size(n: u64) -> String {
    match n {
        0 => "-".to_owned(),
        n => bytes(n),
    }
}

fn latency(screen: &mut Screen, io: &Io) {
    screen.heading("Latency", "of reads, writes and discards");
    let columns = |cells: [String; 6]| {
        let cells: Vec<String> = cells.iter().map(|c| right(c, TIME)).collect();
        cells.join(" ")
    };
    let names = ["mean", "median", "90 %", "99 %", "99.9 %", "longest"].map(str::to_owned);
    let head = format!("  {}  {}", left("", 14), columns(names));
    screen.columns(&head);
    for (name, l) in [
        ("wait for issue", &io.wait),
        ("on the device", &io.service),
        ("altogether", &io.whole),
    ] {
        if l.count > 0 {
            let cells = [l.mean, l.median, l.p90, l.p99, l.p999, l.max];
            let line = format!(
                "  {}  {}",
                screen.paint(BOLD, &left(name, 14)),
                columns(cells.map(|t| t.to_string()))
            );
            screen.line(&line);
        }
    }
    if io.service_mean != io.service_mean_from_last
        && let (Some(first), Some(last)) = (io.service_mean, io.service_mean_from_last)
    {
        let text = format!(
            "some were dispatched again: the mean is {first} from the first dispatch, {last} from \
             the last one"
        );
        screen.wrapped("", 2, DIM, &text);
    }
    let d = &io.depth;
    if d.max > 0 {
        let text = format!(
            "at most {} at a time on the devices, {:.1} on average while there was one, which was \
             for {}",
            thousands(d.max),
            d.mean,
            d.busy
        );
        screen.wrapped("", 2, PLAIN, &text);
    }
    let s = &io.sequence;
    if s.followed > 0 {
        let mut text = format!(
            "{} of {} ({}) began where the one before ended, {} before that",
            thousands(s.sequential),
            thousands(s.followed),
            percent(s.sequential, s.followed),
            thousands(s.backward)
        );
        if s.followed > s.sequential {
            text += &format!("; the middle jump was {}", bytes(s.median_distance));
        }
        screen.wrapped("", 2, PLAIN, &text);
    }
}

fn percent(part: u64, whole: u64) -> String {
    let permille = u128::from(part) * 1000 / u128::from(whole.max(1));
    format!("{}.{} %", permille / 10, permille % 10)
}

fn devices(screen: &mut Screen, io: &Io) {
    if io.devices.len() < 2 {
        return;
    }
    screen.heading(
        "By device",
        "a request that goes through several counts on each",
    );
    let head = format!(
        "  {}  {}  {}  {}  {}  {}",
        left("", 8),
        right("requests", COUNT),
        right("read", SIZE),
        right("written", SIZE),
        right("mean", TIME),
        right("99 %", TIME),
    );
    screen.columns(&head);
    for d in &io.devices {
        let line = format!(
            "  {}  {}  {}  {}  {}  {}",
            screen.paint(BOLD, &left(&d.device.to_string(), 8)),
            right(&count(d.requests), COUNT),
            right(&size(d.read_bytes), SIZE),
            right(&size(d.write_bytes), SIZE),
            time(some(&d.service, d.service.mean)),
            time(some(&d.service, d.service.p99)),
        );
        screen.line(&line);
    }
}

fn some(latency: &Latency, time: Nanos) -> Option<Nanos> {
    (latency.count > 0).then_some(time)
}

fn timeline(screen: &mut Screen, io: &Io) {
    let (Some(first), true) = (io.timeline.first(), io.timeline.len() > 1) else {
        return;
    };
    let mut about = format!("each row is {}", first.end - first.start);
    // Where rows are shorter than what a time prints, times count from the first one.
    let starts: Vec<String> = io.timeline.iter().map(|s| s.start.to_string()).collect();
    let alike = starts
        .iter()
        .zip(starts.iter().skip(1))
        .any(|(a, b)| a == b);
    let since = if alike { first.start } else { Nanos::ZERO };
    if alike {
        about += "; times count from the first request";
    }
    screen.heading("Over time", &about);
    let moved = |s: &IoStretch| s.read_bytes.saturating_add(s.write_bytes);
    let most = io.timeline.iter().map(moved).max().unwrap_or(0);
    let slowest = io.timeline.iter().filter_map(|s| s.service_mean).max();
    let slowest = slowest.unwrap_or_default();
    // What the numbers leave, for two bars.
    let numbers = 2 + TIME + 2 + SIZE + 1 + SIZE + 2 + 2 + TIME + 2;
    let bar = (screen.width().saturating_sub(numbers) / 2).clamp(6, 40);
    let head = format!(
        "  {}  {} {}  {}  {}",
        right("from", TIME),
        right("read", SIZE),
        right("written", SIZE),
        left("", bar),
        right("mean", TIME),
    );
    screen.columns(&head);
    for s in &io.timeline {
        let line = format!(
            "  {}  {} {}  {}  {}  {}",
            time(Some(s.start - since)),
            right(&size(s.read_bytes), SIZE),
            right(&size(s.write_bytes), SIZE),
            screen.paint(BOLD, &share(length(moved(s)), length(most), bar)),
            time(s.service_mean),
            screen.paint(
                WARN,
                &share(s.service_mean.unwrap_or_default(), slowest, bar)
            ),
        );
        screen.line(&line);
    }
}

/// A size as the length of a bar.
fn length(bytes: u64) -> Nanos {
    Nanos(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// How many of `all` are shown, and the words for it.
fn shown(all: usize, top: usize, word: &str) -> (usize, String) {
    let shown = if top == 0 { all } else { all.min(top) };
    let about = if shown < all {
        format!("{shown} of {} {}", thousands(all as u64), plural(all, word))
    } else {
        String::new()
    };
    (shown, about)
}

fn processes(screen: &mut Screen, io: &Io, top: usize) {
    let whose = match io.process_of {
        ProcessOf::Queue => "who asked",
        ProcessOf::Issue => "who gave requests to the device: who asked was not traced",
        ProcessOf::Both => "who asked or, where that was not traced, gave it to the device",
    };
    let (shown, of) = shown(io.processes.len(), top, "process");
    let about = if of.is_empty() {
        whose.to_owned()
    } else {
        format!("{of}; {whose}")
    };
    screen.heading("Processes", &about);
    let head = format!(
        "  {}  {}  {}  {}  {}  name",
        right("read", SIZE),
        right("written", SIZE),
        right("requests", COUNT),
        right("first", TIME),
        right("mean", TIME),
    );
    screen.columns(&head);
    for p in io.processes.iter().take(shown) {
        let line = format!(
            "  {}  {}  {}  {}  {}  {}",
            right(&size(p.read_bytes), SIZE),
            right(&size(p.write_bytes), SIZE),
            right(&count(p.requests), COUNT),
            time(p.first),
            time(p.service_mean),
            process(p)
        );
        screen.line(&line);
    }
}

fn process(p: &IoProcess) -> String {
    let name = if p.name.is_empty() {
        "(name unknown)"
    } else {
        &p.name
    };
    match p.pid {
        Some(pid) => format!("{} ({pid})", clean(name)),
        None => clean(name),
    }
}

/// Whose requests were: the largest first.
fn owners(screen: &mut Screen, io: &Io, top: usize) {
    let from = match io.owners_from {
        OwnersFrom::Nothing => return,
        OwnersFrom::Image => "says the image",
        OwnersFrom::PageCache => "reads alone, says what had just come into the page cache",
    };
    let mut rows: Vec<&Owner> = io.owners.iter().collect();
    let moved = |o: &Owner| o.read_bytes.saturating_add(o.write_bytes);
    rows.sort_by_key(|o| (Reverse(moved(o)), o.first));
    let (shown, of) = shown(rows.len(), top, "owner");
    let about = match of.as_str() {
        "" => from.to_owned(),
        of => format!("the largest {of}; {from}"),
    };
    screen.heading("Whose it is", &about);
    let head = format!(
        "  {}  {}  {}  {}  owner",
        right("read", SIZE),
        right("written", SIZE),
        right("requests", COUNT),
        right("first", TIME),
    );
    screen.columns(&head);
    let room = screen
        .width()
        .saturating_sub(2 + SIZE + 2 + SIZE + 2 + COUNT + 2 + TIME + 2);
    for o in rows.into_iter().take(shown) {
        let line = format!(
            "  {}  {}  {}  {}  {}",
            right(&size(o.read_bytes), SIZE),
            right(&size(o.write_bytes), SIZE),
            right(&count(o.requests), COUNT),
            time(o.first),
            fit_end(&o.name, room.max(20))
        );
        screen.line(&line);
    }
}

/// How much of what came into memory was used, if both were traced.
fn used(screen: &mut Screen, files: &[IoFile]) {
    let both = files.iter().filter_map(|f| Some((f.bytes, f.used?)));
    let (came, used) = both.fold((0_u64, 0_u64), |sum, f| {
        (sum.0.saturating_add(f.0), sum.1.saturating_add(f.1))
    });
    if came > 0 {
        let text = format!(
            "{} of the {} that came into memory ({}) were read or mapped",
            bytes(used),
            bytes(came),
            percent(used, came)
        );
        screen.wrapped("", 2, PLAIN, &text);
    }
}

fn files(screen: &mut Screen, files: &[IoFile], top: usize) {
    if files.is_empty() {
        return;
    }
    let (shown, about) = shown(files.len(), top, "file");
    let about = if about.is_empty() {
        "in the order of their first need".to_owned()
    } else {
        format!("the first {about}")
    };
    screen.heading("Files", &about);
    used(screen, files);
    // A column for what was used, where that is known.
    let knows = files.iter().any(|f| f.used.is_some());
    let used = |text: &str| match knows {
        true => format!("  {}", right(text, SIZE)),
        false => String::new(),
    };
    let head = format!(
        "  {}  {}{}  {}  path",
        right("first", TIME),
        right("size", SIZE),
        used("used"),
        right("pieces", COUNT),
    );
    screen.columns(&head);
    let room = screen
        .width()
        .saturating_sub(2 + TIME + 2 + SIZE + used("").len() + 2 + COUNT + 2);
    for f in files.iter().take(shown) {
        let line = format!(
            "  {}  {}{}  {}  {}",
            time(Some(f.first)),
            right(&size(f.bytes), SIZE),
            used(&size(f.used.unwrap_or(0))),
            right(&count(f.requests), COUNT),
            fit_end(&f.path, room.max(20))
        );
        screen.line(&line);
    }
}
