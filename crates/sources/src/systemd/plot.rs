//! The drawing of `systemd-analyze plot`.
//!
//! Units of the ledger are the `<rect>` and `<text>` elements. A drawing that
//! is no well-formed XML, because it is cut, is one unit, and lost.

use super::clocks::{MONOTONIC, USERSPACE_CLOCK};
use super::startup::{self, Boundaries, parse_time_line};
use super::{timespan, unit};
use crate::source::{Input, Sniff, Source};
use crate::{drawing, text};
use record::{ClockId, ClockKind, Doubt, NoteKind, Origin, Recorder, Severity, SourceId, SpanKind};
use roxmltree::{Document, Node};

/// `systemd-analyze plot` SVG.
///
/// Bars give units their starts and ends on the clock `monotonic`, in steps of
/// 10 us; the label's duration is what systemd reported.
#[derive(Debug)]
pub struct Plot;

const NOT_WELL_FORMED: NoteKind = NoteKind {
    name: "not_well_formed",
    severity: Severity::DataLoss,
    advice: "The SVG is truncated or damaged and could not be read. Run `systemd-analyze plot` \
        again.",
};

const DECORATION: NoteKind = NoteKind {
    name: "decoration",
    severity: Severity::Info,
    advice: "The background, scale and legend contain no times.",
};

const ROW_NOT_UNDERSTOOD: NoteKind = NoteKind {
    name: "row_not_understood",
    severity: Severity::Doubt,
    advice: "These bars or labels are not in systemd's format, so their units are missing.",
};

const OTHER_TEXT: NoteKind = NoteKind {
    name: "text_not_understood",
    severity: Severity::Doubt,
    advice: "The heading of the SVG is not in systemd's format.",
};

/// One pixel is 10 ms: `SCALE_X` in systemd's `analyze-plot.c`. The scale that
/// is drawn says so too, and wins where it differs.
const PIXEL_NS: f64 = 10_000_000.0;

/// Positions are printed with three decimals.
const STEP_NS: u64 = 10_000;

/// How far a printed duration, which is cut to whole milliseconds, may lie from
/// its bar. More means that the bar was cut at the end of the drawing.
const LABEL_TOLERANCE_NS: i64 = 1_100_000;

impl Source for Plot {
    fn name(&self) -> &'static str {
        "systemd-plot"
    }

    fn description(&self) -> &'static str {
        "boot chart of units in SVG: `systemd-analyze plot`"
    }

    fn reads_drawings(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let has = |needle: &[u8]| memchr::memmem::find(head, needle).is_some();
        if !has(b"<svg") {
            Sniff::No
        } else if has(b"systemd-analyze") || has(b"rect.unitsload") {
            Sniff::Yes
        } else if has(b"Startup finished in ") || has(b"class=\"activating\"") {
            Sniff::Maybe
        } else {
            Sniff::No
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let text = text::lossy(input.bytes);
        let document = drawing::document(&text, source, &NOT_WELL_FORMED, recorder);
        if let Some(document) = document {
            Reader::new(&document, source, recorder).all(&document, recorder);
        }
    }
}

/// A bar of a row.
#[derive(Clone, Copy, Debug)]
struct Bar<'a> {
    class: &'a str,
    start: i64,
    length: i64,
    origin: Origin,
}

impl Bar<'_> {
    fn end(&self) -> i64 {
        self.start.saturating_add(self.length)
    }
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    clock: ClockId,
    pixel_ns: f64,
    boundaries: Boundaries,
    /// The first row of a phase.
    phases: Option<Origin>,
    /// The heading's sum of the boot.
    heading: Option<(startup::StartupTimes, Origin)>,
}

impl Reader {
    fn new(document: &Document<'_>, source: SourceId, recorder: &mut Recorder) -> Self {
        // A container's or a user's manager knows no kernel, and its drawing
        // counts from its own start.
        let has_kernel = document
            .descendants()
            .any(|n| n.has_tag_name("rect") && n.attribute("class") == Some("kernel"));
        let name = if has_kernel {
            MONOTONIC
        } else {
            USERSPACE_CLOCK
        };
        Self {
            source,
            clock: recorder.clock(name, ClockKind::Monotonic, STEP_NS),
            pixel_ns: pixel_ns(document),
            boundaries: Boundaries {
                kernel: has_kernel.then_some(0),
                resolution_ns: STEP_NS,
                ..Boundaries::default()
            },
            phases: None,
            heading: None,
        }
    }

