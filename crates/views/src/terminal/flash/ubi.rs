//! The screen of `firstlight flash ubi`.

use super::problems::{self, Told};
use super::ubifs;
use crate::terminal::Style;
use crate::terminal::layout::{
    Ansi, BAD, BOLD, DIM, GOOD, OTHER, PLAIN, Screen, WARN, left, right,
};
use crate::words::{nanos, plural, size, thousands, utf8};
use flash::Foreign;
use flash::attached::Attached;
use flash::ubi::fastmap::Rule;
use flash::ubi::table::{AUTORESIZE, SKIP_CHECK};
use flash::ubi::{Device, Report, VolumeReport, What};

/// Characters of the picture in a line.
const COLUMNS: usize = 80;

/// How the kernel attaches a UBI image.
#[must_use]
pub fn ubi(image: &str, seen: &Attached, style: &Style) -> String {
    let mut screen = Screen::new(style);
    let report = &seen.report;
    let layout = &report.layout;
    let spare = layout.oob.map(|oob| {
        format!(
            ", in pages of {} bytes with {} spare bytes after each",
            oob.page, oob.spare
        )
    });
    let about = format!(
        "UBI, {} {} of {}{}",
        thousands(report.blocks),
        plural(
            usize::try_from(report.blocks).unwrap_or(usize::MAX),
            "erase block"
        ),
        size(layout.erase_size.into()),
        spare.unwrap_or_default()
    );
    screen.heading(image, &about);
    screen.blank();
    picture(&mut screen, &report.map);
    verdict(&mut screen, seen);
    blocks(&mut screen, report);
    volumes(&mut screen, seen);
    chip(&mut screen, seen);
    fastmap(&mut screen, report);
    times(&mut screen, report);
    problems::screen(&mut screen, &report.problems, told);
    screen.finish()
}

fn of_letter(letter: u8) -> Ansi {
    match letter {
        b'L' | b'F' => OTHER,
        b'B' | b'!' => BAD,
        b'x' | b'~' | b'?' => WARN,
        b'.' | b'-' => DIM,
        _ => GOOD,
    }
}

fn picture(screen: &mut Screen, map: &str) {
    for letters in map.as_bytes().chunks(COLUMNS) {
        let mut row = String::new();
        for alike in letters.chunk_by(|a, b| of_letter(*a) == of_letter(*b)) {
            let ansi = alike.first().map_or(PLAIN, |l| of_letter(*l));
            row.push_str(&screen.paint(ansi, &String::from_utf8_lossy(alike)));
        }
        screen.line(&row);
    }
}

/// Whether the kernel attaches it.
fn verdict(screen: &mut Screen, seen: &Attached) {
    let report = &seen.report;
    screen.blank();
    match report.refusal() {
        None if report.is_read_only => {
            screen.wrapped("", 0, WARN, "The kernel attaches it read-only.");
        }
        None => screen.wrapped("", 0, GOOD, "The kernel attaches it."),
        Some(why) => {
            let text = format!("The kernel refuses to attach it (error -22): {why}.");
            screen.wrapped("", 0, BAD, &text);
        }
    }
    if let (Some(misfit), Some(device)) = (report.misfit, &seen.device) {
        screen.wrapped("", 2, PLAIN, &misfit.advice(device));
    }
}

