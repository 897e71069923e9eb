//! Times in which the kernel's log says nothing, although the boot is not done yet: the kernel's
//! own, and those of an initramfs.

use super::driver_remedies;
use super::found::Found;
use super::quiet;
use super::subject::subject;
use super::text::hardware as text;
use super::view::{BANNER, Line, View};
use crate::console;
use crate::kernel_work::{Told, is_of_clock, told};
use record::{Nanos, Origin, Phase, SourceId, mark};
use std::collections::{BTreeMap, BTreeSet};

/// A silence from here on is worth a look, however long the boot is, and none below the
/// others; between them it depends on the boot. In a kernel that is done in a fraction of a
/// second, such as a guest's, the part that is always worth one is the lower limit.
const ALWAYS: Nanos = Nanos::from_millis(300);
const NEVER: Nanos = Nanos::from_millis(50);
const NEVER_IN_SHORT: Nanos = Nanos::from_millis(5);
const PARTS_OF_BOOT: i64 = 20;
const PARTS_OF_SHORT: i64 = 8;

/// How long something waits before it gives up, what, and in words.
const TIMEOUTS: [(Nanos, &str, &str); 4] = [
    (
        Nanos(10_000_000_000),
        "deferred_probe_timeout",
        text::OF_10_S,
    ),
    (Nanos(30_000_000_000), RESUME, text::OF_30_S),
    (Nanos(60_000_000_000), FIRMWARE, text::OF_60_S),
    (Nanos(120_000_000_000), "ip", text::OF_120_S),
];

/// How much shorter and longer a silence is than the wait in it; the longer by this part of a
/// long one, in percent.
const EARLY: Nanos = Nanos::from_millis(200);
const LATE: Nanos = Nanos::from_millis(1_500);
const LATE_PERCENT: i64 = 10;

/// The wait for a program that brings firmware. A kernel that waits for one says that it did not
/// find the file.
const FIRMWARE: &str = "firmware";
const NO_FIRMWARE: [&str; 3] = [
    "Direct firmware load",
    super::firmware::FALLBACKS[0],
    super::firmware::FALLBACKS[1],
];

/// The wait for the device of a hibernated system.
const RESUME: &str = "resume";

/// A shorter time between lines of programs is no silence of the kernel.
pub(super) const OF_PROGRAMS: Nanos = Nanos(2_000_000_000);

/// How many silences are told.
const MOST: usize = 4;

/// From here on a silence is a wait for something, not work that nobody reports.
const LONG: Nanos = Nanos(1_000_000_000);

/// What its cause brings when it is gone: of a long silence and of a shorter one.
const OF_LONG: (i64, i64, i64) = (50, 90, 100);
pub(super) const OF_SHORT: (i64, i64, i64) = (20, 65, 100);

/// What a word brings that skips what it was: the certificates are still taken in, which is 4 %
/// of what they take with their tests (`experiments/findings/certificates.toml`).
const OF_SKIPPED: (i64, i64, i64) = (50, 96, 100);

/// The level of messages that only inform (`KERN_INFO`), and of those below.
const INFORMATION: u8 = 6;

/// What lines of a kernel that only inform begin with: a console with `quiet` has none of
/// them, an excerpt of a log has.
const INFORMS: [&str; 16] = [
    "clocksource: Switched to",
    "Switched to clocksource",
    "Switching to clocksource",
    "Freeing unused kernel",
    "Freeing init memory",
    "input: ",
    "raid6: ",
    "sd ",
    "scsi host",
    "PCI: ",
    "usbcore: ",
    "NET: Registered",
    "Memory: ",
    "cpuidle: using",
    "IP-Config: ",
    "Run /",
];

/// Words of lines that complain, of which a quiet console has more than of others.
const COMPLAINS: [&str; 14] = [
    "rror",
    "ail",
    "arning",
    "nable",
    "imeout",
    "imed out",
    "nvalid",
    "BUG",
    "issing",
    "ulnerable",
    "annot",
    "unsupported",
    "not found",
    "deprecated",
];

/// Fewer lines tell nothing of the log that they are from: a mail may quote no more.
const FEWEST_LINES: usize = 2;

/// What the kernel says when it asks for an address.
const DHCP: &str = "DHCP requests";

/// What a driver says that has waited for something in vain.
const GIVES_UP: [&str; 2] = ["timed out", "imeout"];

/// The error of a wait in vain (`ETIMEDOUT`), as drivers print it.
const TIMED_OUT: &str = "-110";

