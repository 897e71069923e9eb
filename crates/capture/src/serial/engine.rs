//! From stamped bytes to stamped lines and marks. Nothing here waits or reads
//! a clock: the same bytes with the same stamps give the same events.

use super::clean::Cleaner;
use regex::bytes::{Regex, RegexBuilder};

/// A line that gets longer than this is cut here: something that never ends
/// its line must not take all memory.
pub const LONGEST_LINE: usize = 64 << 10;

/// A pattern, and what happens where it fits.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What happens.
    pub action: Action,
    regex: Regex,
}

/// What a pattern does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// The zero of the times is here.
    Reset,
    /// The boot ends here.
    End,
    /// This is the mark of this name.
    Mark(String),
}

/// A pattern cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{pattern}` is not a valid regular expression: {why}; see \
     https://docs.rs/regex/1/regex/#syntax"
)]
pub struct RuleError {
    pattern: String,
    why: String,
}

impl Rule {
    /// A pattern that may fit anywhere in a line. `^` and `$` are the ends of
    /// the line, and of each part of it that a carriage return overwrites.
    ///
    /// # Errors
    /// If `pattern` is no regular expression, or one that would take too much
    /// memory.
    pub fn new(action: Action, pattern: &str) -> Result<Self, RuleError> {
        let regex = RegexBuilder::new(pattern)
            // A console is bytes: what is no UTF-8 must not stop a `.*`.
            .unicode(false)
            .multi_line(true)
            .crlf(true)
            .build()
            .map_err(|e| RuleError {
                pattern: pattern.to_owned(),
                // The message draws the place over several lines; the last says what.
                why: e
                    .to_string()
                    .lines()
                    .last()
                    .unwrap_or("")
                    .replace("error: ", ""),
            })?;
        Ok(Self { action, regex })
    }
}

/// A line as it arrived. Times are nanoseconds on the capture's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When its first character arrived; carriage returns and NULs before it,
    /// which some consoles send with the end of the line before, do not count.
    pub first_ns: u64,
    /// When its last character arrived, the line end included.
    pub last_ns: u64,
    /// What it holds, without the line feed.
    pub raw: Vec<u8>,
    /// Whether a line feed ended it.
    pub ended: bool,
}

/// A place where a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// What the pattern does.
    pub action: Action,
    /// When the first character of what fits arrived.
    pub at_ns: u64,
    /// What fits.
    pub text: String,
}

/// What came of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A line is complete.
    Line(Line),
    /// A pattern fits; the line is still to come.
    Fit(Fit),
}

/// Makes lines of bytes, and looks for patterns in them.
#[derive(Debug)]
pub struct Engine {
    rules: Vec<Rule>,
    line: Open,
    /// Which rules fitted the line that is open.
    fitted: Vec<bool>,
    /// Where the boot may end in the open line: behind a reset, where one is waited
    /// for. The prompt of the boot before ends nothing.
    end_from: Option<usize>,
}

/// A line whose end has not come yet.
#[derive(Debug, Default)]
struct Open {
    raw: Vec<u8>,
    /// `raw` without terminal controls.
    clean: Vec<u8>,
    /// From which place in `clean` on bytes arrived by which time.
    times: Vec<(usize, u64)>,
    first_ns: Option<u64>,
    last_ns: u64,
    cleaner: Cleaner,
}

impl Engine {
    /// An engine that looks for these patterns.
    pub fn new(mut rules: Vec<Rule>) -> Self {
        // Resets first: they decide whether the end counts.
        rules.sort_by_key(|r| r.action != Action::Reset);
        let resets = rules.first().is_some_and(|r| r.action == Action::Reset);
        Self {
            fitted: vec![false; rules.len()],
            end_from: (!resets).then_some(0),
            rules,
            line: Open::default(),
        }
    }

