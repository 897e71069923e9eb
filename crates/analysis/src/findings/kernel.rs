//! Time that the kernel spends on itself.

use super::contention::without_unpacking;
use super::evidence::Evidence;
use super::found::{Found, Scope};
use super::hardware;
use super::modules;
use super::startup;
use super::text::kernel as text;
use super::view::{Line, View, elapsed, function, sum};
use crate::place::Place;
use record::{Doubt, Nanos, Phase};

/// Where the kernel runs every deferred self test of its ciphers.
const TESTS: [&str; 2] = ["crypto_algapi_init", "cryptomgr_init"];

/// What the names of cipher modules are made of. Older kernels start a
/// cipher's tests when the cipher registers.
const CIPHERS: [&str; 34] = [
    "aes",
    "aesni",
    "arc4",
    "authenc",
    "blake2b",
    "camellia",
    "cast5",
    "cast6",
    "cbc",
    "ccm",
    "chacha",
    "cmac",
    "crct10dif",
    "cts",
    "ctr",
    "des",
    "drbg",
    "ecb",
    "ecdh",
    "gcm",
    "ghash",
    "hmac",
    "jent",
    "md5",
    "poly1305",
    "rsa",
    "seqiv",
    "serpent",
    "sha1",
    "sha256",
    "sha3",
    "sha512",
    "twofish",
    "xts",
];

fn is_cipher(function: &str) -> bool {
    let stem = function
        .strip_suffix("_mod_init")
        .or_else(|| function.strip_suffix("_module_init"));
    stem.is_some_and(|s| s.split('_').any(|part| CIPHERS.contains(&part)))
}

/// The ciphers test themselves at every boot.
pub(super) fn crypto_self_tests(view: &View<'_>) -> Option<Found> {
    if view.has_flag("cryptomgr.notests") {
        return None;
    }
    let found = view.initcalls(|f| TESTS.contains(&f) || is_cipher(f));
    found.first()?;
    let all = elapsed(&found);
    // A cipher's own initcall does more than start tests: only the test
    // runners' time is sure to go.
    let runners = found
        .iter()
        .filter(|(name, _, _)| TESTS.contains(&function(name)));
    let sure = sum(runners.map(|(_, time, _)| time));
    let told = Found::new().evidence(view.initcall_evidence(&found));
    let found = match sure > Nanos::ZERO {
        false => told.saving(sure, all, all),
        true => {
            // Where there are runners, the first certificate has begun the tests of RSA and of
            // its hash before.
            let certificates = view.initcalls(|f| f == CERTIFICATES);
            let of_certificates = elapsed(&certificates);
            let tests = Nanos(of_certificates.0 / 100 * TESTS_OF_CERTIFICATES);
            // Ciphers that other initcalls ask for are tested there: half a percent of all in
            // the lab, and at most four times that here.
            let others = Nanos((all + of_certificates).0 / 50);
            told.evidence(view.initcall_evidence(&certificates)).saving(
                sure,
                sure + tests,
                all + of_certificates + others,
            )
        }
    };
    Some(found.treatment("cmdline+=cryptomgr.notests"))
}

/// Takes in the certificates that the kernel was built with.
const CERTIFICATES: &str = "load_system_certificate_list";

/// So much of that are tests of ciphers, in hundredths: of 134.1 ms 4.6 stay where ciphers do
/// not test themselves (`experiments/findings/certificates.toml`).
const TESTS_OF_CERTIFICATES: i64 = 96;

/// Of the signatures that are not checked without keys so much is expected to be won, in
/// hundredths, as of those of `module-signatures`: some modules are loaded after first light.
const UNCHECKED: i64 = 60;

