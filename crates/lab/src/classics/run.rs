//! Running a classic: each case once, in exact time.

use super::classic::{Basis, Classic, KERNEL, LOADED, Method, RESET, Value};
use crate::artifacts::{Cache, hash_bytes};
use crate::capture;
use crate::emulator::Qemu;
use crate::error::{LabError, io_error};
use crate::event::Event;
use crate::experiment::Experiment;
use crate::files::read;
use crate::made::Made;
use crate::run::{Hosts, Options, emulated, run as run_experiment};
use crate::workload::{Mark, Workload, marks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What a classic gave here, beside what was published.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The classic's name.
    pub id: String,
    /// The machine in words.
    pub machine: String,
    /// One for each published figure.
    pub values: Vec<ReportValue>,
    /// Cases that came to no end, and why, in sentences.
    pub failures: Vec<String>,
    /// What made it, each by its SHA-256: the `experiment` ([`Classic::digest`]), the
    /// `emulator` with its parts, and the `artifacts` that were booted.
    pub made_by: BTreeMap<String, String>,
}

/// A figure here beside the published one.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportValue {
    /// What it is of.
    pub name: String,
    /// As it was published, in milliseconds; `None`: nobody did.
    pub published_ms: Option<f64>,
    /// Here, in nanoseconds of virtual time; `None`: not measured here.
    pub measured_ns: Option<i64>,
    /// The figures, if they are no times.
    pub count: Option<Counted>,
    /// The published figure as a part of the first of its group.
    pub published_ratio: Option<f64>,
    /// The figure here as a part of the first of its group.
    pub measured_ratio: Option<f64>,
    /// What the figure here rests on.
    pub basis: Basis,
    /// In which way the published figure is not of the same thing, in a clause.
    pub partial: Option<String>,
}

/// A figure that is no time.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// What it is counted in.
    pub unit: String,
    /// As it was published; `None`: nobody did.
    pub published: Option<f64>,
    /// Here; `None`: not measured.
    pub measured: Option<f64>,
}

/// The version of `case.json`.
const VERSION: u32 = 2;

/// A case that was run, as `case.json` keeps it beside its console.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Case {
    firstlight_case: u32,
    fingerprint: String,
    pub machine: String,
    pub kernel_bytes: u64,
    /// SHA-256 over the emulator's parts.
    pub emulator: String,
    /// SHA-256 over what was booted.
    pub artifacts: String,
    /// Whether console bytes took their time in the boot.
    line_rate: bool,
    pub failure: Option<String>,
}

/// What one case or variant gave.
#[derive(Debug, Default)]
struct Given {
    marks: Vec<Mark>,
    kernel_bytes: u64,
    /// Whether the times between the marks have those of console bytes in them.
    line_rate: bool,
    /// The captures of a variant's boots.
    captures: Vec<PathBuf>,
}

