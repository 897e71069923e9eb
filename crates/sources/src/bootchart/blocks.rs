//! Timed blocks: a line with the time alone, the lines of a /proc file as it
//! was then, and a blank line.

use crate::text::{self, Line};

/// A time stamp counts hundredths of a second.
pub(super) const TICK_NS: i64 = 10_000_000;

/// One reading of a /proc file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    /// Where its time stamp stands in the file.
    pub offset: u64,
    /// When it was taken, in nanoseconds.
    pub at: i64,
    /// What the file held.
    body: &'a [u8],
    /// Where that begins.
    body_offset: u64,
    /// Whether the file goes on behind it, so that all of it is here.
    pub whole: bool,
}

impl<'a> Block<'a> {
    /// The lines that the file held, without the blanks around them. A last
    /// line that the end of the log cuts is left out: half a number is a wrong
    /// one.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'a>> {
        text::lines_from(self.body, self.body_offset)
    }

    /// Whether anything but its time was written.
    pub(super) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// A piece of a log of timed blocks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// A block.
    Block(Block<'a>),
    /// A line outside of all blocks.
    Stray(u64),
    /// A last line without an end.
    Cut(u64),
}

/// Cuts a log into its pieces.
pub(super) fn pieces(log: &[u8]) -> Pieces<'_> {
    let end = memchr::memrchr(b'\n', log).map_or(0, |at| at.saturating_add(1));
    let (whole, cut) = log.split_at(end);
    Pieces {
        log: whole,
        at: 0,
        cut: (!cut.is_empty()).then_some(end as u64),
    }
}

/// See [`pieces`].
#[derive(Debug)]
pub(super) struct Pieces<'a> {
    /// The log up to its last line end.
    log: &'a [u8],
    at: usize,
    /// Where a last line without an end begins.
    cut: Option<u64>,
}

impl<'a> Pieces<'a> {
    /// The line at `from`, without its end, and where the next one begins.
    fn line(&self, from: usize) -> Option<(&'a [u8], usize)> {
        let rest = self.log.get(from..).filter(|r| !r.is_empty())?;
        let end = text::line_end(rest, 1);
        let line = rest.get(..end)?;
        let line = text::without_cr(line.strip_suffix(b"\n").unwrap_or(line));
        Some((line, from.saturating_add(end)))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let (offset, line, mut end) = loop {
            let Some((line, next)) = self.line(self.at) else {
                return self.cut.take().map(Piece::Cut);
            };
            let offset = self.at as u64;
            self.at = next;
            if !line.trim_ascii().is_empty() {
                break (offset, line, next);
            }
        };
        let Some(at) = stamp(line) else {
            return Some(Piece::Stray(offset));
        };
        let start = end;
        // A block whose file could not be read has no blank line either: the
        // next stamp ends it.
        let whole = loop {
            match self.line(end) {
                Some((line, next)) if line.trim_ascii().is_empty() => {
                    self.at = next;
                    break true;
                }
                Some((line, _)) if stamp(line).is_some() => {
                    self.at = end;
                    break true;
                }
                Some((_, next)) => end = next,
                None => {
                    self.at = end;
                    break false;
                }
            }
        };
        Some(Piece::Block(Block {
            offset,
            at,
            body: self.log.get(start..end).unwrap_or_default(),
            body_offset: start as u64,
            whole,
        }))
    }
}

/// A time stamp, in nanoseconds: a number alone on its line.
pub(super) fn stamp(line: &[u8]) -> Option<i64> {
    let (ticks, rest) = text::number(line.trim_ascii())?;
    if !rest.is_empty() {
        return None;
    }
    i64::try_from(ticks).ok()?.checked_mul(TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::{Piece, pieces};

    fn shown(log: &str) -> Vec<String> {
        pieces(log.as_bytes())
            .map(|piece| match piece {
                Piece::Block(b) => {
                    let lines = b.lines().map(|l| {
                        let text = String::from_utf8_lossy(l.bytes);
                        format!("{text}@{}", l.offset)
                    });
                    let lines: Vec<String> = lines.collect();
                    let whole = if b.whole { "" } else { " open" };
                    format!("{} {}: {}{whole}", b.offset, b.at, lines.join(","))
                }
                Piece::Stray(at) => format!("stray {at}"),
                Piece::Cut(at) => format!("cut {at}"),
            })
            .collect()
    }

    #[test]
    fn blocks_end_at_blank_lines_and_at_stamps() {
        assert_eq!(
            shown("150\na b\nc\n\n160\n\n\n170\n180\nd\n"),
            [
                "0 1500000000: a b@4,c@8",
                "11 1600000000: ",
                "17 1700000000: ",
                "21 1800000000: d@25 open"
            ]
        );
        assert_eq!(
            shown("x\n\n050\r\ny\r\n\r\n1"),
            ["stray 0", "3 500000000: y@8", "cut 13"]
        );
        assert_eq!(
            shown("99999999999999999999\n1\nhalf a li"),
            ["stray 0", "21 10000000:  open", "cut 23"]
        );
        assert!(shown("").is_empty());
    }
}
