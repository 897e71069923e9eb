//! What Qualcomm's loaders time themselves. `B - 805322 - Image Auth, Start` says when
//! something began, and `D - 5887 - Image Auth, Done` how long it took; the line of an
//! image that was read ends with its size. The boot ROM has lengths alone, one after
//! another, and says behind them when it was done.

use record::{ClockId, Origin, Recorder, SpanKind};

/// Words behind the name of what began.
const BEGINS: [&str; 2] = ["Start", "entry"];

/// How the boot ROM says when it was done.
const ROM_ENDS: &str = "PBL, End";

/// What ends the name of an image that is read, and of one that was.
const IMAGE: &str = "Image Load";
const IMAGE_READ: &str = "Image Loaded";

/// What the boot ROM ends the names of its lengths with.
const OF_ROM: &str = "_timestamp";

/// A length, its name, and its line.
type Length = (String, i64, Origin);

/// What began and has not ended yet, and what the boot ROM took.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    begun: Vec<(String, i64)>,
    of_rom: Vec<Length>,
    has_stamps: bool,
}

impl Lengths {
    /// A line with a time, in nanoseconds.
    pub(super) fn stamped(&mut self, text: &str, at: i64, clock: ClockId, recorder: &mut Recorder) {
        let sum = self.of_rom.iter().map(|l| l.1);
        let sum = sum.fold(0_i64, i64::saturating_add);
        self.of_rom(text.trim() == ROM_ENDS && sum == at, clock, recorder);
        self.has_stamps = true;
        let (name, rest) = parts(text);
        if BEGINS.contains(&rest) {
            self.begun.push((name, at));
        }
    }

    /// What the boot ROM took. Its lengths are all of its time if their sum is.
    fn of_rom(&mut self, is_all: bool, clock: ClockId, recorder: &mut Recorder) {
        let mut from = 0_i64;
        for (name, ns, origin) in std::mem::take(&mut self.of_rom) {
            span(clock, (&name, ns), is_all.then_some(from), origin, recorder);
            from = from.saturating_add(ns);
        }
    }

    pub(super) fn finish(mut self, clock: ClockId, recorder: &mut Recorder) {
        self.of_rom(false, clock, recorder);
    }

    /// A line without a time. Whether it is a length; of `whole` the phases tell.
    pub(super) fn line(
        &mut self,
        line: &str,
        whole: impl Fn(&str) -> bool,
        (clock, origin): (ClockId, Origin),
        recorder: &mut Recorder,
    ) -> bool {
        let Some((us, text)) = line
            .strip_prefix("D - ")
            .and_then(|l| l.trim_start().split_once(" - "))
        else {
            return false;
        };
        let Some(ns) = us.parse::<i64>().ok().and_then(|us| us.checked_mul(1_000)) else {
            return false;
        };
        let (name, _) = parts(text);
        let of_rom = text.trim().strip_suffix(OF_ROM);
        if let Some(name) = of_rom.filter(|_| !self.has_stamps) {
            self.of_rom.push((name.to_owned(), ns, origin));
            return true;
        }
        let begun = self.begun.iter().rposition(|(begun, _)| *begun == name);
        let start = begun.map(|at| self.begun.split_off(at));
        let start = start.and_then(|begun| begun.first().map(|b| b.1));
        if !whole(&format!("{name}, Start")) {
            let shown = match bytes(text).filter(|_| name.ends_with(IMAGE)) {
                Some(bytes) => format!("{name}, {bytes} bytes"),
                None => name,
            };
            span(clock, (&shown, ns), start, origin, recorder);
        }
        true
    }
}

fn span(
    clock: ClockId,
    (name, ns): (&str, i64),
    start: Option<i64>,
    origin: Origin,
    recorder: &mut Recorder,
) {
    let name = recorder.name(name);
    let span = recorder.span_of(clock, SpanKind::Stage, name, origin);
    let span = span
        .start(start)
        .end(start.map(|at| at.saturating_add(ns)))
        .reported(Some(ns));
    recorder.span(span);
}

/// The name in `QSEE Image Loaded, Delta - (487460 Bytes)`, as its other line has it, and the
/// word behind it.
fn parts(text: &str) -> (String, &str) {
    let (name, rest) = text.split_once(", ").unwrap_or((text, ""));
    let word = rest.split(" - ").next().unwrap_or_default();
    let name = name.trim();
    let name = match name.strip_suffix(IMAGE_READ) {
        Some(image) => format!("{image}{IMAGE}"),
        None => name.to_owned(),
    };
    (name, word.trim())
}

/// The size behind a length.
fn bytes(text: &str) -> Option<u64> {
    let (_, size) = text.rsplit_once(" - (")?;
    let bytes = size.trim_end().strip_suffix(" Bytes)")?.parse().ok()?;
    (bytes > 0).then_some(bytes)
}