impl Given {
    /// The median time of a variant's boots from the mark `from`, which may be [`RESET`], to the
    /// mark `to`, in nanoseconds.
    fn between(&self, from: &str, to: &str) -> Option<i64> {
        let time = |folder: &PathBuf| {
            let begin = match from {
                RESET => 0,
                from => capture::mark_at(folder, from)?.get(),
            };
            capture::mark_at(folder, to)?.get().checked_sub(begin)
        };
        let mut times: Vec<i64> = self.captures.iter().filter_map(time).collect();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// The rate of the counter that a mark on `arm9` carries.
const COUNTER_HZ: u128 = 24_000_000;

/// Runs `classic`, with its files in `out`. A case that is there of an earlier run
/// of the same inputs is not run again. The variants of an experiment are booted by
/// `hosts`, the cases of a workload on this host. `say` is told what goes on.
///
/// # Errors
/// If it cannot be run: a tool or file is missing, or `out` cannot be written. A
/// case that fails is in the report.
pub fn run(
    classic: &Classic,
    out: &Path,
    hosts: &Hosts,
    say: &mut dyn FnMut(String),
) -> Result<Report, LabError> {
    let mut report = Report {
        id: classic.id.clone(),
        machine: String::new(),
        values: Vec::new(),
        failures: Vec::new(),
        made_by: BTreeMap::new(),
    };
    let mut made = Made::default();
    let given = match &classic.method {
        Method::Workload { cases, .. } => {
            let cache = Cache::open()?;
            let mut given = BTreeMap::new();
            for (name, workload) in cases {
                let folder = out.join("cases").join(name);
                let case = run_case(name, workload, &cache, &folder, say)?;
                add_machine(&mut report.machine, &case.machine);
                made.add(case.emulator, case.artifacts);
                if let Some(why) = case.failure {
                    report.failures.push(format!("{name}: {why}"));
                }
                let console = read(&folder.join(capture::CONSOLE))?;
                given.insert(
                    name.clone(),
                    Given {
                        marks: marks(&console),
                        kernel_bytes: case.kernel_bytes,
                        line_rate: case.line_rate,
                        captures: Vec::new(),
                    },
                );
            }
            given
        }
        Method::Experiment(experiment) => {
            run_variants(experiment, out, hosts, (&mut report, &mut made), say)?
        }
    };
    made.keep(out)?;
    report.made_by = made.digests();
    let experiment = ("experiment".to_owned(), classic.digest.clone());
    report.made_by.extend([experiment]);
    let line_rate = given.values().all(|g| g.line_rate);
    for value in &classic.values {
        let measured = measured(classic, value, &given);
        report.values.push(ReportValue {
            name: value.name.clone(),
            published_ms: value.published_ms,
            measured_ns: measured.ns,
            count: value.count.as_ref().map(|count| Counted {
                unit: count.unit.clone(),
                published: count.published,
                measured: measured.count,
            }),
            published_ratio: None,
            measured_ratio: None,
            basis: classic.basis(value, line_rate),
            partial: value.partial.clone(),
        });
    }
    let figures: Vec<_> = report.values.iter().map(ReportValue::figures).collect();
    for (value, classic) in report.values.iter_mut().zip(&classic.values) {
        let (published, measured) = value.figures();
        let first = figures.get(classic.baseline).copied();
        let (first_published, first_measured) = first.unwrap_or((None, None));
        value.published_ratio = ratio(published, first_published);
        value.measured_ratio = ratio(measured, first_measured);
    }
    Ok(report)
}

/// Adds the machine of a case to those of the others, once.
fn add_machine(all: &mut String, machine: &str) {
    if all.is_empty() {
        machine.clone_into(all);
    } else if !all.split("; ").any(|known| known == machine) {
        all.push_str("; ");
        all.push_str(machine);
    }
}

impl ReportValue {
    /// The published figure and the one here, both in one unit.
    fn figures(&self) -> (Option<f64>, Option<f64>) {
        match &self.count {
            Some(count) => (count.published, count.measured),
            None => (self.published_ms, self.measured_ns.map(|ns| ns as f64)),
        }
    }
}

fn ratio(own: Option<f64>, first: Option<f64>) -> Option<f64> {
    let both = own.zip(first).filter(|(_, first)| *first != 0.0);
    both.map(|(own, first)| own / first)
}

/// The figure of a value: a time, or a number.
struct Measured {
    ns: Option<i64>,
    count: Option<f64>,
}

fn measured(classic: &Classic, value: &Value, given: &BTreeMap<String, Given>) -> Measured {
    let Some(count) = &value.count else {
        let ns = figure(classic, value, given);
        return Measured { ns, count: None };
    };
    let of = |case: &String| number(&given.get(case)?.marks, &count.mark);
    let own = value.case.as_ref().and_then(of);
    Measured {
        ns: None,
        count: match &value.minus {
            None => own,
            Some(other) => own.zip(of(other)).map(|(own, other)| own - other),
        },
    }
}

/// The number behind the name of a mark.
fn number(marks: &[Mark], name: &str) -> Option<f64> {
    let mark = marks.iter().find(|m| m.name == name)?;
    let number: f64 = mark.line.split_whitespace().nth(2)?.parse().ok()?;
    number.is_finite().then_some(number)
}

/// The figure of `value`.
fn figure(classic: &Classic, value: &Value, given: &BTreeMap<String, Given>) -> Option<i64> {
    let of = |name: &String| {
        let case = given.get(name)?;
        match &classic.method {
            Method::Experiment(_) => case.between(&value.from, &value.to),
            Method::Workload { uart_baud, .. } => {
                let rate = classic.load_rate(value).filter(|_| value.from == RESET);
                let loading = match rate {
                    Some(rate) => Some(part(u128::from(case.kernel_bytes), u128::from(rate))?),
                    None => None,
                };
                if value.to == LOADED {
                    return loading;
                }
                let mut ns = between(&case.marks, &value.from, &value.to)?;
                if let Some(baud) = uart_baud.filter(|_| !case.line_rate) {
                    let bytes = bytes_between(&case.marks, &value.from, &value.to)?;
                    ns += part(u128::from(bytes) * 10, u128::from(baud))?;
                }
                Some(ns + loading.unwrap_or(0))
            }
        }
    };
    let own = of(value.case.as_ref()?)?;
    match &value.minus {
        None => Some(own),
        Some(other) => Some(own - of(other)?),
    }
}

/// `count` things at `rate` a second, in nanoseconds.
fn part(count: u128, rate: u128) -> Option<i64> {
    i64::try_from(count.checked_mul(1_000_000_000)?.checked_div(rate)?).ok()
}

/// The time between two marks.
fn between(marks: &[Mark], from: &str, to: &str) -> Option<i64> {
    let named = |name: &str| find(marks, name);
    let since_reset = |mark: &Mark| part(u128::from(mark.counter?), COUNTER_HZ);
    // A mark that has both clocks says when the second one started.
    let kernel = || {
        let both = marks.iter().find(|m| m.counter.is_some())?;
        since_reset(both)?.checked_sub(i64::try_from(both.at_ns).ok()?)
    };
    if to == KERNEL && [RESET, LOADED].contains(&from) {
        return kernel();
    }
    let end = named(to)?;
    match from {
        KERNEL => i64::try_from(end.at_ns).ok(),
        RESET | LOADED => match end.counter {
            Some(_) => since_reset(end),
            None => kernel()?.checked_add(i64::try_from(end.at_ns).ok()?),
        },
        from => i64::try_from(end.at_ns.checked_sub(named(from)?.at_ns)?).ok(),
    }
}

/// The mark of a name. `line:TEXT` is the first line of the kernel with that text
/// in it, `after:TEXT` the one after it.
fn find<'a>(marks: &'a [Mark], name: &str) -> Option<&'a Mark> {
    let line = |text: &str| marks.iter().position(|m| m.line.contains(text));
    if let Some(text) = name.strip_prefix("line:") {
        return marks.get(line(text)?);
    }
    if let Some(text) = name.strip_prefix("after:") {
        return marks.get(line(text)? + 1);
    }
    marks.iter().find(|m| m.name == name)
}

