//! Value change dumps (IEEE 1364): PulseView, sigrok-cli, Saleae, GTKWave, simulators.

use super::channels::{Channels, Level};
use super::notes::{ANALOG, HEADER, NO_SCALE, OTHER_LINE};
use crate::balance::Balance;
use crate::decimal::{nanoseconds, unit};
use crate::source::{Input, Sniff, Source};
use crate::text;
use record::{Origin, Recorder, SourceId};
use std::collections::HashMap;

/// A value change dump.
///
/// Scopes are left out of names. Vectors are marks with their values; reals are skipped.
#[derive(Debug)]
pub struct Vcd;

/// A vector's value is kept up to so many digits.
const MOST_DIGITS: usize = 64;

/// A declaration may have so many words: what follows is comment.
const MOST_WORDS: usize = 32;

impl Source for Vcd {
    fn name(&self) -> &'static str {
        "vcd"
    }

    fn description(&self) -> &'static str {
        "edges of a logic analyzer: a value change dump (`sigrok-cli -O vcd`)"
    }

    fn sniff(&self, head: &[u8]) -> Sniff {
        let has = |word: &[u8]| memchr::memmem::find(head, word).is_some();
        let declares = has(b"$var ") && (has(b"$timescale") || has(b"$enddefinitions"));
        match head.trim_ascii_start().starts_with(b"$") && declares {
            true => Sniff::Yes,
            false => Sniff::No,
        }
    }

    fn read(&self, input: Input<'_>, recorder: &mut Recorder) {
        let source = recorder.source(input.name, self.name());
        let mut reader = Reader::new(source, recorder);
        for line in text::lines(input.bytes) {
            reader.line(line.bytes, line.offset, recorder);
        }
        reader.finish(recorder);
    }

    fn is_bounded(&self) -> bool {
        true
    }
}

/// What a word was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Header,
    Change,
    Analog,
    Other,
}

struct Reader {
    source: SourceId,
    balance: Balance,
    channels: Channels,
    /// Channels by their identifier in the file.
    ids: HashMap<Vec<u8>, usize>,
    /// The words of a declaration that has not ended, its `$keyword` first.
    declaration: Option<Vec<String>>,
    /// The value of a vector whose identifier follows; `None` in it for a real.
    vector: Option<Option<String>>,
    /// A unit of time as a number and a power of ten of nanoseconds.
    scale: (i128, i32),
    scaled: bool,
    timed: bool,
}

impl Reader {
    fn new(source: SourceId, recorder: &mut Recorder) -> Self {
        Self {
            source,
            balance: Balance::new(source),
            channels: Channels::new(source, 0, recorder),
            ids: HashMap::new(),
            declaration: None,
            vector: None,
            scale: (1, 0),
            scaled: false,
            timed: false,
        }
    }

    fn line(&mut self, line: &[u8], offset: u64, recorder: &mut Recorder) {
        let origin = Origin {
            source: self.source,
            offset,
        };
        let (mut changed, mut analog, mut other) = (false, false, false);
        let words = line.split(u8::is_ascii_whitespace);
        for word in words.filter(|w| !w.is_empty()) {
            match self.word(word, origin, recorder) {
                Word::Change => changed = true,
                Word::Analog => analog = true,
                Word::Other => other = true,
                Word::Header => {}
            }
        }
        if changed {
            self.balance.took();
        } else {
            let kind = match (other, analog) {
                (true, _) => &OTHER_LINE,
                (false, true) => &ANALOG,
                (false, false) => &HEADER,
            };
            self.balance.skipped(offset, kind, String::new);
        }
    }

