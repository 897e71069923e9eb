//! From the lines of initcalls and probes to spans.

use super::at::At;
use super::call::{Call, Function, Returned};
use super::notes::{self, Tally};
use super::pairs::{End, Key, Open, Pairs};
use crate::text::{counted, lossy};
use hashbrown::HashTable;
use record::{ClockId, Doubt, NameId, Origin, Recorder, SourceId, SpanKind};
use std::collections::HashSet;

/// The kernel's number and the stamps may differ by so much without a doubt.
const AGREEMENT_NS: u64 = 1_000_000;

/// How many names of functions and devices are kept at hand.
const RECENT_NAMES: usize = 8_192;

/// How many names of tasks are kept at hand.
const RECENT_TASKS: usize = 512;

/// The kernel's error number for "try this probe again later". The kernel has
/// printed it with either sign.
const EPROBE_DEFER: u32 = 517;

/// What is known of a line besides its words.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Its stamp.
    pub at: At,
    /// The step of such stamps.
    pub resolution_ns: u64,
    /// Whether the stamp is the kernel's own.
    pub printk: bool,
    /// The task that printed the line.
    pub caller: Option<u64>,
    /// Whether the kernel said before that it changed its clock source.
    pub clock_switched: bool,
}

/// Names that were met not long ago, by the hashes of their words. The words
/// themselves may long have left the processor's caches, or be in another's.
#[derive(Debug, Default)]
struct RecentNames {
    known: HashTable<(u64, NameId)>,
}

impl RecentNames {
    /// The name of this hash; if it is not known, `name` gives it.
    #[inline]
    fn get(&mut self, hash: u64, name: impl FnOnce() -> NameId) -> NameId {
        if let Some(&(_, name)) = self.known.find(hash, |k| k.0 == hash) {
            return name;
        }
        let name = name();
        if self.known.len() >= RECENT_NAMES {
            self.known.clear();
        }
        self.known.insert_unique(hash, (hash, name), |k| k.0);
        name
    }
}

/// Pairs starts with ends, and records what comes of it.
#[derive(Debug)]
pub(super) struct Spans {
    open: Pairs,
    /// How many initcalls began.
    begun: u64,
    /// Where they stand.
    source: Option<SourceId>,
    /// Whether each duration so far was a whole number of ticks.
    ticks_only: bool,
    /// Whether a row's doubt was that the clock moved in ticks.
    jiffy_doubt: bool,
    /// The names of tasks that were met, each at its number's place.
    tasks: [Option<(u64, NameId)>; RECENT_TASKS],
    /// The devices whose probes were deferred.
    deferred_devices: HashSet<NameId>,
    /// For names that are put together.
    name: Vec<u8>,
    recent: RecentNames,
    torn: Tally,
    lost_start: Tally,
    lost_end: Tally,
    ambiguous: Tally,
    disagreement: Tally,
    jiffy: Tally,
    deferred: Tally,
}

impl Default for Spans {
    fn default() -> Self {
        Self {
            open: Pairs::default(),
            begun: 0,
            source: None,
            ticks_only: true,
            jiffy_doubt: false,
            tasks: [None; RECENT_TASKS],
            deferred_devices: HashSet::new(),
            name: Vec::new(),
            recent: RecentNames::default(),
            torn: Tally::default(),
            lost_start: Tally::default(),
            lost_end: Tally::default(),
            ambiguous: Tally::default(),
            disagreement: Tally::default(),
            jiffy: Tally::default(),
            deferred: Tally::default(),
        }
    }
}

impl Spans {
    /// Whether no initcall began so far.
    pub(super) const fn is_empty(&self) -> bool {
        self.begun == 0
    }

    /// Takes a line.
    #[inline]
    pub(super) fn call(
        &mut self,
        recorder: &mut Recorder,
        moment: Moment,
        call: &Call<'_>,
        key: &Key,
    ) {
        let key = *key;
        match *call {
            Call::Begin { function, task } => self.begin(recorder, moment.at, function, key, task),
            Call::End { function, returned } => {
                self.end(recorder, moment, function, key, returned);
            }
            Call::Probe { device, returned } => {
                self.probe(recorder, moment, device, key, returned);
            }
            Call::Torn => {}
        }
    }

    /// Counts a line that is cut.
    pub(super) fn torn(&mut self, origin: Origin, text: &[u8]) {
        self.torn.add(origin, || excerpt(text));
    }

    /// Symbol and module, as a name.
    #[inline]
    fn name_of(&mut self, recorder: &mut Recorder, function: Function<'_>, key: Key) -> NameId {
        let name = &mut self.name;
        self.recent
            .get(key.words(), || named(recorder, function, name))
    }

