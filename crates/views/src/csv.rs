//! Tables as comma-separated values, with a line of names first. Times are
//! integer nanoseconds; what is not known is empty.

use analysis::{Blame, BoardReport, BoardTrial, Calls, Experiment, Functions, IoRequest, Phases};
use csv::Writer;
use record::Nanos;

fn ns(time: Option<Nanos>) -> String {
    time.map_or_else(String::new, |t| t.get().to_string())
}

/// Writing to memory fails only if the rows differ in length, which the tests
/// would see.
fn table<const N: usize>(names: [&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let mut writer = Writer::from_writer(Vec::new());
    let mut written = writer.write_record(names);
    for row in rows {
        written = written.and_then(|()| writer.write_record(row));
    }
    let bytes = match written {
        Ok(()) => writer.into_inner().unwrap_or_default(),
        Err(_) => Vec::new(),
    };
    String::from_utf8(bytes).unwrap_or_default()
}

/// What took longest.
#[must_use]
pub fn blame(blame: &Blame) -> String {
    let names = [
        "kind",
        "name",
        "start_ns",
        "end_ns",
        "wall_ns",
        "reported_ns",
        "doubt",
        "outcome",
        "pid",
        "cpu_ns",
        "source",
        "offset",
    ];
    let row = |r: &analysis::BlameRow| {
        [
            r.kind.as_str().to_owned(),
            r.name.clone(),
            ns(r.start),
            ns(r.end),
            ns(r.wall),
            ns(r.reported),
            r.doubt.map_or("", record::Doubt::as_str).to_owned(),
            r.outcome.map_or_else(String::new, |o| o.to_string()),
            r.pid.map_or_else(String::new, |p| p.to_string()),
            ns(r.cpu),
            r.origin.source.clone(),
            r.origin.offset.to_string(),
        ]
    };
    table(names, blame.rows.iter().map(row))
}

/// The functions of a trace.
#[must_use]
pub fn functions(functions: &Functions) -> String {
    let names = [
        "function",
        "count",
        "time_ns",
        "average_ns",
        "local_ns",
        "max_sub",
        "max_sub_count",
        "open",
    ];
    let row = |r: &analysis::FunctionRow| {
        [
            r.name.clone(),
            r.count.to_string(),
            ns(Some(r.time)),
            ns(Some(r.average)),
            ns(Some(r.local)),
            r.max_sub.clone().unwrap_or_default(),
            r.max_sub_count.to_string(),
            r.open.to_string(),
        ]
    };
    table(names, functions.rows.iter().map(row))
}

/// The tree of calls: each row below the one that called it.
#[must_use]
pub fn calls(calls: &Calls) -> String {
    let names = ["depth", "function", "count", "time_ns", "local_ns", "open"];
    let row = |r: &analysis::CallRow| {
        [
            r.depth.to_string(),
            r.name.clone(),
            r.count.to_string(),
            ns(Some(r.time)),
            ns(Some(r.local)),
            r.open.to_string(),
        ]
    };
    table(names, calls.rows.iter().map(row))
}

/// Block requests, one a line.
#[must_use]
pub fn requests(requests: impl Iterator<Item = IoRequest>) -> String {
    let names = [
        "device",
        "operation",
        "sector",
        "bytes",
        "queued_ns",
        "dispatched_ns",
        "last_dispatched_ns",
        "completed_ns",
        "merged",
        "read_ahead",
        "sync",
        "metadata",
        "error",
        "pid",
        "process",
        "owner",
        "source",
        "offset",
    ];
    let row = |r: IoRequest| {
        let of = r.request;
        [
            of.device.to_string(),
            of.operation.as_str().to_owned(),
            of.sector.to_string(),
            of.bytes.to_string(),
            ns(of.queued.get()),
            ns(of.issued.get()),
            ns(of.reissued.get().or(of.issued.get())),
            ns(of.completed.get()),
            of.merged.to_string(),
            of.read_ahead.to_string(),
            of.sync.to_string(),
            of.metadata.to_string(),
            of.error.to_string(),
            of.pid.map_or_else(String::new, |p| p.to_string()),
            r.task,
            r.owner,
            r.origin.source,
            r.origin.offset.to_string(),
        ]
    };
    table(names, requests.map(row))
}

/// The parts of a boot. A stage has its phase's name, and its own.
#[must_use]
pub fn phases(phases: &Phases) -> String {
    let names = [
        "phase",
        "stage",
        "start_ns",
        "end_ns",
        "start_mark",
        "end_mark",
    ];
    let mut rows = Vec::new();
    for p in &phases.phases {
        rows.push([
            p.name.as_str().to_owned(),
            String::new(),
            ns(Some(p.start)),
            ns(Some(p.end)),
            p.start_mark.clone(),
            p.end_mark.clone(),
        ]);
        for (i, s) in p.stages.iter().enumerate() {
            let next = p.stages.get(i + 1).map_or(&p.end_mark, |n| &n.name);
            rows.push([
                p.name.as_str().to_owned(),
                s.name.clone(),
                ns(Some(s.start)),
                ns(Some(s.end)),
                s.name.clone(),
                next.clone(),
            ]);
        }
    }
    table(names, rows.into_iter())
}

/// The boots of a run on a board, in the order in which they were made.
#[must_use]
pub fn lab_board(r: &BoardReport) -> String {
    let names = [
        "variant",
        "round",
        "attempt",
        "purpose",
        "begun_unix_ms",
        "power_on_ns",
        "loader_ns",
        "light_error_ns",
        "power_error_ns",
        "off_ns",
        "resets",
        "proven",
        "state",
        "void",
    ];
    let row = |t: &BoardTrial| {
        let state = t
            .state
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        [
            t.variant.clone(),
            t.round.to_string(),
            t.attempt.to_string(),
            t.purpose.as_str().to_owned(),
            t.begun_unix_ms.to_string(),
            ns(t.power_on),
            ns(t.loader),
            t.light_error.get().to_string(),
            t.power_error.get().to_string(),
            ns(t.off),
            t.resets.to_string(),
            t.proof.seen.to_string(),
            state.collect::<Vec<_>>().join(" "),
            t.void.clone().unwrap_or_default(),
        ]
    };
    table(names, r.trials.iter().map(row))
}

/// The variants of an experiment, the baseline first.
#[must_use]
pub fn lab(e: &Experiment) -> String {
    let names = [
        "clock",
        "variant",
        "boots",
        "failed",
        "median_ns",
        "min_ns",
        "max_ns",
        "delta_ns",
        "spread_ns",
        "verdict",
        "interval_low_ns",
        "interval_high_ns",
        "p_value",
    ];
    let row = |v: &analysis::VariantResult| {
        let difference = v.sample.as_ref().and_then(|s| s.difference);
        [
            e.clock.as_str().to_owned(),
            v.variant.clone(),
            v.boots.to_string(),
            v.failed.to_string(),
            ns(v.median),
            ns(v.range.map(|r| r.0)),
            ns(v.range.map(|r| r.1)),
            ns(v.effect.map(|e| e.delta)),
            ns(v.effect.map(|e| e.spread)),
            v.effect.map_or("", |e| e.verdict.as_str()).to_owned(),
            ns(difference.map(|d| d.interval.0)),
            ns(difference.map(|d| d.interval.1)),
            difference.map_or_else(String::new, |d| d.p_value.to_string()),
        ]
    };
    table(names, e.variants.iter().map(row))
}