    fn word(&mut self, word: &[u8], origin: Origin, recorder: &mut Recorder) -> Word {
        if let Some(words) = &mut self.declaration {
            if word == b"$end" {
                let words = std::mem::take(words);
                self.declaration = None;
                self.declared(&words, recorder);
            } else if words.len() < MOST_WORDS {
                words.push(text::lossy(word).into_owned());
            }
            return Word::Header;
        }
        if let Some(value) = self.vector.take() {
            return self.set(word, value.map(Level::Value), origin, recorder);
        }
        match word {
            // Around values, which are changes like others.
            b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$dumpoff" | b"$end" => Word::Header,
            [b'$', ..] => {
                self.declaration = Some(vec![text::lossy(word).into_owned()]);
                Word::Header
            }
            [b'#', ticks @ ..] => match self.time(ticks) {
                Some(at) => {
                    if !self.scaled {
                        self.scaled = true;
                        recorder.note(origin, &NO_SCALE, String::new);
                    }
                    self.timed = true;
                    self.channels.time(at, origin, recorder);
                    Word::Change
                }
                None => Word::Other,
            },
            [b'b' | b'B', digits @ ..] => {
                let digits = digits.get(..MOST_DIGITS).unwrap_or(digits);
                self.vector = Some(Some(text::lossy(digits).into_owned()));
                Word::Change
            }
            // A real, or text, as some writers have it.
            [b'r' | b'R' | b's' | b'S', _, ..] => {
                self.vector = Some(None);
                Word::Analog
            }
            [b'0', id @ ..] => self.set(id, Some(Level::Low), origin, recorder),
            [b'1', id @ ..] => self.set(id, Some(Level::High), origin, recorder),
            [b'x' | b'X' | b'z' | b'Z' | b'u' | b'U' | b'-', id @ ..] => {
                self.set(id, Some(Level::Unknown), origin, recorder)
            }
            _ => Word::Other,
        }
    }

    /// A channel changes. Of one that was left out nothing is known; it was counted.
    fn set(
        &mut self,
        id: &[u8],
        level: Option<Level>,
        origin: Origin,
        recorder: &mut Recorder,
    ) -> Word {
        let Some(level) = level else {
            return Word::Analog;
        };
        if id.is_empty() || self.ids.is_empty() {
            return Word::Other;
        }
        // Values before the first time are those at the start.
        if !self.timed {
            self.timed = true;
            self.channels.time(0, origin, recorder);
        }
        if let Some(channel) = self.ids.get(id) {
            self.channels.set(*channel, level, origin, recorder);
        }
        Word::Change
    }

    /// A time in nanoseconds.
    fn time(&self, ticks: &[u8]) -> Option<i64> {
        let ticks = std::str::from_utf8(ticks).ok()?;
        if ticks.is_empty() || !ticks.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let ticks = ticks.parse::<u64>().ok()?;
        let scaled = i128::from(ticks).saturating_mul(self.scale.0);
        nanoseconds(&scaled.to_string(), self.scale.1)
    }

    fn declared(&mut self, words: &[String], recorder: &mut Recorder) {
        match words.first().map(String::as_str) {
            // `1 ns`, `1ns`, `100 ps`.
            Some("$timescale") => {
                let all = words.get(1..).unwrap_or_default().concat();
                let digits = all.find(|c: char| !c.is_ascii_digit());
                let (number, name) = all.split_at(digits.unwrap_or(all.len()));
                if let (Ok(number), Some(power)) = (number.parse::<u32>(), unit(name))
                    && number > 0
                {
                    self.scale = (number.into(), power);
                    self.scaled = true;
                    let ns = nanoseconds(&number.to_string(), power).unwrap_or(1);
                    let ns = u64::try_from(ns).unwrap_or(1).max(1);
                    self.channels.resolution(ns, recorder);
                }
            }
            // `wire 1 ! LED` or `wire 8 " bus [7:0]`; several names may share an identifier.
            Some("$var") => {
                let (Some(id), Some(name)) = (words.get(3), words.get(4)) else {
                    return;
                };
                let kind = words.get(1).map(String::as_str);
                let id = id.as_bytes();
                if kind != Some("real") && !self.ids.contains_key(id) {
                    let rest = words.get(5..).unwrap_or_default();
                    let name = rest
                        .iter()
                        .fold(name.clone(), |name, word| name + " " + word);
                    if let Some(at) = self.channels.add(&name) {
                        self.ids.insert(id.to_vec(), at);
                    }
                }
            }
            _ => {}
        }
    }

    fn finish(self, recorder: &mut Recorder) {
        self.balance.finish(recorder);
        self.channels.finish(recorder);
    }
}
