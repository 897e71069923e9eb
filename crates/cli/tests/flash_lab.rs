//! What the real consumers say of images that were treated: Linux's JFFS2, UBI
//! and UBIFS, and U-Boot, in QEMU. This program looks at the same chips from
//! inside the guest.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    clippy::panic,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::{Scratch, firstlight, valid};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether all of these are there; says which is not, and its package.
fn there(tools: &[(&str, &str)]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    for (tool, package) in tools {
        let found = std::env::split_paths(&path).any(|d| d.join(tool).is_file());
        if !found {
            eprintln!("skipped: there is no {tool} (Debian package {package})");
            return false;
        }
    }
    true
}

/// Runs a tool that is there.
fn tool(name: &str, args: &[&str]) {
    assert!(common::tool(name, args), "{name} went away");
}

/// Done by the command, as a user does it.
fn done(args: &[&str]) {
    let out = firstlight(args);
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{args:?}: {said}");
}

/// A tree with some hundred small files that pack by half.
fn tree(root: &str) {
    let mut state = 1_u64;
    for i in 0..150 {
        let folder = format!("{root}/d{}", i % 7);
        fs::create_dir_all(&folder).unwrap();
        let mut text = String::new();
        while text.len() < 20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            text.push_str(&format!("{:x}\n", state >> 16));
        }
        fs::write(format!("{folder}/f{i}"), text).unwrap();
    }
}

/// This program and the libraries that it is linked with, as files of an image
/// list, so that it runs in a guest with another C library or none.
fn program() -> Vec<(String, String)> {
    let exe = env!("CARGO_BIN_EXE_firstlight");
    let mut files = vec![("firstlight".to_owned(), exe.to_owned())];
    let out = Command::new("ldd").arg(exe).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    for word in text.split_whitespace().filter(|w| w.starts_with('/')) {
        let name = Path::new(word).file_name().unwrap().to_str().unwrap();
        let name = if name.starts_with("ld-") {
            "ld.so"
        } else {
            name
        };
        files.push((name.to_owned(), word.to_owned()));
    }
    files
}

const SCRIPT: &str = r#"
fl() { /img/ld.so --library-path /img /img/firstlight flash "$@"; }
see() { name=$1; shift; echo; echo "see $name"; fl "$@" --json 2>/dev/null; echo "seen $name $?"; }
for n in 0 1 2 3; do dd if=/img/chip$n of=/dev/mtd$n bs=131072 2>/dev/null || fail write $n; done
# What the chip is, before anything is mounted.
see plain check /dev/mtd0
see summed check /dev/mtd1
see ubi ubi /dev/mtd2
mark plain-begin
mount -t jffs2 -o ro mtd0 /mnt || fail mount plain
mark plain-done
mark plain-$(cat $(find /mnt -type f | sort) | md5sum | cut -c 1-32)
umount /mnt
mark summed-begin
mount -t jffs2 -o ro mtd1 /mnt || fail mount summed
mark summed-done
mark summed-$(cat $(find /mnt -type f | sort) | md5sum | cut -c 1-32)
umount /mnt
dmesg | grep -i jffs2 | grep -v 'version 2.2\|complete building xattr' && fail JFFS2 warned
# Once for writing, so that the kernel puts its clean markers into spare bytes.
mount -t jffs2 mtd1 /mnt || fail mount for writing
dd if=/img/firstlight of=/mnt/new bs=65536 count=16 2>/dev/null; sync; sleep 10; umount /mnt
see written check /dev/mtd1
# A static volume without its check, and UBIFS that loses power.
insmod /modules/ubi.ko mtd=2 mtd=3 block=0,0 || fail attach
insmod /modules/ubifs.ko || fail ubifs
mount -t squashfs -o ro /dev/ubiblock0_0 /mnt || fail mount the static volume
mark static-$(cat $(find /mnt -type f | sort) | md5sum | cut -c 1-32)
umount /mnt
mount -t ubifs ubi1:rootfs /mnt || fail mount ubifs
mark ubifs-$(cat $(find /mnt -type f | sort) | md5sum | cut -c 1-32)
umount /mnt
see clean ubi /dev/mtd3
mount -t ubifs ubi1:rootfs /mnt || fail mount ubifs again
dmesg | grep 'UBIFS.*recovery' && fail UBIFS recovered what was clean
i=0; while [ $i -lt 20 ]; do dd if=/img/firstlight of=/mnt/new$i bs=4096 count=4 conv=fsync 2>/dev/null; i=$((i+1)); done
# The power goes: what is on the chip now is all there is.
dd if=/dev/mtd3 of=/dev/mtd4 bs=131072 2>/dev/null || fail copy
umount /mnt
see dirty ubi /dev/mtd4
dmesg | grep -i 'ubi.*error' && fail UBI complained
rmmod ubifs; rmmod ubi || fail rmmod
insmod /modules/ubi.ko mtd=4 || fail attach the copy
insmod /modules/ubifs.ko
mount -t ubifs ubi0:rootfs /mnt || fail mount the copy
dmesg | grep -q 'UBIFS.*recovery completed' || fail UBIFS recovered nothing
mark new-$(cat /mnt/new* | md5sum | cut -c 1-32)
umount /mnt
# Of a device without rights: one sentence.
chmod 600 /dev/mtd0
mkdir -p /etc; echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd; echo 'user:x:1000:' >/etc/group
echo; echo see denied
start-stop-daemon -S -c user -x /img/ld.so -- --library-path /img /img/firstlight flash check /dev/mtd0 2>&1
echo "seen denied $?"
"#;