/// What the kernel says when init mounts a file system, or takes a swap area.
const MOUNTS: [&str; 3] = ["re-mounted", "mounted filesystem", "k swap on "];

/// How it said so before Linux 2.6.33.
const MOUNTS_EXT3: &str = "EXT3 FS on ";

/// How lines of udev begin, which writes them to the kernel's log.
const UDEV: &str = "udev";

/// Other rules tell of what follows these.
const TOLD: [&str; 12] = [
    "Waiting for root device",
    "Trying to unpack rootfs",
    "Unpacking initramfs",
    "Calibrating delay loop",
    "before mounting root device",
    "raid6: ",
    ": attaching mtd",
    DHCP,
    "Starting password query on",
    "Please enter passphrase for disk",
    "Please unlock disk",
    "Enter passphrase for /dev/",
];

/// And of what ends with these, whatever else was said meanwhile.
const TOLD_BY_END: [&str; 4] = [
    "scanning is finished",
    // The kernel prints a warning of its own.
    "Call Trace:",
    "CR2: ",
    "Modules linked in:",
];

/// How lines of our own agent begin.
const AGENT: &str = "firstlight: ";

/// After these lines the kernel tests its ciphers, and is silent: as the last of the security
/// modules has begun, the order of linking comes to `crypto` (late initcalls); and the first
/// certificate needs RSA and a hash.
const TESTS: [&str; 2] = [
    "evm: HMAC attrs: ",
    "Loading compiled-in X.509 certificates",
];

/// How the kernel says that tests of one of its functions for keys have ended
/// (crypto/kdf_sp800108.c); `cryptomgr.notests` skips these, too.
const TESTED: &str = "alg: self-tests for ";

/// The lines that say so, each with the time since the line before.
fn told_tests<'a>(view: &'a View<'_>) -> Vec<(Nanos, Line<'a>)> {
    let all = (0..view.record.messages().len()).filter_map(|at| view.line(at));
    let ends = all.filter(|l| l.text.starts_with(TESTED));
    let each = ends.filter_map(|l| Some((view.silence_before(&l)?, l)));
    each.filter(|(_, l)| l.message.at.is_some_and(|at| at <= view.phases.end()))
        .collect()
}

/// Nothing was said for long, and no initcall is known that took it. Idle programs are
/// silent, too: what counts is the time until the first of them runs, and until the root
/// is there.
pub(super) fn silences(view: &View<'_>) -> Vec<Found> {
    let mut found = quiet_stretches(view);
    found.retain(|s| !is_of_initramfs(view, s));
    finish(view, found)
}

/// Those of programs: in a log that has their lines, and in the kernel's while an initramfs
/// runs and nothing tells that the kernel was at work.
pub(super) fn of_programs(view: &View<'_>) -> Vec<Found> {
    let mut all = quiet::silences(view);
    // The lines around one are its place.
    let is_other = |f: &Found, other: &Found| {
        let mut places = f.evidence.iter().map(|e| &e.place);
        !places.any(|p| other.evidence.iter().any(|e| e.place == *p))
    };
    let mut silent = quiet_stretches(view);
    silent.retain(|s| is_of_initramfs(view, s));
    let mut others = finish(view, silent);
    others.retain(|f| all.iter().all(|other| is_other(f, other)));
    all.extend(others.into_iter().map(|f| f.names(["initrd"])));
    all
}

/// A stretch in which nothing is said: how long, the lines before and after it, and those
/// that were written beside it.
struct Silence<'a> {
    gap: Nanos,
    line: Line<'a>,
    next: Line<'a>,
    beside: Vec<&'a str>,
    /// Others that are as long and end with the same words: something is tried again and again.
    again: Vec<(Nanos, Line<'a>)>,
}

impl Silence<'_> {
    /// All of its time.
    fn all(&self) -> Nanos {
        let again = self.again.iter();
        again.fold(self.gap, |sum, (gap, _)| sum + *gap)
    }
}

/// Two waits of one kind differ by no more than this part, in percent.
const ALIKE_PERCENT: i64 = 25;

/// What a line says, without the device that it is about and without numbers, which may be those
/// of another device or another attempt.
fn words(text: &str) -> Option<String> {
    let (_, words) = text.split_once(": ")?;
    let is_letter = |c: char| !c.is_ascii_digit();
    Some(words.chars().filter(|c| is_letter(*c)).collect())
}

/// What a driver says that still waits.
const SLOW: &str = "slow to respond";

