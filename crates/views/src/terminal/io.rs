//! Block requests on one screen.

use super::bar::share;
use super::layout::{BOLD, DIM, PLAIN, Screen, WARN, clean, fit};
use super::show;
use super::style::Style;
use super::table::{Cell, Column, Table, cell};
use crate::words::{self, bytes, counted, thousands};
use analysis::{Io, IoFile, IoProcess, IoStretch, Latency, Owner, OwnersFrom, ProcessOf};
use record::Nanos;
use std::cmp::Reverse;

/// Where the lines below the headline begin.
const INDENT: usize = 16;

/// Block requests: what was lost, sums, latency, time, processes, files, the
/// quality of the data. `top` limits processes and files; 0 gives all.
#[must_use]
pub fn io(io: &Io, top: usize, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let ledger = io.ledger.clone().by_kind();
    show::data_loss(&mut screen, &ledger);
    if io.is_empty() {
        screen.line("No block request and no file access was found in the input.");
        screen.line("To trace them, use `blktrace -d DEVICE` or the kernel's `block:*` events.");
    } else {
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
    }
    show::quality(&mut screen, &ledger);
    show::inputs(&mut screen, &ledger);
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
        let text = format!("first request: {first} after {}", clean(&io.zero));
        screen.wrapped("", INDENT, DIM, &text);
    }
    if let Some(clock) = &io.clock {
        screen.wrapped("", INDENT, DIM, words::clock(clock.kind));
    }
    if io.kept < io.requests {
        let text = format!(
            "\"By operation\" covers all requests; the tables below it cover the first {}",
            thousands(io.kept)
        );
        screen.wrapped("", INDENT, WARN, &text);
    }
}

fn operations(screen: &mut Screen, io: &Io) {
    screen.heading(
        "By operation",
        "a request counts once, however often it was dispatched",
    );
    let mut table = Table::new([
        Column::text("").at_least(8),
        Column::number("requests"),
        Column::number("size"),
        Column::number("dispatched"),
        Column::number("requeued"),
        Column::number("completed"),
        Column::number("merged"),
    ]);
    for o in &io.operations {
        table.row([
            cell(o.operation.as_str()).bold(),
            cell(count(o.totals.requests)).bold(),
            cell(size(o.totals.bytes)),
            cell(count(o.events.issued.count)),
            cell(count(o.events.requeued.count)),
            cell(count(o.events.completed.count)),
            cell(count(o.events.merged.count)),
        ]);
    }
    if io.operations.len() > 1 {
        let sum = |of: fn(&analysis::IoOperation) -> u64| {
            io.operations
                .iter()
                .map(of)
                .fold(0_u64, u64::saturating_add)
        };
        table.total([
            cell("total"),
            cell(count(sum(|o| o.totals.requests))),
            cell(size(sum(|o| o.totals.bytes))),
            cell(count(sum(|o| o.events.issued.count))),
            cell(count(sum(|o| o.events.requeued.count))),
            cell(count(sum(|o| o.events.completed.count))),
            cell(count(sum(|o| o.events.merged.count))),
        ]);
    }
    table.print(screen);
}

/// What ended with an error.
fn failures(screen: &mut Screen, io: &Io) {
    if io.failures.is_empty() {
        return;
    }
    let about = format!(
        "{} of {} requests failed and moved no data; counts and times include them",
        thousands(io.failed()),
        thousands(io.requests)
    );
    screen.heading("Failed requests", &about);
    let mut table = Table::new([
        Column::text("").at_least(8),
        Column::text("device"),
        Column::number("requests"),
        Column::number("size"),
        Column::time("first"),
        Column::name("error"),
    ]);
    for f in &io.failures {
        let error = match f.meaning() {
            Some(meaning) => format!("{} {meaning}", f.error),
            None => f.error.to_string(),
        };
        table.row([
            cell(f.operation.as_str()).bold(),
            cell(f.device.to_string()),
            cell(count(f.requests)),
            cell(size(f.bytes)),
            cell(f.first),
            cell(error).ansi(WARN),
        ]);
    }
    table.print(screen);
}

