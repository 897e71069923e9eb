//! The exact lab on ARM, for real: Debian's kernels and U-Boot in QEMU.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{firstlight, json};
use serde_json::Value;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Whether a boot on this machine can be tried; says what is missing.
fn possible(qemu: &str, u_boot: bool) -> bool {
    for tool in [qemu, "apt-get", "dpkg-deb"] {
        let found = std::env::var_os("PATH")
            .is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(tool).is_file()));
        if !found {
            eprintln!("skipped: the exact lab on ARM, because there is no {tool}");
            return false;
        }
    }
    let file = "/usr/lib/u-boot/qemu_arm/u-boot.bin";
    if u_boot && !Path::new(file).is_file() {
        eprintln!("skipped: the exact lab with U-Boot, because there is no {file} (u-boot-qemu)");
        return false;
    }
    true
}

/// One machine at a time: each takes a whole processor.
static TURN: Mutex<()> = Mutex::new(());

/// Boots a small experiment twice; gives what is shown of its baseline.
fn boots(machine: &str, variant: &str) -> Value {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("smoke.toml");
    let text = format!(
        "firstlight_experiment = 1\n[base]\nmachine = \"arm-virt\"\n{machine}\nmemory_mb = 512\n\
         storage = \"none\"\nkernel = \"debian\"\nroot = \"none\"\nfirst_light = \"init\"\n\
         cmdline = [\"console=ttyAMA0\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"]\n\
         limit_wall_s = 120\nensemble = 1\n{variant}"
    );
    std::fs::write(&file, text).unwrap();
    let out = scratch.path().join("out");
    let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
    let run = ["lab", "run", file, "--check-exact", "--out", dir, "--json"];
    let lab = json(&run);
    for pair in lab["exact"].as_array().unwrap() {
        assert_eq!(pair["same"], true, "{pair}");
    }
    let last = lab["trials"].as_array().unwrap().last().unwrap();
    assert!(!last["first_light_ns"].is_null(), "{last}");
    json(&["show", "--json", last["capture"].as_str().unwrap()])
}

#[test]
fn boots_in_real_time_are_samples() {
    if !possible("qemu-system-arm", true) {
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("real.toml");
    let text = "firstlight_experiment = 1\n[base]\nmachine = \"arm-virt\"\narch = \"armhf\"\n\
                loader = \"u-boot\"\nmode = \"statistical\"\nwarm_up = 0\nensemble = 2\n\
                memory_mb = 512\nstorage = \"none\"\nkernel = \"debian\"\nroot = \"none\"\n\
                first_light = \"init\"\nlimit_wall_s = 120\n\
                cmdline = [\"console=ttyAMA0\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"]\n\
                [[variant]]\nname = \"waits\"\ntreatments = [\"env=bootcmd=sleep 8; bootm \
                ${kernel_addr} ${ramdisk_addr} ${fdt_addr}\"]\n";
    std::fs::write(&file, text).unwrap();
    let out = scratch.path().join("out");
    let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
    let lab = json(&["lab", "run", file, "--out", dir, "--json"]);
    assert_eq!(lab["clock"], "wall");
    let waits = &lab["comparison"][0];
    assert!(waits["interval_ns"].is_array(), "{waits}");
    // Four boots can be dealt in six ways: no deal is rarer than itself and its
    // mirror image, so nothing is proven.
    assert!(waits["p_value"].as_f64().unwrap() >= 2.0 / 6.0, "{waits}");
    assert_eq!(waits["verdict"], "no_difference");
    // The board's own timer waits, so no host is too fast for it.
    for trial in lab["trials"].as_array().unwrap() {
        let waited = trial["variant"] == "waits";
        let at = trial["first_light_ns"].as_i64().unwrap();
        assert!(!waited || at > 7_900_000_000, "{trial}");
    }
    let capture = lab["trials"][0]["capture"].as_str().unwrap();
    let show = json(&["show", "--json", capture]);
    assert_eq!(show["zero"], "power-on", "{show}");
    let refused = firstlight(&["lab", "run", file, "--out", dir, "--check-exact"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("never the same twice"));
}

fn phases(show: &Value) -> Vec<&str> {
    let phases = show["phases"].as_array().unwrap();
    phases.iter().map(|p| p["name"].as_str().unwrap()).collect()
}

#[test]
fn a_32_bit_board_boots_exactly() {
    if possible("qemu-system-arm", false) {
        let show = boots("arch = \"armhf\"", "");
        assert_eq!(show["zero"], "power-on");
        let expected = ["firmware", "decompression", "kernel", "initrd"];
        assert_eq!(phases(&show), expected);
    }
}

#[test]
fn a_64_bit_board_boots_exactly() {
    if possible("qemu-system-aarch64", false) {
        let show = boots("arch = \"arm64\"", "");
        assert_eq!(phases(&show), ["firmware", "kernel", "initrd"]);
    }
}

#[test]
fn u_boot_is_a_phase_from_power_on() {
    if possible("qemu-system-arm", true) {
        // Unpacked beforehand, so that it is a short boot.
        let variant = "[[variant]]\nname = \"fast\"\n\
                       treatments = [\"kernel=uncompressed\", \"env=verify=no\"]\n";
        let show = boots("arch = \"armhf\"\nloader = \"u-boot\"", variant);
        assert_eq!(phases(&show), ["loader", "kernel", "initrd"]);
        let loader = &show["phases"][0];
        assert_eq!(loader["start_ns"], 0);
        let stages = loader["stages"].as_array().unwrap();
        let names: Vec<&str> = stages.iter().map(|s| s["name"].as_str().unwrap()).collect();
        for name in [
            "power-on",
            "U-Boot",
            "environment",
            "kernel copy",
            "handover",
        ] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        // `verify=no` was obeyed: the environment is the lab's.
        assert!(!names.contains(&"checksum"), "{names:?}");
    }
}
