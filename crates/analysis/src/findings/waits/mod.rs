//! The longest waits of a boot, whatever their cause: what is long is always told, with the
//! names of what stands beside it.

mod alone;
mod android;
mod firmware;
mod idle;
mod jobs;
mod late;
mod links;
mod phase;
mod spoken;
mod stage;
mod tail;
mod timeout;
mod udev;
mod units;
mod waited;

pub(super) use alone::alone;
pub(super) use android::{PROGRESS, progress};
pub(super) use firmware::firmware;
pub(super) use jobs::{LISTED, RUNNING, START_RUNNING, running};
pub(super) use late::{late, late_part, late_unit};
pub(super) use links::{Link, fills_a_wait, is_before_a_longer_wait, links};
pub(super) use phase::opaque;
pub(super) use spoken::{
    AFTER_WAITING, ANSWERED, ASKS, DISCOVERS, GIVES_UP, LONG_EVENT, NO_ANSWER, NO_NETWORK,
    NO_OFFERS, NO_RESPONSE, NOT_FOUND, NOT_READY, SECONDS_FOR, SETTLE_ENDS, TIME_IS_OVER,
    TO_APPEAR, TRIED, spoken,
};
pub(super) use stage::{READ, stages};
pub(super) use tail::work_of_chain;
pub(super) use timeout::timed_out;
pub(super) use udev::before_udev;
pub(super) use units::{between, blamed, on_chain};

use super::view::View;
use record::Nanos;

/// A wait is told from this part of the boot on, in percent, and from this time on.
const LEAST_PERCENT: i64 = 2;
const LEAST: Nanos = Nanos::from_millis(200);

/// From what length on a wait of this boot is worth a line.
fn worth(view: &View<'_>) -> Nanos {
    Nanos(view.total.0 / 100 * LEAST_PERCENT).max(LEAST)
}