/// Whether a line complains of a device that does not answer.
fn complains(text: &str) -> bool {
    gives_up(text) || text.contains(SLOW) || COMPLAINS.iter().any(|c| text.contains(c))
}

/// Whether two lines complain of the same device.
fn complain_of_one(a: &str, b: &str) -> bool {
    let device = |text: &str| text.split_once(": ").map(|(device, _)| device.to_owned());
    complains(a) && complains(b) && device(a).is_some_and(|d| device(b) == Some(d))
}

/// Takes together those that end with the same words after the same time: a driver waits for a
/// device until it gives up, and tries again, or tries the next one. What ends with complaints
/// of one device is one, too, however long each wait was.
fn together(found: Vec<Silence<'_>>) -> Vec<Silence<'_>> {
    let mut kinds: Vec<Silence<'_>> = Vec::new();
    for silence in found {
        let is_work = matches!(
            told(silence.line.text, silence.next.text),
            Some(Told::Work(_))
        );
        let is_alike = |kind: &&mut Silence<'_>| {
            let apart = (kind.gap - silence.gap).get().abs();
            let is_as_long = apart <= kind.gap.0 / 100 * ALIKE_PERCENT;
            let has_words =
                || words(kind.next.text).is_some_and(|w| words(silence.next.text) == Some(w));
            let is_one =
                is_as_long && has_words() || complain_of_one(kind.next.text, silence.next.text);
            kind.gap >= LONG && silence.gap >= LONG && !is_work && is_one
        };
        match kinds.iter_mut().find(is_alike) {
            Some(kind) => kind.again.push((silence.gap, silence.next)),
            None => kinds.push(silence),
        }
    }
    kinds.sort_by_key(|s| (std::cmp::Reverse(s.all()), s.line.at));
    kinds
}

/// Whether the initramfs had begun when a line was written.
fn has_programs(view: &View<'_>, line: &Line<'_>) -> bool {
    let mut rows = view.phases.phases.iter();
    let initrd = rows.find(|p| p.name == Phase::Initrd);
    let from = line.message.at.zip(initrd.map(|p| p.start));
    from.is_some_and(|(from, begin)| begin <= from)
}

/// Whether programs work or wait in a silence: the initramfs had begun, and the lines name
/// nothing of the kernel.
fn is_of_initramfs(view: &View<'_>, silence: &Silence<'_>) -> bool {
    has_programs(view, &silence.line)
        && told(silence.line.text, silence.next.text).is_none()
        && !begins_tests(view, &silence.line)
}

/// Whether ciphers are tested after a line.
fn begins_tests(view: &View<'_>, line: &Line<'_>) -> bool {
    !view.has_flag("cryptomgr.notests") && TESTS.iter().any(|t| line.text.starts_with(t))
}

