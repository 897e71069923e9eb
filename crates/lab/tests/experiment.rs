//! The experiment file: what it says, and what it says when it is wrong.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use agent::config::FirstLight;
use firstlight_lab::{Experiment, Kernel, Platform, Root};
use std::path::Path;

const GOOD: &str = r#"
firstlight_experiment = 1

[base]
machine = "pc"
storage = "emmc"
kernel = "debian"
root = "debian-minimal"
cmdline = ["console=ttyS0", "nokaslr"]
first_light = "unit:multi-user.target"
record = ["initcalls"]

[[variant]]
name = "quiet"
treatments = ["cmdline+=quiet", "kernel=uncompressed"]

[[variant]]
name = "no-cron"
treatments = ["mask=cron.service", "cmdline-=nokaslr"]
"#;

#[test]
fn a_good_file_is_understood() {
    let e = Experiment::parse("some/where/demo.toml", GOOD).unwrap();
    assert_eq!(e.name, "demo");
    assert_eq!(e.base.kernel, Kernel::Debian);
    assert_eq!(e.base.root, Root::DebianMinimal);
    assert_eq!(e.base.memory_mb, 1536);
    let unit = FirstLight::Unit("multi-user.target".into());
    assert_eq!(e.base.first_light, unit);
    let lines: Vec<_> = e
        .variants
        .iter()
        .map(|v| format!("{}: {}", v.name, v.spec.cmdline))
        .collect();
    let base = "console=ttyS0 nokaslr initcall_debug log_buf_len=4M";
    assert_eq!(
        lines,
        [
            format!("baseline: {base}"),
            format!("quiet: {base} quiet"),
            "no-cron: console=ttyS0 initcall_debug log_buf_len=4M systemd.mask=cron.service"
                .to_owned(),
        ]
    );
}

#[test]
fn a_machine_may_have_more_devices() {
    let with = |devices: &str| GOOD.replacen("root =", &format!("devices = {devices}\nroot ="), 1);
    let parsed = |text: &str| Experiment::parse("e.toml", text);
    let e = parsed(&with("[\"lsi53c895a\", \"usb-ehci\"]")).unwrap();
    let names: Vec<&str> = e.base.devices.iter().map(|d| d.name()).collect();
    assert_eq!(names, ["lsi53c895a", "usb-ehci"]);
    let said = parsed(&with("[\"e1000\"]")).unwrap_err().to_string();
    assert!(
        said.contains("e.toml:8: expected `lsi53c895a` or `usb-ehci`"),
        "{said}"
    );
    let arm9 = ARM9.replacen("root =", "devices = [\"usb-ehci\"]\nroot =", 1);
    let said = parsed(&arm9).unwrap_err().to_string();
    assert!(said.contains("`devices` works only with"), "{said}");
}

#[test]
fn paths_are_relative_to_the_file() {
    let text = GOOD
        .replace("\"debian\"", "\"vmlinuz\"\nmodules = \"/lib/modules/x\"")
        .replace("debian-minimal", "images/root.img");
    let e = Experiment::parse("some/where/demo.toml", &text).unwrap();
    let image = Path::new("some/where/vmlinuz").to_owned();
    let modules = Some(Path::new("/lib/modules/x").to_owned());
    let device_tree = None;
    let file = Kernel::File {
        image,
        modules,
        device_tree,
    };
    assert_eq!(e.base.kernel, file);
    let root = Path::new("some/where/images/root.img").to_owned();
    assert_eq!(e.base.root, Root::Image(root));
    let tree = "{ tree = \"rootfs\", filesystem = \"squashfs:xz\" }";
    let e = Experiment::parse(
        "some/where/demo.toml",
        &GOOD.replace("\"debian-minimal\"", tree),
    );
    let Root::Tree { folder, form, .. } = e.unwrap().base.root else {
        panic!("no tree");
    };
    assert_eq!(folder, Path::new("some/where/rootfs"));
    assert_eq!(
        (form.to_string().as_str(), form.fstype()),
        ("squashfs:xz", "squashfs")
    );
}