/// The built-in certificates are parsed and checked.
pub(super) fn certificates(view: &View<'_>) -> Option<Found> {
    let found = view.initcalls(|f| f == CERTIFICATES);
    found.first()?;
    // No module would be loaded without them.
    if modules::are_enforced(view) {
        return None;
    }
    let all = elapsed(&found);
    // The first certificate starts the tests of RSA and its hash; without it they
    // are run with those of all other ciphers.
    let own = match view.has_flag("cryptomgr.notests") {
        true => all,
        false => Nanos(all.0 / 2),
    };
    // Modules are loaded behind the kernel: by first light no longer than that took.
    let behind = view.length(Phase::Initrd) + view.length(Phase::Userspace);
    let modules = modules::unchecked(view).min(behind);
    let beside = match modules > Nanos::ZERO {
        true => text::UNSIGNED,
        false => "",
    };
    let why = text::certificates_why(beside);
    Some(
        Found::new()
            .why(why)
            .evidence(view.initcall_evidence(&found))
            .saving(
                Nanos::ZERO,
                own + Nanos(modules.0 / 100 * UNCHECKED),
                all + modules,
            )
            .treatment("cmdline+=initcall_blacklist=load_system_certificate_list"),
    )
}

/// Initcalls that prepare tracing.
const TRACERS: [&str; 12] = [
    "event_trace_self_tests_init",
    "init_blk_tracer",
    "init_dynamic_event",
    "init_events",
    "init_function_trace",
    "init_graph_trace",
    "init_kprobe_trace",
    "init_kprobe_trace_early",
    "init_kprobes",
    "init_uprobe_trace",
    "trace_eval_init",
    "tracer_init_tracefs",
];

/// Makes a file for every event and option, and the events' folders of each module that is
/// loaded later.
const FILES: &str = "tracer_init_tracefs";

/// What puts the names of events in order, and what only waits for that.
const WAITS: [&str; 3] = ["init_blk_tracer", "init_kprobe_trace", "trace_eval_init"];

const PREPARED: &str = text::TRACERS;

/// The tracers prepare themselves, whether anyone traces or not.
pub(super) fn instrumentation(view: &View<'_>) -> Vec<Found> {
    let config = view.system.config.as_ref();
    if let Some(config) = config.filter(|c| c.is_built_in("KPROBE_EVENTS")) {
        let evidence = config.place("KPROBE_EVENTS").map(|place| Evidence {
            text: "CONFIG_KPROBE_EVENTS=y".to_owned(),
            place,
        });
        let found = tracers(view, PREPARED, |_| true).map(|(found, _)| {
            let found = found.evidence(evidence);
            found.treatment("config=CONFIG_FTRACE=n")
        });
        return found.into_iter().collect();
    }
    // What can be left out of a kernel that is there: the longest, some of which only wait
    // for the names that another one puts in order, and the files.
    let longest = tracers(view, PREPARED, |f| f != FILES).map(|(found, longest)| {
        let all = found.saving.map_or(Nanos::ZERO, |s| s.2);
        let waits = WAITS.contains(&longest);
        let mut gone = view.initcalls(|f| {
            if waits {
                WAITS.contains(&f)
            } else {
                f == longest
            }
        });
        without_unpacking(view, &mut gone);
        let gone = elapsed(&gone).min(sum(gone.iter().map(|(_, time, _)| time)));
        let f = if waits { "trace_eval_init" } else { longest };
        let found = found.saving(Nanos::ZERO, gone, all);
        found.treatment(format!("cmdline+=initcall_blacklist={f}"))
    });
    let files = tracers(view, text::TRACER_FILES, |f| f == FILES).map(|(found, _)| {
        let found = found.cost(text::NO_TRACING);
        found.treatment(format!("cmdline+=initcall_blacklist={FILES}"))
    });
    longest.into_iter().chain(files).collect()
}

/// The tracers' initcalls that `wanted` picks, and the longest of these.
fn tracers<'a>(
    view: &'a View<'_>,
    title: &str,
    wanted: fn(&str) -> bool,
) -> Option<(Found, &'a str)> {
    let calls = view.initcalls(|f| TRACERS.contains(&f) && wanted(f));
    let longest = function(calls.first()?.0);
    let all = elapsed(&calls);
    let found = Found::new()
        .title(title)
        .evidence(view.initcall_evidence(&calls))
        .saving(Nanos::ZERO, all, all);
    Some((found, longest))
}

