//! Treatments of files: to the byte and back, and nothing in between.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod common;

use common::{apply, content, go_on, parse, program, root, seen, undo};
use firstlight_treat::FileTreatment;
use firstlight_treat::files::{Applied, FileError, Form, Journal, KINDS, Target, export};
use proptest::prelude::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

/// What changes a root tree, in every way there is.
const TREATMENTS: [&str; 20] = [
    "cmdline+=quiet",
    "cmdline-=splash",
    "mask=a.service",
    "mask=b@x.service",
    "journald=volatile",
    "firmware=boot_delay=0",
    "fstab=/:-discard",
    "fstab=/:pass=0",
    "menu-timeout=0",
    "initramfs-modules=dep",
    "strip=usr",
    "strip=usr/bin/app",
    "library-=usr/lib/libspare.so.1.0",
    "io-scheduler=mmcblk*:none",
    "read-ahead=mmcblk0:512",
    "sysctl=vm.dirty_bytes=524288",
    "late-modules=btusb,snd-usb-audio",
    "cat-pipes=etc/init.d",
    "cat-pipes=etc/init.d/S10model",
    "start-script=one",
];

#[test]
fn a_library_goes_with_its_links_and_only_if_nothing_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::write(root.join("usr/lib/libnss_dns.so.2"), program(b"")).unwrap();
    let (before, contents) = (seen(&root), content(&root));
    for (path, words) in [
        (
            "usr/lib/libneeded.so.2.0",
            "usr/bin/app refers to libneeded.so.2",
        ),
        ("usr/lib/libneeded.so.2", "is a link to"),
        ("usr/bin/app", "is not a shared library"),
        ("usr/bin/libgone.so", "does not exist"),
        (
            "usr/lib/libnss_dns.so.2",
            "a name that they build at run time",
        ),
    ] {
        let why = apply(&root, &format!("library-={path}")).unwrap_err();
        assert!(why.to_string().contains(words), "{why}");
    }
    assert_eq!(seen(&root), before);
    // Whoever leads to it by another name needs it, too, and so may who cannot be named.
    let spare = "library-=usr/lib/libspare.so.1.0";
    let app = root.join("usr/bin/own.so");
    symlink("../lib/libspare.so.1", &app).unwrap();
    let why = apply(&root, spare).unwrap_err().to_string();
    assert!(
        why.contains("usr/bin/own.so refers to libspare.so.1"),
        "{why}"
    );
    fs::remove_file(app).unwrap();
    let odd = root.join("usr/bin").join(OsStr::from_bytes(b"caf\xe9"));
    fs::write(&odd, "libspare.so.1").unwrap();
    let why = apply(&root, spare).unwrap_err().to_string();
    assert!(why.contains("not valid UTF-8"), "{why}");
    fs::remove_file(odd).unwrap();
    assert_eq!(content(&root), contents);
    apply(&root, spare).unwrap();
    let left: Vec<String> = fs::read_dir(root.join("usr/lib"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains(".so"))
        .collect();
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn a_folder_of_programs_is_stripped_and_what_has_two_names_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::hard_link(root.join("usr/bin/app"), root.join("usr/bin/other")).unwrap();
    let target = Target::open(&root).unwrap();
    let plan = parse("strip=usr").plan(&target).unwrap();
    let paths: Vec<&str> = plan.changes.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(
        paths,
        ["usr/lib/libneeded.so.2.0", "usr/lib/libspare.so.1.0"]
    );
    assert!(plan.sentences.last().unwrap().ends_with(": 2"));
    // What devices run is none of the system's.
    fs::create_dir_all(root.join("usr/lib/firmware")).unwrap();
    fs::rename(
        root.join("usr/lib/libspare.so.1.0"),
        root.join("usr/lib/firmware/dsp.elf"),
    )
    .unwrap();
    let fewer = parse("strip=usr").plan(&target).unwrap();
    assert_eq!(fewer.changes.len(), 1);
    let why = parse("strip=etc").plan(&target).unwrap_err().to_string();
    assert!(why.contains("no program in etc"), "{why}");
    let why = parse("strip=etc/fstab").plan(&target).unwrap_err();
    assert!(why.to_string().contains("pass an ELF file"), "{why}");
}

#[test]
fn every_treatment_is_undone_to_the_byte_and_done_but_once() {
    for text in TREATMENTS {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        let before = seen(&root);
        assert!(
            matches!(apply(&root, text), Ok(Applied::Changed { .. })),
            "{text}"
        );
        let after = seen(&root);
        assert_ne!(before, after, "{text}");
        assert_eq!(apply(&root, text).unwrap(), Applied::Already, "{text}");
        assert_eq!(seen(&root), after, "{text}");
        undo(&root, text).unwrap();
        assert_eq!(seen(&root), before, "{text}");
        // Nothing is left beside it.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{text}");
    }
}

