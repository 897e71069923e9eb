//! Wires and their edges, whatever file they come from.

use super::notes::{BACKWARD, BUSY, MANY_CHANNELS, NO_POWER};
use record::{ClockId, ClockKind, Origin, Phase, Recorder, SourceId, mark};

/// So many channels are kept: dumps of simulators have millions.
const MOST_CHANNELS: usize = 1_024;

/// So many edges of a channel are marks, and its last one: a serial line has millions.
const MOST_EDGES: u64 = 64;

/// What a channel shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Low,
    High,
    /// Undefined, or of high impedance: no edge leads to it or away from it.
    Unknown,
    /// Several wires together, as the file writes them.
    Value(String),
}

/// An edge.
#[derive(Clone, Debug)]
struct Edge {
    name: String,
    at: i64,
    origin: Origin,
}

#[derive(Debug)]
struct Channel {
    name: String,
    level: Level,
    edges: u64,
    /// The last edge, if it is no mark yet.
    last: Option<Edge>,
    /// Its first rise.
    rise: Option<(i64, Origin)>,
}

/// The channels of a file.
#[derive(Debug)]
pub(super) struct Channels {
    source: SourceId,
    clock: ClockId,
    all: Vec<Channel>,
    left_out: u64,
    latest: i64,
}

impl Channels {
    pub(super) fn new(source: SourceId, resolution_ns: u64, recorder: &mut Recorder) -> Self {
        Self {
            source,
            clock: recorder.clock("logic-analyzer", ClockKind::Wall, resolution_ns),
            all: Vec::new(),
            left_out: 0,
            latest: i64::MIN,
        }
    }

    /// States how fine the times are, where the file says so after it declared channels.
    pub(super) fn resolution(&self, ns: u64, recorder: &mut Recorder) {
        recorder.clock("logic-analyzer", ClockKind::Wall, ns);
    }

    /// A channel's place for [`Self::set`]; `None` if there are too many.
    pub(super) fn add(&mut self, name: &str) -> Option<usize> {
        if self.all.len() >= MOST_CHANNELS {
            self.left_out += 1;
            return None;
        }
        self.all.push(Channel {
            name: name.to_owned(),
            level: Level::Unknown,
            edges: 0,
            last: None,
            rise: None,
        });
        Some(self.all.len() - 1)
    }

    /// The time is `at` nanoseconds now.
    pub(super) fn time(&mut self, at: i64, origin: Origin, recorder: &mut Recorder) {
        if at < self.latest {
            recorder.note(origin, &BACKWARD, String::new);
        }
        self.latest = at;
    }

    /// A channel shows `level` from the time on that was said last.
    pub(super) fn set(
        &mut self,
        channel: usize,
        level: Level,
        origin: Origin,
        recorder: &mut Recorder,
    ) {
        let at = self.latest;
        let Some(channel) = self.all.get_mut(channel) else {
            return;
        };
        if channel.level == level {
            return;
        }
        let before = std::mem::replace(&mut channel.level, level);
        let name = match (&before, &channel.level) {
            (Level::Unknown, _) | (_, Level::Unknown) => return,
            (_, Level::High) => format!("{} rises", channel.name),
            (_, Level::Low) => format!("{} falls", channel.name),
            (_, Level::Value(value)) => format!("{} = {value}", channel.name),
        };
        if channel.level == Level::High {
            channel.rise.get_or_insert((at, origin));
        }
        channel.edges += 1;
        if channel.edges <= MOST_EDGES {
            recorder.mark(self.clock, &name, at, None, origin);
        } else {
            channel.last = Some(Edge { name, at, origin });
        }
    }

    /// Records what could only be known at the end.
    pub(super) fn finish(self, recorder: &mut Recorder) {
        let start = Origin {
            source: self.source,
            offset: 0,
        };
        let first = |is: fn(&str) -> bool| {
            let named = self.all.iter().filter(|c| is(&c.name));
            named.filter_map(|c| c.rise).min_by_key(|rise| rise.0)
        };
        match first(is_supply).or_else(|| first(is_reset)) {
            Some((at, origin)) => {
                let firmware = Some(Phase::Firmware);
                recorder.mark(self.clock, mark::POWER_ON, at, firmware, origin);
            }
            None if !self.all.is_empty() => recorder.note(start, &NO_POWER, String::new),
            None => {}
        }
        if self.left_out > 0 {
            recorder.note_many(start, &MANY_CHANNELS, self.left_out, String::new);
        }
        for channel in self.all {
            if let Some(last) = channel.last {
                recorder.mark(self.clock, &last.name, last.at, None, last.origin);
                let between = channel.edges.saturating_sub(MOST_EDGES + 1);
                if between > 0 {
                    recorder.note_many(last.origin, &BUSY, between, || channel.name);
                }
            }
        }
    }
}

/// The words of a name, in small letters.
fn words(name: &str) -> impl Iterator<Item = String> {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.map(str::to_ascii_lowercase)
}

/// Whether a channel of this name is a supply: it is high when there is power.
fn is_supply(name: &str) -> bool {
    const SUPPLIES: [&str; 12] = [
        "power", "pwr", "supply", "vin", "vbat", "dcin", "mains", "5v", "3v3", "1v8", "12v", "24v",
    ];
    words(name).any(|w| {
        SUPPLIES.contains(&w.as_str()) || ["vcc", "vdd", "vbus"].iter().any(|s| w.starts_with(s))
    })
}

/// Whether a channel of this name is a reset that holds the processor while it is low.
fn is_reset(name: &str) -> bool {
    const RESETS: [&str; 8] = [
        "nreset", "nrst", "resetn", "rstn", "porb", "npor", "nporst", "porn",
    ];
    let all: Vec<String> = words(name).collect();
    let has = |word: &str| all.iter().any(|w| w == word);
    all.iter().any(|w| RESETS.contains(&w.as_str()))
        || ((has("reset") || has("rst") || has("por")) && (has("n") || has("b")))
}

#[cfg(test)]
mod tests {
    use super::{is_reset, is_supply};

    #[test]
    fn wires_are_known_by_their_names() {
        for name in ["VCC", "vdd_core", "3V3 rail", "board.power", "VBUS"] {
            assert!(is_supply(name), "{name}");
        }
        for name in ["LED", "power_good_irq2x", "tx", "D0"] {
            assert_eq!(is_supply(name), name == "power_good_irq2x", "{name}");
        }
        for name in ["nRESET", "RST_N", "reset.n", "POR_B"] {
            assert!(is_reset(name), "{name}");
        }
        for name in ["reset", "rst", "led"] {
            assert!(!is_reset(name), "{name}");
        }
    }
}