fn blocks(screen: &mut Screen, report: &Report) {
    screen.heading("Blocks", "");
    for (name, count) in &report.states {
        if *count == 0 {
            continue;
        }
        let (letter, words) = match *name {
            "bad" => ("B", "bad"),
            "empty" => (".", "without a header; UBI erases them and writes one"),
            "free" => ("-", "free"),
            "volume" => ("0-9a-w+", "of volumes, each with its number's digit"),
            "layout" => ("L", "of the volume table"),
            "fastmap" => ("F", "of a fastmap"),
            "old" => ("~", "older copies; UBI erases them"),
            "erase" => ("x", "half written or half erased; UBI erases them"),
            "corrupted" => ("!", "corrupted; UBI keeps them and never uses them"),
            _ => ("?", "that the kernel does not know"),
        };
        let ansi = of_letter(letter.bytes().next().unwrap_or(b' '));
        let letter = screen.paint(ansi, &right(letter, 9));
        let count = right(&thousands(*count), 9);
        screen.line(&format!("{letter}  {count}  {words}"));
    }
    let erases = &report.erases;
    if erases.known > 0 {
        let text = match erases.max {
            0 => "with an erase counter, of 0".to_owned(),
            max => format!(
                "erased {} to {} times, {} on average",
                thousands(erases.min.into()),
                thousands(max.into()),
                thousands(erases.mean.into())
            ),
        };
        let known = right(&thousands(erases.known), 9);
        screen.line(&format!("           {known}  {text}"));
        if erases.max >= 10 {
            histogram(screen, &erases.histogram);
        }
    }
    if report.chip_blocks > report.blocks {
        let rest = right(&thousands(report.chip_blocks - report.blocks), 9);
        screen.line(&format!(
            "           {rest}  more on the chip, taken as erased"
        ));
    }
}

fn histogram(screen: &mut Screen, buckets: &[u64; 6]) {
    let names = [
        "0 to 9",
        "10 to 99",
        "100 to 999",
        "1,000 to 9,999",
        "10,000 to 99,999",
        "100,000 and more",
    ];
    for (name, count) in names.iter().zip(buckets).filter(|(_, count)| **count > 0) {
        let count = right(&thousands(*count), 9);
        let text = format!("             {count}  {name} times");
        let text = screen.paint(DIM, &text);
        screen.line(&text);
    }
}

fn volumes(screen: &mut Screen, seen: &Attached) {
    let report = &seen.report;
    let [first, second] = report.tables;
    let tables = match (first, second) {
        ("good", "good") => "both copies of the table are good".to_owned(),
        _ => format!("the copies of the table are {first} and {second}"),
    };
    screen.heading("Volumes", &tables);
    for volume in &report.volumes {
        self::volume(screen, volume);
        match seen.ubifs.get(&volume.id) {
            Some(Ok(report)) => ubifs::section(screen, report, 7),
            Some(Err(why)) => screen.wrapped("", 7, BAD, why),
            None => {}
        }
    }
}

fn volume(screen: &mut Screen, volume: &VolumeReport) {
    let record = &volume.record;
    let kind = record
        .kind()
        .map_or("unknown".to_owned(), |k| k.to_string());
    let content = match volume.content {
        None => "nothing in it",
        Some(Foreign::Ubifs) => "UBIFS",
        Some(content) => content.name(),
    };
    let line = format!(
        "  {}  {}  {} {} of {} blocks  {}  {content}",
        right(&volume.id.to_string(), 3),
        screen.paint(BOLD, &left(&utf8(record.name()).0, 16)),
        left(&kind, 8),
        right(&thousands(volume.mapped), 6),
        thousands(record.reserved.into()),
        right(&size(volume.bytes), 10),
    );
    screen.line(&line);
    let mut more = Vec::new();
    if record.flags & AUTORESIZE != 0 {
        more.push((DIM, "gets all free blocks on the first attach".to_owned()));
    }
    if record.flags & SKIP_CHECK != 0 {
        more.push((DIM, "is not checked when it is opened".to_owned()));
    }
    if let Some(check) = &volume.check {
        more.push(match (check.missing, check.wrong.len()) {
            (0, 0) if check.bytes > 0 => (GOOD, "its checksums are right".to_owned()),
            (0, 0) => (DIM, "it is empty".to_owned()),
            (missing, wrong) => (
                BAD,
                format!("{missing} blocks are missing, {wrong} have wrong checksums"),
            ),
        });
    }
    for (ansi, what) in more {
        screen.wrapped("", 7, ansi, &what);
    }
}