#[test]
fn texts_and_kinds_agree() {
    for kind in KINDS {
        let treatment = parse(kind.example);
        assert_eq!(treatment.to_string(), kind.example);
        assert_eq!(treatment.kind(), kind, "{}", kind.example);
    }
    for text in TREATMENTS {
        assert_eq!(parse(text).to_string(), text);
    }
    for wrong in [
        "",
        "x",
        "config=",
        "config=CONFIG_A",
        "config=CONFIG_A=b c",
        "fstab=/",
        "fstab=:+a",
        "fstab=/:+",
        "journald=x",
        "menu-timeout=-1",
        "initramfs=rar",
        "initramfs=lzop",
        "initramfs-modules=all",
        "cmdline+=",
        "cmdline+=--",
        "cmdline-=--",
        "mask=a",
        "strip=",
        "strip=../x",
        "library-=/",
        "ext=journal",
        "io-scheduler=sda",
        "sysctl=vm.dirty_bytes",
        "sysctl=../x.y=1",
        "library-cut=usr/lib/libx.so.1,",
        "io-scheduler=sd a:none",
        "read-ahead=sda",
        "read-ahead=sda:0",
        "read-ahead=sd a:512",
        "late-modules=a,,b",
        "late-modules=",
        "start-script=two",
        "firmware=boot_delay",
        "firmware==0",
        "firmware=boot delay=0",
        "cat-pipes=..",
    ] {
        assert!(FileTreatment::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_link_that_leads_out_of_the_tree_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let outside = folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("cmdline.txt"), "root=/dev/sda1\n").unwrap();
    for (link, to) in [
        ("boot/cmdline.txt", "../../outside/cmdline.txt"),
        ("boot", "../outside"),
        (
            "boot/cmdline.txt",
            outside.join("cmdline.txt").to_str().unwrap(),
        ),
    ] {
        let root = root(&folder.path().join("r"));
        let path = root.join(link);
        match path.is_dir() {
            true => fs::remove_dir_all(&path).unwrap(),
            false => fs::remove_file(&path).unwrap(),
        }
        symlink(to, &path).unwrap();
        let before = (seen(&root), seen(&outside));
        let refused = apply(&root, "cmdline+=quiet").unwrap_err();
        assert!(matches!(refused, FileError::Outside { .. }), "{refused}");
        assert!(refused.to_string().contains("leads out of the tree"));
        assert_eq!((seen(&root), seen(&outside)), before);
        assert!(!root.with_extension("firstlight").exists());
        fs::remove_dir_all(folder.path().join("r")).unwrap();
    }
}

#[test]
fn a_link_within_the_tree_leads_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::rename(
        root.join("boot/cmdline.txt"),
        root.join("boot/real.cmdline"),
    )
    .unwrap();
    symlink("real.cmdline", root.join("boot/cmdline.txt")).unwrap();
    let before = seen(&root);
    apply(&root, "cmdline+=quiet").unwrap();
    let text = fs::read_to_string(root.join("boot/real.cmdline")).unwrap();
    assert_eq!(text, "console=ttyS0 root=/dev/sda1 quiet\n");
    assert!(
        root.join("boot/cmdline.txt")
            .symlink_metadata()
            .unwrap()
            .is_symlink()
    );
    undo(&root, "cmdline+=quiet").unwrap();
    assert_eq!(seen(&root), before);
}

#[test]
fn what_cannot_be_treated_is_refused_and_nothing_changes() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    };
    let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus");
    let signed = fs::read(format!("{corpus}/boot/signed.itb")).unwrap();
    let environment = fs::read(format!("{corpus}/flash/environment.bin")).unwrap();
    let both: Vec<u8> = environment.iter().chain(&signed).copied().collect();
    let empty = folder.path().join("empty");
    fs::create_dir(&empty).unwrap();
    for (target, text, said) in [
        (
            root.clone(),
            "mask=none.service",
            "could not find the unit none.service",
        ),
        (
            root.clone(),
            "env=bootdelay=0",
            "could not find a U-Boot environment",
        ),
        (root.clone(), "config=CONFIG_A=y", "is a folder"),
        (root.clone(), "kernel=uncompressed", "works only in the lab"),
        (root.clone(), "fstab=/none:+noatime", "mounts /none"),
        (
            empty.clone(),
            "cmdline+=quiet",
            "find a kernel command line",
        ),
        (empty.clone(), "mask=a.service", "could not find systemd"),
        (empty, "menu-timeout=0", "boot menu"),
        (
            file("notes.txt", b"two\nlines\n"),
            "cmdline+=quiet",
            "not a kernel command line",
        ),
        (
            file("x.config", b"A=b\n"),
            "config=CONFIG_A=y",
            ": not a kernel configuration",
        ),
        (file("noise", &[7; 5_000]), "env=bootdelay=0", "environment"),
        (
            file("noise2", &[7; 5_000]),
            "initramfs=lz4",
            "not an initramfs",
        ),
        (file("signed.itb", &signed), "initramfs=lz4", "signed FIT"),
        (file("signed2.itb", &signed), "cmdline+=quiet", "signed FIT"),
        (file("both.bin", &both), "env=verify=no", "signature check"),
    ] {
        let before = seen(folder.path());
        let refused = apply(&target, text).unwrap_err().to_string();
        assert!(refused.contains(said), "{text}: {refused}");
        assert!(!refused.contains('\n'));
        assert_eq!(seen(folder.path()), before, "{text}");
    }
}

