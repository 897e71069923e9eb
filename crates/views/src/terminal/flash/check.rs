//! The screen of `firstlight flash check`: a picture of an image, block by block.

use super::problems::{self, Told};
use crate::terminal::Style;
use crate::terminal::layout::{Ansi, BAD, BOLD, DIM, GOOD, OTHER, PLAIN, Screen, WARN, right};
use crate::words::{nanos, plural, size, thousands};
use flash::jffs2::{Class, Oob, Report, What};

/// Characters of the picture in a line, as `nand_check` has it.
const COLUMNS: usize = 80;

/// The erase blocks of a JFFS2 image, its problems, and its mount time.
#[must_use]
pub fn check(image: &str, report: &Report, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let order = report.endian.map(|e| format!("JFFS2, {e}-endian, "));
    let spare = report.oob.map(|Oob { page, spare }| {
        format!(", in pages of {page} bytes with {spare} spare bytes after each")
    });
    let about = format!(
        "{}{} {} of {}{}",
        order.unwrap_or_default(),
        thousands(report.blocks),
        plural(
            usize::try_from(report.blocks).unwrap_or(usize::MAX),
            "erase block"
        ),
        size(report.erase_size.into()),
        spare.unwrap_or_default()
    );
    screen.heading(image, &about);
    screen.blank();
    picture(&mut screen, report);
    classes(&mut screen, report);
    problems::screen(&mut screen, &report.problems, told);
    mount(&mut screen, report);
    screen.finish()
}

/// One character per erase block.
fn picture(screen: &mut Screen, report: &Report) {
    let letters = report.map.as_bytes();
    let mut paints: Vec<Ansi> = letters.iter().map(|l| of_letter(*l)).collect();
    for problem in &report.problems {
        let ansi = match problem.what {
            What::BrokenSummary(_) | What::UnreadableSummary => BAD,
            What::Foreign(_) => OTHER,
            _ => continue,
        };
        let first = problem.block.and_then(|b| usize::try_from(b).ok());
        let count = usize::try_from(problem.blocks).unwrap_or(usize::MAX);
        let painted = paints.iter_mut().skip(first.unwrap_or(usize::MAX));
        painted.take(count).for_each(|p| *p = ansi);
    }
    let rows = letters.chunks(COLUMNS).zip(paints.chunks(COLUMNS));
    for (letters, paints) in rows {
        let mut row = String::new();
        let mut rest = letters;
        for alike in paints.chunk_by(|a, b| a == b) {
            let (now, later) = rest.split_at(alike.len().min(rest.len()));
            let ansi = alike.first().copied().unwrap_or(PLAIN);
            row.push_str(&screen.paint(ansi, &String::from_utf8_lossy(now)));
            rest = later;
        }
        screen.line(&row);
    }
}

fn of_letter(letter: u8) -> Ansi {
    match letter {
        b'S' | b's' => GOOD,
        b'=' | b'-' => WARN,
        b'B' => BAD,
        _ => DIM,
    }
}

/// What the characters stand for, with counts.
fn classes(screen: &mut Screen, report: &Report) {
    screen.heading("Blocks", "");
    for class in Class::ALL {
        let count = report.count(class);
        if count == 0 {
            continue;
        }
        let (letter, ansi, words) = match class {
            Class::Bad => ("B", BAD, "bad"),
            Class::Erased => (".", DIM, "erased"),
            Class::ErasedCleanmarker => (".", DIM, "erased, with a clean marker"),
            Class::Partial => ("-", WARN, "less than half used, without a summary"),
            Class::PartialSummary => ("s", GOOD, "less than half used, with a summary"),
            Class::Full => ("=", WARN, "at least half used, without a summary"),
            Class::FullSummary => ("S", GOOD, "at least half used, with a summary"),
            Class::BrokenSummary => ("-=", BAD, "with a summary that the kernel will not use"),
            Class::Foreign => ("-=", OTHER, "not JFFS2"),
        };
        let letter = screen.paint(ansi, &right(letter, 4));
        let count = right(&thousands(count), 9);
        screen.line(&format!("{letter}  {count}  {words}"));
    }
    let bytes = report.bytes;
    let rows = [
        (bytes.nodes, "in nodes"),
        (bytes.summaries, "in summaries"),
        (bytes.obsolete, "in obsolete nodes"),
        (bytes.damaged, "in damaged nodes"),
        (bytes.garbage, "in no node"),
        (bytes.foreign, "not JFFS2"),
    ];
    screen.heading("Bytes", "");
    for (count, what) in rows.into_iter().filter(|(count, _)| *count > 0) {
        screen.line(&format!("      {}  {what}", right(&size(count), 9)));
    }
}

/// How bad a problem looks on the screen, what it is, and what to do about it.
fn told(what: &What) -> Told {
    let ansi = match what {
        What::NoSummary { .. } | What::NoCleanmarker { .. } | What::EraseSizeAssumed => WARN,
        What::Foreign(_) => OTHER,
        _ => BAD,
    };
    (ansi, what.to_string(), what.advice())
}

fn mount(screen: &mut Screen, report: &Report) {
    let mount = &report.mount;
    let profile = mount.profile;
    let about = format!(
        "estimated for {}, {} % either way",
        profile.name, profile.error_percent
    );
    screen.heading("Mount time", &about);
    let rows = [
        (mount.now_ns, "as the image is", BOLD),
        (mount.scan_ns, "without any summary", PLAIN),
        (
            mount.summary_ns,
            "with a summary in each block but the last, which stays open",
            PLAIN,
        ),
    ];
    for (ns, what, ansi) in rows {
        let time = nanos(ns).to_string();
        let line = format!("      {}  {}", right(&time, 9), what);
        let line = screen.paint(ansi, line.trim_end());
        screen.line(&line);
    }
    screen.wrapped("", 6, DIM, profile.source);
    screen.heading("Memory", "");
    screen.line(&format!(
        "      {}  for the summary of the block being written (CONFIG_JFFS2_SUMMARY)",
        right(&size(report.summary_memory().into()), 9)
    ));
}
