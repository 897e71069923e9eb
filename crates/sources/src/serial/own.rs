//! What this program's own log says beside its lines: what was done to the
//! board while it was listened to, and what was seen.

use crate::text;
use std::borrow::Cow;

/// The first line of a log in this program's own form.
pub(super) const HEADER: &[u8] = b"# firstlight-serial 1";

/// A line that begins with `# `. Times are nanoseconds from the log's zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    /// The log's first line.
    Header,
    /// `# line 115200 baud, 10 bits a byte`: the serial line.
    Line { baud: u64, bits: u64 },
    /// `# power-on BEGAN ENDED`: a command switched the power on, and ran from
    /// the one to the other.
    PowerOn { began: i64, ended: i64 },
    /// `# reset AT`: times count from here, because a pattern fitted.
    Reset { at: i64 },
    /// `# mark AT NAME`: so did another one.
    Mark { at: i64, name: Cow<'a, str> },
    /// `# end AT`: so did the one that ends the boot.
    End { at: i64 },
    /// `# lost COUNT WHAT`: the serial driver's counters went up.
    Lost { count: u64, what: Cow<'a, str> },
    /// `# latency N ms`: so long the adapter may keep characters back.
    Latency { ms: u64 },
}

impl<'a> Said<'a> {
    /// Reads a line; `None` if it is none of these.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        if line == HEADER {
            return Some(Self::Header);
        }
        let rest = line.strip_prefix(b"# ")?;
        let space = memchr::memchr(b' ', rest)?;
        let (word, rest) = rest.split_at(space);
        let rest = rest.get(1..)?;
        let said = match word {
            b"line" => {
                let (baud, rest) = text::number(rest)?;
                let (bits, rest) = text::number(rest.strip_prefix(b" baud, ")?)?;
                rest.strip_prefix(b" bits a byte")?;
                Self::Line { baud, bits }
            }
            b"power-on" => {
                let (began, rest) = time(rest)?;
                let (ended, _) = time(rest.strip_prefix(b" ")?)?;
                Self::PowerOn { began, ended }
            }
            b"reset" => Self::Reset { at: time(rest)?.0 },
            b"mark" => {
                let (at, rest) = time(rest)?;
                let name = text::lossy(rest.strip_prefix(b" ")?);
                Self::Mark { at, name }
            }
            b"end" => Self::End { at: time(rest)?.0 },
            b"lost" => {
                let (count, rest) = text::number(rest)?;
                let what = text::lossy(rest.strip_prefix(b" ")?);
                Self::Lost { count, what }
            }
            b"latency" => Self::Latency {
                ms: text::number(rest)?.0,
            },
            _ => return None,
        };
        Some(said)
    }
}

fn time(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let (ns, _, rest) = text::seconds(bytes)?;
    Some((ns, rest))
}

/// What the whole log says about where the boot begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begin {
    /// When the last power command began.
    pub power: Option<i64>,
    /// Where the last reset stands: the byte of its line, and when.
    pub reset: Option<(u64, i64)>,
}

impl Begin {
    /// Whether something at this time may be of the boot. What is said of a
    /// line stands before it.
    pub(super) fn is_before(&self, at: i64) -> bool {
        let begin = self.power.or(self.reset.map(|r| r.1));
        begin.is_none_or(|begin| begin <= at)
    }

    pub(super) fn of(log: &[u8]) -> Self {
        let mut begin = Self::default();
        for line in text::lines(log).filter(|l| l.bytes.starts_with(b"# ")) {
            match Said::of(line.bytes) {
                Some(Said::PowerOn { began, .. }) => begin.power = Some(began),
                Some(Said::Reset { at }) => begin.reset = Some((line.offset, at)),
                _ => {}
            }
        }
        begin
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn every_word_is_read_and_nothing_else() {
        for (line, said) in [
            ("# firstlight-serial 1", Some(Said::Header)),
            (
                "# line 1500000 baud, 10 bits a byte",
                Some(Said::Line {
                    baud: 1_500_000,
                    bits: 10,
                }),
            ),
            (
                "# power-on 0.000000001 1.500000000",
                Some(Said::PowerOn {
                    began: 1,
                    ended: 1_500_000_000,
                }),
            ),
            ("# reset 0.5", Some(Said::Reset { at: 500_000_000 })),
            (
                "# mark 0.5 two words",
                Some(Said::Mark {
                    at: 500_000_000,
                    name: "two words".into(),
                }),
            ),
            ("# end 0.000000002", Some(Said::End { at: 2 })),
            (
                "# lost 3 overrun",
                Some(Said::Lost {
                    count: 3,
                    what: "overrun".into(),
                }),
            ),
            ("# latency 16 ms", Some(Said::Latency { ms: 16 })),
            ("# mark 0.5", None),
            ("# power-on 0.5", None),
            ("# end soon", None),
            ("# reset -0.5", None),
            ("# later 0.5", None),
            ("#", None),
            ("0.000000001 0.000000002 # end 0.5", None),
        ] {
            assert_eq!(Said::of(line.as_bytes()), said, "{line}");
        }
    }
}
