//! A screen or a light in front of a camera, or a grabbed display: what ffmpeg's filters write
//! of a video. Units of the ledger are lines.
//!
//! The forms are those of ffmpeg 5.1 and 7.1 (`libavfilter/vf_freezedetect.c`,
//! `vf_blackdetect.c`, `vf_scdet.c`, `vf_showinfo.c`, `f_metadata.c`).

use crate::balance::Balance;
use crate::decimal;
use crate::source::{Input, Sniff, Source};
use crate::text::{self, Line};
use record::{ClockId, ClockKind, NoteKind, Origin, Recorder, Severity, SourceId};

/// Changes of a picture, as ffmpeg's `freezedetect`, `blackdetect`, `scdet`, `showinfo` and
/// `metadata=print` write them.
///
/// Each change is a mark `picture-changes`. `picture-appears` is the first one, or the end of
/// the first black; `picture-stands-still` is the last moment at which something moved.
#[derive(Debug)]
pub struct Video;

const OTHER_LINE: NoteKind = NoteKind::new(
    "header",
    Severity::Info,
    "What ffmpeg says of its files, streams and progress was skipped.",
);

const BUSY: NoteKind = NoteKind::new(
    "busy_picture",
    Severity::Info,
    "The picture changed very often. The first 64 changes and the last one are marks; the others \
     are counted here. Use `freezedetect`, or a higher threshold.",
);

const NO_RATE: NoteKind = NoteKind::new(
    "no_frame_rate",
    Severity::Doubt,
    "No line says how many frames a second the video has. Times are taken as good to 1/25 s: keep \
     the lines that begin with `Stream`.",
);

/// The name of the clock: zero is the first frame.
const CLOCK: &str = "video";

/// A frame of a camera without a known rate, nanoseconds: 25 frames a second.
const USUAL_FRAME: u64 = 40_000_000;

/// So many changes are marks, and the last one.
const MOST_CHANGES: u64 = 64;

/// A frame whose `scene_score` is less than this, of 1, is not a change: `metadata=print`
/// writes every frame.
const LEAST_SCORE: f64 = 0.02;

/// The first frame: what begins the recording decides what its times count from.
const START: &str = "recording-starts";
const APPEARS: &str = "picture-appears";
const CHANGES: &str = "picture-changes";
const STILL: &str = "picture-stands-still";

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Row {
    /// Frames a second.
    Rate(f64),
    /// From here on nothing moves.
    Freezes(i64),
    /// Something moves again.
    Moves(i64),
    /// Black from and to.
    Black(i64),
    /// The frame at this time is another picture than the one before.
    Changes(i64),
    /// The frame that the score of the next line is about.
    Frame(i64),
    /// How much the frame differs from the one before, of 1.
    Score(f64),
    Other,
}

/// What the line of a change has in it: one of these at least.
const CHANGES_SAY: [&str; 5] = [
    "freezedetect.",
    "black_end",
    "scd.time",
    "scene_score",
    "pts_time",
];

impl Row {
    fn of(line: &str) -> Self {
        let time = |name: &str| number(line, name).and_then(time);
        // Progress may stand before it on the same line.
        if let Some(at) = time("freezedetect.freeze_start") {
            Self::Freezes(at)
        } else if let Some(at) = time("freezedetect.freeze_end") {
            Self::Moves(at)
        } else if let Some(at) = time("black_end") {
            Self::Black(at)
        } else if let Some(at) = time("scd.time") {
            Self::Changes(at)
        } else if let Some(score) = number(line, "scene_score").and_then(|s| s.parse().ok()) {
            Self::Score(score)
        } else if let Some(at) = time("pts_time") {
            match line.contains("showinfo") {
                true => Self::Changes(at),
                false => Self::Frame(at),
            }
        } else if line.trim_start().starts_with("Stream #") {
            frames(line).map_or(Self::Other, Self::Rate)
        } else {
            Self::Other
        }
    }
}

/// The number behind `NAME:` or `NAME=`, as it is written.
fn number<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(name)?;
    let rest = rest.strip_prefix([':', '='])?.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || ".-".contains(c)));
    rest.get(..end.unwrap_or(rest.len()))
}

/// Seconds as nanoseconds; `None` for what is no time of a boot.
fn time(seconds: &str) -> Option<i64> {
    const LONGEST: i64 = 10_000_000 * 1_000_000_000;
    decimal::nanoseconds(seconds, decimal::SECONDS).filter(|ns| (0..LONGEST).contains(ns))
}

/// `25` of `Stream #0:0: Video: h264, yuv420p, 1280x720, 25 fps, 25 tbr`.
fn frames(line: &str) -> Option<f64> {
    let (before, _) = line.split_once(" fps")?;
    let word = before.rsplit([' ', ',']).next()?;
    let rate: f64 = word.parse().ok()?;
    (0.1..100_000.0).contains(&rate).then_some(rate)
}

