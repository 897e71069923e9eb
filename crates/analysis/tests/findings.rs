//! Advice applies where it should, and is silent elsewhere.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::record;
use firstlight_analysis::{Finding, critical_chain, findings, phases};
use record::Nanos;

fn ids(text: &str) -> Vec<&'static str> {
    findings(&record(text)).iter().map(|f| f.id).collect()
}

fn one(text: &str, id: &str) -> Finding {
    let found = findings(&record(text));
    found.into_iter().find(|f| f.id == id).unwrap()
}

const END: &str = "
    mark 0s kernel-start kernel
    mark 10s startup-finished -
    ";

#[test]
fn crypto_self_tests_are_found_unless_they_are_off() {
    let text = format!(
        "{END}fact kernel.cmdline root=/dev/vda
         span initcall 1s 1.7s crypto_algapi_init+0x0/0x11
         span initcall 2s 2.1s sha256_generic_mod_init
         span initcall 3s 4s thunderbolt_mod_init"
    );
    let f = one(&text, "crypto-self-tests");
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=cryptomgr.notests"));
    let saving = (Nanos::from_millis(700), Nanos::from_millis(816));
    assert_eq!(f.saving, Some(saving));
    assert!(f.evidence[0].text.starts_with("crypto_algapi_init"));
    assert!(f.evidence[0].place.offset > 0);
    // The first certificate begins the tests of RSA and of its hash.
    let keys = format!("{text}\nspan initcall 4s 4.1s load_system_certificate_list");
    let keys = one(&keys, "crypto-self-tests");
    assert_eq!(keys.expected, Nanos::from_millis(796));
    assert_eq!(keys.saving.unwrap().1, Nanos::from_millis(918));
    let off = text.replace("root=", "cryptomgr.notests root=");
    assert!(!ids(&off).contains(&"crypto-self-tests"));
}

#[test]
fn a_saving_below_one_percent_is_not_reported() {
    let text = format!("{END}span initcall 1s 1.099s load_system_certificate_list");
    assert_eq!(ids(&text), Vec::<&str>::new());
    let text = format!("{END}span initcall 1s 1.101s load_system_certificate_list");
    assert_eq!(ids(&text), ["built-in-certificates"]);
}

/// 1,000 lines of 83 bytes and the kernel's own 17: 100,000 bytes.
fn chatty(cmdline: &str, clock: &str) -> String {
    let line = format!("say 1s 6 {}\n", "x".repeat(83));
    format!(
        "{clock}\n{END}fact kernel.cmdline {cmdline}\n{}",
        line.repeat(1_000)
    )
}

#[test]
fn console_output_costs_bytes_times_ten_bits() {
    let f = one(
        &chatty("console=tty0 console=ttyS0,115200n8", ""),
        "console-output",
    );
    let all = Nanos(100_000 * 10 * 1_000_000_000 / 115_200);
    assert_eq!(f.saving, Some((Nanos(all.0 / 2), all)));
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=quiet"));
    assert!(f.evidence[0].text.contains("console=ttyS0,115200n8"));
}

#[test]
fn on_a_serial_line_only_the_kernel_counts() {
    let x = "x".repeat(83);
    let line = |at: &str, n: usize| format!("say {at} - {x}\n").repeat(n);
    let text = format!(
        "source minicom.log serial
         clock serial wall
         mark 0s U-Boot loader
         mark 1s kernel-start kernel
         mark 4s userspace-start userspace
         mark 9s startup-finished -
         fact kernel.cmdline console=ttyS0,9600
         {}{}{}",
        line("500ms", 50),
        line("2s", 20),
        line("5s", 70)
    );
    let f = one(&text, "console-output");
    // The kernel stamped nothing: a line has its text and its end.
    assert!(f.why.contains("20 lines (1700 bytes)"), "{}", f.why);
}

#[test]
fn in_virtual_time_the_line_rate_is_not_modelled() {
    let f = one(
        &chatty("console=ttyS0,115200", "clock counter virtual"),
        "console-output",
    );
    assert_eq!(f.saving, None);
    assert!(f.why.contains("not the line rate"), "{}", f.why);
    assert_eq!(f.treatment.as_deref(), Some("cmdline+=quiet"));
}

