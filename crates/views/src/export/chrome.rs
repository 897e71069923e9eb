//! The JSON that Chrome's tracing page reads ("Trace Event Format").

use super::rows::{Value, arguments};
use analysis::Tracks;
use record::{Nanos, Origin, Record};
use serde_json::{Map, json};
use std::io::{self, Write};

/// The trace. A group is a process there, a track one of its threads. Times
/// are microseconds with three places.
///
/// # Errors
///
/// Whatever writing to `out` fails with.
pub fn chrome(record: &Record, tracks: &Tracks<'_>, mut out: impl Write) -> io::Result<()> {
    let about = json!({"zero": tracks.zero, "clock": record.clock().map(|c| c.kind.as_str())});
    write!(
        out,
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{about},\"traceEvents\":["
    )?;
    let mut events = Events { out, first: true };
    events.name("process_name", 0, 0, "marks")?;
    for instant in &tracks.instants {
        let args = object(record, None, Some(instant.origin));
        let ts = micros(instant.at);
        events.event(&format_args!(
            "{{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"mark\",\"name\":{},\"ts\":{ts},\"pid\":0,\"tid\":0,\
             \"args\":{args}}}",
            text(instant.name)
        ))?;
    }
    for (pid, group) in (1..).zip(&tracks.groups) {
        events.name("process_name", pid, 0, &group.name)?;
        let kind = group.kind.as_str();
        for (tid, track) in (0..).zip(&group.tracks) {
            if let Some(name) = &track.name {
                events.name("thread_name", pid, tid, name)?;
            }
            for slice in &track.slices {
                let args = object(record, Some(&slice.about), slice.origin);
                let (ts, dur) = (micros(slice.start), micros(slice.end - slice.start));
                events.event(&format_args!(
                    "{{\"ph\":\"X\",\"cat\":\"{kind}\",\"name\":{},\"ts\":{ts},\"dur\":{dur},\
                     \"pid\":{pid},\"tid\":{tid},\"args\":{args}}}",
                    text(&slice.name)
                ))?;
            }
        }
    }
    for counter in &tracks.counters {
        let name = text(&counter.name);
        let unit = counter.unit.as_str();
        for sample in counter.samples {
            let (ts, value) = (micros(sample.at), sample.value);
            events.event(&format_args!(
                "{{\"ph\":\"C\",\"name\":{name},\"ts\":{ts},\"pid\":0,\"args\":{{\"{unit}\":{value}}}}}"
            ))?;
        }
    }
    events.out.write_all(b"\n]}\n")
}

/// Nanoseconds as microseconds with three places, exactly.
fn micros(t: Nanos) -> String {
    let ns = t.get();
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1_000, ns % 1_000)
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn object(record: &Record, about: Option<&analysis::About>, origin: Option<Origin>) -> String {
    let arguments = arguments(record, about, origin).into_iter();
    let object: Map<String, serde_json::Value> = arguments
        .map(|(key, value)| {
            let value = match value {
                Value::Number(n) => n.into(),
                Value::Text(t) => t.into(),
            };
            (key.to_owned(), value)
        })
        .collect();
    serde_json::Value::Object(object).to_string()
}

struct Events<W> {
    out: W,
    first: bool,
}

impl<W: Write> Events<W> {
    fn event(&mut self, event: &dyn std::fmt::Display) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.first) {
            ""
        } else {
            ","
        };
        write!(self.out, "{comma}\n{event}")
    }

    fn name(&mut self, what: &str, pid: usize, tid: usize, name: &str) -> io::Result<()> {
        self.event(&json!({
            "ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}
        }))
    }
}
