//! The lines that a host saw on the console.

use record::{Arrival, Message, Nanos, Record};
use std::collections::HashMap;

/// A line that arrived, with what is known of it elsewhere.
pub(super) struct Line<'a> {
    pub arrival: &'a Arrival,
    /// When the kernel stamped it: on the line itself, or in its log.
    pub stamped: Option<Nanos>,
    pub text: &'a str,
}

/// What arrived, by time. A line without a stamp is looked for in the kernel log
/// by its text, if that occurs once on both sides.
pub(super) fn lines(record: &Record) -> Vec<Line<'_>> {
    let arrivals = record.arrivals();
    let Some(source) = arrivals.first().map(|a| a.origin.source) else {
        return Vec::new();
    };
    let of_console: Vec<&Message> = record
        .messages()
        .iter()
        .filter(|m| m.origin.source == source)
        .collect();
    let in_log = once(record, |m| m.origin.source != source);
    let on_console = once(record, |m| m.origin.source == source);
    let mut lines: Vec<Line<'_>> = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        // Messages are sorted by evidence; that of a line begins in the line.
        let from = of_console.partition_point(|m| m.origin < arrival.origin);
        let within = |m: &&&Message| {
            let past = m.origin.offset.saturating_sub(arrival.origin.offset);
            past < u64::from(arrival.bytes).saturating_add(STAMPS)
        };
        let text = of_console.get(from).filter(within);
        let text = text.map_or("", |m| record.text(m));
        let found = || {
            on_console.get(text)?.as_ref()?;
            *in_log.get(text)?
        };
        lines.push(Line {
            arrival,
            stamped: arrival.stamped.or_else(found),
            text,
        });
    }
    lines
}

/// What a host puts before a line takes no more than this.
const STAMPS: u64 = 80;

/// The texts of some messages, with the time of those that occur once.
fn once(record: &Record, wanted: impl Fn(&Message) -> bool) -> HashMap<&str, Option<Nanos>> {
    let mut texts: HashMap<&str, Option<Nanos>> = HashMap::new();
    for message in record.messages().iter().filter(|m| wanted(m)) {
        let text = record.text(message);
        if let (Some(at), true) = (message.at, text.len() >= 12) {
            texts
                .entry(text)
                .and_modify(|t| *t = None)
                .or_insert(Some(at));
        }
    }
    texts
}
