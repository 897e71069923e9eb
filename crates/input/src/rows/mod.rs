//! Many boots: which files are one boot, and the row of each.

mod archive;
mod find;
mod format;
mod limit;
mod row;
mod unit;

pub use find::{each, each_of_list, each_of_stream};
pub use unit::{Give, Member, Unit};

use crate::Reading;
use analysis::{FleetRow, FleetSource};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The rows of `units`, read side by side, in their order.
#[must_use]
pub fn rows(units: Vec<Unit>, reading: &Reading) -> Vec<(FleetSource, FleetRow)> {
    let lanes = thread::available_parallelism().map_or(1, usize::from);
    let lanes = lanes.min(units.len());
    let queue = Mutex::new(units.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((place, unit)) = next else {
                return;
            };
            let row = row::row(unit, reading);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((place, row));
        }
    };
    thread::scope(|scope| {
        for _ in 1..lanes {
            scope.spawn(work);
        }
        work();
    });
    let mut rows = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}