#[test]
fn a_root_under_verity_is_left_alone_but_not_its_loader() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::remove_file(root.join("etc/default/grub")).unwrap();
    fs::write(
        root.join("boot/cmdline.txt"),
        "root=/dev/dm-0 roothash=0123\n",
    )
    .unwrap();
    let before = seen(&root);
    let refused = apply(&root, "mask=a.service").unwrap_err();
    assert!(matches!(refused, FileError::Protected { .. }), "{refused}");
    assert_eq!(seen(&root), before);
    assert!(matches!(
        apply(&root, "cmdline+=quiet"),
        Ok(Applied::Changed { .. })
    ));
}

#[test]
fn changes_since_the_plan_and_since_the_treatment_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let treatment = parse("cmdline+=quiet");
    let target = Target::open(&root).unwrap();
    let basis = treatment.plan(&target).unwrap().basis();
    fs::write(root.join("boot/cmdline.txt"), "root=/dev/sdb1\n").unwrap();
    let before = seen(&root);
    let mut journal = Journal::open(&target, &mut go_on).unwrap();
    let refused = journal.apply(&treatment, Some(&basis), &mut go_on);
    assert!(matches!(refused, Err(FileError::ChangedSince { .. })));
    drop(journal);
    assert_eq!(seen(&root), before);
    // Between the plan and the first rename, too.
    let target = Target::open(&root).unwrap();
    let mut journal = Journal::open(&target, &mut go_on).unwrap();
    let mut meddle = |step: &str| {
        if step == "stage" {
            fs::write(root.join("boot/cmdline.txt"), "root=/dev/sdc1\n")?;
        }
        Ok(())
    };
    let refused = journal.apply(&treatment, None, &mut meddle);
    assert!(matches!(refused, Err(FileError::ChangedSince { .. })));
    drop(journal);
    let text = fs::read_to_string(root.join("boot/cmdline.txt")).unwrap();
    assert_eq!(text, "root=/dev/sdc1\n");
    // What is changed after it cannot be undone.
    apply(&root, "cmdline+=quiet").unwrap();
    fs::write(root.join("boot/cmdline.txt"), "mine\n").unwrap();
    let before = seen(&root);
    let refused = undo(&root, "cmdline+=quiet").unwrap_err();
    assert!(
        matches!(refused, FileError::ChangedAfter { .. }),
        "{refused}"
    );
    assert_eq!(seen(&root), before);
}

#[test]
fn treatments_that_contradict_each_other_are_known() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    apply(&root, "cmdline+=quiet").unwrap();
    let refused = apply(&root, "cmdline-=quiet");
    assert!(matches!(refused, Err(FileError::Conflict { .. })));
    fs::write(root.join("boot/cmdline.txt"), "root=x ignore_loglevel\n").unwrap();
    fs::remove_dir_all(folder.path().join("root.firstlight")).unwrap();
    let refused = apply(&root, "cmdline+=quiet").unwrap_err().to_string();
    assert!(refused.contains("ignore_loglevel"), "{refused}");
    // An undo goes in the order of the treatments of a file.
    let other = self::root(&folder.path().join("other"));
    apply(&other, "fstab=/:-discard").unwrap();
    apply(&other, "fstab=/:pass=0").unwrap();
    let refused = undo(&other, "fstab=/:-discard").unwrap_err();
    assert!(matches!(refused, FileError::Later { .. }), "{refused}");
    let never = undo(&other, "cmdline+=quiet").unwrap_err();
    assert!(matches!(never, FileError::NotApplied { .. }), "{never}");
}