/// What is changed in the good file, and the sentence that follows.
const WRONG: &[(&str, &str, &str)] = &[
    ("= 1\n", "= 2\n", "e.toml:2: the experiment has version 2"),
    (
        "firstlight_experiment = 1",
        "",
        "missing field `firstlight_experiment`",
    ),
    (
        "\"pc\"",
        "\"arm\"",
        "e.toml:5: expected the machine `pc`, `arm-virt`, `arm9`, `board` or `replay`, found `arm`",
    ),
    (
        "\"emmc\"",
        "\"floppy\"",
        "e.toml:6: unknown storage profile `floppy`; known profiles: emmc",
    ),
    (
        "storage =",
        "stroage =",
        "e.toml:6: unknown field `stroage`, expected one of",
    ),
    (
        "\"emmc\"",
        "3",
        "e.toml:6: invalid type: integer `3`, expected a string",
    ),
    (
        "\"unit:multi-user.target\"",
        "\"login\"",
        "e.toml:10: expected `init`, `unit:NAME`, `kmsg:TEXT`, ",
    ),
    (
        "\"initcalls\"",
        "\"probes\"",
        "e.toml:11: `record` has the unknown value `probes`; write `console`, `initcalls`,",
    ),
    (
        "\"nokaslr\"",
        "\"nokaslr quiet\"",
        "e.toml:9: `nokaslr quiet` is not a single kernel parameter",
    ),
    (
        "\"nokaslr\"",
        "\"console=ttyS0\"",
        "e.toml:9: `console=ttyS0` occurs twice; remove one",
    ),
    (
        "\"nokaslr\"",
        "'a=\"b'",
        "e.toml:9: `a=\"b` has an unclosed double quote",
    ),
    (
        "\"debian-minimal\"",
        "{ tree = \"rootfs\", filesystem = \"jffs2\" }",
        "e.toml:8: unknown root filesystem `jffs2` for a `tree`; write one of ext2, ext3, ext4, btrfs, f2fs, squashfs, erofs",
    ),
    (
        "\"debian-minimal\"",
        "{ tree = \"rootfs\" }",
        "e.toml:8: expected `none`, `debian-minimal`, a path, or { tree = ",
    ),
    (
        "\"debian-minimal\"",
        "\"none\"",
        "e.toml:10: expected `init`, since there is no root",
    ),
    (
        "name = \"quiet\"",
        "name = \"a/b\"",
        "e.toml:14: `a/b` is not a valid variant name",
    ),
    (
        "name = \"quiet\"",
        "name = \"baseline\"",
        "e.toml:14: a variant `baseline` already exists",
    ),
    (
        "\"mask=cron.service\"",
        "\"mask=cron\"",
        "e.toml:19: invalid treatment `mask=cron`: not a full unit name",
    ),
    (
        "cmdline-=nokaslr",
        "cmdline-=splash",
        "e.toml:19: `splash` cannot be removed",
    ),
    (
        "\"cmdline+=quiet\", \"kernel=uncompressed\"",
        "\"cmdline+=nokaslr\"",
        "e.toml:13: the variant `quiet` is identical to `baseline`",
    ),
    ("[base]", "[base", "e.toml:4:"),
    (
        "\"debian\"",
        "\"debian\"\nmodules = \"m\"",
        "e.toml:8: `modules` works only with a kernel file",
    ),
    (
        "machine = \"pc\"",
        "machine = \"pc\"\nmemory_mb = 1",
        "e.toml:6: `memory_mb` is out of range",
    ),
    (
        "machine = \"pc\"",
        "machine = \"pc\"\ncpu_shift = 11",
        "e.toml:6: `cpu_shift` is too large; write at most 10",
    ),
    (
        "machine = \"pc\"",
        "machine = \"pc\"\nmode = \"fast\"",
        "e.toml:6: expected `exact` or `statistical`, found `fast`",
    ),
    (
        "machine = \"pc\"",
        "machine = \"pc\"\nseed = 1",
        "e.toml:6: `seed` works only with `mode = \"statistical\"`",
    ),
];

#[test]
fn what_is_wrong_gets_one_sentence_with_its_line() {
    let mut wrong = Vec::new();
    for (from, to, part) in WRONG {
        assert!(GOOD.contains(from), "{from}");
        let text = GOOD.replacen(from, to, 1);
        let said = Experiment::parse("e.toml", &text).unwrap_err().to_string();
        if !said.contains(part) || !said.starts_with("e.toml:") {
            wrong.push(format!("{from} -> {to}: {said}"));
        }
        assert!(!said.contains('\n'), "{said}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let said = Experiment::read(Path::new("no/such.toml")).unwrap_err();
    assert!(said.to_string().starts_with("no/such.toml: cannot be read"));
}

#[test]
fn the_experiments_that_come_with_the_program_are_good() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.contains("\nfirstlight_experiment = ") || text.starts_with("firstlight_experiment")
        {
            Experiment::read(&path).unwrap();
            seen += 1;
        }
    }
    assert!(seen >= 2);
}

#[test]
fn fragments_are_beside_the_experiment_and_go_with_the_pc() {
    let text = GOOD.replace(
        "\"mask=cron.service\"",
        "\"build=micro\", \"build=a.config\"",
    );
    let experiment = Experiment::parse("folder/e.toml", &text).unwrap();
    let built = experiment.variants.iter().map(|v| v.spec.build.as_slice());
    let built: Vec<&[String]> = built.filter(|b| !b.is_empty()).collect();
    assert_eq!(built, [["micro", "folder/a.config"]]);
    let board = "machine = \"arm-virt\"\narch = \"armhf\"";
    let text = text
        .replace("machine = \"pc\"", board)
        .replace("\"emmc\"", "\"none\"")
        .replace("\"debian-minimal\"", "\"none\"")
        .replace("\"unit:multi-user.target\"", "\"init\"");
    let said = Experiment::parse("e.toml", &text).unwrap_err().to_string();
    assert!(
        said.contains("`build=micro` works only with the machine `pc`; remove it"),
        "{said}"
    );
}

