//! The first picture: how it comes to the screen, and when.

use super::found::{Found, Scope};
use super::scripts::{code, is_run, names, place, stops};
use super::text::pictures as text;
use super::view::{View, number, transfer};
use crate::spans;
use record::SpanKind;

/// What unpacking a byte of a picture takes beyond copying it, in instructions:
/// deflate, as in PNG, by busybox on an ARM926, 153.4 ms at 125 MIPS for 300 KiB, less
/// the 6.0 ms that copying takes. Undoing the filters of PNG, or a JPEG, takes more: a PNG
/// by libpng on an x86-64 took 126 (`lab classics splash`).
const WORK_PER_BYTE: u64 = 60;

/// Programs that make pixels of an image file and write them to the framebuffer.
/// `psplash` is none: its picture is compiled in as runs of pixels.
const DECODERS: [&str; 4] = ["fbi", "fbsplash", "fbv", "fim"];

/// Programs that unpack what they hand on.
const UNPACKERS: [&str; 8] = [
    "bunzip2", "bzcat", "gunzip", "lz4cat", "unxz", "xzcat", "zcat", "zstdcat",
];

/// By which lines drivers name the bytes of a framebuffer: what stands before the
/// number, and what one of it is.
pub(super) const FRAMEBUFFERS: [(&str, u64); 2] = [
    // `fb0: Virtual frame buffer device, using 1024K of video memory`
    ("frame buffer device, using ", 1 << 10),
    // `efifb: framebuffer at 0xc0000000, using 3072k, total 3072k`
    ("framebuffer at ", 1 << 10),
];

/// The bytes of the framebuffer, and the line that says so.
fn framebuffer<'a>(view: &'a View<'_>) -> Option<(u64, super::view::Line<'a>)> {
    FRAMEBUFFERS.iter().find_map(|(text, each)| {
        let line = view.said(text).next()?;
        let rest = line.behind(text)?;
        let rest = rest.split_once("using ").map_or(rest, |(_, r)| r);
        let is_kilo = |r: &str| {
            let digits = r.trim_start_matches(|c: char| c.is_ascii_digit());
            digits.starts_with(['k', 'K'])
        };
        let count = number(rest).filter(|_| is_kilo(rest))?;
        Some((count.saturating_mul(*each), line))
    })
}

/// The program of a line that decodes a picture for the framebuffer.
fn decoder(line: &str) -> Option<&str> {
    let named = |all: &[&str]| names(line).find(|w| all.contains(w));
    match named(&DECODERS) {
        Some(program) => Some(program),
        None if line.contains("/dev/fb") => named(&UNPACKERS),
        None => None,
    }
}

/// A script decodes a picture that could be copied.
pub(super) fn decoded(view: &View<'_>) -> Option<Found> {
    let tree = view.system.root.as_ref()?;
    let (path, offset, line, program) =
        tree.lines(|p| is_run(tree, p))
            .find_map(|(path, offset, line)| {
                let program = code(line).and_then(decoder)?;
                (!stops(tree, path, offset)).then_some((path, offset, line, program))
            })?;
    let why = text::decoded_why(program);
    let found = Found::new()
        .why(why)
        .evidence([place(tree, path, offset, line)])
        .scope(Scope::Unknown);
    Some(match framebuffer(view) {
        Some((bytes, said)) => {
            let work = bytes.saturating_mul(WORK_PER_BYTE);
            let speed = view.speed();
            let time = transfer(work, speed.rate);
            // Half of the screen may be one colour; a PNG takes twice the work.
            found
                .evidence([view.quote(&said)])
                .parts(time, 20, 100, 200)
                .at_speed(speed)
        }
        None => found,
    })
}

/// Units that draw a first picture.
const SPLASHES: [&str; 4] = [
    "plymouth-start.service",
    "psplash-start.service",
    "psplash.service",
    "splash.service",
];

/// A unit that draws a splash, late.
pub(super) fn late(view: &View<'_>) -> Option<Found> {
    let all = spans::distinct(view.record);
    let span = all
        .iter()
        .find(|s| s.kind == SpanKind::Unit && SPLASHES.contains(&view.record.name(s.name)))?;
    let drawn = span.end.filter(|end| *end <= view.phases.end())?;
    if drawn.0 <= view.total.0 / 2 {
        return None;
    }
    let name = view.record.name(span.name);
    let why = text::late_why(name, drawn);
    let text = text::drawn(name, drawn);
    Some(
        Found::new()
            .why(why)
            .evidence([view.evidence(text, span.origin)])
            .scope(Scope::Unknown),
    )
}

#[cfg(test)]
mod tests {
    use super::decoder;

    #[test]
    fn a_decoder_is_a_command() {
        assert_eq!(decoder("/usr/bin/fbv -f /logo.png"), Some("fbv"));
        assert_eq!(decoder("[ -e /x ] && fim /x &"), Some("fim"));
        assert_eq!(decoder("gunzip -c /logo.gz >/dev/fb0"), Some("gunzip"));
        assert_eq!(decoder("zcat /logo.gz | dd of=/dev/fb0"), Some("zcat"));
        for no in [
            "cat /logo >/dev/fb0",
            "psplash -n &",
            "zcat /proc/config.gz",
            "echo fbvx",
            "",
        ] {
            assert_eq!(decoder(no), None, "{no}");
        }
    }
}