/// What a guest printed between `see NAME` and `seen NAME`.
fn seen<'c>(console: &'c str, name: &str) -> (&'c str, i32) {
    let start = console.find(&format!("see {name}\n"));
    let start = start.unwrap_or_else(|| panic!("no `see {name}` in {console}"));
    let rest = console[start..].split_once('\n').unwrap().1;
    let (text, code) = rest.split_once(&format!("seen {name} ")).unwrap();
    let code = code.split('\n').next().unwrap();
    (text, code.trim().parse().unwrap())
}

#[test]
fn linux_takes_what_was_treated_and_agrees_with_what_was_seen() {
    let needed = [
        ("qemu-system-x86_64", "qemu-system-x86"),
        ("apt-get", "apt"),
        ("dpkg-deb", "dpkg"),
        ("mkfs.jffs2", "mtd-utils"),
        ("mkfs.ubifs", "mtd-utils"),
        ("ubinize", "mtd-utils"),
        ("mksquashfs", "squashfs-tools"),
        ("ldd", "libc-bin"),
    ];
    if !there(&needed) {
        return;
    }
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path(name);
    let root = at("root");
    tree(&root);

    // JFFS2 as it comes, and with summaries.
    let [plain, summed] = [at("chip0"), at("chip1")];
    tool(
        "mkfs.jffs2",
        &[
            "-n", "-l", "-p", "-s", "2048", "-e", "128KiB", "-r", &root, "-o", &plain,
        ],
    );
    done(&["flash", "summarize", &plain, "-o", &summed, "-n", "--pad"]);
    // A static volume, treated; and UBIFS.
    let ubinize = |volume: &str, kind: &str, to: &str| {
        let plan = scratch.file(
            "plan",
            format!("[rootfs]\nmode=ubi\nimage={volume}\nvol_id=0\nvol_name=rootfs\n{kind}\n")
                .as_bytes(),
        );
        let args = [
            "-Q", "1", "-m", "2048", "-s", "512", "-p", "128KiB", "-o", to, &plan,
        ];
        tool("ubinize", &args);
    };
    let squashed = at("squashed");
    tool("mksquashfs", &[&root, &squashed, "-all-root", "-noappend"]);
    let skipped = at("chip2");
    ubinize(&squashed, "vol_type=static", &skipped);
    done(&["treat", "apply", "ubi-skip-check=rootfs", &skipped]);
    let volume = at("volume");
    tool(
        "mkfs.ubifs",
        &[
            "-m", "2048", "-e", "129024", "-c", "200", "-r", &root, "-o", &volume,
        ],
    );
    ubinize(&volume, "vol_type=dynamic\nvol_size=8MiB", &at("chip3"));

    let mut images = String::new();
    let mut files = program();
    files.extend((0..4).map(|n| (format!("chip{n}"), at(&format!("chip{n}")))));
    for (name, file) in files {
        images.push_str(&format!("{{ name = {name:?}, file = {file:?} }},\n"));
    }
    // Partitions of 6 and 12 MiB, with two bad blocks.
    let text = format!(
        "firstlight_classic = 1\ntitle = \"t\"\nsource = \"s\"\nhere = \"h\"\nwhy = \"w\"\n\
         [workload]\nboard = \"pc\"\nmemory_mb = 1024\ncpu_shift = 2\ncmdline = [\"quiet\"]\n\
         modules = [\"nandsim id_bytes=0x20,0xa1,0x00,0x15 do_delays=0 parts=48,48,48,100,100 \
         badblocks=30,300\", \"jffs2\", \"squashfs\", \"lzo\", \"deflate\", \"zstd\"]\n\
         carried = [\"ubi\", \"ubifs\"]\ninitramfs = [\"initramfs=gzip\"]\nlimit_wall_s = 900\n\
         image = [\n{images}]\nscript = '''{SCRIPT}'''\n\
         [[case]]\nname = \"all\"\n\
         [[value]]\nname = \"plain\"\ncase = \"all\"\nfrom = \"plain-begin\"\nto = \"plain-done\"\n\
         [[value]]\nname = \"summed\"\ncase = \"all\"\nfrom = \"summed-begin\"\nto = \"summed-done\"\n"
    );
    let file = scratch.file("chips.toml", text.as_bytes());
    let out = at("out");
    let run = firstlight(&["lab", "classics", &file, "--out", &out, "--json"]);
    let console = fs::read(format!("{out}/cases/all/console.log")).unwrap_or_default();
    let console = String::from_utf8_lossy(&console).replace('\r', "");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}\n{console}");

    // Every way to the files gives the same bytes.
    let marks: Vec<&str> = console
        .lines()
        .filter_map(|l| l.split_once("firstlight-mark ")?.1.split(' ').next())
        .collect();
    let sum = |of: &str| {
        let mut sums = marks
            .iter()
            .filter_map(|m| m.strip_prefix(of)?.strip_prefix('-'));
        let sum = sums.find(|s| s.len() == 32);
        sum.unwrap_or_else(|| panic!("no mark {of}: {marks:?}"))
    };
    for way in ["summed", "static", "ubifs"] {
        assert_eq!(sum(way), sum("plain"), "{way}");
    }
    // The mount is quicker with summaries.
    let result: Value = serde_json::from_slice(&run.stdout).unwrap();
    let ns = |i: usize| result["values"][i]["measured_ns"].as_i64().unwrap();
    assert!(ns(1) < ns(0), "{} and {}", ns(0), ns(1));

    let look = |name: &str, schema: &str| -> Value {
        let (text, code) = seen(&console, name);
        assert_eq!(code, 0, "{name}: {text}");
        let start = text.find('{').unwrap_or_else(|| panic!("{name}: {text}"));
        // A line of the kernel may stand on the console, between those of ours.
        let lines = text[start..].lines().filter(|l| !l.starts_with("[ "));
        let text = lines.collect::<Vec<_>>().join("\n");
        let value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}: {text}"));
        valid(&value, schema);
        value
    };
    let plain = look("plain", "flash.check");
    assert_eq!(
        (&plain["erase_size"], &plain["blocks"]),
        (&131_072.into(), &48.into())
    );
    assert_eq!(plain["classes"]["bad"], 1, "{plain}");
    assert_eq!(plain["map"].as_str().unwrap().find('B'), Some(30));
    assert!(plain["classes"]["full"].as_u64() > Some(10), "{plain}");
    let summed = look("summed", "flash.check");
    assert_eq!(summed["classes"]["bad"], 0);
    assert!(
        summed["classes"]["full_summary"].as_u64() > Some(10),
        "{summed}"
    );
    assert_eq!(summed["classes"]["broken_summary"], 0);
    assert_eq!(summed["classes"]["erased_cleanmarker"], 0);
    // The kernel wrote its markers into the spare bytes, and they are seen there.
    let written = look("written", "flash.check");
    assert!(
        written["classes"]["erased_cleanmarker"].as_u64() > Some(10),
        "{written}"
    );
    let ubi = look("ubi", "flash.ubi");
    assert_eq!(ubi["attaches"], true);
    assert_eq!(ubi["volumes"][0]["skip_check"], true);
    let state = |name: &str| look(name, "flash.ubi")["volumes"][0]["ubifs"].clone();
    assert_eq!(state("clean")["needs_replay"], false, "{}", state("clean"));
    assert_eq!(state("dirty")["needs_replay"], true, "{}", state("dirty"));

    let (text, code) = seen(&console, "denied");
    assert_eq!(code, 2, "{text}");
    let lines: Vec<&str> = text.lines().filter(|l| !l.is_empty()).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(
        lines[0].contains("/dev/mtd0: cannot be opened: Permission denied"),
        "{text}"
    );
}

