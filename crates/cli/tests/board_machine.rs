//! A board that is a machine which Firstlight does not start itself: arm64, with U-Boot, a
//! card and Debian's kernel, in an emulator. `./x test board` runs it.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says what it skips"
)]

mod board_bench;
mod common;

use board_bench::{Bench, counted};
use lab::artifacts::{Arch, Cache, cached_kernel};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

const U_BOOT: &str = "/usr/lib/u-boot/qemu_arm64/u-boot.bin";

const MENU: &str = "default linux\nlabel linux\n    kernel /vmlinuz\n    \
    initrd /initrd.cpio\n    append console=ttyAMA0 panic=-1\n";

/// The first program: it waits as long as the command line says, and is done.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
for word in $(/bin/busybox cat /proc/cmdline); do
    case \"$word\" in plant=*) /bin/busybox sleep \"${word#plant=}\" ;; esac
done
printf 'board login: '
while :; do /bin/busybox sleep 1000; done
";

/// A board with a system on its card; `None` with a visible line where something is missing.
fn machine() -> Option<Bench> {
    for (program, package) in [("qemu-system-aarch64", "qemu-system-arm"), ("cpio", "cpio")] {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        if !found.is_ok_and(|out| out.status.success()) {
            println!("skipped: {program} is not there (apt-get install {package})");
            return None;
        }
    }
    if !Path::new(U_BOOT).is_file() {
        println!("skipped: {U_BOOT} is not there (apt-get install u-boot-qemu)");
        return None;
    }
    let Some(kernel) = cached_kernel(Arch::Aarch64) else {
        println!("skipped: Debian's kernel for arm64 is not in the cache yet");
        return None;
    };
    let busybox = match Cache::open().unwrap().busybox("arm64", &mut |_| {}) {
        Ok(busybox) => busybox,
        Err(why) => {
            println!("skipped: {why}");
            return None;
        }
    };
    let bench = Bench::start(&["--machine", "./machine"])?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/board/machine");
    fs::copy(script, bench.path("machine")).unwrap();
    let tree = bench.path("tree");
    for folder in ["bin", "proc", "dev"] {
        fs::create_dir_all(tree.join(folder)).unwrap();
    }
    fs::create_dir_all(bench.path("system/extlinux")).unwrap();
    fs::write(bench.path("system/extlinux/extlinux.conf"), MENU).unwrap();
    fs::copy(kernel.image, bench.path("system/vmlinuz")).unwrap();
    fs::copy(busybox, tree.join("bin/busybox")).unwrap();
    fs::write(tree.join("init"), INIT).unwrap();
    let pack = "chmod 755 tree/init tree/bin/busybox && cd tree && find . | \
        cpio -o -H newc --quiet > ../system/initrd.cpio";
    let packed = Command::new("sh")
        .args(["-c", pack])
        .current_dir(bench.path(""))
        .status();
    assert!(packed.unwrap().success());
    let board = "firstlight_board = 1\nname = \"machine\"\nlock = \"bench.lock\"\n\
        [power]\non = \"./tell on\"\noff = \"./tell off\"\noff_s = 0.1\nlimit_s = 60\ntries = 1\n\
        [console]\nport = \"unix:console\"\n\
        [boot]\nloader = \"^U-Boot 20\"\nfirst_light = \"console:login: $\"\nlimit_s = 90\n\
        silence_s = 40\n\
        [proof]\nby = \"nonce\"\n[deploy]\nfiles = \"system\"\n";
    fs::write(bench.path("bench.toml"), board).unwrap();
    Some(bench)
}

#[test]
#[ignore = "a board test of minutes; `./x test board` runs it"]
fn a_machine_with_u_boot_is_measured_and_left_as_it_was() {
    let Some(bench) = machine() else {
        return;
    };
    // An emulator's seconds are those of a host that has other work: the effect is large.
    let base = "warm_up = 1\nscatter_rounds = 0\nensemble = 6\nseed = 5\nminimum_effect = 0.05\n";
    let variants = "[[variant]]\nname = \"later\"\ntreatments = [\"cmdline+=plant=20\"]\n\
        [[variant]]\nname = \"same\"\ntreatments = [\"cmdline+=plant=0\"]\n";
    let experiment = bench.write_experiment(base, variants);
    bench.tell("fault hang 1");
    let (out, run, said) = bench.run(&experiment, &[]);
    assert!(out.status.success(), "{said}");
    assert_eq!(run["left"], "baseline_proven", "{said}");
    let (good, void) = counted(&run);
    assert_eq!(void.len(), 1, "one boot hung: {void:?}");
    for trial in &good {
        assert_eq!(trial["proof"]["seen"], true, "{trial}");
        assert_eq!(trial["resets"], 0, "{trial}");
        // Of the two, only the loader's first byte is of the machine itself.
        let light = &trial["first_light_ns"];
        assert!(
            light["power_on"].as_i64() > light["loader"].as_i64(),
            "{trial}"
        );
    }
    let compared = |name: &str| -> &Value {
        let all = run["comparison"].as_array().unwrap();
        all.iter().find(|c| c["variant"] == name).unwrap()
    };
    println!("{:#}\n{:#}", compared("later"), compared("same"));
    assert_eq!(compared("later")["verdict"], "slower");
    assert!(
        ["no_difference", "undecided"].contains(&compared("same")["verdict"].as_str().unwrap())
    );
    assert_eq!(
        fs::read_to_string(bench.path("system/extlinux/extlinux.conf")).unwrap(),
        MENU
    );

    // The capture of a trial says where the time went: loader, kernel, userspace.
    let capture = good.last().unwrap()["capture"].as_str().unwrap();
    let show = common::json(&["show", "--json", capture]);
    let phases: Vec<&str> = show["phases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert!(
        phases.contains(&"loader") && phases.contains(&"kernel"),
        "{phases:?}"
    );
    println!("{} boots, {phases:?}", bench.boots().len());
}
