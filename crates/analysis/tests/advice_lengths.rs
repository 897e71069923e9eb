//! Phases and units of which little but the length is known.
#![allow(clippy::unwrap_used, reason = "tests")]

mod advised;
mod common;

use advised::{found, ms, one};
use record::Nanos;

/// systemd puts a login on the kernel's console: one on a serial line shows what the kernel
/// waits for.
#[test]
fn a_login_on_a_serial_line_shows_the_console() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 3s userspace-start userspace
            mark 9s startup-finished -
            span unit - - {unit} reported=2s"
        )
    };
    let f = one(&text("serial-getty@ttyAMA0.service"), "opaque-phase");
    assert!(f.names.iter().any(|n| n == "quiet"), "{:?}", f.names);
    for unit in ["serial-getty@ttyGS0.service", "getty@tty1.service"] {
        let f = one(&text(unit), "opaque-phase");
        assert!(!f.names.iter().any(|n| n == "quiet"), "{unit}");
    }
}

/// Who has no systemd is not told to ask it.
#[test]
fn a_step_of_another_init_is_told_without_systemds_tools() {
    let why = |unit: &str| {
        let text = format!(
            "mark 0s kernel-start kernel\nmark 2s userspace-start userspace\n\
             span unit 4s 9s {unit}\nmark 12s startup-finished -\n"
        );
        one(&text, "longest-unit").why
    };
    assert!(why("apexd-bootstrap").contains("steps of this init"));
    assert!(why("slow.service").contains("systemd-analyze critical-chain"));
}

#[test]
fn what_runs_after_the_default_target_is_told_by_its_length() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark 10s multi-user.target -
            mark 40s startup-finished -
            source blame.txt systemd-analyze
            span unit - - {unit} reported=33s
            span unit - - other.service reported=4s"
        )
    };
    let f = one(&text("index.service"), "late-unit");
    assert_eq!(f.names, ["index.service"]);
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (27_000, 30_000));
    // What another rule tells is waited for, too.
    let f = one(&text("NetworkManager-wait-online.service"), "waiting-unit");
    assert!(f.on_critical_path);
    assert_eq!(ms(f.expected), 30_000);
}

#[test]
fn the_first_of_a_list_of_durations_is_told() {
    let text = "source blame.txt systemd-analyze
        span unit - - big.service reported=47s
        span unit - - dev-sda1.device reported=50s
        span unit - - small.service reported=2s";
    let all = found(text);
    assert_eq!(all[0].names, ["big.service"]);
    assert!(ms(all[0].expected) > 30_000);
    assert!(!all[0].on_critical_path);
    assert!(
        all.iter()
            .all(|f| !f.names.contains(&"dev-sda1.device".to_owned()))
    );
}

/// The instances of a template run at the same time: their times are one.
#[test]
fn instances_of_a_template_that_take_as_long_are_one_finding() {
    let all = found(
        "source blame.txt systemd-analyze
        span unit - - scan@8:1.service reported=20s
        span unit - - scan@8:2.service reported=19s
        span unit - - scan@8:3.service reported=9s
        span unit - - scanner.service reported=8s",
    );
    let names: Vec<_> = all.iter().map(|f| f.names.clone()).collect();
    let names: Vec<&[String]> = names.iter().map(Vec::as_slice).collect();
    assert_eq!(
        names,
        [
            &["scan@8:2.service".to_owned(), "scan@8:1.service".to_owned()][..],
            &["scan@8:3.service".to_owned()][..],
            &["scanner.service".to_owned()][..],
        ]
    );
    assert!(all[0].why.contains("One more instance"), "{}", all[0].why);
    assert_eq!(all[0].evidence.len(), 2);
}

#[test]
fn a_phase_of_which_only_the_length_is_known_is_told() {
    let text = "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 1s initrd-start initrd
        mark 4s userspace-start userspace
        mark 9s startup-finished -";
    let f = one(text, "opaque-phase");
    assert_eq!(f.names, ["initrd"]);
    let log = format!("{text}\nsource dmesg kernel-log\nsay 2s 6 a\nsay 500ms 6 b");
    assert!(found(&log).iter().all(|f| f.id != "opaque-phase"));
}