/// A program for 32-bit ARM that says on the console what the counter of QEMU's
/// board reads (62.5 MHz), and switches the board off. It runs anywhere.
const PAYLOAD: [u32; 17] = [
    0xe3a0_0409, // mov r0, #0x09000000, the console
    0xec53_2f1e, // mrrc p15, 1, r2, r3, c14, the counter
    0xe3a0_4008, // mov r4, #8
    0xe1a0_1e22, // next: lsr r1, r2, #28
    0xe351_000a, // cmp r1, #10
    0xb281_1030, // addlt r1, r1, #'0'
    0xa281_1057, // addge r1, r1, #'a' - 10
    0xe580_1000, // str r1, [r0]
    0xe1a0_2202, // lsl r2, r2, #4
    0xe254_4001, // subs r4, r4, #1
    0x1aff_fff7, // bne next
    0xe3a0_100a, // mov r1, #10
    0xe580_1000, // str r1, [r0]
    0xe3a0_0484, // mov r0, #0x84000000
    0xe380_0008, // orr r0, r0, #8, SYSTEM_OFF of PSCI
    0xe140_0070, // hvc #0
    0xeaff_fffe, // b .
];

const U_BOOT: &str = "/usr/lib/u-boot/qemu_arm/u-boot.bin";
const BOARD: &str = "virt,dtb-randomness=off,highmem=off";