impl Source for Video {
    fn name(&self) -> &'static str {
        "video"
    }

    fn description(&self) -> &'static str {
        "changes of a screen in a video: `ffmpeg -i FILE -vf freezedetect,blackdetect -f null -`"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        // Other logs have none of it, and need not be looked through line by line.
        if !CHANGES_SAY
            .iter()
            .any(|key| memchr::memmem::find(head, key.as_bytes()).is_some())
        {
            return Sniff::No;
        }
        let mut rows = text::lines(head).map(|l| Row::of(&text::lossy(l.bytes)));
        let is_change = |row: Row| !matches!(row, Row::Other | Row::Rate(_));
        match rows.any(is_change) {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader {
            source,
            balance: Balance::new(source),
            clock: recorder.clock(CLOCK, ClockKind::Wall, USUAL_FRAME),
            has_rate: false,
            changes: 0,
            first: None,
            last: None,
            frame: None,
            black: None,
            still: None,
        };
        for line in text::lines(input.bytes) {
            reader.line(line, recorder);
        }
        reader.finish(recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Reader {
    source: SourceId,
    balance: Balance,
    clock: ClockId,
    has_rate: bool,
    /// How many changes there were.
    changes: u64,
    first: Option<(i64, Origin)>,
    last: Option<(i64, Origin)>,
    /// The frame whose score comes next.
    frame: Option<i64>,
    /// When the first black ended.
    black: Option<(i64, Origin)>,
    /// When the picture last began to stand still, if it did not move since.
    still: Option<(i64, Origin)>,
}

impl Reader {
    fn line(&mut self, line: Line<'_>, recorder: &mut Recorder) {
        let origin = line.origin(self.source);
        match Row::of(&text::lossy(line.bytes)) {
            Row::Rate(rate) => {
                self.has_rate = true;
                let frame = (1e9 / rate).round() as u64;
                recorder.clock(CLOCK, ClockKind::Wall, frame.max(1));
            }
            Row::Freezes(at) => self.still = Some((at, origin)),
            Row::Moves(at) => {
                self.still = None;
                self.change(at, origin, recorder);
            }
            Row::Black(at) => {
                self.black.get_or_insert((at, origin));
                self.change(at, origin, recorder);
            }
            Row::Changes(at) => self.change(at, origin, recorder),
            Row::Frame(at) => self.frame = Some(at),
            Row::Score(score) => {
                if let Some(at) = self.frame.take().filter(|_| score >= LEAST_SCORE) {
                    self.change(at, origin, recorder);
                }
            }
            Row::Other => {
                self.balance.skipped(line.offset, &OTHER_LINE, String::new);
                return;
            }
        }
        self.balance.took();
    }

    /// Several filters may tell of one change.
    fn change(&mut self, at: i64, origin: Origin, recorder: &mut Recorder) {
        if self.last.is_some_and(|(last, _)| last == at) {
            return;
        }
        self.changes += 1;
        if self.changes <= MOST_CHANGES {
            recorder.mark(self.clock, CHANGES, at, None, origin);
        } else {
            self.balance.noted(origin.offset, &BUSY, 1, String::new);
        }
        self.first = self.first.or(Some((at, origin)));
        self.last = Some((at, origin));
    }

    fn finish(mut self, recorder: &mut Recorder) {
        if !self.has_rate {
            self.balance.noted(0, &NO_RATE, 1, String::new);
        }
        if let Some((at, origin)) = self.last.filter(|_| self.changes > MOST_CHANGES) {
            recorder.mark(self.clock, CHANGES, at, None, origin);
        }
        if let Some((at, origin)) = self.black.or(self.first) {
            recorder.mark(self.clock, APPEARS, at, None, origin);
        }
        if let Some((at, origin)) = self.still.or(self.last) {
            recorder.mark(self.clock, STILL, at, None, origin);
        }
        let origin = Origin {
            source: self.source,
            offset: 0,
        };
        recorder.mark(self.clock, START, 0, None, origin);
        self.balance.finish(recorder);
    }
}

#[cfg(test)]
mod tests {
    use super::Row;

    #[test]
    fn every_filter_is_understood() {
        let ms = 1_000_000;
        for (line, row) in [
            (
                "frame=  1 fps=0.0 [freezedetect @ 0x5] lavfi.freezedetect.freeze_start: 3.2",
                Row::Freezes(3_200 * ms),
            ),
            ("lavfi.freezedetect.freeze_end=2", Row::Moves(2_000 * ms)),
            ("lavfi.freezedetect.freeze_duration=2", Row::Other),
            (
                "[blackdetect @ 0x5] black_start:0 black_end:2.04 black_duration:2.04",
                Row::Black(2_040 * ms),
            ),
            (
                "[scdet @ 0x5] lavfi.scd.score: 41.943, lavfi.scd.time: 2",
                Row::Changes(2_000 * ms),
            ),
            ("frame:0    pts:2000    pts_time:2", Row::Frame(2_000 * ms)),
            ("lavfi.scene_score=0.874714", Row::Score(0.874_714)),
            (
                "[Parsed_showinfo_1 @ 0x5] n:   1 pts:   3200 pts_time:3.2     pos:  11",
                Row::Changes(3_200 * ms),
            ),
            (
                "  Stream #0:0: Video: mpeg4, yuv420p(tv), 64x48 [SAR 1:1 DAR 4:3], 25 fps, 25 tbr",
                Row::Rate(25.0),
            ),
            ("  Stream #0:1: Audio: aac, 48000 Hz", Row::Other),
            ("lavfi.freezedetect.freeze_start: nan", Row::Other),
            ("lavfi.freezedetect.freeze_start: -9", Row::Other),
            ("lavfi.freezedetect.freeze_start: 99999999999", Row::Other),
            ("", Row::Other),
        ] {
            assert_eq!(Row::of(line), row, "{line}");
        }
    }
}