/// A count; a dash for none.
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
    let mut table = Table::new([
        Column::text(""),
        Column::time("mean"),
        Column::time("median"),
        Column::time("90 %"),
        Column::time("99 %"),
        Column::time("99.9 %"),
        Column::time("max"),
    ]);
    for (name, l) in [
        ("queued", &io.wait),
        ("on the device", &io.service),
        ("total", &io.whole),
    ] {
        if l.count > 0 {
            let [mean, median, p90, p99, p999, max] =
                [l.mean, l.median, l.p90, l.p99, l.p999, l.max].map(cell);
            table.row([cell(name).bold(), mean, median, p90, p99, p999, max]);
        }
    }
    table.print(screen);
    if io.service_mean != io.service_mean_from_last
        && let (Some(first), Some(last)) = (io.service_mean, io.service_mean_from_last)
    {
        let text = format!(
            "Some requests were dispatched more than once. Their mean is {first} from the first \
             dispatch and {last} from the last one."
        );
        screen.wrapped("", 2, DIM, &text);
    }
    let d = &io.depth;
    if d.max > 0 {
        let text = format!(
            "Queue depth: {:.1} on average while the devices were busy ({}), {} at most.",
            d.mean,
            d.busy,
            thousands(d.max),
        );
        screen.wrapped("", 2, PLAIN, &text);
    }
    let s = &io.sequence;
    if s.followed > 0 {
        let mut text = format!(
            "Sequential: {} of {} requests ({}) start where the previous one ends. Backward: {}.",
            thousands(s.sequential),
            thousands(s.followed),
            percent(s.sequential, s.followed),
            thousands(s.backward)
        );
        if s.followed > s.sequential {
            text += &format!(" Median jump: {}.", bytes(s.median_distance));
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
        "a request that passes through several devices counts on each",
    );
    let mut table = Table::new([
        Column::text("device").at_least(8),
        Column::number("requests"),
        Column::number("read"),
        Column::number("written"),
        Column::time("mean"),
        Column::time("99 %"),
    ]);
    for d in &io.devices {
        table.row([
            cell(d.device.to_string()).bold(),
            cell(count(d.requests)),
            cell(size(d.read_bytes)),
            cell(size(d.write_bytes)),
            cell(some(&d.service, d.service.mean)),
            cell(some(&d.service, d.service.p99)),
        ]);
    }
    table.print(screen);
}

fn some(latency: &Latency, time: Nanos) -> Option<Nanos> {
    (latency.count > 0).then_some(time)
}

fn timeline(screen: &mut Screen, io: &Io) {
    let (Some(first), true) = (io.timeline.first(), io.timeline.len() > 1) else {
        return;
    };
    let mut about = format!("{} per row", first.end - first.start);
    // Where rows are shorter than what a time prints, times count from the first one.
    let starts: Vec<String> = io.timeline.iter().map(|s| s.start.to_string()).collect();
    let alike = starts
        .iter()
        .zip(starts.iter().skip(1))
        .any(|(a, b)| a == b);
    let since = if alike { first.start } else { Nanos::ZERO };
    if alike {
        about += ", from the first request";
    }
    screen.heading("Over time", &about);
    let moved = |s: &IoStretch| s.read_bytes.saturating_add(s.write_bytes);
    let most = io.timeline.iter().map(moved).max().unwrap_or(0);
    let slowest = io.timeline.iter().filter_map(|s| s.service_mean).max();
    let slowest = slowest.unwrap_or_default();
    // What the numbers leave, for two bars.
    let numbers = 52;
    let bar = (screen.width().saturating_sub(numbers) / 2).clamp(6, 40);
    let mut table = Table::new([
        Column::time("start"),
        Column::number("read"),
        Column::number("written"),
        Column::text(""),
        Column::time("mean latency"),
        Column::text(""),
    ]);
    for s in &io.timeline {
        table.row([
            cell(s.start - since),
            cell(size(s.read_bytes)),
            cell(size(s.write_bytes)),
            cell(share(length(moved(s)), length(most), bar)).bold(),
            cell(s.service_mean),
            cell(share(s.service_mean.unwrap_or_default(), slowest, bar)).ansi(WARN),
        ]);
    }
    table.print(screen);
}