    /// Rows are drawn one after the other: the bars, then the label.
    fn all(mut self, document: &Document<'_>, recorder: &mut Recorder) {
        let mut bars: Vec<Bar<'_>> = Vec::new();
        for node in document.descendants() {
            let origin = Origin {
                source: self.source,
                offset: node.range().start as u64,
            };
            let class = node.attribute("class").unwrap_or("");
            match (node.tag_name().name(), class) {
                ("rect", "background" | "box") | ("text", "sec") => {
                    recorder.skipped(origin, &DECORATION);
                }
                ("rect", _) => match self.bar(node, class, origin) {
                    Some(bar) => bars.push(bar),
                    None => recorder.skipped(origin, &ROW_NOT_UNDERSTOOD),
                },
                ("text", "left" | "right") => {
                    self.row(&bars, content(node), origin, recorder);
                    bars.clear();
                }
                ("text", _) => self.heading(content(node), origin, recorder),
                _ => {}
            }
        }
        for bar in bars {
            recorder.skipped(bar.origin, &ROW_NOT_UNDERSTOOD);
        }
        match (self.phases, &self.heading) {
            (Some(origin), _) => {
                self.boundaries.record(origin, recorder);
                if let Some((times, origin)) = &self.heading {
                    startup::doubts(times, *origin, recorder);
                }
            }
            (None, Some((times, origin))) => startup::record(times, *origin, recorder),
            (None, None) => {}
        }
    }