    #[inline]
    fn track(&mut self, recorder: &mut Recorder, task: Option<u64>) -> Option<NameId> {
        let task = task?;
        let slot = self.tasks.get_mut((task % RECENT_TASKS as u64) as usize)?;
        match *slot {
            Some((known, name)) if known == task => Some(name),
            _ => {
                let name = recorder.name(&format!("task {task}"));
                *slot = Some((task, name));
                Some(name)
            }
        }
    }

    #[inline]
    pub(super) fn begin(
        &mut self,
        recorder: &mut Recorder,
        at: At,
        function: Function<'_>,
        key: Key,
        task: Option<u64>,
    ) {
        if task.is_none() {
            self.torn(at.origin, function.symbol());
        }
        self.begun = self.begun.saturating_add(1);
        self.source = Some(at.origin.source);
        let name = self.name_of(recorder, function, key);
        let track = self.track(recorder, task);
        let lost = self.open.begin(Open {
            key,
            name,
            task,
            track,
            clock: at.clock,
            start: at.ns,
            begun: self.begun,
            ambiguous: false,
            origin: at.origin,
        });
        if let Some(lost) = lost {
            self.lost_end(recorder, lost);
        }
    }

    fn lost_end(&mut self, recorder: &mut Recorder, open: Open) {
        self.lost_end.add(open.origin, String::new);
        let span = recorder.span_of(open.clock, SpanKind::Initcall, open.name, open.origin);
        let doubt = Some(Doubt::LostEnd);
        recorder.span(span.track(open.track).start(Some(open.start)).doubt(doubt));
    }

    #[inline]
    pub(super) fn end(
        &mut self,
        recorder: &mut Recorder,
        moment: Moment,
        function: Function<'_>,
        key: Key,
        returned: Returned,
    ) {
        let Moment { at, caller, .. } = moment;
        if returned.torn {
            self.torn(at.origin, function.symbol());
        }
        let quantum = self.is_quantised(moment, returned.after_ns);
        let Some(open) = self.open.end(End { key, caller }) else {
            let name = self.name_of(recorder, function, key);
            self.lost_start.add(at.origin, String::new);
            let track = self.track(recorder, caller);
            let span = recorder.span_of(at.clock, SpanKind::Initcall, name, at.origin);
            let doubt = Some(Doubt::LostStart);
            let span = span.track(track).end(Some(at.ns)).doubt(doubt);
            recorder.span(span.reported(returned.after_ns).outcome(returned.value));
            return;
        };
        let torn = returned.torn || !open.key.whole && key.whole;
        let doubt = if open.ambiguous {
            self.ambiguous.add(at.origin, String::new);
            Some(Doubt::Ambiguous)
        } else if torn {
            Some(Doubt::Torn)
        } else {
            self.doubt(moment, &open, returned.after_ns, quantum)
        };
        // A cut line does not say the module.
        let name = match !open.key.whole && key.whole {
            true => self.name_of(recorder, function, key),
            false => open.name,
        };
        let track = match open.track {
            None => self.track(recorder, caller),
            track => track,
        };
        // Stamps of two clocks give no duration.
        let end = (open.clock == at.clock).then_some(at.ns);
        let span = recorder.span_of(open.clock, SpanKind::Initcall, name, open.origin);
        let span = span.track(track).start(Some(open.start)).end(end);
        let span = span.reported(returned.after_ns).outcome(returned.value);
        recorder.span(span.doubt(doubt));
    }

    /// Why the kernel's number and the stamps differ, if they do.
    fn doubt(
        &mut self,
        moment: Moment,
        open: &Open,
        reported: Option<i64>,
        quantum: bool,
    ) -> Option<Doubt> {
        let wall = moment.at.ns.saturating_sub(open.start);
        if wall < 0 {
            return Some(Doubt::BackwardStep);
        }
        let reported = reported?;
        // Coarse stamps are off by up to their step.
        let slack = match moment.resolution_ns {
            ..=AGREEMENT_NS => 0,
            coarse => coarse,
        };
        if wall.abs_diff(reported) <= AGREEMENT_NS.saturating_add(slack) {
            return None;
        }
        let name = || {
            format!(
                "first: {} us by timestamps, {} us reported",
                wall / 1_000,
                reported / 1_000
            )
        };
        self.disagreement.add(moment.at.origin, name);
        Some(if moment.printk && open.start == 0 {
            Doubt::ZeroClock
        } else if self.begun != open.begun {
            // The kernel keeps the start of one call, the last that began.
            Doubt::Overlap
        } else if quantum {
            self.jiffy_doubt = true;
            Doubt::JiffyClock
        } else if wall > reported {
            // The kernel reads its clock after the line of the start is out.
            Doubt::Console
        } else {
            Doubt::Disagree
        })
    }

