//! Which way a log runs.

use super::shape::{Stamp, shape};
use crate::text::{lines, without_controls, without_no_break};

/// So many lines are looked at.
const LOOKED_AT: usize = 400;

/// Fewer steps backward may be chance, or boots one after another.
const FEWEST_STEPS: usize = 8;

/// Whether a log begins with its newest line, as `journalctl -r` prints it: of its stamps that
/// differ from the one before, nearly all are earlier.
#[must_use]
pub fn newest_first(head: &[u8]) -> bool {
    let head: &[u8] = &without_no_break(head);
    let stamps = lines(head).take(LOOKED_AT).filter_map(|line| {
        match shape(&without_controls(line.bytes)).stamp {
            Stamp::Printk(ns) | Stamp::Monotonic(ns) | Stamp::Wall { ns, .. } => Some(ns),
            Stamp::None | Stamp::Since(_) | Stamp::Minute(_) => None,
        }
    });
    let (mut earlier, mut later) = (0_usize, 0_usize);
    let mut last = None;
    for ns in stamps {
        match last {
            Some(before) if ns < before => earlier += 1,
            Some(before) if ns > before => later += 1,
            _ => {}
        }
        last = Some(ns);
    }
    earlier >= FEWEST_STEPS && earlier / 10 >= later
}