    fn bar<'a>(&self, node: Node<'a, '_>, class: &'a str, origin: Origin) -> Option<Bar<'a>> {
        Some(Bar {
            class,
            start: self.time(node.attribute("x")?)?,
            length: self.time(node.attribute("width")?)?,
            origin,
        })
    }

    /// A position in pixels, as nanoseconds.
    fn time(&self, pixels: &str) -> Option<i64> {
        let pixels: f64 = pixels.parse().ok()?;
        let ns = (pixels * self.pixel_ns).round();
        // Within a million years a double holds nanoseconds well enough for a
        // drawing, and the conversion is exact.
        (ns.abs() < 9.0e18).then_some(ns as i64)
    }

    /// The line on the boot's parts, or the line on the machine.
    fn heading(&mut self, text: &str, origin: Origin, recorder: &mut Recorder) {
        let first = text.lines().next().unwrap_or("");
        if let Some(times) = parse_time_line(first) {
            self.heading = Some((times, origin));
            recorder.took(self.source);
            return;
        }
        let Some((machine, kernel)) = text.split_once("(Linux ") else {
            recorder.skipped(origin, &OTHER_TEXT);
            return;
        };
        recorder.fact("machine", machine.trim(), origin);
        if let Some((kernel, _architecture)) = kernel.rsplit_once(')') {
            recorder.fact("kernel.version", kernel.trim(), origin);
        }
        recorder.took(self.source);
    }

    fn row(&mut self, bars: &[Bar<'_>], label: &str, origin: Origin, recorder: &mut Recorder) {
        let is_legend = [
            "Activating",
            "Active",
            "Deactivating",
            "Setting up security module",
            "Generators",
            "Loading unit files",
        ]
        .contains(&label);
        let taken =
            !is_legend && (self.phase(bars, label, recorder) || self.unit(bars, label, recorder));
        for origin in bars.iter().map(|b| b.origin).chain([origin]) {
            match (taken, is_legend) {
                (true, _) => recorder.took(self.source),
                (false, true) => recorder.skipped(origin, &DECORATION),
                (false, false) => recorder.skipped(origin, &ROW_NOT_UNDERSTOOD),
            }
        }
    }

    /// A row of a phase. Its first bar is the phase, others are what systemd
    /// itself did before it started the first unit.
    fn phase(&mut self, bars: &[Bar<'_>], label: &str, recorder: &mut Recorder) -> bool {
        let Some((bar, inner)) = bars.split_first() else {
            return false;
        };
        let b = &mut self.boundaries;
        let (slot, prefix) = match label {
            "firmware" => (&mut b.power_on, ""),
            "loader" => (&mut b.loader, ""),
            "kernel" => (&mut b.kernel, ""),
            "initrd" => (&mut b.initrd, "initrd-"),
            "systemd" => {
                b.finish = Some(bar.end());
                (&mut b.userspace, "")
            }
            _ => return false,
        };
        *slot = Some(bar.start);
        self.phases = self.phases.or(Some(bar.origin));
        for bar in inner {
            // The marks have the names that `systemd-analyze dump` prints.
            let what = match bar.class {
                "security" => "security",
                "generators" => "generators",
                "unitsload" => "units-load",
                _ => continue,
            };
            for (edge, at) in [("start", bar.start), ("finish", bar.end())] {
                let name = format!("{prefix}{what}-{edge}");
                recorder.mark(self.clock, &name, at, None, bar.origin);
            }
        }
        true
    }

    /// A unit's row: `name (12.790s)`, or its name alone if it took no time.
    fn unit(&mut self, bars: &[Bar<'_>], label: &str, recorder: &mut Recorder) -> bool {
        let (name, reported) = match label.rsplit_once(" (") {
            Some((name, length)) => {
                let length = length.strip_suffix(')').and_then(timespan::parse);
                (name, length)
            }
            None => (label, None),
        };
        let bar = bars.iter().find(|b| b.class == "activating");
        let (Some(bar), true) = (bar, unit::is_name(name)) else {
            return false;
        };
        // One that was never active draws its start up to the end of the boot; its
        // number says how long it took to fail, or to be skipped.
        let ended = |class| bars.iter().any(|b| b.class == class && b.length > 0);
        let never_active = !ended("active") && !ended("deactivating");
        let (end, doubt) = match reported {
            Some(ns) if ns.saturating_sub(bar.length) > LABEL_TOLERANCE_NS => {
                (Some(bar.start.saturating_add(ns)), None)
            }
            Some(ns) if bar.length.saturating_sub(ns) > LABEL_TOLERANCE_NS => match never_active {
                true => (Some(bar.start.saturating_add(ns)), None),
                false => (Some(bar.end()), Some(Doubt::Disagree)),
            },
            Some(_) => (Some(bar.end()), None),
            None if bar.length == 0 => (Some(bar.start), None),
            // A bar without a duration ends where the drawing ends.
            None => (None, Some(Doubt::LostEnd)),
        };
        let name = recorder.name(name);
        let span = recorder
            .span_of(self.clock, SpanKind::Unit, name, bar.origin)
            .start(Some(bar.start))
            .end(end)
            .reported(reported)
            .doubt(doubt);
        recorder.span(span);
        true
    }
}

/// The text of an element.
fn content<'a>(node: Node<'a, '_>) -> &'a str {
    node.text().unwrap_or("").trim()
}

/// How many nanoseconds one pixel is, by the scale over the drawing.
fn pixel_ns(document: &Document<'_>) -> f64 {
    let labels = document
        .descendants()
        .filter(|n| n.has_tag_name("text") && n.attribute("class") == Some("sec"));
    let mut farthest = (0.0_f64, 0.0_f64);
    for label in labels {
        let x = label.attribute("x").and_then(|x| x.parse::<f64>().ok());
        let seconds = content(label)
            .strip_suffix('s')
            .and_then(|s| s.parse::<f64>().ok());
        if let (Some(x), Some(seconds)) = (x, seconds)
            && x.is_finite()
            && x.abs() > farthest.0.abs()
        {
            farthest = (x, seconds);
        }
    }
    let drawn = farthest.1 * 1.0e9 / farthest.0;
    // Labels have one decimal: a small difference is only their rounding.
    let differs = drawn.is_finite() && drawn > 0.0 && (drawn / PIXEL_NS - 1.0).abs() > 0.01;
    if differs { drawn } else { PIXEL_NS }
}