/// What the board says that boots from a flash with this environment and this
/// kernel, and when the kernel began, in ticks of its counter.
fn boot(scratch: &Scratch, environment: &str, kernel: &str, dtb: &str) -> (String, u64) {
    let mut flash = vec![0xff; 64 << 20];
    for (at, file) in [(0, environment), (0x8_0000, kernel)] {
        let bytes = fs::read(file).unwrap();
        flash[at..at + bytes.len()].copy_from_slice(&bytes);
    }
    let flash = scratch.file("flash", &flash);
    let drive = format!("if=pflash,unit=1,format=raw,file={flash},readonly=on");
    let fixed = "-accel tcg -cpu cortex-a15 -smp 1 -m 512 -nodefaults -nographic -no-reboot \
                 -net none -serial stdio -monitor none -icount shift=1,sleep=off \
                 -rtc clock=vm,base=2026-01-01";
    let out = Command::new("qemu-system-arm")
        .args(["-M", BOARD, "-bios", U_BOOT, "-drive", &drive, "-dtb", dtb])
        .args(fixed.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stdout).replace('\r', "");
    let ticks = said.split("Starting kernel ...").nth(1);
    let ticks = ticks.and_then(|t| u64::from_str_radix(t.trim().lines().next()?, 16).ok());
    let ticks = ticks.unwrap_or_else(|| panic!("no kernel was started: {said}"));
    (said, ticks)
}