/// A list of durations says more of the userspace than its length, although it has no times.
#[test]
fn a_userspace_without_units_is_told_by_its_length() {
    let text = "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 2s userspace-start userspace
        mark 42s startup-finished -";
    let f = one(text, "opaque-phase");
    assert_eq!(f.names, ["userspace"]);
    assert_eq!(f.title, "Userspace takes 40.000 s");
    assert!(f.why.contains("systemd-analyze blame"), "{}", f.why);
    // 45 % of the first 20 s, and 80 % of the 20 s beyond.
    assert_eq!(ms(f.expected), 25_000);
    let units = format!("{text}\nspan unit - - a.service reported=30s");
    let all = found(&units);
    let of = |name: &str| all.iter().any(|f| f.names.iter().any(|n| n == name));
    assert!(!of("userspace") && of("a.service"), "{all:?}");
    // What systemd does after the default target is told by itself.
    let target = |at: &str| found(&format!("{text}\nmark {at} graphical.target -"));
    assert!(target("12s").iter().all(|f| f.names != ["userspace"]));
    let all = target("30s");
    let f = all.iter().find(|f| f.names == ["userspace"]).unwrap();
    assert_eq!(f.title, "Userspace takes 28.000 s");
    // Of a shorter one nothing is known that could go.
    let short = text.replace("42s", "20s");
    assert!(found(&short).iter().all(|f| f.names != ["userspace"]));
}

#[test]
fn a_userspace_that_is_as_long_as_a_timeout_is_told_with_what_times_out() {
    let of = |end: &str| {
        let text = format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark {end} startup-finished -"
        );
        let f = one(&text, "opaque-phase");
        (ms(f.expected), f.names.join(" "), f.why)
    };
    let (expected, names, why) = of("95s");
    assert_eq!(expected, 82_800);
    assert!(
        names.contains("/etc/fstab") && why.contains("tpm2_wait=0"),
        "{why}"
    );
    assert!(
        of("126s")
            .1
            .contains("systemd-networkd-wait-online.service")
    );
    assert!(of("310s").1.contains("networking.service"));
    // Lengths of which nothing is known.
    for end in ["85s", "115s", "200s", "330s"] {
        assert_eq!(of(end).1, "userspace", "{end}");
    }
}

/// A sorted list hides nothing that is longer than its last row.
#[test]
fn what_a_cut_list_hides_is_short_if_its_last_row_is() {
    let of = |last: &str| {
        let all = found(&format!(
            "source blame.txt systemd-analyze\nclock monotonic monotonic\n\
             span unit - - own.service reported=60s\nspan unit - - b.service reported=3s\n\
             span unit - - c.service reported={last}\n"
        ));
        let mut all = all.into_iter();
        let f = all.find(|f| f.names.contains(&"own.service".to_owned()));
        ms(f.unwrap().expected)
    };
    assert_eq!(of("900ms"), 54_000);
    assert_eq!(of("2s"), 45_000);
}

#[test]
fn android_tells_between_which_events_it_takes_long() {
    let all = found(
        "source log kernel-log\nclock realtime wall
        say 1s 6 boot_progress_start: 9000
        say 2s 6 boot_progress_preload_start: 10000
        say 3s 6 boot_progress_pms_start( 900): 11000
        say 40s 6 boot_progress_pms_ready: 48000
        say 41s 6 boot_progress_enable_screen: [49000]
        say 42s 6 boot_progress_other: soon",
    );
    let all: Vec<_> = all.iter().filter(|f| f.id == "android-progress").collect();
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(
        all[0].title,
        "Android takes 37.000 s from `pms_start` to `pms_ready`"
    );
    assert!(all[0].why.contains("PackageManager"), "{}", all[0].why);
    assert_eq!(ms(all[0].expected), 16_650);
}

#[test]
fn a_stage_of_firmware_that_no_work_explains_is_a_wait() {
    let of = |end: &str| {
        let text = format!(
            "source list.txt cbmem\nclock counter counter\nmark 0s power-on firmware\n\
             mark 1s before~memory firmware\n\
             span stage 1s {end} before~memory~->~after~memory\nmark 100s jump -"
        );
        let all = found(&text);
        let mut all = all.into_iter().filter(|f| f.title.contains("after memory"));
        let (low, high) = all.next().map(|f| (f.expected, f.saving.unwrap())).unwrap();
        (ms(low), ms(high.0), ms(high.1))
    };
    assert_eq!(of("6s"), (3_000, 500, 5_000));
    // 60 % of the first 10 s, and 90 % of the 40 s beyond.
    assert_eq!(of("51s"), (42_000, 17_000, 50_000));
}