/// The kernel image unpacks itself.
pub(super) fn decompression(view: &View<'_>) -> Option<Found> {
    let mut rows = view.phases.phases.iter();
    let row = rows.find(|p| p.name == Phase::Decompression)?;
    let length = row.end - row.start;
    let place: Place = row.origin.clone();
    // What loading the larger image costs is the medium's, not the log's.
    let expected = match view.is_virtual() {
        true => length,
        false => Nanos(length.0 / 2),
    };
    Some(
        Found::new()
            .evidence([Evidence {
                text: text::stretch(&row.start_mark, &row.end_mark, length),
                place,
            }])
            .saving(Nanos::ZERO, expected, length)
            .treatment("kernel=uncompressed"),
    )
}

/// A driver that finds no device says so with this error number.
const ENODEV: u32 = 19;

/// Built-in drivers without a device.
pub(super) fn absent_devices(view: &View<'_>) -> Option<Found> {
    let mut found = view.initcalls_from(Nanos::from_millis(1), |_| true);
    found.retain(|(name, _, s)| {
        s.outcome.map(i32::unsigned_abs) == Some(ENODEV) && !name.contains('[')
    });
    let first = function(found.first()?.0).to_owned();
    let all = elapsed(&found);
    let names = found
        .iter()
        .map(|(name, _, _)| (*name).to_owned())
        .collect();
    let title = text::absent(
        super::probes::count(found.len(), "built-in driver", "built-in drivers"),
        all,
    );
    Some(
        Found::new()
            .title(title)
            .evidence(view.initcall_evidence(&found))
            .saving(all, all, all)
            .scope(Scope::Items(names))
            .treatment(format!("cmdline+=initcall_blacklist={first}")),
    )
}

/// Initcalls that another rule tells of, or that no configuration leaves out.
const TOLD: [&str; 22] = [
    "acpi_init",
    "acpi_pci_root_init",
    "calibrate_xor_blocks",
    "clocksource_done_booting",
    "customize_machine",
    "default_bdi_init",
    "deferred_probe_initcall",
    "floppy_module_init",
    "i8042_init",
    "init_hw_perf_events",
    "ip_auto_config",
    "isapnp_init",
    "load_system_certificate_list",
    "of_platform_default_populate_init",
    "param_sysfs_init",
    "pci_subsys_init",
    "pcibios_init",
    "populate_rootfs",
    "prepare_namespace",
    "raid6_select_algo",
    "smp_init",
    "wait_for_initramfs",
];

/// Whether a function's name says that it tests the kernel: `atomics_selftest`,
/// `test_kstrtox_init`, `locking_selftest`, `init_clocksource_wdtest`.
fn is_self_test(function: &str) -> bool {
    if TESTS.contains(&function) || TRACERS.contains(&function) || is_cipher(function) {
        return false;
    }
    let mut parts = function
        .split('_')
        .filter(|p| !matches!(*p, "init" | "late" | "early"));
    let first = parts.clone().next();
    let is_test = |p: &str| matches!(p, "test" | "tests" | "selftest" | "selftests");
    first == Some("test")
        || parts.clone().next_back().is_some_and(is_test)
        || parts.any(|p| matches!(p, "selftest" | "selftests" | "wdtest" | "kunit" | "torture"))
}

/// A test of the kernel from here on is worth a word.
const LONG_TEST: Nanos = Nanos::from_millis(1);

/// Parts of the kernel that test themselves.
pub(super) fn self_tests(view: &View<'_>) -> Vec<Found> {
    let mut calls = view.initcalls_from(LONG_TEST, is_self_test);
    calls.retain(|(name, _, s)| s.doubt.is_none() && !name.contains('['));
    let found = calls.into_iter().map(|call| {
        let (name, time, _) = call;
        let name = function(name);
        Found::new()
            .title(text::self_test(time, name))
            .evidence(view.initcall_evidence(&[call]))
            .parts(time, 80, 100, 100)
            .treatment(format!("cmdline+=initcall_blacklist={name}"))
    });
    found.collect()
}