/// The silences of the kernel's log before the first program of the root, the longest first.
fn quiet_stretches<'a>(view: &'a View<'_>) -> Vec<Silence<'a>> {
    if super::cmdline::has(view, record::SpanKind::Initcall) {
        return Vec::new();
    }
    let rows = &view.phases.phases;
    let busy = |p: Phase| matches!(p, Phase::Kernel | Phase::Initrd);
    let Some(begin) = rows.iter().find(|p| busy(p.name)).map(|p| p.start) else {
        return Vec::new();
    };
    let end = rows.iter().filter(|p| busy(p.name)).map(|p| p.end).max();
    let end = end.unwrap_or(begin);
    let part = |parts: i64| Nanos((end - begin).0 / parts);
    let never = part(PARTS_OF_SHORT).clamp(NEVER_IN_SHORT, NEVER);
    let least = part(PARTS_OF_BOOT).clamp(never, ALWAYS);
    let is_kernels = kernels(view);
    let inside = |t: Nanos| begin <= t && t <= end;
    let enabled = view.record.mark(mark::CONSOLE_ENABLED).map(|m| m.at);
    let flushed = console::flushed(view.record);
    let random = super::random::random_wait(view);
    let root = super::cmdline::waited_for_root(view);
    let clock_start = view.record.mark(mark::KERNEL_CLOCK_START).map(|m| m.at);
    let messages = view.record.messages().iter();
    let mut of_agent = messages.filter(|m| view.record.text(m).starts_with(AGENT));
    let agent_runs = of_agent.find_map(|m| m.at);
    let mut found: Vec<Silence<'_>> = Vec::new();
    for at in 0..view.record.messages().len() {
        let Some(line) = view.line(at) else { break };
        // Stamps before the clock runs say nothing of time.
        let runs = |t: &Nanos| t.0 != 0 && Some(*t) != clock_start;
        let Some(from) = line.message.at.filter(|t| inside(*t) && runs(t)) else {
            continue;
        };
        let is_beside =
            |l: &Line<'_>| view.is_beside(l) || (has_programs(view, l) && is_of_clock(l.text));
        if line.text.trim().is_empty() || is_beside(&line) {
            continue;
        }
        // A log without the lines that only inform is silent where the kernel was not. But who
        // gave up has waited.
        let is_kernels_own = is_kernels(&line);
        let is_vain = || {
            let mut next = view.after(&line).filter(|l| l.message.at.is_some());
            view.is_kernel_log(line.message.origin.source)
                && next.next().is_some_and(|next| {
                    let is_long = next.message.at.is_some_and(|to| to - from >= LONG);
                    is_long && gives_up(next.text)
                })
        };
        if !is_kernels_own && !is_vain() {
            continue;
        }
        let is_next = |l: &Line<'_>| !is_kernels_own || is_kernels(l);
        let next = view
            .after(&line)
            .filter(|l| is_next(l) && l.message.at.is_some() && !l.text.trim().is_empty());
        let mut beside: Vec<&str> = Vec::new();
        let next = next.into_iter().find(|l| {
            let is_beside = is_beside(l);
            beside.extend(is_beside.then_some(l.text));
            !is_beside
        });
        let Some(next) = next else {
            continue;
        };
        let Some(to) = next.message.at.filter(|t| inside(*t)) else {
            continue;
        };
        // Coarse stamps hide up to a step of it.
        let gap = to - from - view.record.coarse_step(line.message);
        // Few lines are that far apart: only of those the words are looked at.
        if gap <= least {
            continue;
        }
        // Without a command line nobody knows who asked for an address.
        let is_told = |t: &str| line.text.contains(t) && (t != DHCP || view.knows_cmdline());
        if TOLD.iter().any(|t| is_told(t)) {
            continue;
        }
        if TOLD_BY_END.iter().any(|t| next.text.contains(t)) {
            continue;
        }
        // What the agent does from its first line to a later one is no part of the boot that
        // a user could change.
        if next.text.starts_with(AGENT) && agent_runs.is_some_and(|runs| from >= runs) {
            continue;
        }
        let by_programs = quiet::is_programs(line.text) || quiet::is_programs(next.text);
        if by_programs && (to - from < OF_PROGRAMS || quiet::is_explained(view, from, to)) {
            continue;
        }
        // The flush of the console is another rule's.
        let is_flush = flushed.as_ref().is_some_and(|f| from < f.to && f.from < to);
        let is_random = random.as_ref().is_some_and(|r| r.from == from);
        let is_firmware = super::firmware::is_wait(line.text, to - from);
        // All of the wait for the root is one finding.
        let is_root = root.as_ref().is_some_and(|r| r.0 <= from && to <= r.1);
        if enabled != Some(to) && !is_flush && !is_random && !is_root && !is_firmware {
            found.push(Silence {
                gap,
                line,
                next,
                beside,
                again: Vec::new(),
            });
        }
    }
    found.sort_by_key(|s| (std::cmp::Reverse(s.gap), s.line.at));
    found
}

/// Whether the log says that a file of firmware was not found.
fn misses_firmware(view: &View<'_>) -> bool {
    let mut texts = view.record.messages().iter().map(|m| view.record.text(m));
    texts.any(|t| NO_FIRMWARE.iter().any(|n| t.contains(n)))
}