/// What chip the image is for.
fn chip(screen: &mut Screen, seen: &Attached) {
    let layout = &seen.report.layout;
    let offsets = format!(
        "VID headers at {}, data at {}, {} in a logical block",
        layout.vid_offset,
        layout.data_offset,
        size(layout.leb_size().into())
    );
    screen.heading("Chip", &offsets);
    let fits = Device::fitting((layout.vid_offset, layout.data_offset));
    let fits: Vec<String> = fits
        .iter()
        .take(3)
        .map(|(min_io, subpage)| match (min_io, min_io == subpage) {
            (1, _) => "writes of any length (NOR)".to_owned(),
            (_, true) => format!("writes of {min_io} without subpages"),
            (_, false) => format!("writes of {min_io} with subpages of {subpage}"),
        })
        .collect();
    let fits = if fits.is_empty() {
        format!(
            "No chip has these by itself: the kernel must be told the place of VID headers \
             (`ubiattach -O {}`).",
            layout.vid_offset
        )
    } else {
        format!("It is for a chip with {}.", fits.join(", or "))
    };
    screen.wrapped("", 2, PLAIN, &fits);
    if let Some(device) = seen.device {
        let (vid, data) = device.offsets();
        let text = format!(
            "The chip that was stated has smallest writes of {}, and of {} for headers: the kernel \
             wants VID headers at {vid}, data at {data}.",
            device.min_io, device.subpage
        );
        let ansi = if seen.report.misfit.is_some() {
            BAD
        } else {
            PLAIN
        };
        screen.wrapped("", 2, ansi, &text);
    } else {
        let text = "Give --min-io and --subpage to hold it against a chip.";
        screen.wrapped("", 2, DIM, text);
    }
}

fn fastmap(screen: &mut Screen, report: &Report) {
    let map = &report.fastmap;
    let about = match (&map.broken, map.is_present()) {
        (None, _) => "valid: a kernel with CONFIG_MTD_UBI_FASTMAP uses it",
        (Some(_), true) => "there is one, but the kernel does not use it",
        (Some(_), false) => "there is none",
    };
    screen.heading("Fastmap", about);
    let Some((broken, why)) = &map.broken else {
        if map.disagrees > 0 {
            screen.wrapped("", 2, BAD, "It contradicts the headers; see below.");
        }
        return;
    };
    if !map.is_present() {
        let text = match broken {
            Rule::LargeEnough => "UBI makes none on a chip of 64 blocks or less.",
            _ => {
                "None of the first 64 blocks holds one. A kernel with CONFIG_MTD_UBI_FASTMAP makes \
                 one when it detaches, if it is told to: ubi.fm_autoconvert=1, and, where the kernel \
                 knows that field (6.1.192 does), 1 as the fifth of ubi.mtd=. No tool makes one beforehand."
            }
        };
        screen.wrapped("", 2, PLAIN, text);
        return;
    }
    for rule in Rule::ALL {
        let (mark, ansi, text) = if rule == *broken {
            ("no", BAD, format!("{}: {why}", rule.words()))
        } else if rule < *broken {
            ("yes", GOOD, rule.words().to_owned())
        } else {
            ("-", DIM, rule.words().to_owned())
        };
        screen.wrapped(&right(mark, 5), 7, ansi, &text);
    }
}

fn times(screen: &mut Screen, report: &Report) {
    let attach = &report.attach;
    let profile = attach.profile;
    let about = format!(
        "estimated for {}, {} % either way",
        profile.name, profile.error_percent
    );
    screen.heading("Time to attach", &about);
    let mut row = |ns: u64, ansi: Ansi, what: &str| {
        let time = nanos(ns).to_string();
        let line = screen.paint(ansi, &format!("    {}  {what}", right(&time, 11)));
        screen.line(&line);
    };
    row(attach.scan_ns, PLAIN, "by reading all headers");
    if let Some(ns) = attach.fastmap_ns {
        row(ns, PLAIN, "by a valid fastmap");
    }
    for volume in report.volumes.iter().filter(|v| v.open_ns > 0) {
        let name = utf8(volume.record.name()).0;
        let what =
            format!("then, to check `{name}` when it is opened; --skip-check {name} spares it");
        row(volume.open_ns, WARN, &what);
    }
    screen.wrapped("", 17, DIM, profile.source);
    if report.chip_blocks == report.blocks {
        let text = "All headers of the chip are read, not only the image's: give --chip-size.";
        screen.wrapped("", 17, DIM, text);
    }
}

/// How bad a problem looks on the screen, what it is, and what to do about it.
fn told(what: &What) -> Told {
    let ansi = if what.refuses() { BAD } else { WARN };
    (ansi, what.to_string(), what.advice())
}
