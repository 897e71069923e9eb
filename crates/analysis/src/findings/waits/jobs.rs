//! Jobs that systemd waits for, as it shows them on a console: when nothing else goes on for
//! some seconds, it writes which job is running, for how long, and for how long it may.
//!
//! <https://github.com/systemd/systemd/blob/main/src/core/manager.c>,
//! `manager_print_jobs_in_progress`

use super::timeout;
use super::waited::waited_out;
use crate::findings::found::Found;
use crate::findings::remedies::{self, remedy};
use crate::findings::text::waits as text;
use crate::findings::view::{Line, View};
use record::Nanos;

/// How such lines begin, and how later versions do.
pub(in crate::findings) const RUNNING: &str = "start job is running for ";
pub(in crate::findings) const START_RUNNING: &str = " running (";

/// How `systemctl list-jobs` shows a job that runs, behind its number and its unit.
pub(in crate::findings) const LISTED: &str = " start running";

/// The end of a start job's name, and what systemd prints in place of the middle of a long name.
const START: &str = "/start";
const LEFT_OUT: [&str; 2] = ["…", "..."];

/// A device that never came; another rule tells of it.
const TIMED_OUT: &str = "Timed out waiting for device";

/// Of the time that a job ran while nothing else went on: a guess, as the job itself may do
/// some work. Of one among several, the others may have taken as long.
const ALONE: (i64, i64, i64) = (40, 90, 100);
const AMONG_OTHERS: (i64, i64, i64) = (0, 60, 100);

/// How many are told.
const MOST: usize = 3;

/// A job that was seen running.
struct Job<'a> {
    /// What systemd calls its unit.
    unit: &'a str,
    ran: Nanos,
    /// How long it may run; `None`: for ever.
    limit: Option<Nanos>,
    /// Whether others ran, too.
    among_others: bool,
    line: Line<'a>,
}

/// The jobs that systemd showed to be running, the longest first.
fn longest<'v>(view: &'v View<'_>) -> Vec<Job<'v>> {
    let lines = view.said(RUNNING).chain(view.said(START_RUNNING));
    let mut jobs: Vec<Job<'_>> = Vec::new();
    for job in lines.flat_map(shown) {
        match jobs.iter_mut().find(|j| is_same(j.unit, job.unit)) {
            Some(known) if known.ran < job.ran => *known = job,
            Some(_) => {}
            None => jobs.push(job),
        }
    }
    let is_told = |unit: &str| view.said(TIMED_OUT).any(|line| line.text.contains(unit));
    jobs.retain(|job| job.ran >= super::LEAST && !is_told(job.unit));
    jobs.sort_by_key(|job| std::cmp::Reverse(job.ran));
    jobs.truncate(MOST);
    jobs
}

/// Whether a log ends with a job: it tells only how long it ran by then.
fn is_last(view: &View<'_>, job: &Job<'_>) -> bool {
    view.after(&job.line).all(|l| shown(l).next().is_some())
}

/// How long the jobs may run with which a log ends.
pub(super) fn limits(view: &View<'_>) -> impl Iterator<Item = Nanos> {
    let jobs = longest(view).into_iter();
    jobs.filter_map(|job| job.limit.filter(|_| is_last(view, &job)))
}

/// Their findings.
pub(in crate::findings) fn running(view: &View<'_>) -> Vec<Found> {
    let found = longest(view).into_iter().map(|job| {
        let is_last = is_last(view, &job);
        // In a phase that is hardly longer than it may run, it ran for all of that; in an initrd
        // and behind it a device is waited for twice.
        let limit = job.limit.filter(|_| is_last);
        let count = limit.map_or(0, |limit| waited_out(view, limit));
        let times = i64::try_from(count.max(1)).unwrap_or(1);
        let all = |limit: Nanos| Nanos(limit.0.saturating_mul(times));
        let (low, expected, high) = match (count, job.among_others) {
            (1.., _) => timeout::PARTS,
            (0, true) => AMONG_OTHERS,
            (0, false) => ALONE,
        };
        let part = |time: Nanos, percent: i64| Nanos(time.0 / 100 * percent);
        let longest = limit.map_or(job.ran, |limit| all(limit).max(job.ran));
        let known = match count {
            0 => job.ran,
            _ => longest,
        };
        Found::new()
            .title(text::job(job.unit, job.ran))
            .why(text::job_why(
                job.unit,
                is_last,
                job.limit,
                remedy(job.unit).map(|r| r.why),
                count,
            ))
            .names(remedies::names(job.unit))
            .evidence([view.evidence(
                text::job_line(job.unit, job.ran, job.limit),
                job.line.message.origin,
            )])
            .saving(part(known, low), part(known, expected), part(longest, high))
            .within(longest)
            .names([job.unit])
    });
    found.chain(listed(view)).collect()
}

/// The jobs of a list that run, of which nothing tells since when.
fn listed<'v>(view: &'v View<'_>) -> impl Iterator<Item = Found> + 'v {
    let of_list = view.said(LISTED).filter_map(|line| {
        let (number, unit) = line.text.strip_suffix(LISTED)?.split_once(' ')?;
        number.parse::<u32>().ok()?;
        Some((unit, line))
    });
    of_list.take(MOST).map(move |(unit, line)| {
        let helps = remedy(unit).map(|r| r.why);
        Found::new()
            .title(text::listed_job(unit))
            .why(text::listed_job_why(unit, helps))
            .names([unit])
            .names(remedies::names(unit))
            .evidence([view.quote(&line)])
    })
}