/// An initcall from here on is worth a look of its own.
const LONG_CALL: Nanos = Nanos::from_millis(50);

/// From here on so is one that no configuration leaves out: it waits for something.
const LONG_ANYWAY: Nanos = Nanos::from_millis(500);

/// An initcall that is longer than this does not work but wait, and is not worth keeping
/// elsewhere.
const WAITS_LONG: Nanos = Nanos(2_000_000_000);

/// Initcalls of [`TOLD`] that another rule tells of.
const BY_OTHERS: [&str; 9] = [
    "calibrate_xor_blocks",
    "floppy_module_init",
    "i8042_init",
    "ip_auto_config",
    "isapnp_init",
    "load_system_certificate_list",
    "populate_rootfs",
    "raid6_select_algo",
    "wait_for_initramfs",
];

/// Built-in drivers whose initcall takes long on the kernel's own thread.
pub(super) fn long_initcalls(view: &View<'_>) -> Option<Found> {
    let other = |f: &str| {
        let is_tests = TESTS.contains(&f) || is_self_test(f);
        !BY_OTHERS.contains(&f) && !is_tests && !TRACERS.contains(&f) && !is_cipher(f)
    };
    let mut found = view.initcalls_from(LONG_CALL, other);
    without_unpacking(view, &mut found);
    found.sort_by_key(|(name, time, s)| (std::cmp::Reverse(*time), s.origin, *name));
    found.retain(|(name, time, s)| {
        let least = match TOLD.contains(&function(name)) {
            true => LONG_ANYWAY,
            false => LONG_CALL,
        };
        !name.contains('[')
            && *time >= least
            && s.outcome.map(i32::unsigned_abs) != Some(ENODEV)
            && matches!(s.doubt, None | Some(Doubt::LostStart))
    });
    let (longest, time, span) = *found.first()?;
    let all = elapsed(&found).min(sum(found.iter().map(|(_, time, _)| time)));
    let names: Vec<String> = found
        .iter()
        .map(|(name, _, _)| (*name).to_owned())
        .collect();
    let title = text::long_calls(
        super::probes::count(found.len(), "built-in initcall", "built-in initcalls"),
        all,
        function(longest),
    );
    let rest = (all - time).max(Nanos::ZERO);
    let expected = match time >= WAITS_LONG {
        true => Nanos(time.0 / 100 * 97),
        false => Nanos(time.0 / 10 * 8),
    };
    let low = match time >= WAITS_LONG {
        true => Nanos(time.0 / 2),
        false => Nanos::ZERO,
    };
    Some(
        Found::new()
            .title(title)
            .evidence(view.initcall_evidence(&found))
            .saving(low, expected + Nanos(rest.0 / 10 * 8), all)
            .within(all)
            .names(names.iter().map(|n| function(n).to_owned()))
            // One whose start is not known has no place on the path, and behind one that
            // waits so long everything waits.
            .scope(match span.start {
                Some(_) if time < WAITS_LONG => Scope::Items(names),
                _ => Scope::Serial,
            }),
    )
}

/// A module that takes less to initialize its devices is usual.
const LONG_MODULE: Nanos = Nanos(1_000_000_000);

/// How many of them are told.
const MOST_MODULES: usize = 3;