#[test]
fn a_kernel_before_an_initrd_of_systemd_unpacks_the_initramfs() {
    let text = |initrd: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            {initrd}
            mark 13s userspace-start userspace
            mark 19s startup-finished -"
        )
    };
    let all = found(&text("mark 8s initrd-start initrd"));
    let kernel = all.iter().find(|f| f.names[0] == "kernel").unwrap();
    assert!(
        kernel.why.contains("unpacks the initramfs"),
        "{}",
        kernel.why
    );
    // 45 % of the first 3 s, and 80 % of the 5 s beyond.
    assert_eq!(ms(kernel.expected), 5_350);
    let all = found(&text(""));
    let kernel = all.iter().find(|f| f.names[0] == "kernel").unwrap();
    assert!(
        !kernel.why.contains("unpacks the initramfs"),
        "{}",
        kernel.why
    );
    assert_eq!(ms(kernel.expected), 4_500 + 2_400);
}

/// What coreboot reads from flash is one finding; a stage that begins at a row that was left out
/// is told by its end, and what ends there is not.
#[test]
fn firmware_tells_its_stages_and_its_loads_as_one() {
    let text = "source list.txt cbmem
        clock counter counter
        mark 0s power-on firmware
        mark 100ms start~of~bootblock firmware
        span stage 100ms 180ms start~of~bootblock~->~end~of~bootblock
        span stage 180ms 220ms starting~LZMA~decompress~->~finished~LZMA~decompress
        span stage 220ms 520ms finished~LZMA~decompress~->~rows~left~out
        span stage 520ms 545ms rows~left~out~->~finished~loading~ramstage
        span stage 600ms 900ms rows~left~out~->~device~enumeration
        span stage 900ms 940ms device~enable~->~device~initialization
        mark 940ms device~initialization -";
    let all = found(text);
    let titles: Vec<&str> = all.iter().map(|f| f.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "The firmware takes 300.0 ms for what is before `device enumeration`",
            "The firmware takes 80.0 ms for `start of bootblock` to `end of bootblock`",
            "The firmware takes 65.0 ms to load and decompress its stages from flash",
        ]
    );
    assert!(all.iter().all(|f| f.id == "firmware-stages"));
    assert_eq!(all[1].names[2..], ["MMU", "cache", "console"]);
    let (low, high) = all[2].saving.unwrap();
    assert_eq!((ms(low), ms(all[2].expected), ms(high)), (6, 26, 60));
}

/// The run of an option ROM goes as a whole, with what runs it.
#[test]
fn the_run_of_an_option_rom_can_be_left_out() {
    let text = "source list.txt cbmem
        clock counter counter
        mark 0s power-on firmware
        span stage 90ms 100ms Option~ROM~initialization~->~Option~ROM~copy~done
        span stage 100ms 300ms Option~ROM~copy~done~->~Option~ROM~run~done
        mark 400ms device~setup~done -";
    let f = one(text, "firmware-stages");
    let (low, high) = f.saving.unwrap();
    assert_eq!((ms(low), ms(f.expected), ms(high)), (80, 180, 220));
    assert!(f.why.contains("CONFIG_VGA_ROM_RUN"), "{}", f.why);
}

/// A console has systemd's last line, and what the kernel says when it stops.
#[test]
fn a_line_of_the_kernel_behind_the_boot_tells_nothing_of_userspace() {
    let is_told = |last: &str| {
        let all = found(&format!(
            "source time.txt systemd-analyze\nclock printk printk\nmark 0s kernel-clock-start kernel\n\
             mark 5s userspace-start userspace\nmark 92s startup-finished -\n\
             source console.txt kernel-log\nsay 93s 6 {last}"
        ));
        all.iter()
            .any(|f| f.id == "opaque-phase" && f.title == "Userspace takes 87.000 s")
    };
    assert!(is_told("reboot: Power down"));
    assert!(!is_told("login[7]: a user"));
}

/// A list of durations, with the length of the userspace.
fn durations(userspace: &str, units: &[(&str, &str)]) -> String {
    let mut text = format!(
        "source time.txt systemd-analyze
        clock monotonic monotonic
        mark 0s kernel-clock-start kernel
        mark 1s userspace-start userspace
        mark {userspace} startup-finished -
        source blame.txt systemd-analyze"
    );
    for (unit, time) in units {
        text += &format!("\nspan unit - - {unit} reported={time}");
    }
    text
}