#[test]
fn no_serial_console_or_quiet_is_no_finding() {
    for cmdline in [
        "root=x",
        "console=tty0",
        "console=ttyS0,9600 quiet",
        "console=ttyS0 loglevel=3",
    ] {
        assert_eq!(ids(&chatty(cmdline, "")), Vec::<&str>::new(), "{cmdline}");
    }
}

#[test]
fn initcall_debug_counts_where_it_reaches_the_console() {
    let text = |cmdline: &str| {
        let calls: String = (0..500)
            .map(|i| format!("span initcall {i}ms {}ms drv_{i}_init\n", i + 1))
            .collect();
        format!("{END}fact kernel.cmdline {cmdline}\n{calls}")
    };
    assert_eq!(
        ids(&text("console=ttyS0,9600 initcall_debug")),
        Vec::<&str>::new()
    );
    let loud = text("console=ttyS0,9600 initcall_debug ignore_loglevel");
    assert_eq!(
        ids(&loud),
        ["console-speed", "debug-words", "initcall-debug"]
    );
    // The calls took half a second, and at 9600 baud their lines alone take a minute: nobody
    // can have waited for them.
    let f = one(&loud, "initcall-debug");
    let most = Nanos::from_millis(500);
    assert_eq!(
        (f.saving, f.expected),
        (Some((Nanos::ZERO, most)), Nanos::ZERO)
    );
    assert!(f.why.contains("faster than its rate"), "{}", f.why);
}

#[test]
fn words_of_the_recording_are_no_forgotten_ones() {
    let cmdline = "fact kernel.cmdline root=/dev/vda trace_event=block:*,sched:* drm.debug=1\n";
    let titles = |text: &str| -> Vec<String> {
        let found = findings(&record(text)).into_iter();
        let found = found.filter(|f| f.id == "debug-words");
        found.map(|f| f.title).collect()
    };
    let drm = "`drm.debug=1` is on the kernel command line";
    let trace = "`trace_event=block:*,sched:*` is on the kernel command line";
    assert_eq!(titles(&format!("{END}{cmdline}")), [drm, trace]);
    let recorded = "fact recording.words trace_buf_size=4M trace_event=block:*,sched:*\n";
    assert_eq!(titles(&format!("{END}{cmdline}{recorded}")), [drm]);
}

#[test]
fn decompression_tracers_and_deferrals_are_found() {
    let text = "mark 0s power-on firmware
        mark 1s decompression-start decompression
        mark 3s kernel-entry kernel
        mark 9s startup-finished -
        span initcall 4s 4.4s init_kprobe_trace
        span probe 5s 5.1s dev-a outcome=-517
        span probe 6s 6.1s dev-a outcome=517
        span probe 6s 6.1s dev-b outcome=-19";
    assert_eq!(
        ids(text),
        ["kernel-decompression", "instrumentation", "deferred-probes"]
    );
    let f = one(text, "kernel-decompression");
    assert_eq!(f.treatment.as_deref(), Some("kernel=uncompressed"));
    let f = one(text, "deferred-probes");
    assert_eq!(f.title, "2 probes were deferred, for 1 device");
    assert_eq!(f.names, ["dev-a"]);
    // The attempts go, less a twentieth for the one that is then the first; what waited for the
    // device lasted until the last of them.
    let all = (Nanos::from_millis(190), Nanos::from_millis(1_100));
    assert_eq!(f.saving, Some(all));
}

const UNITS: &str = "mark 0s kernel-start kernel
    mark 1s userspace-start userspace
    mark 6s startup-finished -
    span unit 5.9s 5.9s multi-user.target
    span unit 3s 5.8s e2scrub_reap.service
    span unit 3s 4.8s ssh.service
    span unit 1.5s 3s systemd-random-seed.service
    span unit 1.5s 1.6s apt-daily.service
    after multi-user.target e2scrub_reap.service
    after multi-user.target ssh.service
    after e2scrub_reap.service systemd-random-seed.service
    after ssh.service systemd-random-seed.service";