/// Modules that take long to initialize: who loads one waits for it, which may be the search for
/// the root or a wait for all devices.
pub(super) fn long_modules(view: &View<'_>) -> Vec<Found> {
    let other = |f: &str| !BY_OTHERS.contains(&f) && !TOLD.contains(&f) && !TESTS.contains(&f);
    let calls = view.initcalls_from(LONG_MODULE, other);
    let modules = calls.into_iter().filter_map(|call| {
        let module = call.0.split_once('[')?.1.strip_suffix(']')?;
        // Where others began meanwhile, the kernel's own number is wrong, and the stamps are not.
        let doubt = call.2.doubt;
        let is_whole = matches!(doubt, None | Some(Doubt::LostStart | Doubt::Overlap));
        is_whole.then_some((module, call))
    });
    let found = modules.take(MOST_MODULES).map(|(module, call)| {
        let (name, time, span) = call;
        // Where nothing else went on, everything waited.
        let still = hardware::stood_still(view, span).min(time);
        let rest = time - still;
        let (low, expected, high) = hardware::OF_MODULE;
        let part =
            |of_still: i64, of_rest: i64| Nanos(still.0 / 100 * of_still + rest.0 / 100 * of_rest);
        let most = part(high, 100);
        Found::new()
            .title(text::long_module(module, time))
            .evidence(view.initcall_evidence(&[call]))
            .saving(part(low, 0), part(expected, 50), most)
            .within(most)
            .names([module.to_owned(), function(name).to_owned()])
            .scope(Scope::Unknown)
    });
    found.collect()
}

/// RAID-6 and XOR try each of their routines at every boot.
pub(super) fn raid_benchmarks(view: &View<'_>) -> Option<Found> {
    let calls = view.initcalls(|f| matches!(f, "raid6_select_algo" | "calibrate_xor_blocks"));
    let lines: Vec<_> = view
        .said("raid6: ")
        .chain(view.said("xor: "))
        // `raid6: .... xor() 1234 MB/s` is the result of the chosen routine's second
        // benchmark; kernels that ran it with the others print it at once.
        .filter(|l| l.text.contains("MB/s") && !l.text.contains("using "))
        .collect();
    let measured = measured_xor(view);
    // What was said between two results is other work: each benchmark is as long as the
    // silence before its result, and the first one no longer than the others.
    let mut slots: Vec<Nanos> = lines
        .iter()
        .filter_map(|l| view.silence_before(l))
        .collect();
    let mut before = Nanos::ZERO;
    if let Some((first, rest)) = slots.split_first_mut()
        && let Some(longest) = rest.iter().max()
    {
        before = (*first - *longest).max(Nanos::ZERO);
        *first = (*first).min(*longest);
    }
    let of_lines = sum(slots.iter()) + measured.map_or(Nanos::ZERO, |m| m.1);
    let of_calls = elapsed(&calls);
    let time = of_lines.max(of_calls);
    // A module that is not loaded is not read and linked either, before its first result.
    let kernel = view.phases.phases.iter().find(|p| p.name == Phase::Kernel);
    let is_module = lines.first().is_some_and(|l| {
        let at = l.message.at.zip(kernel);
        at.is_some_and(|(at, kernel)| at >= kernel.end)
    });
    let of_module = if is_module { before } else { Nanos::ZERO };
    let most = time + of_module.min(Nanos(time.0 / 10));
    if time <= Nanos::ZERO {
        return None;
    }
    let first = lines.first().or(measured.as_ref().map(|m| &m.0));
    // XOR has no such option.
    let has_raid = lines.iter().any(|l| l.text.contains("raid6"))
        || calls
            .iter()
            .any(|(name, ..)| function(name).starts_with("raid6"));
    Some(
        Found::new()
            .evidence(first.map(|l| view.quote(l)))
            .evidence(view.initcall_evidence(&calls))
            .saving(Nanos(time.0 / 2), time, most)
            .within(most)
            .names(["raid6", "xor"])
            .maybe_treatment(has_raid.then(|| "config=CONFIG_RAID6_PQ_BENCHMARK=n".to_owned())),
    )
}

/// The line with which kernels before 5.11 begin to measure XOR, whose results have no name,
/// and how long they did.
fn measured_xor<'v>(view: &'v View<'_>) -> Option<(Line<'v>, Nanos)> {
    let begin = view
        .said("xor: ")
        .find(|l| l.text.contains("xor: measuring software"))?;
    let mut behind = view.after(&begin).take(MOST_ROUTINES);
    let end = behind.find(|l| l.text.contains("xor: using function"))?;
    let nameless = view.after(&begin).next()?;
    let (from, to) = (begin.message.at?, end.message.at?);
    (!nameless.text.contains("xor: ")).then_some((begin, (to - from).max(Nanos::ZERO)))
}