#[test]
fn u_boot_obeys_what_was_patched_and_moves_nothing() {
    let needed = [
        ("qemu-system-arm", "qemu-system-arm"),
        ("mkimage", "u-boot-tools"),
        ("mkenvimage", "u-boot-tools"),
        ("fdtput", "device-tree-compiler"),
    ];
    if !there(&needed) {
        return;
    }
    if !Path::new(U_BOOT).is_file() {
        eprintln!("skipped: there is no {U_BOOT} (Debian package u-boot-qemu)");
        return;
    }
    let scratch = Scratch::new();
    let at = |name: &str| scratch.path(name);
    let mut payload: Vec<u8> = PAYLOAD.iter().flat_map(|w| w.to_le_bytes()).collect();
    payload.resize(1 << 20, 0);
    let payload = scratch.file("payload", &payload);
    let [kernel, in_place] = [at("kernel"), at("in-place")];
    let place = [
        "-a",
        "0x40208000",
        "-e",
        "0x40208000",
        "-d",
        &payload,
        &kernel,
    ];
    tool(
        "mkimage",
        &[
            &["-A", "arm", "-O", "linux", "-T", "kernel", "-C", "none"],
            &place[..],
        ]
        .concat(),
    );
    // Four times as much is copied as the kernel is long, and U-Boot waits a second.
    let text = "bootdelay=1\nbootcmd=cp.b 0x04080000 0x48000000 0x400000; \
                bootm 0x48000000 - 0x40000000\n";
    let environment = at("environment");
    let text = scratch.file("text", text.as_bytes());
    tool("mkenvimage", &["-s", "0x40000", "-o", &environment, &text]);
    let dtb = at("board.dtb");
    let dump = format!("{BOARD},dumpdtb={dtb}");
    let machine = [
        "-cpu",
        "cortex-a15",
        "-m",
        "512",
        "-net",
        "none",
        "-nographic",
        "-bios",
    ];
    tool(
        "qemu-system-arm",
        &[&["-M", &dump], &machine[..], &[U_BOOT]].concat(),
    );

    let (said, old) = boot(&scratch, &environment, &kernel, &dtb);
    assert!(said.contains("Hit any key to stop autoboot:  1"), "{said}");
    assert!(said.contains("Loading Kernel Image"), "{said}");
    assert_eq!(
        boot(&scratch, &environment, &kernel, &dtb).1,
        old,
        "not exact"
    );

    // No delay: to the tick what was waited is spared, and the look for a key.
    let quick = at("quick");
    done(&[
        "flash",
        "env",
        &environment,
        "--set",
        "bootdelay=-2",
        "-o",
        &quick,
    ]);
    let (said, undelayed) = boot(&scratch, &quick, &kernel, &dtb);
    assert!(!said.contains("Hit any key"), "{said}");
    assert!(old - undelayed > 62_500_000, "{old} and {undelayed}");

    // Made for where it lies, nothing is moved.
    fs::copy(&kernel, &in_place).unwrap();
    done(&["treat", "apply", "uimage-load=0x48000000", &in_place]);
    let (said, unmoved) = boot(&scratch, &quick, &in_place, &dtb);
    assert!(said.contains("XIP Kernel Image"), "{said}");
    assert!(!said.contains("Loading Kernel Image"), "{said}");
    // A word of the kernel takes U-Boot at least an instruction to move, of which
    // a tick is eight.
    assert!(
        undelayed - unmoved > (1 << 18) / 16,
        "{undelayed} and {unmoved}"
    );

    // The exact size of the kernel is copied, by the treatment this time.
    let size = fs::metadata(&kernel).unwrap().len();
    let bootcmd =
        format!("env=bootcmd=cp.b 0x04080000 0x48000000 {size:#x}; bootm 0x48000000 - 0x40000000");
    done(&["treat", "apply", &bootcmd, &quick]);
    let (_, exact) = boot(&scratch, &quick, &in_place, &dtb);
    assert!(exact < unmoved, "{unmoved} and {exact}");
    eprintln!(
        "instructions to the kernel: {} as it was, {} without delay, {} not moved, {} with the \
         exact size",
        old * 8,
        undelayed * 8,
        unmoved * 8,
        exact * 8
    );
    // Taken back, it is as it was.
    done(&["treat", "undo", "--all", &quick]);
    done(&["treat", "undo", "--all", &in_place]);
    assert_eq!(fs::read(&in_place).unwrap(), fs::read(&kernel).unwrap());
    assert_eq!(boot(&scratch, &quick, &kernel, &dtb).1, undelayed);

    // U-Boot's own device tree comes before the environment.
    tool("fdtput", &["-c", &dtb, "/config"]);
    tool("fdtput", &["-t", "i", &dtb, "/config", "bootdelay", "2"]);
    let (said, _) = boot(&scratch, &quick, &kernel, &dtb);
    assert!(said.contains("Hit any key to stop autoboot:  2"), "{said}");
    done(&["treat", "apply", "dtb-bootdelay=-2", &dtb]);
    let (said, _) = boot(&scratch, &environment, &kernel, &dtb);
    assert!(!said.contains("Hit any key"), "{said}");
}
