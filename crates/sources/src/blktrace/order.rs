//! The events of all files of a trace, in the order of their times.

use super::header::nanoseconds;
use super::lane::Lane;
use super::notices::{Name, Notices};
use crate::block::{Action, Event};
use record::Origin;
use std::cmp::Reverse;
use std::sync::mpsc::{Receiver, SyncSender};

/// How many events are handed over at a time: few enough to stay in a cache.
const BATCH: usize = 1024;

/// Events in their order, and the names that were said on the way.
#[derive(Debug, Default)]
pub(super) struct Batch<'a> {
    pub events: Vec<Next>,
    /// Names that no batch before this has, in the order of their places.
    pub names: Vec<&'a [u8]>,
}

/// An event of which a request may be made.
#[derive(Debug)]
pub(super) struct Next {
    /// It has no [`Event::task`] yet.
    pub event: Event,
    /// The name of who ran.
    pub name: Option<Name>,
    /// Which of the lanes it is of.
    pub lane: usize,
}

/// Reads all lanes to their ends, as long as somebody takes what they hold;
/// gives them back with their balances. Events of which no request is ever made
/// are in these already. Lists that were emptied come back, to be filled again while
/// they are still in a cache.
pub(super) fn read<'a>(
    mut lanes: Vec<Lane<'a>>,
    notices: &mut Notices<'a>,
    to: &SyncSender<Batch<'a>>,
    emptied: &Receiver<Vec<Next>>,
) -> Vec<Lane<'a>> {
    let heads = lanes.iter().enumerate();
    let heads = heads.filter_map(|(i, lane)| Some(Reverse((lane.time()?, i))));
    // The next one is the last: there are few, and what follows it is mostly near.
    let mut heads: Vec<Reverse<(u64, usize)>> = heads.collect();
    heads.sort_unstable();
    let mut events = Vec::with_capacity(BATCH);
    while let Some(Reverse((_, i))) = heads.pop() {
        let until = heads.last().map_or(u64::MAX, |h| h.0.0);
        let Some(lane) = lanes.get_mut(i) else {
            continue;
        };
        // A processor mostly has several events before the next one's turn.
        loop {
            events.extend(next(lane, i, notices));
            if events.len() >= BATCH {
                let empty = emptied.try_recv();
                let empty = empty.unwrap_or_else(|_| Vec::with_capacity(BATCH));
                let full = std::mem::replace(&mut events, empty);
                let names = notices.new_names();
                let batch = Batch {
                    events: full,
                    names,
                };
                if to.send(batch).is_err() {
                    return lanes;
                }
            }
            match lane.advance(notices) {
                Some(time) if time <= until => {}
                Some(time) => {
                    let head = Reverse((time, i));
                    let place = heads.partition_point(|h| *h < head);
                    heads.insert(place, head);
                    break;
                }
                None => break,
            }
        }
    }
    let names = notices.new_names();
    // Whoever takes no more needs no last batch either.
    to.send(Batch { events, names }).ok();
    lanes
}

/// The next event of a lane, unless no request is ever made of such.
#[inline]
fn next(lane: &mut Lane<'_>, number: usize, notices: &Notices<'_>) -> Option<Next> {
    let placed = *lane.event()?;
    let header = &placed.header;
    let action = header.action();
    if let Some(kind) = action.passed_over() {
        lane.balance.skipped(placed.offset, kind, || match action {
            Action::Remap { from } => format!("{from} to {}", header.device()),
            Action::Unknown => format!("action 0x{:x}", header.code()),
            _ => String::new(),
        });
        return None;
    }
    let pid = header.pid();
    Some(Next {
        event: Event {
            at: nanoseconds(header.time()),
            action,
            device: header.device(),
            sector: header.sector(),
            bytes: header.bytes().into(),
            asks: header.asks(),
            error: header.error(),
            pid: Some(pid),
            task: None,
            origin: Origin {
                source: lane.source,
                offset: placed.offset,
            },
        },
        name: match action {
            // Whoever was interrupted did not ask.
            Action::Complete => None,
            _ => notices.name(pid),
        },
        lane: number,
    })
}