/// An old board: its own kernel, memory and speed, its root in flash or in memory.
const ARM9: &str = "firstlight_experiment = 1\n[base]\nmachine = \"arm9\"\nstorage = \"none\"\n\
    kernel = \"built\"\nroot = { tree = \"r\", filesystem = \"jffs2:nor-256k\", busybox = true }\n\
    cmdline = [\"console=ttyAMA0\"]\nfirst_light = \"file:/run/x\"\n";

#[test]
fn an_arm9_has_a_kernel_of_the_labs_and_no_disk() {
    let e = Experiment::parse("e.toml", ARM9).unwrap();
    assert_eq!(e.base.platform, Platform::Arm9 { nand: None });
    assert_eq!((e.base.memory_mb, e.base.cpu_shift), (128, 3));
    assert_eq!(e.base.kernel, Kernel::Built { lines: Vec::new() });
    assert_eq!(e.base.root.fstype(), "jffs2");
    let packed = ARM9.replace("jffs2:nor-256k", "initramfs:lz4");
    let e = Experiment::parse("e.toml", &packed).unwrap();
    assert!(matches!(
        e.base.root,
        Root::Initramfs {
            packing: Some(_),
            busybox: true,
            ..
        }
    ));
    for (from, to, why) in [
        (
            "\"none\"",
            "\"emmc\"",
            "e.toml:4: expected `none`, since the root of `arm9`",
        ),
        (
            "\"built\"",
            "\"debian\"",
            "e.toml:5: expected `built` or a path",
        ),
        ("\"built\"", "\"zImage\"", "needs `device_tree"),
        (
            "jffs2:nor-256k",
            "ext4",
            "write `initramfs` or one of jffs2:nor-256k",
        ),
        ("jffs2:nor-256k", "initramfs:rar", "initramfs=rar"),
        (
            "machine = \"arm9\"",
            "machine = \"pc\"",
            "`built` works only with `arm9`",
        ),
        (
            "cmdline",
            "memory_mb = 512\ncmdline",
            "`memory_mb` is out of range; write 32 to 224",
        ),
        (
            "cmdline",
            "record = [\"block\"]\ncmdline",
            "has no trace events",
        ),
    ] {
        let said = Experiment::parse("e.toml", &ARM9.replace(from, to)).unwrap_err();
        assert!(said.to_string().contains(why), "{said}");
    }
}

/// The same board, started by a loader from NAND.
#[test]
fn an_arm9_from_nand_has_an_environment_and_its_root_in_memory() {
    let nand = ARM9
        .replace("jffs2:nor-256k", "initramfs:gzip")
        .replace("storage =", "loader = \"nand\"\nstorage =");
    let text = format!(
        "{nand}[base.environment]\nbootdelay = \"1\"\n[[variant]]\nname = \"sooner\"\n\
         treatments = [\"env=bootdelay=0\", \"initramfs=lzo\"]\n"
    );
    let e = Experiment::parse("e.toml", &text).unwrap();
    let Platform::Arm9 { nand: Some(given) } = &e.base.platform else {
        unreachable!("{:?}", e.base.platform)
    };
    assert_eq!(given["bootdelay"], "1");
    let spec = &e.variants[1].spec;
    assert_eq!(spec.initramfs.packing.unwrap().name(), "lzo");
    assert_eq!(spec.environment["bootdelay"].as_deref(), Some("0"));
    // What a finding has no treatment for on all loaders, this one's variables can do.
    let sized = e.loader_treatment("loader-whole-partition").unwrap();
    assert!(sized.to_string().contains("kernel ${kernel_size};"));
    let in_place = e.loader_treatment("moved-kernel").unwrap();
    assert!(in_place.to_string().contains("bootm ${kernel_in_place} "));
    assert!(e.loader_treatment("boot-countdown").is_none());
    for (from, to, why) in [
        ("initramfs:gzip", "jffs2:nor-256k", "no root in flash"),
        ("\"nand\"", "\"u-boot\"", "expected `nand` or `none`"),
        (
            "loader = \"nand\"\n",
            "",
            "`environment` needs a boot loader",
        ),
        (
            "storage =",
            "mode = \"statistical\"\nstorage =",
            "needs `mode = \"exact\"`",
        ),
        (
            "initramfs=lzo",
            "modules=unsigned",
            "`arm9` loads no modules",
        ),
        (
            "machine = \"arm9\"",
            "machine = \"pc\"",
            "`loader` works only with",
        ),
    ] {
        let said = Experiment::parse("e.toml", &text.replace(from, to)).unwrap_err();
        assert!(said.to_string().contains(why), "{said}");
    }
}