/// How many bytes the console got between two marks.
fn bytes_between(marks: &[Mark], from: &str, to: &str) -> Option<u64> {
    let named = |name: &str| find(marks, name);
    let end = named(to)?.console_bytes;
    match from {
        KERNEL | RESET | LOADED => Some(end),
        from => end.checked_sub(named(from)?.console_bytes),
    }
}

/// Runs one case, with its files in `folder`, unless it is there already.
pub(crate) fn run_case(
    name: &str,
    workload: &Workload,
    cache: &Cache,
    folder: &Path,
    say: &mut dyn FnMut(String),
) -> Result<Case, LabError> {
    let emulator = Qemu::find(workload.board.qemu(), cache)?;
    let inputs = workload.inputs() + &workload.serving(say)? + emulator.identity();
    let fingerprint = hash_bytes(inputs.as_bytes());
    let (file, console) = (folder.join("case.json"), folder.join(capture::CONSOLE));
    let stored = fs::read(&file).ok();
    let stored = stored.and_then(|b| serde_json::from_slice::<Case>(&b).ok());
    if let Some(case) = stored
        && case.firstlight_case == VERSION
        && case.fingerprint == fingerprint
        && case.failure.is_none()
        && console.is_file()
    {
        say(format!("{name}: already done"));
        return Ok(case);
    }
    let _ = fs::remove_file(&file);
    let work = folder.join("work");
    let _ = fs::remove_dir_all(&work);
    fs::create_dir_all(&work).map_err(io_error(&work, "cannot be created"))?;
    say(format!("{name}: {}", workload.board.as_str()));
    let begin = std::time::Instant::now();
    let seen = workload.run(cache, &work, say)?;
    fs::remove_dir_all(&work).map_err(io_error(&work, "cannot be removed"))?;
    fs::write(&console, &seen.console).map_err(io_error(&console, "cannot be written"))?;
    let gave_up = words_of_failure(&seen.console);
    let case = Case {
        firstlight_case: VERSION,
        fingerprint,
        machine: seen.description,
        kernel_bytes: seen.kernel_bytes,
        emulator: hash_bytes(emulator.identity().as_bytes()),
        artifacts: seen.artifacts,
        line_rate: emulator.has_line_rate(),
        failure: gave_up.or(seen.failure.map(|f| f.detail)),
    };
    let text =
        serde_json::to_vec_pretty(&case).map_err(|e| LabError::Bug { why: e.to_string() })?;
    fs::write(&file, text).map_err(io_error(&file, "cannot be written"))?;
    let how = case
        .failure
        .as_ref()
        .map_or("done".to_owned(), |f| format!("failed: {f}"));
    say(format!(
        "{name}: {how} in {:.0} s",
        begin.elapsed().as_secs_f64()
    ));
    Ok(case)
}