#[test]
fn the_chain_of_units_goes_back_through_the_latest() {
    let r = record(UNITS);
    let chain = critical_chain(&r, &phases(&r));
    let links: Vec<_> = chain
        .iter()
        .map(|l| (l.unit.as_str(), l.slack.0 / 1_000_000))
        .collect();
    assert_eq!(
        links,
        [
            ("multi-user.target", 0),
            ("e2scrub_reap.service", 1_000),
            ("systemd-random-seed.service", 1_500)
        ]
    );
}

#[test]
fn only_spare_units_are_to_be_masked() {
    let found = findings(&record(UNITS));
    let told: Vec<_> = found
        .iter()
        .map(|f| (f.id, f.treatment.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            ("spare-unit", Some("mask=e2scrub_reap.service")),
            ("longest-unit", None),
            ("spare-unit", Some("mask=apt-daily.service")),
        ]
    );
    let (low, high) = found[0].saving.unwrap();
    assert_eq!((low.0 / 1_000_000, high.0 / 1_000_000), (1_000, 2_800));
    assert!(found[1].title.contains("systemd-random-seed.service"));
}

/// The unit of the chain is long, but another way to first light is as long: it is told, and
/// nothing is promised.
#[test]
fn a_unit_beside_a_way_as_long_brings_nothing() {
    let text = |seed: &str| {
        format!(
            "mark 0s kernel-start kernel
            mark 1s userspace-start userspace
            mark 5.1s startup-finished -
            span unit 5.05s 5.05s multi-user.target
            span unit 5s 5s sysinit.target
            span unit 4s 5s tmpfiles.service
            span unit 1.5s 4s journald.service
            span unit 1.5s {seed} seed.service
            after multi-user.target sysinit.target
            after sysinit.target tmpfiles.service
            after sysinit.target seed.service
            after tmpfiles.service journald.service"
        )
    };
    let longest = |seed: &str| {
        let r = record(&text(seed));
        let all = firstlight_analysis::advice(
            &r,
            &phases(&r),
            &firstlight_analysis::SystemFacts::default(),
        );
        let found = all.findings.into_iter().find(|f| f.id == "longest-unit");
        found.map(|f| (f.expected, f.title))
    };
    let (expected, title) = longest("5s").unwrap();
    assert_eq!(expected, Nanos::ZERO);
    assert!(title.contains("seed.service"), "{title}");
    assert_eq!(longest("4.9s").unwrap().0, Nanos::from_millis(100));
    let (expected, title) = longest("2s").unwrap();
    assert_eq!(expected, Nanos::from_millis(1_250));
    assert!(title.contains("journald.service"), "{title}");
}

#[test]
fn a_circle_of_units_ends() {
    let r = record(
        "span unit 1s 1s a.service\nspan unit 1s 1s multi-user.target
         after a.service multi-user.target\nafter multi-user.target a.service",
    );
    assert_eq!(critical_chain(&r, &phases(&r)).len(), 2);
}

#[test]
fn a_spare_unit_without_times_still_counts() {
    let text = format!("{END}span unit - - e2scrub_reap.service reported=1s");
    let f = one(&text, "spare-unit");
    assert_eq!(f.saving, Some((Nanos::ZERO, Nanos::from_millis(1_000))));
    assert!(f.why.contains("does not show"), "{}", f.why);
}

#[test]
fn a_spare_unit_after_first_light_is_no_finding() {
    let text = format!("{END}span unit 11s 12s e2scrub_reap.service");
    assert_eq!(ids(&text), Vec::<&str>::new());
}

/// A driver's initcall that is all probe has no piece of its own on the critical path.
#[test]
fn a_call_that_is_all_probe_is_waited_for() {
    let text = format!(
        "{END}span initcall 1s 2s other_init outcome=-19 track=1
         span initcall 2s 3s slow_driver_init outcome=0 track=1
         span probe 2s 3s device outcome=0 track=1"
    );
    let f = one(&text, "long-initcalls");
    assert!(f.on_critical_path);
}
