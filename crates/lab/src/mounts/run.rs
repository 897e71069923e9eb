//! Running the boots, and reading what they say.

use super::{Case, Mounts};
use crate::artifacts::Cache;
use crate::capture;
use crate::classics::run_case;
use crate::error::LabError;
use crate::files::read;
use std::path::Path;

/// What mounts took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The machine in words.
    pub machine: String,
    /// One for each image and storage profile.
    pub rows: Vec<Row>,
    /// Cases that came to no end, and why, in sentences.
    pub failures: Vec<String>,
}

/// A mount.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The case.
    pub case: String,
    /// The storage profile.
    pub storage: String,
    /// What it took, in nanoseconds of virtual time.
    pub measured_ns: u64,
    /// Requests that read.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Requests that wrote.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// How a line of `timed` begins.
const TIMED: &str = "firstlight-timed ";

/// Boots each case of `mounts`, with its files in `out`; what is there of an
/// earlier run is not run again. `say` is told what goes on.
///
/// # Errors
/// If a tool or file is missing, or `out` cannot be written. A case that fails is
/// in the report.
pub fn run(
    mounts: &Mounts,
    out: &Path,
    say: &mut dyn FnMut(String),
) -> Result<Report, LabError> {
    let cache = Cache::open()?;
    let mut report = Report::default();
    for Case { name, workload, .. } in &mounts.cases {
        let folder = out.join("cases").join(name);
        let case = run_case(name, workload, &cache, &folder, say)?;
        report.machine = case.machine;
        if let Some(why) = case.failure {
            report.failures.push(format!("{name}: {why}"));
        }
        let console = read(&folder.join(capture::CONSOLE))?;
        report.rows.extend(rows(name, &String::from_utf8_lossy(&console)));
    }
    Ok(report)
}

/// What the console of a case says of its mounts: those of one name are one.
fn rows(case: &str, console: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in console.lines() {
        let Some((_, said)) = line.split_once(TIMED) else {
            continue;
        };
        let mut words = said.split_whitespace();
        let name = words.next().unwrap_or_default();
        let mut row = Row::default();
        for word in words {
            let Some((key, Ok(value))) = word.split_once('=').map(|(k, v)| (k, v.parse::<u64>()))
            else {
                continue;
            };
            match key {
                "ns" => row.measured_ns = value,
                "reads" => row.reads = value,
                "sectors" => row.read_bytes = value.saturating_mul(512),
                "writes" => row.writes = value,
                "written" => row.written_bytes = value.saturating_mul(512),
                _ => {}
            }
        }
        match rows.iter_mut().find(|r| r.storage == name) {
            Some(known) => {
                known.measured_ns += row.measured_ns;
                known.reads += row.reads;
                known.read_bytes += row.read_bytes;
                known.writes += row.writes;
                known.written_bytes += row.written_bytes;
            }
            None => rows.push(Row {
                case: case.to_owned(),
                storage: name.to_owned(),
                ..row
            }),
        }
    }
    rows
}