#[test]
fn a_unit_that_takes_most_of_the_userspace_was_waited_for() {
    let settle = "systemd-udev-settle.service";
    let text = durations(
        "126s",
        &[(settle, "120s"), ("a.service", "3s"), ("b.service", "0.1s")],
    );
    let f = one(&text, "waiting-unit");
    let (low, high) = f.saving.unwrap();
    assert_eq!(
        (ms(low), ms(f.expected), ms(high)),
        (72_000, 108_000, 120_000)
    );
    // Others could explain the userspace as well.
    let text = durations(
        "126s",
        &[(settle, "70s"), ("a.service", "65s"), ("b.service", "0.1s")],
    );
    assert_eq!(one(&text, "waiting-unit").saving.unwrap().0, Nanos::ZERO);
    // What a timer starts may have run after the boot.
    let text = durations("126s", &[("man-db.service", "120s"), ("a.service", "3s")]);
    assert_eq!(one(&text, "spare-unit").saving.unwrap().0, Nanos::ZERO);
}

#[test]
fn a_unit_is_told_once() {
    let text = durations(
        "12s",
        &[("systemd-udev-trigger.service", "4s"), ("a.service", "3s")],
    );
    let all = found(&text);
    let of = |name: &str| {
        all.iter()
            .filter(|f| f.names.iter().any(|n| n == name))
            .count()
    };
    assert_eq!(of("systemd-udev-trigger.service"), 1, "{all:?}");
}

#[test]
fn what_a_phase_takes_beyond_the_usual_is_a_wait() {
    let text = |kernel: &str, end: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark {kernel} userspace-start userspace
            mark {end} startup-finished -"
        )
    };
    let f = one(&text("4s", "10s"), "opaque-phase");
    assert_eq!((ms(f.expected), ms(f.saving.unwrap().1)), (1_800, 3_920));
    // systemd counts an initramfs without systemd as the kernel's.
    // A serial console may be the cause, too, where nothing says that there is none.
    assert_eq!(f.names, ["kernel", "quiet", "initramfs"]);
    assert!(
        f.why.contains("initramfs that runs without systemd"),
        "{}",
        f.why
    );
    let f = one(&text("210s", "216s"), "opaque-phase");
    assert_eq!(ms(f.saving.unwrap().0), 1_000 + 60_000);
    assert_eq!(
        (ms(f.expected), ms(f.saving.unwrap().1)),
        (164_500, 205_800)
    );
}

#[test]
fn a_counter_that_goes_on_over_a_restart_is_no_length_of_the_firmware() {
    let firmware = |length: &str, end: &str| {
        let text = format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s firmware-start firmware
            mark {length} kernel-clock-start kernel
            mark {end} startup-finished -"
        );
        let all = found(&text).into_iter();
        let mut all = all.filter(|f| f.id == "opaque-phase");
        all.find(|f| f.names[0] == "firmware").unwrap()
    };
    let restarted = firmware("1680s", "1685s");
    assert_eq!(restarted.saving, None);
    assert!(
        restarted.why.contains("before a restart"),
        "{}",
        restarted.why
    );
    assert!(firmware("90s", "95s").saving.is_some());
}

#[test]
fn units_of_a_log_without_order_are_told_by_their_length() {
    let text = "source journal.txt kernel-log
        clock realtime wall
        mark 0s kernel-clock-start kernel
        mark 2s userspace-start userspace
        mark 67s startup-finished -
        span unit 4s 64s Own-thing
        span unit 64s 66s Other-thing";
    let f = one(text, "longest-unit");
    assert_eq!(f.names, ["Own-thing"]);
    assert_eq!((ms(f.saving.unwrap().0), ms(f.expected)), (36_000, 54_000));
}

#[test]
fn a_userspace_of_short_units_that_is_as_long_as_a_timeout_is_told() {
    let text = |unit: &str| {
        format!(
            "source time.txt systemd-analyze
            clock monotonic monotonic
            mark 0s kernel-clock-start kernel
            mark 2s userspace-start userspace
            mark 96s startup-finished -
            span unit - - a.service reported={unit}
            span unit - - b.mount reported=1s"
        )
    };
    let f = one(&text("3s"), "opaque-phase");
    assert_eq!((f.names[0].as_str(), ms(f.expected)), ("userspace", 82_800));
    assert!(f.why.contains("Timed out waiting"), "{}", f.why);
    // A unit that takes long explains it, and so does a log of all of it.
    let is_told = |text: &str| found(text).iter().any(|f| f.names[0] == "userspace");
    assert!(!is_told(&text("40s")));
    let log = format!(
        "{}\nsource log kernel-log\nsay 30s 6 systemd[1]: Started a.",
        text("3s")
    );
    assert!(!is_told(&log));
}
