//! Block requests out of events: one model for `blktrace`, for the text of
//! `blkparse` and for the kernel's `block:*` trace events.
//!
//! The kernel says when something is queued, merged, split, given to the
//! device, taken back and done; each event names a device, a sector and a
//! length, but no request. [`Assembler`] takes the events in the order of
//! their times and records whole requests.

mod asks;
mod assembler;
mod event;
mod notes;
mod open;

pub(crate) use asks::Asks;
pub(crate) use assembler::Assembler;
pub(crate) use event::{Action, Event};