#[test]
fn a_file_with_two_names_keeps_both() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    fs::hard_link(root.join("boot/cmdline.txt"), root.join("boot/again")).unwrap();
    let before = seen(&root);
    let refused = apply(&root, "cmdline+=quiet").unwrap_err();
    assert!(matches!(refused, FileError::Linked { .. }), "{refused}");
    assert_eq!(seen(&root), before);
}

/// The merged script does what the loop did, and says so with what it prints.
#[test]
fn one_start_script_prints_what_the_loop_printed() {
    let folder = tempfile::tempdir().unwrap();
    let root = root(folder.path());
    let run = || {
        let script = fs::read_to_string(root.join("etc/init.d/rcS")).unwrap();
        // The root is not `/` here.
        let scripts = format!("{}/etc/init.d/", root.display());
        let script = script.replace("/etc/init.d/S", &format!("{scripts}S"));
        let done = std::process::Command::new("sh")
            .arg("-c")
            .arg(script)
            .output()
            .unwrap();
        assert!(done.status.success());
        String::from_utf8(done.stdout).unwrap()
    };
    fs::write(
        root.join("etc/init.d/S15heredoc"),
        "#!/bin/sh\ncat <<'END'\n$1 is not $0x\nEND\necho $1; x=1; exit 3",
    )
    .unwrap();
    fs::set_permissions(
        root.join("etc/init.d/S15heredoc"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    let before = run();
    apply(&root, "start-script=one").unwrap();
    let merged = fs::read_to_string(root.join("etc/init.d/rcS")).unwrap();
    // What asks for its name stays a program of its own.
    assert!(merged.contains("\n/etc/init.d/S20name start\n"), "{merged}");
    assert!(merged.contains("grep model"), "{merged}");
    assert_eq!(run(), before);
    assert!(before.starts_with("first\n") && before.ends_with("last\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn no_text_makes_a_treatment_panic_or_a_plan_grow(
        text in "[ -~\n\t]{0,200}",
        which in 0..TREATMENTS.len(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let root = root(folder.path());
        for file in ["boot/cmdline.txt", "etc/default/grub", "etc/fstab"] {
            fs::write(root.join(file), &text).unwrap();
        }
        let target = Target::open(&root).unwrap();
        if let Ok(plan) = parse(TREATMENTS[which]).plan(&target) {
            // Done once, it is done.
            let mut journal = Journal::open(&target, &mut go_on).unwrap();
            journal.apply(&parse(TREATMENTS[which]), None, &mut go_on).unwrap();
            let again = parse(TREATMENTS[which]).plan(&target).unwrap();
            prop_assert!(again.is_empty(), "{:?} then {:?}", plan, again);
        }
    }
}

#[test]
fn two_treatments_for_a_build_system_do_not_take_each_others_place() {
    let long = |end: &str| format!("cmdline+={}{end}", "x".repeat(200));
    let texts = [
        "cmdline+=quiet",
        "cmdline+=Quiet",
        "cmdline+=rodata=off",
        "cmdline+=rodata-off",
        &long(""),
        &long("a"),
        &long("b"),
        "mask=a.service",
        "mask=b@.service",
        "mask=a-b.service",
        "mask=a_b.service",
        "menu-timeout=0",
        "initramfs=lz4",
        "initramfs-modules=dep",
    ];
    let all = texts.map(|t| FileTreatment::parse(t).unwrap());
    for form in [Form::Yocto, Form::Debian] {
        // What a shell or bitbake would overwrite: a file, or a function.
        let made = all.iter().filter_map(|t| export(t, form)).flat_map(|text| {
            let lines = text
                .lines()
                .filter(|l| l.starts_with("cat >") || l.ends_with("() {"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        });
        let made: Vec<String> = made.collect();
        let distinct: std::collections::BTreeSet<&String> = made.iter().collect();
        assert!(made.len() >= 2, "{form:?}");
        assert_eq!(made.len(), distinct.len(), "{made:?}");
    }
}

/// What a board's boot partition has in its top folder, where it is mounted.
#[test]
fn a_mounted_boot_partition_is_treated_and_taken_back() {
    for (file, before, after) in [
        (
            "cmdline.txt",
            "console=tty1 rw\n",
            "console=tty1 rw quiet\n",
        ),
        (
            "syslinux/syslinux.cfg",
            "LABEL linux\n  KERNEL /Image\n  APPEND root=/dev/sda2\n",
            "LABEL linux\n  KERNEL /Image\n  APPEND root=/dev/sda2 quiet\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, before).unwrap();
        apply(folder.path(), "cmdline+=quiet").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), after);
        undo(folder.path(), "cmdline+=quiet").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
    }
}