/// A size as the length of a bar.
fn length(bytes: u64) -> Nanos {
    Nanos(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// How many of `all` are shown, and the words for it if some are not.
fn shown(all: usize, top: usize, word: &str) -> (usize, Option<String>) {
    let shown = if top == 0 { all } else { all.min(top) };
    let about = (shown < all).then(|| format!("{shown} of {}", counted(all, word)));
    (shown, about)
}

fn processes(screen: &mut Screen, io: &Io, top: usize) {
    let whose = match io.process_of {
        ProcessOf::Queue => "by the process that queued the request",
        ProcessOf::Issue => {
            "by the process that dispatched the request; who queued it was not traced"
        }
        ProcessOf::Both => {
            "by the process that queued the request or, if that was not traced, dispatched it"
        }
    };
    let (shown, of) = shown(io.processes.len(), top, "process");
    let about = match of {
        None => whose.to_owned(),
        Some(of) => format!("{of}, {whose}"),
    };
    screen.heading("Processes", &about);
    let mut table = Table::new([
        Column::number("read"),
        Column::number("written"),
        Column::number("requests"),
        Column::time("first"),
        Column::time("mean latency"),
        Column::name("process"),
    ]);
    for p in io.processes.iter().take(shown) {
        table.row([
            cell(size(p.read_bytes)),
            cell(size(p.write_bytes)),
            cell(count(p.requests)),
            cell(p.first),
            cell(p.service_mean),
            cell(process(p)),
        ]);
    }
    table.print(screen);
}

fn process(p: &IoProcess) -> String {
    let name = if p.name.is_empty() {
        "(name unknown)"
    } else {
        &p.name
    };
    match p.pid {
        Some(pid) => format!("{name} ({pid})"),
        None => name.to_owned(),
    }
}

/// Which files and structures requests were for: the largest first.
fn owners(screen: &mut Screen, io: &Io, top: usize) {
    let from = match io.owners_from {
        OwnersFrom::Nothing => return,
        OwnersFrom::Image => "according to the image",
        OwnersFrom::PageCache => "reads only, matched to what had just entered the page cache",
    };
    let mut rows: Vec<&Owner> = io.owners.iter().collect();
    let moved = |o: &Owner| o.read_bytes.saturating_add(o.write_bytes);
    rows.sort_by_key(|o| (Reverse(moved(o)), o.first));
    let (shown, of) = shown(rows.len(), top, "owner");
    let about = match of {
        None => from.to_owned(),
        Some(of) => format!("the largest {of}, {from}"),
    };
    screen.heading("Owners of the requested blocks", &about);
    let mut table = Table::new([
        Column::number("read"),
        Column::number("written"),
        Column::number("requests"),
        Column::time("first"),
        Column::path("owner"),
    ]);
    for o in rows.into_iter().take(shown) {
        table.row([
            cell(size(o.read_bytes)),
            cell(size(o.write_bytes)),
            cell(count(o.requests)),
            cell(o.first),
            cell(&o.name),
        ]);
    }
    table.print(screen);
}

/// How much of what came into memory was used, if both were traced.
fn used(screen: &mut Screen, files: &[IoFile]) {
    let both = files.iter().filter_map(|f| Some((f.bytes, f.used?)));
    let (came, used) = both.fold((0_u64, 0_u64), |sum, f| {
        (sum.0.saturating_add(f.0), sum.1.saturating_add(f.1))
    });
    if came > 0 {
        let text = format!(
            "The boot read or mapped {} of the {} that entered the page cache ({}).",
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
    let (shown, of) = shown(files.len(), top, "file");
    let about = match of {
        None => "in the order of their first use".to_owned(),
        Some(of) => format!("the first {of}"),
    };
    screen.heading("Files", &about);
    used(screen, files);
    // A column for what was used, where that is known.
    let knows = files.iter().any(|f| f.used.is_some());
    let mut table = Table::new([
        Column::time("first"),
        Column::number("size"),
        Column::number("used"),
        Column::number("pieces"),
        Column::path("path"),
    ]);
    for f in files.iter().take(shown) {
        table.row([
            cell(f.first),
            cell(size(f.bytes)),
            match knows {
                true => cell(size(f.used.unwrap_or(0))),
                false => Cell::default(),
            },
            cell(count(f.requests)),
            cell(&f.path),
        ]);
    }
    table.print(screen);
}