/// No kernel has more routines of XOR, with what else is said meanwhile.
const MOST_ROUTINES: usize = 32;

/// What checking the order of locks takes of the time in which a kernel does not wait, in percent:
/// 65 on a PC and 88 on an ARM926, both in the exact lab and with one processor
/// (`experiments/findings/debug-kernel.toml`, `debug-kernel-arm9.toml`); between them what is
/// expected.
const OF_LOCK_CHECKS: (i64, i64, i64) = (30, 77, 95);

/// Debugging that the kernel's log or its configuration admits to.
pub(super) fn debug_kernel(view: &View<'_>) -> Option<Found> {
    const SIGNS: [(&str, &str); 5] = [
        ("Lock dependency validator", "PROVE_LOCKING"),
        ("KernelAddressSanitizer initialized", "KASAN"),
        ("Kernel memory leak detector initialized", "DEBUG_KMEMLEAK"),
        ("Running ring buffer tests", "RING_BUFFER_STARTUP_TEST"),
        ("Testing tracer", "FTRACE_STARTUP_TEST"),
    ];
    let seen: Vec<_> = SIGNS
        .iter()
        .filter_map(|(text, option)| Some((view.said(text).next()?, *option)))
        .collect();
    let config = view.system.config.as_ref();
    let set: Vec<&str> = config.map_or_else(Vec::new, |c| {
        let costly = super::config::DEBUGGING.iter();
        costly.copied().filter(|o| c.is_built_in(o)).collect()
    });
    let first = set.first().copied().or(seen.first().map(|s| s.1))?;
    let kernel = view.length(Phase::Kernel);
    let are_locks_checked = set
        .iter()
        .copied()
        .chain(seen.iter().map(|s| s.1))
        .any(|o| o == "PROVE_LOCKING");
    let (time, (low, expected, high)) = match are_locks_checked {
        true => {
            // Waits for a clock take as long without the checks. The programs of an initramfs
            // mostly have the kernel work.
            let waits = [startup::apic_timer(view), delay_loop(view)];
            let waits = waits.into_iter().flatten().filter_map(|f| f.saving);
            let waits = waits.fold(Nanos::ZERO, |sum, (_, _, most)| sum + most);
            let all = kernel + view.length(Phase::Initrd) - waits;
            (all.max(Nanos::ZERO), OF_LOCK_CHECKS)
        }
        false => (kernel, (5, 30, 70)),
    };
    let place = |o: &&str| {
        let place = config?.place(o)?;
        Some(Evidence {
            text: format!("CONFIG_{o}=y"),
            place,
        })
    };
    Some(
        Found::new()
            .evidence(seen.iter().map(|(l, _)| view.quote(l)))
            .evidence(set.iter().filter_map(place))
            .parts(time, low, expected, high)
            .treatment(format!("config=CONFIG_{first}=n")),
    )
}

/// The delay loop is calibrated although it need not be.
pub(super) fn delay_loop(view: &View<'_>) -> Option<Found> {
    let line = view
        .said("Calibrating delay loop")
        .find(|l| !l.text.contains("skipped") && !l.text.contains("preset"))?;
    // Old kernels printed only BogoMIPS, which is this number times a constant of the kernel.
    let lpj = line.number("lpj=");
    if view.value("lpj").is_some() {
        return None;
    }
    let silence = view.silence_after(&line)?;
    // Twice a dozen ticks or so; what else lies in the silence is not known.
    let most = silence.min(Nanos::from_millis(400));
    let found = Found::new()
        .evidence([view.quote(&line)])
        .parts(most, 10, 100, 100)
        .names(["lpj"]);
    Some(match lpj {
        Some(lpj) => found.treatment(format!("cmdline+=lpj={lpj}")),
        None => found,
    })
}