    /// Whether the kernel's clock may still move in ticks: it has not said that
    /// it changed its clock source, and each number so far is a whole number of
    /// ticks (1, 3 1/3, 4 or 10 ms).
    #[inline]
    fn is_quantised(&mut self, moment: Moment, after_ns: Option<i64>) -> bool {
        let Some(micros) = after_ns.map(|ns| ns / 1_000).filter(|_| self.ticks_only) else {
            return false;
        };
        let of_300_hz = matches!(micros.saturating_mul(3) % 10_000, 0 | 9_997..);
        self.ticks_only = micros % 1_000 == 0 || of_300_hz;
        let quantised = self.ticks_only && !moment.clock_switched;
        if quantised {
            self.jiffy.add(moment.at.origin, String::new);
        }
        quantised
    }

    /// A probe has no line at its start: it began the stated time before.
    fn probe(
        &mut self,
        recorder: &mut Recorder,
        moment: Moment,
        device: &[u8],
        key: Key,
        returned: Returned,
    ) {
        let Moment { at, caller, .. } = moment;
        let quantum = self.is_quantised(moment, returned.after_ns);
        let name = self.recent.get(key.words(), || recorder.name_lossy(device));
        if returned
            .value
            .is_some_and(|v| v.unsigned_abs() == EPROBE_DEFER)
        {
            self.deferred.add(at.origin, String::new);
            self.deferred_devices.insert(name);
        }
        if returned.torn {
            self.torn(at.origin, device);
        }
        // No second stamp tells whether a whole number of ticks is chance.
        let doubt = if returned.torn {
            Some(Doubt::Torn)
        } else {
            quantum.then_some(Doubt::JiffyClock)
        };
        let track = self.track(recorder, caller);
        let start = returned.after_ns.map(|ns| at.ns.saturating_sub(ns));
        let span = recorder.span_of(at.clock, SpanKind::Probe, name, at.origin);
        let span = span.track(track).start(start).end(Some(at.ns));
        let span = span.reported(returned.after_ns).outcome(returned.value);
        recorder.span(span.doubt(doubt));
    }

    /// Records what only the end of the log decides: starts without an end,
    /// and what was counted. `switched`: the log says that the kernel changed
    /// its clock source; `ticks`: that all stamps are whole ticks of the timer.
    pub(super) fn finish(mut self, recorder: &mut Recorder, switched: bool, ticks: bool) {
        for open in std::mem::take(&mut self.open).never_ended() {
            self.lost_end(recorder, open);
        }
        let devices = self.deferred_devices.len();
        self.deferred.describe(|count| {
            let devices = u64::try_from(devices).unwrap_or(u64::MAX);
            format!(
                "{} on {}",
                counted(count, "deferral"),
                counted(devices, "device")
            )
        });
        // Without the switch in the log, whole ticks may be chance.
        if !switched && !self.jiffy_doubt {
            self.jiffy = Tally::default();
        }
        // Where the kernel's own numbers are whole ticks too, they are no better.
        if ticks && !self.ticks_only {
            self.disagreement = Tally::default();
            if let Some(source) = self.source {
                recorder.stamps_tick(source);
            }
        }
        for (tally, kind) in [
            (self.torn, &notes::TORN_LINE),
            (self.lost_start, &notes::LOST_INITCALL_START),
            (self.lost_end, &notes::LOST_INITCALL_END),
            (self.ambiguous, &notes::AMBIGUOUS_INITCALL),
            (self.disagreement, &notes::DISAGREEMENT),
            (self.jiffy, &notes::JIFFY_CLOCK),
            (self.deferred, &notes::PROBE_DEFERRED),
        ] {
            tally.note(recorder, kind);
        }
    }
}

/// The beginning of a text, for a note.
fn excerpt(text: &[u8]) -> String {
    lossy(text.get(..80).unwrap_or(text)).into_owned()
}

/// Symbol and module, as a name that is made in `room`.
fn named(recorder: &mut Recorder, function: Function<'_>, room: &mut Vec<u8>) -> NameId {
    let Some(module) = function.module() else {
        return recorder.name_lossy(function.symbol());
    };
    room.clear();
    room.extend_from_slice(function.symbol());
    room.extend_from_slice(b" [");
    room.extend_from_slice(module);
    room.push(b']');
    recorder.name_lossy(room)
}

/// Records a line of a log without times: how long the kernel says that something took.
/// `clock` is one in form only. Whether that was all that the line says.
pub(super) fn untimed(
    recorder: &mut Recorder,
    clock: ClockId,
    origin: Origin,
    call: &Call<'_>,
) -> bool {
    let (kind, name, returned) = match *call {
        Call::End { function, returned } => {
            let name = named(recorder, function, &mut Vec::new());
            (SpanKind::Initcall, name, returned)
        }
        Call::Probe { device, returned } => {
            (SpanKind::Probe, recorder.name_lossy(device), returned)
        }
        Call::Begin { .. } | Call::Torn => return false,
    };
    let span = recorder.span_of(clock, kind, name, origin);
    recorder.span(span.reported(returned.after_ns).outcome(returned.value));
    true
}
