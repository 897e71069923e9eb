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
    assert!(String::from_utf8_lossy(&refused.stderr).contains("boots in real time never repeat"));
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

/// A file that begins as an ELF file of the type `kind` does; no two pages of it are alike.
fn elf(kind: u8, length: usize) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
    bytes[..4].copy_from_slice(b"\x7fELF");
    bytes[16..18].copy_from_slice(&[kind, 0]);
    bytes
}

#[test]
fn a_cramfs_in_flash_is_read_back_and_executed_in_place() {
    /// Where the flash of the board versatilepb begins.
    const FLASH: std::ops::Range<u64> = 0x3400_0000..0x3800_0000;
    const INIT: &str = "#!/bin/busybox sh\n\
        b=/bin/busybox\n\
        $b mount -t proc proc /proc 2>/dev/null\n\
        { cd /; $b sha256sum -c /sums; $b cat /proc/self/maps; } >/dev/console 2>&1\n\
        $b mkdir -p /run/app\n\
        echo ready >/run/app/ready\n\
        exec $b sleep 1000\n";
    if !possible("qemu-system-arm", false) {
        return;
    }
    let built = lab::artifacts::Cache::open().unwrap().built_for_arm9();
    if !built || !lab::artifacts::linux_missing().is_empty() {
        eprintln!(
            "skipped: arm9, because no kernel of it was built here; `firstlight lab classics lpj` \
             does so"
        );
        return;
    }
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("root");
    for folder in ["bin", "dev", "lib", "proc", "run", "sbin", "sys"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    let init = root.join("sbin/init");
    std::fs::write(&init, INIT).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&init, mode).unwrap();
    let mut sums = String::new();
    let contents = [
        ("bin/two-pages", elf(2, 8192)),
        ("lib/a-page", elf(3, 4096)),
        ("lib/library", elf(3, 12_293)),
        ("lib/module", elf(1, 5000)),
        ("text", b"text\n".repeat(5000)),
        ("empty", Vec::new()),
    ];
    for (name, content) in &contents {
        std::fs::write(root.join(name), content).unwrap();
        let hash = lab::artifacts::hash_bytes(content);
        sums.push_str(&format!("{hash}  {name}\n"));
    }
    std::fs::write(root.join("sums"), sums).unwrap();
    for (form, in_place) in [("cramfs", false), ("cramfs:xip", true)] {
        let file = scratch.path().join("flash.toml");
        let text = format!(
            "firstlight_experiment = 1\n[base]\nmachine = \"arm9\"\nmemory_mb = 64\n\
             storage = \"none\"\nkernel = \"built\"\nfirst_light = \"file:/run/app/ready\"\n\
             root = {{ tree = \"root\", filesystem = \"{form}\", busybox = true }}\nrecord = []\n\
             cmdline = [\"console=ttyAMA0\", \"panic=-1\", \"quiet\"]\nlimit_wall_s = 300\n\
             ensemble = 1\n"
        );
        std::fs::write(&file, text).unwrap();
        let out = scratch.path().join(form);
        let (file, dir) = (file.to_str().unwrap(), out.to_str().unwrap());
        let lab = json(&["lab", "run", file, "--out", dir, "--json"]);
        let capture = lab["trials"][0]["capture"].as_str().unwrap();
        let console = std::fs::read(Path::new(capture).join("console.log")).unwrap();
        let console = String::from_utf8_lossy(&console);
        for (name, _) in &contents {
            assert!(
                console.contains(&format!("{name}: OK")),
                "{form}: {console}"
            );
        }
        // The agent ended it, though the kernel's own restart waits for the flash.
        assert!(!console.contains("Kernel panic"), "{form}: {console}");
        // The address in the flash takes the place of the offset in the file.
        let text = console.lines().find(|l| l.contains(" r-xp "));
        let text = text.filter(|l| l.trim_end().ends_with("/bin/busybox"));
        let offset = text.and_then(|l| l.split_whitespace().nth(2));
        let offset = u64::from_str_radix(offset.unwrap(), 16).unwrap();
        assert_eq!(FLASH.contains(&offset), in_place, "{form}: {console}");
    }
}
