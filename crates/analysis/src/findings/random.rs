//! Random numbers: programs that wait for them, and how the kernel gathers them.

use super::found::{Found, Scope};
use super::text::random as text;
use super::view::{BANNER, Line, View, number};
use crate::kernel_work::is_of_clock;
use crate::spans;
use record::{Nanos, Phase, SpanKind};

/// A wait for random numbers that the log shows.
pub(super) struct RandomWait<'a> {
    /// The last line before it.
    pub from: Nanos,
    /// When the generator was ready.
    pub to: Nanos,
    done: Line<'a>,
    early: Option<Line<'a>>,
    /// Whether the log goes on at once when the generator is ready.
    is_plain: bool,
    /// Whether the log ends with it.
    is_last: bool,
    /// The last line before it.
    last: Line<'a>,
}

/// How systemd's lines begin, and what those say in which it starts or has started something.
const SYSTEMD: &str = "systemd[1]: ";
const STARTS: [&str; 5] = ["Start", "Reached", "Created", "Listening", "Mount"];

/// Whether systemd wrote a line before it started its first unit: until it has, nothing is idle.
fn is_setup(view: &View<'_>, last: &Line<'_>) -> bool {
    let lines = || (0..=last.at).rev().filter_map(|i| view.line(i));
    let said = || {
        lines()
            .filter(|l| l.message.origin.source == last.message.origin.source)
            .filter_map(|l| l.behind(SYSTEMD))
    };
    last.text.contains(SYSTEMD) && said().all(|words| !STARTS.iter().any(|s| words.starts_with(s)))
}

/// Before Linux 4.8 getrandom() waited for this. Such a kernel has no `random.trust_cpu`, which
/// came with 4.19.
const NONBLOCKING_POOL: &str = "random: nonblocking pool is initialized";

/// Whoever waited for the generator goes on within this time.
const GOES_ON: Nanos = Nanos::from_millis(20);

/// A shorter silence that nobody asked for random numbers in is no wait for them.
const LONG_SILENCE: Nanos = Nanos(1_000_000_000);

/// Somebody read random numbers before there were enough, or the log stood still until there
/// were.
pub(super) fn random_wait<'a>(view: &'a View<'_>) -> Option<RandomWait<'a>> {
    if view.has_flag("random.trust_cpu") {
        return None;
    }
    let ready = ["crng init done", "random: fast init done", NONBLOCKING_POOL];
    ready
        .into_iter()
        .filter_map(|text| {
            let done = view.said(text).next()?;
            let to = done.message.at?;
            let early = view
                .said("uninitialized urandom read")
                .next()
                .filter(|l| l.message.at.is_some_and(|t| t < to));
            // The longest silence before it: somebody waited in it.
            let before = (0..done.at).rev().take(64).filter_map(|i| view.line(i));
            let last = before
                .filter(|l| l.message.origin.source == done.message.origin.source)
                .filter(|l| !is_of_clock(l.text))
                .find(|l| l.message.at.is_some())?;
            // Of a log that somebody searched for these lines the silences tell nothing: who
            // waits may do so from the first of them on.
            let last = early
                .filter(|_| has_nothing_else(view, &done))
                .unwrap_or(last);
            let from = last.message.at?;
            let next = view
                .after(&done)
                .find(|l| !l.text.starts_with("random: ") && l.message.at.is_some());
            let goes_on = |t: Nanos| to <= t && t - to <= GOES_ON;
            let is_plain = next.is_some_and(|l| l.message.at.is_some_and(goes_on));
            let least = match early {
                Some(_) => Nanos::from_millis(100),
                None if is_plain || next.is_none() => LONG_SILENCE,
                None => return None,
            };
            (to - from >= least).then_some(RandomWait {
                from,
                to,
                done,
                early,
                is_plain,
                is_last: next.is_none(),
                last,
            })
        })
        .max_by_key(|w| w.to - w.from)
}

/// Whether a log has no lines but those about random numbers.
fn has_nothing_else(view: &View<'_>, line: &Line<'_>) -> bool {
    let source = line.message.origin.source;
    let all = view.record.messages().iter();
    let mut all = all.filter(|m| m.origin.source == source);
    all.all(|m| view.record.text(m).starts_with("random: "))
}

/// The first kernel that computes a new key for each random number until its generator is ready
/// (`crng_make_state` and `get_random_u32` in drivers/char/random.c).
const KEY_FOR_EACH: (u64, u64) = (5, 18);

