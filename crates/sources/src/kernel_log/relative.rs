//! Stamps that say how long after the line before a line came: `dmesg -H`, `-e`
//! and `--time-format=delta`.

use super::milestone;
use super::notes::Tally;
use super::shape::Stamp;
use record::Origin;

/// A minute of a day's clock.
const MINUTE_NS: i64 = 60_000_000_000;

/// Adds such stamps up. Of a log that begins with the kernel's first words, zero is
/// that of the kernel's clock; of others, the minute that the first line names.
#[derive(Debug, Default)]
pub(super) struct Relative {
    /// The time of the last line, from the first one on.
    now: Option<i64>,
    /// Whether the log begins with the kernel's first words.
    from_start: bool,
    /// The minute that the first line names.
    base: i64,
    /// The last line that named its minute: that, and its time.
    minute: Option<(i64, i64)>,
    /// Lines whose distance from the line before is not said.
    pub unsaid: Tally,
}

impl Relative {
    /// The stamp of a line, on a clock that goes on.
    pub(super) fn absolute(&mut self, stamp: Stamp, text: &[u8], origin: Origin) -> Stamp {
        let first = self.now.is_none();
        let last = self.now.unwrap_or(0);
        let now = match stamp {
            // The first line is after none.
            Stamp::Since(_) if first => 0,
            Stamp::Since(ns) => last.saturating_add(ns),
            Stamp::Minute(ns) => {
                let now = match self.minute {
                    // It came as late as the minutes between the two lines say, at least.
                    Some((minute, at)) => {
                        let least = ns.saturating_sub(minute).saturating_sub(MINUTE_NS);
                        last.max(at.saturating_add(least))
                    }
                    None => last,
                };
                if first {
                    self.base = ns;
                } else {
                    self.unsaid.add(origin, String::new);
                }
                self.minute = Some((ns, now));
                now
            }
            _ => return stamp,
        };
        if first {
            self.from_start = milestone::is_kernels_first(text);
        }
        self.now = Some(now);
        if self.from_start {
            return Stamp::Printk(now);
        }
        Stamp::Wall {
            ns: self.base.saturating_add(now),
            resolution_ns: 1_000,
            yearless: true,
        }
    }
}