/// What replaces the middle of a long name. A terminal that cannot show an ellipsis has a
/// question mark.
const ELLIPSES: [&str; 3] = ["…", "...", "?"];

/// Whether two names are of one job: systemd shortens a name so that the line with its time, which
/// grows, still fits the screen.
fn is_same(a: &str, b: &str) -> bool {
    let ends = |name| ELLIPSES.iter().find_map(|dots| str::split_once(name, dots));
    match (ends(a), ends(b)) {
        (Some((a_begin, a_end)), Some((b_begin, b_end))) => {
            let begins = a_begin.starts_with(b_begin) || b_begin.starts_with(a_begin);
            begins && (a_end.ends_with(b_end) || b_end.ends_with(a_end))
        }
        _ => a == b,
    }
}

/// The jobs in a line, of which a console that draws it again has several.
fn shown(line: Line<'_>) -> impl Iterator<Item = Job<'_>> {
    let of_text = line.text.split(RUNNING).skip(1);
    let of_text = of_text.filter_map(move |part| {
        let (unit, rest) = times(part)?;
        Some((unit, rest))
    });
    let later = line.text.split("Job ").skip(1).filter_map(|part| {
        let (job, _) = part.split_once(START_RUNNING)?;
        Some((starting(job)?, times(part)?.1))
    });
    of_text.chain(later).map(move |(unit, (ran, limit))| Job {
        unit: unit.trim(),
        ran,
        limit,
        among_others: is_one_of_several(line.text),
        line,
    })
}

/// The unit in `a.service/start`. On a narrow console, systemd leaves out the middle of a long name.
fn starting(job: &str) -> Option<&str> {
    if let Some(unit) = job.strip_suffix(START) {
        return Some(unit);
    }
    let middle = LEFT_OUT
        .iter()
        .find_map(|dots| Some((job.find(dots)?, dots)));
    let (at, dots) = middle?;
    let (unit, end) = job.split_at_checked(at + dots.len())?;
    START.ends_with(end).then_some(unit)
}

/// `(1 of 2) `
fn is_one_of_several(text: &str) -> bool {
    let counted = text.split_once(" of ").and_then(|(before, after)| {
        let is_number = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let (count, _) = after.split_once(')')?;
        let is = is_number(before.chars().last()) && !count.is_empty();
        Some(is && count.chars().all(|c| c.is_ascii_digit()))
    });
    counted == Some(true)
}

/// What stands before `(1min 20s / 1min 30s)`, the first time and the second.
fn times(text: &str) -> Option<(&str, (Nanos, Option<Nanos>))> {
    let (before, after) = text.split_once(" / ")?;
    let (unit, ran) = before.rsplit_once('(')?;
    let (limit, _) = after.split_once(')')?;
    Some((unit, (time(ran)?, time(limit))))
}

/// `1h 2min 3.500s`, as systemd writes times.
fn time(text: &str) -> Option<Nanos> {
    let mut all = Nanos::ZERO;
    for word in text.split_ascii_whitespace() {
        let end = word.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, unit) = word.split_at(end);
        let unit = match unit {
            "d" => 86_400,
            "h" => 3_600,
            "min" => 60,
            "s" => 1,
            "ms" => 0,
            _ => return None,
        };
        let whole = number.split('.').next()?.parse::<i64>().ok()?;
        let ns = whole.checked_mul(unit)?.checked_mul(1_000_000_000)?;
        all = Nanos(all.0.checked_add(ns)?);
    }
    (all > Nanos::ZERO).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::{is_one_of_several, is_same, starting, time, times};
    use record::Nanos;

    #[test]
    fn a_job_names_its_unit_even_without_its_middle() {
        for (job, unit) in [
            ("a.service/start", Some("a.service")),
            ("wait-for-it.se…tart", Some("wait-for-it.se…")),
            ("wait-for-it.se...ce/start", Some("wait-for-it.se...ce")),
            ("wait-for-it.se...start", Some("wait-for-it.se...")),
            ("a.service/stop", None),
            ("wait-for-it.se…stop", None),
        ] {
            assert_eq!(starting(job), unit, "{job}");
        }
    }

    #[test]
    fn a_job_keeps_its_name_while_its_time_grows() {
        assert!(is_same(
            "Wait for?be Configured",
            "Wait for?to be Configured"
        ));
        assert!(is_same("Wait fo…igured", "Wait for N…nfigured"));
        assert!(!is_same("Wait for…Configured", "Wait for…Online"));
        assert!(!is_same("Wait for all", "Wait for…all"));
    }

    #[test]
    fn times_are_read_as_systemd_writes_them() {
        let s = |s: i64| Some(Nanos(s * 1_000_000_000));
        assert_eq!(time("1h 2min 3s"), s(3_723));
        assert_eq!(time("41s"), s(41));
        assert_eq!(time("no limit"), None);
        let line = "/dev/disk/by-uuid/1 (a) (1min 2s / no limit)";
        let (unit, (ran, limit)) = times(line).unwrap_or_default();
        assert_eq!(
            (unit, Some(ran), limit),
            ("/dev/disk/by-uuid/1 (a) ", s(62), None)
        );
        assert!(is_one_of_several(
            "[ *] (2 of 3) A start job is running for a (6s / 9s)"
        ));
        assert!(!is_one_of_several(
            "[ *] A start job is running for 1 of b (6s / 9s)"
        ));
    }
}