/// What a script said that gave up.
fn words_of_failure(console: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(console);
    let line = text.lines().find(|l| l.contains("firstlight-fail "))?;
    let (_, words) = line.split_once("firstlight-fail ")?;
    Some(format!(
        "the script of the workload failed: {}",
        words.trim()
    ))
}

fn run_variants(
    experiment: &Experiment,
    out: &Path,
    hosts: &Hosts,
    (report, made): (&mut Report, &mut Made),
    say: &mut dyn FnMut(String),
) -> Result<BTreeMap<String, Given>, LabError> {
    let ensemble = experiment.base.ensemble.get();
    let options = Options::plain(&out.join("run"), ensemble).by(hosts);
    let outcome = run_experiment(experiment, &options, &mut |event| match event {
        Event::Note { text } => say(text),
        Event::Finished { trial, reused } => {
            let how = if reused { "done already" } else { "done" };
            say(format!("{}: {how}", trial.id));
        }
        _ => {}
    })?;
    report.machine = experiment.base.platform.to_string();
    let program = emulated(&experiment.base.platform).map(|(program, _)| program);
    made.add_trials(program, &outcome.trials, &Cache::open()?)?;
    let mut given: BTreeMap<String, Given> = BTreeMap::new();
    for trial in &outcome.trials {
        if let Some(failure) = &trial.failure {
            report
                .failures
                .push(format!("{}: {}", trial.id, failure.detail));
            continue;
        }
        let variant = given.entry(trial.id.variant.clone()).or_default();
        variant.captures.push(options.out.join(&trial.capture));
    }
    Ok(given)
}

#[cfg(test)]
mod tests {
    use super::{add_machine, between, bytes_between, number, part, ratio};
    use crate::workload::marks as marks_of;

    #[test]
    fn a_count_is_the_number_behind_a_mark() {
        let console = b"[    1.0] x\n[    1.500001] firstlight-mark pieces 17\n\
                        [    2.000001] firstlight-mark none\n[    2.000002] firstlight-mark odd inf\n";
        let marks = marks_of(console);
        assert_eq!(number(&marks, "pieces"), Some(17.0));
        for name in ["none", "odd", "absent"] {
            assert_eq!(number(&marks, name), None, "{name}");
        }
        assert_eq!(ratio(Some(17.0), Some(4.0)), Some(4.25));
        assert_eq!(ratio(Some(17.0), Some(0.0)), None);
    }

    #[test]
    fn a_machine_is_named_once() {
        let mut all = String::new();
        for machine in ["fast, 1 MiB", "slow, 1 MiB", "fast, 1 MiB"] {
            add_machine(&mut all, machine);
        }
        assert_eq!(all, "fast, 1 MiB; slow, 1 MiB");
    }

    #[test]
    fn figures_are_what_lies_between_marks() {
        let console = b"[    1.000000] x\n[    2.000000] firstlight-mark begin\nabc\n\
                        [    5.000000] firstlight-mark done 0x2dc6c00\n";
        let marks = marks_of(console);
        assert_eq!(between(&marks, "begin", "done"), Some(3_000_000_000));
        assert_eq!(between(&marks, "kernel", "done"), Some(5_000_000_000));
        // 48,000,000 ticks of 24 MHz.
        assert_eq!(between(&marks, "reset", "done"), Some(2_000_000_000));
        assert_eq!(between(&marks, "loaded", "done"), Some(2_000_000_000));
        let both = marks_of(b"[    0.500000] firstlight-mark done 0x2dc6c00\n");
        assert_eq!(between(&both, "loaded", "kernel"), Some(1_500_000_000));
        assert_eq!(between(&both, "reset", "kernel"), Some(1_500_000_000));
        assert_eq!(between(&both, "done", "kernel"), None);
        // Where the mark itself has no counter, a later one says when the kernel's clock began.
        let later = marks_of(
            b"[    0.250000] firstlight-mark done\n[    0.500000] firstlight-mark read 0x2dc6c00\n",
        );
        assert_eq!(between(&later, "reset", "done"), Some(1_750_000_000));
        let without = marks_of(b"[    0.250000] firstlight-mark done\n");
        assert_eq!(between(&without, "reset", "done"), None);
        assert_eq!(between(&marks, "done", "begin"), None);
        assert_eq!(between(&marks, "begin", "never"), None);
        assert_eq!(bytes_between(&marks, "begin", "done"), Some(41));
        // 11,520 bytes of ten bits at 115,200 a second.
        assert_eq!(part(115_200, 115_200), Some(1_000_000_000));
        assert_eq!(part(1, 0), None);
    }
}