/// What these numbers take of a kernel's start, at most, in percent: it asks for them wherever it
/// makes room for objects. 15 % of the log of an ARM until its first program, at 1 GIPS with 256
/// MiB and at 125 MIPS with 1.5 GiB, went with a seed.
const OF_START: i64 = 20;

/// How long random numbers may take that a kernel computes before its generator is ready: up to
/// `from`, when the wait for it begins.
fn time_of_early_numbers(view: &View<'_>, from: Nanos) -> Nanos {
    let version = view.said(BANNER).find_map(|l| {
        let (major, rest) = l.behind(BANNER)?.split_once('.')?;
        Some((number(major)?, number(rest)?))
    });
    let mut rows = view.phases.phases.iter();
    let kernel = rows.find(|p| p.name == Phase::Kernel);
    let start = kernel.map(|p| (p.end.min(from) - p.start).max(Nanos::ZERO));
    let start = start.filter(|_| version.is_some_and(|v| v >= KEY_FOR_EACH));
    start.map_or(Nanos::ZERO, |start| Nanos(start.0 / 100 * OF_START))
}

/// Programs wait for random numbers.
pub(super) fn random_numbers(view: &View<'_>) -> Option<Found> {
    let wait = random_wait(view)?;
    let silence = wait.to - wait.from;
    let (low, expected) = match (wait.is_plain || is_setup(view, &wait.last), wait.early) {
        (true, _) => (50, 90),
        // An idle system gets there late, too: these are guesses.
        (false, Some(_)) if !wait.is_last => (0, 70),
        (false, Some(_)) => (0, 50),
        (false, None) => (0, 30),
    };
    let found = Found::new()
        .evidence(wait.early.map(|l| view.quote(&l)))
        .evidence([view.quote(&wait.done)])
        .parts(silence, low, expected, 100)
        .up_to(silence + time_of_early_numbers(view, wait.from))
        .names(["random"]);
    let is_old = wait.done.text.contains(NONBLOCKING_POOL);
    Some(match view.arm() {
        _ if is_old => found.why(text::OLD_GENERATOR).cost(text::DAEMON_COST),
        // No 32-bit ARM has a generator that the kernel could trust.
        Some(_) => found.why(text::NO_GENERATOR).cost(text::SEED_COST),
        None => found.treatment("cmdline+=random.trust_cpu=on"),
    })
}

/// The unit of systemd that hands the kernel the seed of the last boot, and waits until the
/// generator is ready.
const SEED_UNIT: &str = "systemd-random-seed.service";

/// A shorter wait of it is not worth a word.
const SHORT_WAIT: Nanos = Nanos::from_millis(100);

/// systemd waits for the kernel's generator. From Linux 5.4 on the kernel gathers a bit at
/// each timer tick then, and computes in between (`try_to_generate_entropy` in
/// drivers/char/random.c): 256 ticks, a second at 250 Hz.
pub(super) fn seed_unit(view: &View<'_>) -> Option<Found> {
    // What the log stands still for is told there.
    if random_wait(view).is_some() {
        return None;
    }
    let done = view.said("crng init done").next()?;
    let to = done.message.at?;
    let units = spans::distinct(view.record);
    let mut units = units.iter().filter(|s| s.kind == SpanKind::Unit);
    let unit = units.find(|s| view.record.name(s.name) == SEED_UNIT)?;
    let (from, origin) = (unit.start?, unit.origin);
    let time = to - from;
    if time < SHORT_WAIT || unit.end.is_some_and(|end| end + GOES_ON < to) {
        return None;
    }
    let unit = vec![SEED_UNIT.to_owned()];
    let is_alone = view.model().load().processors == Some(1);
    // The only processor is busy with it as long as the unit computes; the others go on meanwhile.
    let computed = view.processor_time(SEED_UNIT).filter(|_| is_alone);
    let (least, expected, scope) = match computed {
        Some(computed) => (Nanos::ZERO, computed.min(time), Scope::Shared(unit)),
        None => (time, time, Scope::Items(unit)),
    };
    Some(
        Found::new()
            .title(text::seed_unit(time))
            .evidence([
                view.evidence(text::seed_unit_began(from), origin),
                view.quote(&done),
            ])
            .saving(least, expected, time)
            .within(time)
            .treatment("cmdline+=systemd.setenv=SYSTEMD_RANDOM_SEED_CREDIT=1")
            .scope(scope),
    )
}