    /// Takes bytes that had arrived by `at_ns`.
    pub fn bytes(&mut self, at_ns: u64, bytes: &[u8], events: &mut Vec<Event>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = LONGEST_LINE.saturating_sub(self.line.raw.len()).max(1);
            let window = rest.get(..room).unwrap_or(rest);
            let feed = memchr::memchr(b'\n', window);
            let (part, tail) = rest.split_at(feed.unwrap_or(window.len()));
            self.line.push(at_ns, part);
            rest = tail;
            if feed.is_some() {
                rest = rest.get(1..).unwrap_or_default();
                self.close(at_ns, true, events);
            } else if self.line.raw.len() >= LONGEST_LINE {
                self.close(at_ns, false, events);
            }
        }
        self.look(Look::Growing, events);
    }

    /// The line has been quiet for a while: it may be a prompt, and its end
    /// counts as the end of a line.
    pub fn quiet(&mut self, events: &mut Vec<Event>) {
        self.look(Look::Whole, events);
    }

    /// Nothing more comes: what there is of a line is one.
    pub fn finish(&mut self, events: &mut Vec<Event>) {
        if !self.line.raw.is_empty() {
            let last = self.line.last_ns;
            self.close(last, false, events);
        }
    }

    /// The line that is open, if anything of it has come: when it began, and
    /// its bytes.
    pub fn open(&self) -> Option<(u64, &[u8])> {
        Some((self.line.first_ns?, &self.line.raw))
    }

    fn close(&mut self, at_ns: u64, ended: bool, events: &mut Vec<Event>) {
        self.line.last_ns = at_ns;
        self.look(Look::Whole, events);
        let line = std::mem::take(&mut self.line);
        self.fitted.fill(false);
        self.end_from = self.end_from.map(|_| 0);
        events.push(Event::Line(Line {
            first_ns: line.first_ns.unwrap_or(at_ns),
            last_ns: at_ns,
            raw: line.raw,
            ended,
        }));
    }

    /// Looks for the patterns that have not fitted the open line yet.
    fn look(&mut self, look: Look, events: &mut Vec<Event>) {
        if self.line.clean.is_empty() || self.fitted.iter().all(|f| *f) {
            return;
        }
        let length = self.line.clean.len();
        if look == Look::Growing {
            // One more character, whatever it will be: what fits only because
            // the line seems to end here does not fit yet.
            self.line.clean.push(b'.');
        }
        let text = &self.line.clean;
        for (rule, fitted) in self.rules.iter().zip(&mut self.fitted) {
            let from = match (&rule.action, self.end_from) {
                (Action::End, None) => continue,
                (Action::End, Some(from)) => from.min(text.len()),
                _ => 0,
            };
            let found = rule.regex.find_at(text, from);
            let found = found.filter(|m| m.end() <= length && !*fitted);
            let Some(found) = found else {
                continue;
            };
            *fitted = true;
            if rule.action == Action::Reset {
                self.end_from = Some(found.end());
            }
            events.push(Event::Fit(Fit {
                action: rule.action.clone(),
                at_ns: self.line.arrival(found.start()),
                text: String::from_utf8_lossy(found.as_bytes()).into_owned(),
            }));
        }
        self.line.clean.truncate(length);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Look {
    /// More of the line may come at once.
    Growing,
    /// This is all of it.
    Whole,
}

impl Open {
    fn push(&mut self, at_ns: u64, part: &[u8]) {
        let before = self.clean.len();
        for &byte in part {
            if self.cleaner.keeps(byte) {
                self.clean.push(byte);
            }
        }
        self.raw.extend_from_slice(part);
        self.last_ns = at_ns;
        if self.clean.len() > before {
            self.times.push((before, at_ns));
        }
        let says = |b: &u8| !matches!(b, b'\r' | 0);
        if self.first_ns.is_none() && part.iter().any(says) {
            self.first_ns = Some(at_ns);
        }
    }

    /// When the byte at this place of the clean text had arrived.
    fn arrival(&self, place: usize) -> u64 {
        let after = self.times.partition_point(|(from, _)| *from <= place);
        let piece = after.checked_sub(1).and_then(|i| self.times.get(i));
        piece.map_or(self.last_ns, |(_, at)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Engine, Event, LONGEST_LINE, Line, Rule};
    use proptest::prelude::*;

    fn rule(action: Action, pattern: &str) -> Rule {
        Rule::new(action, pattern).unwrap()
    }

    fn mark(pattern: &str) -> Rule {
        rule(Action::Mark("m".into()), pattern)
    }

    /// The lines and fits of some pieces, in words.
    fn run(rules: Vec<Rule>, pieces: &[(u64, &str)]) -> Vec<String> {
        let mut engine = Engine::new(rules);
        let mut events = Vec::new();
        for (at, bytes) in pieces {
            engine.bytes(*at, bytes.as_bytes(), &mut events);
        }
        engine.finish(&mut events);
        let word = |e: &Event| match e {
            Event::Line(l) => {
                let text = l.raw.escape_ascii();
                format!(
                    "{} {} {text}{}",
                    l.first_ns,
                    l.last_ns,
                    if l.ended { "" } else { " ..." }
                )
            }
            Event::Fit(f) => format!("fit {} {}", f.at_ns, f.text),
        };
        events.iter().map(word).collect()
    }

    #[test]
    fn a_line_has_the_arrival_of_its_first_and_its_last_byte() {
        let pieces = [
            (10, "Uncompressing Linux..."),
            (900, " done, booting the kernel.\r\n\rn"),
            (950, "ext\nlog"),
            (960, "in: "),
        ];
        assert_eq!(
            run(vec![], &pieces),
            [
                "10 900 Uncompressing Linux... done, booting the kernel.\\r",
                "900 950 \\rnext",
                "950 960 login:  ..."
            ]
        );
        // A carriage return that came with the line before begins nothing.
        assert_eq!(
            run(vec![], &[(5, "a\n\r"), (70, "b"), (71, "\n\n\0")]),
            ["5 5 a", "70 71 \\rb", "71 71 ", "71 71 \\x00 ..."]
        );
    }

    #[test]
    fn a_pattern_fits_anywhere_and_stands_where_its_first_byte_arrived() {
        let pieces = [
            (1, "[    0.1] Li"),
            (2, "nux ver"),
            (3, "sion 6.1\n"),
            (4, "Linux version\n"),
        ];
        assert_eq!(
            run(vec![mark("Linux version")], &pieces),
            [
                "fit 1 Linux version",
                "1 3 [    0.1] Linux version 6.1",
                "fit 4 Linux version",
                "4 4 Linux version"
            ]
        );
        // Once in a line, through colours, and across what is no UTF-8.
        assert_eq!(
            run(
                vec![mark(r"\[  OK  \] .*up")],
                &[(1, "[\x1b[32m  OK  \x1b[0m] a"), (2, " up up\n")]
            ),
            [
                "fit 1 [  OK  ] a up up",
                "1 2 [\\x1b[32m  OK  \\x1b[0m] a up up"
            ]
        );
        let mut engine = Engine::new(vec![mark("a.*b")]);
        let mut events = Vec::new();
        engine.bytes(1, b"a\xff\xfeb\n", &mut events);
        assert!(matches!(&events[0], Event::Fit(_)), "{events:?}");
    }

    #[test]
    fn the_end_of_what_has_come_is_not_the_end_of_a_line() {
        let pieces = [(1, "done"), (2, ", booting\r\n"), (3, "done\r\n")];
        assert_eq!(
            run(vec![mark("done$")], &pieces),
            ["1 2 done, booting\\r", "fit 3 done", "3 3 done\\r"]
        );
        // But a prompt that stays is.
        let mut engine = Engine::new(vec![mark("login: $")]);
        let mut events = Vec::new();
        engine.bytes(7, b"board login: ", &mut events);
        assert_eq!(events, []);
        engine.quiet(&mut events);
        assert!(matches!(&events[..], [Event::Fit(f)] if f.at_ns == 7));
        // What comes later does not make it fit again.
        engine.bytes(9, b"root\n", &mut events);
        assert_eq!(events.len(), 2);
        assert_eq!(engine.open(), None);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let mut engine = Engine::new(vec![]);
        let mut events = Vec::new();
        for _ in 0..5 {
            engine.bytes(1, &[b'x'; 30_000], &mut events);
        }
        let lengths = events.iter().map(|e| match e {
            Event::Line(l) if !l.ended => l.raw.len(),
            other => panic!("{other:?}"),
        });
        assert_eq!(lengths.collect::<Vec<_>>(), [LONGEST_LINE, LONGEST_LINE]);
        assert_eq!(
            engine.open().map(|o| o.1.len()),
            Some(150_000 - 2 * LONGEST_LINE)
        );
    }

    #[test]
    fn the_boot_before_ends_nothing() {
        let rules = || vec![rule(Action::End, "login: "), rule(Action::Reset, "SPL")];
        let pieces = [
            (1, "old login: \n"),
            (2, "login: SPL 2026 \n"),
            (3, "new login: \n"),
        ];
        assert_eq!(
            run(rules(), &pieces),
            [
                "1 1 old login: ",
                "fit 2 SPL",
                "2 2 login: SPL 2026 ",
                "fit 3 login: ",
                "3 3 new login: "
            ]
        );
        assert_eq!(
            run(rules(), &[(1, "login: SPL login: ")]),
            ["fit 1 SPL", "fit 1 login: ", "1 1 login: SPL login:  ..."]
        );
    }

    #[test]
    fn a_pattern_that_is_none_is_explained() {
        let error = Rule::new(Action::End, "log(in").unwrap_err().to_string();
        assert!(error.contains("unclosed group"), "{error}");
        assert_eq!(error.lines().count(), 1);
    }

    proptest! {
        /// However the stream is cut into pieces, no byte is lost, and each
        /// line has the times of the pieces that its ends came in.
        #[test]
        fn every_byte_arrives_once(
            stream in prop::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), Just(0x1b), any::<u8>()], 0..400),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|i| i.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let mut engine = Engine::new(vec![mark("x?$"), mark("[a-z]+")]);
            let mut events = Vec::new();
            for (i, cut) in cuts.windows(2).enumerate() {
                engine.bytes(i as u64, &stream[cut[0]..cut[1]], &mut events);
            }
            engine.finish(&mut events);
            let mut again: Vec<u8> = Vec::new();
            let mut last = 0;
            for event in &events {
                let Event::Line(Line { first_ns, last_ns, raw, ended }) = event else { continue };
                prop_assert!(last <= *first_ns && first_ns <= last_ns);
                last = *last_ns;
                again.extend(raw);
                again.extend(ended.then_some(b'\n'));
            }
            prop_assert_eq!(again, stream);
        }
    }
}