/// What is told of some silences.
fn finish(view: &View<'_>, mut found: Vec<Silence<'_>>) -> Vec<Found> {
    // One word skips all tests of ciphers: their silences are one finding.
    let are_tests = |line: &Line<'_>| begins_tests(view, line);
    let (mut tests, mut other_tests) = (0_usize, Vec::new());
    found.retain(|Silence { gap, line, .. }| {
        tests += usize::from(are_tests(line));
        let is_first = !are_tests(line) || tests == 1;
        if !is_first {
            other_tests.push((*gap, *line));
        }
        is_first
    });
    let told_tests = if tests > 0 {
        told_tests(view)
    } else {
        Vec::new()
    };
    let found = together(found).into_iter().take(MOST).map(|silence| {
        let of_initramfs = is_of_initramfs(view, &silence);
        let Silence {
            gap,
            line,
            next,
            beside,
            again,
        } = silence;
        let tests = are_tests(&line);
        let (low, expected, high) = match (tests, gap >= LONG) {
            (true, _) => OF_SKIPPED,
            (false, true) => OF_LONG,
            (false, false) => OF_SHORT,
        };
        let (others, ended): (&[_], &[_]) = match tests {
            true => (&other_tests, &told_tests),
            false => (&again, &[]),
        };
        let more = others.iter().chain(ended);
        let all = more.fold(gap, |sum, (other, _)| sum + *other);
        let after = view.quote(&next);
        let is_firmware = || {
            let is_near = [line.text, next.text].iter().any(|t| t.contains(FIRMWARE));
            is_near || misses_firmware(view)
        };
        let hint = TIMEOUTS.iter().find(|(length, name, _)| {
            let past = gap - *length;
            let late = LATE.max(Nanos(length.0 / 100 * LATE_PERCENT));
            let is_as_long = Nanos(-EARLY.0) <= past && past <= late;
            // A line that says who has waited in vain knows better.
            let is_other = || gives_up(next.text) && !next.text.contains(first_word(name));
            is_as_long && (*name != FIRMWARE || is_firmware()) && !is_other()
        });
        let helps = driver_remedies::remedy(next.text);
        let helps = helps.or_else(|| driver_remedies::remedy(line.text));
        // What is known of the driver is more than a length that fits by chance.
        let hint = hint.filter(|(_, name, _)| helps.is_none_or(|h| h.names.contains(name)));
        let is_mount = !of_initramfs && mounts(next.text);
        let mut found = Found::new();
        found.why = match told(line.text, next.text) {
            Some(Told::Work(name)) => Some(text::told_work(name)),
            Some(Told::Driver(name)) => Some(text::told_driver(name)),
            None if of_initramfs => Some(text::IN_INITRAMFS.to_owned()),
            None => is_mount.then(|| text::BEFORE_MOUNTS.to_owned()),
        };
        let around = match is_mount {
            true => around_mounts(view, &line, &next).unwrap_or(all),
            false => all,
        };
        // One driver may wait in vain more than once.
        let vain = |line| gives_up(line) && gives_up(next.text);
        let before = view.silence_before(&line);
        let before = before.filter(|_| again.is_empty() && vain(line.text));
        let before = before.unwrap_or(Nanos::ZERO);
        if let Some((_, _, what)) = hint {
            found.more.push_str(what);
        }
        if let Some(helps) = helps {
            found.more.push(' ');
            found.more.push_str(helps.why);
        }
        // The scripts of an initramfs look for the device before they mount the root.
        let resumes = hint.is_some_and(|(_, name, _)| *name == RESUME);
        if resumes && next.text.contains("mounted filesystem") {
            found = found.treatment("cmdline+=noresume").cost(text::NO_RESUME);
        }
        if let Some(word) = without_command(next.text) {
            found.more.push_str(text::OF_ATA);
            found = found
                .treatment(format!("cmdline+={word}"))
                .cost(text::NO_ATA_LOG);
        }
        if tests {
            found.more.push_str(text::OF_TESTS);
            for (time, line) in others {
                found.more.push_str(&text::more_tests(time, line.text));
            }
            for (time, line) in ended {
                found.more.push_str(&text::ended_tests(time, line.text));
            }
            found = found
                .treatment("cmdline+=cryptomgr.notests")
                .names(["crypto"]);
        }
        let title = match (again.len(), of_initramfs) {
            (0, true) => text::programs_silence(gap, &after.text),
            (0, false) => text::silence(gap, &after.text),
            (times, _) => text::silences(times + 1, all, &after.text),
        };
        if !again.is_empty() {
            found.more.push_str(text::AGAIN);
        }
        found
            .title(title)
            .evidence([view.quote(&line), after])
            .evidence(others.iter().chain(ended).map(|(_, line)| view.quote(line)))
            .parts(all, low, expected, high)
            .up_to(around.max(all + before.max(view.beside(&line, &next))))
            .names(subject(next.text))
            .names(subject(line.text))
            .names(beside.into_iter().flat_map(subject))
            .names(again.iter().flat_map(|(_, line)| subject(line.text)))
            .names(hint.map(|(_, name, _)| *name))
            .names(helps.into_iter().flat_map(|h| h.names.iter().copied()))
            .names(
                (around > all)
                    .then_some(["udev", "fsck"])
                    .into_iter()
                    .flatten(),
            )
    });
    found.collect()
}

