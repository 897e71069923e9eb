//! The loader: what it does by its variables, and that it is what its source says.

use super::super::board;
use super::program::{PROGRAM, crc_table};
use super::{AT, Loading, Step};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

fn variables(all: &[(&str, &str)]) -> BTreeMap<String, Option<String>> {
    let own = |(n, v): &(&str, &str)| ((*n).to_owned(), Some((*v).to_owned()));
    all.iter().map(own).collect()
}

fn loading(variables: &BTreeMap<String, Option<String>>) -> Loading<'_> {
    Loading {
        variables,
        kernel: (&[1; 5_000], 0x1_0000),
        initramfs: (&[2; 3_001], 80 << 20),
        memory_mb: 128,
        instruction_ns: 8,
    }
}

fn steps(all: &[(&str, &str)]) -> Vec<Step> {
    let variables = variables(all);
    let loading = loading(&variables);
    loading.steps(&loading.environment()).unwrap()
}

fn waits(steps: &[Step]) -> usize {
    steps.iter().filter(|s| matches!(s, Step::Wait(_))).count()
}

fn pages(steps: &[Step]) -> Vec<u32> {
    let read = |s: &Step| match s {
        Step::Read { pages, .. } => Some(*pages),
        _ => None,
    };
    steps.iter().filter_map(read).collect()
}

#[test]
fn it_waits_reads_whole_partitions_and_sums_up() {
    let plain = steps(&[]);
    assert_eq!(waits(&plain), 3);
    assert_eq!(pages(&plain), [3072, 4096]);
    let sums = |steps: &[Step]| {
        let sum = |s: &&Step| matches!(s, Step::Sum { .. });
        steps.iter().filter(sum).count()
    };
    assert_eq!(sums(&plain), 2);
    assert_eq!(sums(&steps(&[("verify", "no")])), 0);
    assert_eq!(waits(&steps(&[("bootdelay", "0")])), 0);
    let all = board::sized(None).unwrap();
    assert_eq!(pages(&steps(&[("bootcmd", &all)])), [3, 2]);
    assert_eq!(board::sized(Some(&all)), None);
    let by_place = "nand read ${kernel_addr} 0x200000 ${kernel_size}; \
                    nand read ${ramdisk_addr} 0x800000 ${ramdisk_size}; \
                    bootm ${kernel_addr} ${ramdisk_addr}";
    assert_eq!(steps(&[("bootcmd", by_place)]), steps(&[("bootcmd", &all)]));
    let in_place = board::in_place(None).unwrap();
    assert_eq!(board::in_place(Some(&in_place)), None);
    assert_eq!(pages(&steps(&[("bootcmd", &in_place)])), [3, 2]);
    let moved = |s: &Step| matches!(s, Step::Copy { to: 0x1_0000, .. });
    assert!(plain.iter().any(moved));
    assert!(!steps(&[("bootcmd", &in_place)]).iter().any(moved));
}

#[test]
fn what_it_cannot_do_is_said() {
    for (name, value, said) in [
        ("bootdelay", "-1", "invalid `bootdelay`"),
        ("bootdelay", "-5", "invalid `bootdelay`"),
        ("bootcmd", "run distro", "contains `run distro`"),
        (
            "bootcmd",
            "nand read 0x1000000 rootfs",
            "partition `rootfs`",
        ),
        (
            "bootcmd",
            "nand read 0x1000000 0x200800 0x1000",
            "where one begins: 0x200000 or 0x800000",
        ),
        ("bootcmd", "nand read 0x8000 kernel", "address `0x8000`"),
        (
            "bootcmd",
            "nand read ${kernel_in_place} ramdisk",
            "impossible load address",
        ),
        ("bootcmd", "nand read 0x1000000 kernel", "does not end with"),
        (
            "bootcmd",
            "nand read 0x1000000 kernel; nand read 0x1500000 ramdisk; bootm 0x1000000 0x1500000",
            "which overlaps the earlier read to 0x1000000..0x1600000",
        ),
        (
            "bootcmd",
            "nand read 0x1000000 kernel; nand read 0x1000800 kernel",
            "which overlaps the earlier read",
        ),
        (
            "bootcmd",
            "nand read 0x1000000 kernel; nand read 0x1000000 kernel",
            "does not end with",
        ),
        ("bootcmd", "nand read 1000000 kernel 700000", "from 1 to"),
        ("baudrate", "fast", "invalid `baudrate`"),
    ] {
        let variables = variables(&[(name, value)]);
        let found = loading(&variables).program().unwrap_err().to_string();
        assert!(found.contains(said), "{found}");
    }
    let none = BTreeMap::new();
    let large = vec![0; 7 << 20];
    let mut loading = loading(&none);
    loading.kernel.0 = &large;
    let found = loading.flash(64 << 20).unwrap_err().to_string();
    assert!(found.contains("its partition has 6291456"), "{found}");
}

#[test]
fn steps_and_texts_lie_behind_the_program() {
    let silent = variables(&[("silent", "1"), ("bootdelay", "1"), ("verify", "no")]);
    let program = loading(&silent).program().unwrap();
    let word = |at: usize| {
        let bytes = program[at..at + 4].try_into().unwrap();
        u32::from_le_bytes(bytes)
    };
    // A second in loops of 16 ns.
    assert_eq!(word(PROGRAM.len()), 2);
    assert_eq!(word(PROGRAM.len() + 4), 62_500_000);
    let none = BTreeMap::new();
    let program = loading(&none).program().unwrap();
    let first = u32::from_le_bytes(program[PROGRAM.len() + 4..][..4].try_into().unwrap());
    let at = (first - AT) as usize;
    assert!(program[at..].starts_with(b"\r\n\r\nLoader of the lab"));
}

#[test]
fn the_table_sums_up_as_others_do() {
    let table = crc_table();
    let sum = b"123456789".iter().fold(!0_u32, |crc, b| {
        table[((crc ^ u32::from(*b)) & 255) as usize] ^ (crc >> 8)
    });
    assert_eq!(!sum, crc32fast::hash(b"123456789"));
}

#[test]
fn the_program_is_what_its_source_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/arm9/loader.S");
    let mut assemble = Command::new("arm-linux-gnueabi-gcc");
    assemble.args(["-c", "-march=armv5te", "-o"]);
    let Ok(done) = assemble.arg(at("loader.o")).arg(source).output() else {
        eprintln!("skipped: arm-linux-gnueabi-gcc is not there");
        return;
    };
    assert!(done.status.success(), "{done:?}");
    let mut copy = Command::new("arm-linux-gnueabi-objcopy");
    copy.args(["-O", "binary"])
        .arg(at("loader.o"))
        .arg(at("bin"));
    assert!(copy.status().unwrap().success());
    assert_eq!(std::fs::read(at("bin")).unwrap(), PROGRAM);
}
