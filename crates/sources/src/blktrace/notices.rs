//! What stands in a trace beside its events: process names, the time of day,
//! messages.

use super::file::Placed;
use super::header::{Notice, nanoseconds};
use super::notes::{MESSAGES_DROPPED, TOO_MANY_NAMES, UNKNOWN_NOTICE};
use crate::balance::Balance;
use crate::text::lossy;
use hashbrown::HashMap;
use record::{ClockId, ClockKind, Origin, Recorder, SourceId};

/// The time of day of the machine that was traced.
const REALTIME: &str = "realtime";

/// The kernel reads the time of day and then stamps the notice; it can be
/// interrupted between.
const TIME_OF_DAY_ERROR_NS: u64 = 1_000_000;

/// How many process names are kept. There can be four times as many processes
/// (`PID_MAX_LIMIT`), but not at one time on one machine.
const MOST_NAMES: usize = 1 << 20;

/// How many messages are kept, and how many bytes of each: twice what the
/// kernel writes (`BLK_TN_MAX_MSG`).
const MOST_MESSAGES: usize = 10_000;
const LONGEST_MESSAGE: usize = 256;

/// How many readings of the time of day are kept: there is one for each start
/// of a trace.
const MOST_TIMES: usize = 64;

/// A name of a process, by its place among all that were said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(pub(super) usize);

/// The notices of a trace.
#[derive(Debug, Default)]
pub(super) struct Notices<'a> {
    /// What each process is called.
    names: HashMap<u32, Name>,
    /// Every name, as it stands in the trace, and its place.
    places: HashMap<&'a [u8], Name>,
    /// Names that [`Self::new_names`] has not given yet.
    new_names: Vec<&'a [u8]>,
    messages: Vec<(Origin, u64, String)>,
    /// When, and the time of day then.
    times: Vec<(Origin, u64, i64)>,
}

impl<'a> Notices<'a> {
    /// The name of a process, as far as it was said.
    #[inline]
    pub(super) fn name(&self, pid: u32) -> Option<Name> {
        self.names.get(&pid).copied()
    }

    /// The names that were first said since this was last asked, in the order of
    /// their places.
    pub(super) fn new_names(&mut self) -> Vec<&'a [u8]> {
        std::mem::take(&mut self.new_names)
    }

    pub(super) fn take(&mut self, placed: &Placed<'a>, source: SourceId, balance: &mut Balance) {
        let (header, offset) = (&placed.header, placed.offset);
        let origin = Origin { source, offset };
        match header.notice() {
            Notice::Process(name) => {
                let is_known = self.names.contains_key(&header.pid());
                let is_full = self.places.len() >= MOST_NAMES && !self.places.contains_key(name);
                if is_full || (!is_known && self.names.len() >= MOST_NAMES) {
                    balance.skipped(offset, &TOO_MANY_NAMES, String::new);
                    return;
                }
                let place = Name(self.places.len());
                let place = *self.places.entry(name).or_insert_with(|| {
                    self.new_names.push(name);
                    place
                });
                self.names.insert(header.pid(), place);
            }
            Notice::TimeOfDay(at) if self.times.len() < MOST_TIMES => {
                self.times.push((origin, header.time(), at));
            }
            Notice::Message(text) if self.messages.len() < MOST_MESSAGES => {
                let text = text.get(..LONGEST_MESSAGE).unwrap_or(text);
                let text = lossy(text).trim_end_matches(['\0', '\n']).to_owned();
                self.messages.push((origin, header.time(), text));
            }
            Notice::Message(_) => {
                balance.skipped(offset, &MESSAGES_DROPPED, String::new);
                return;
            }
            Notice::TimeOfDay(_) | Notice::Unknown => {
                balance.skipped(offset, &UNKNOWN_NOTICE, || {
                    format!("action 0x{:x}", header.code())
                });
                return;
            }
        }
        balance.took();
    }

    /// Records what there was. `own_clock` gives the clock of a source whose
    /// times are not on `clock`.
    pub(super) fn finish(
        self,
        own_clock: impl Fn(SourceId) -> Option<ClockId>,
        clock: ClockId,
        recorder: &mut Recorder,
    ) {
        for (origin, at, text) in self.messages {
            let clock = own_clock(origin.source).unwrap_or(clock);
            let at = nanoseconds(at);
            recorder.message(clock, Some(at), None, &text, origin);
        }
        for (origin, at, time_of_day) in self.times {
            // `blkparse -d` leaves the stamps of notices as they were.
            if own_clock(origin.source).is_none() {
                let realtime = recorder.clock(REALTIME, ClockKind::Wall, 1);
                let at = nanoseconds(at);
                let points = ((clock, at), (realtime, time_of_day));
                recorder.relate(points.0, points.1, TIME_OF_DAY_ERROR_NS, Some(origin));
            }
        }
    }
}