/// Whether a line says that something was waited for in vain.
fn gives_up(text: &str) -> bool {
    let is_error = text.split_once(TIMED_OUT).is_some_and(|(before, after)| {
        let is_part = |c: char| c.is_ascii_alphanumeric();
        !before.ends_with(is_part) && !after.starts_with(is_part)
    });
    is_error || GIVES_UP.iter().any(|g| text.contains(g))
}

/// `deferred` of `deferred_probe_timeout`.
fn first_word(name: &str) -> &str {
    name.split('_').next().unwrap_or(name)
}

/// Whether the kernel says that init mounts something.
fn mounts(text: &str) -> bool {
    MOUNTS.iter().any(|m| text.contains(m)) || text.starts_with(MOUNTS_EXT3)
}

/// Init mounts file systems when udev is done and they are checked, one after another: from the
/// first line of udev to the last mount it may all be one wait.
fn around_mounts(view: &View<'_>, line: &Line<'_>, next: &Line<'_>) -> Option<Nanos> {
    let source = line.message.origin.source;
    let messages = view.record.messages().iter();
    let mut udev = messages
        .filter(|m| m.origin.source == source && view.record.text(m).starts_with(UDEV))
        .filter_map(|m| m.at);
    let from = line.message.at?;
    let from = udev.next().map_or(from, |at| at.min(from));
    let later = view.after(next).filter(|l| l.message.at.is_some());
    let last = later.take_while(|l| mounts(l.text)).last();
    let to = last.map_or(next.message.at, |l| l.message.at)?;
    Some(to - from)
}

/// The word of the command line by which libata does without a command that a drive does not
/// answer: of `ata1.00: qc timeout after 15000 msecs (cmd 0x47)`, which reads a log by DMA
/// (`libata.force=` in Documentation/admin-guide/kernel-parameters.txt).
pub(super) fn without_command(text: &str) -> Option<String> {
    let (device, rest) = text.strip_prefix("ata")?.split_once(": qc timeout")?;
    let is_device = |c: char| c.is_ascii_digit() || c == '.';
    let is_known = device.chars().all(is_device) && rest.contains("cmd 0x47");
    is_known.then(|| format!("libata.force={device}:nodmalog"))
}

/// Which lines are the kernel's, in logs that have all that it says. On a serial line,
/// where everybody writes, the kernel's lines are stamped; what a console shows with
/// `quiet` is silent where the kernel was not.
fn kernels<'v>(view: &'v View<'_>) -> impl Fn(&Line<'_>) -> bool + 'v {
    let arrivals = view.record.arrivals().iter();
    let arrivals: BTreeMap<Origin, bool> =
        arrivals.map(|a| (a.origin, a.stamped.is_some())).collect();
    // A message stands behind the host's stamp, an arrival begins with it.
    let stamped = move |message: &record::Message| {
        let before = arrivals.range(..=message.origin).next_back();
        before.is_some_and(|(line, stamped)| *stamped && line.source == message.origin.source)
    };
    let informs = |m: &record::Message| {
        let text = view.record.text(m);
        m.level.is_some_and(|l| l >= INFORMATION)
            || text.starts_with(BANNER)
            || INFORMS.iter().any(|i| text.starts_with(i))
            || text.contains("mounted filesystem ")
    };
    let mut whole: BTreeSet<SourceId> = BTreeSet::new();
    for message in view.record.messages() {
        let source = message.origin.source;
        if !whole.contains(&source) && informs(message) {
            whole.insert(source);
        }
    }
    // Of an excerpt it is what its lines are about that tells.
    let mut of_source: BTreeMap<SourceId, (usize, usize)> = BTreeMap::new();
    let messages = view.record.messages().iter();
    for message in messages.filter(|m| !whole.contains(&m.origin.source)) {
        let text = view.record.text(message);
        let complains = COMPLAINS.iter().any(|c| text.contains(c));
        let count = of_source.entry(message.origin.source).or_default();
        count.0 += 1;
        count.1 += usize::from(complains);
    }
    let excerpts = of_source.iter().filter(|(_, (lines, complaints))| {
        *lines >= FEWEST_LINES && complaints.saturating_mul(2) < *lines
    });
    whole.extend(excerpts.map(|(source, _)| *source));
    move |line| {
        let source = line.message.origin.source;
        (view.is_kernel_log(source) || stamped(line.message)) && whole.contains(&source)
    }
}
