//! Treatments: parsing, plans, apply and undo.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use firstlight_treat::{
    BootSpec, CommandLine, FileTreatment, KernelForm, TreatError, Treatment, WordError,
};
use std::collections::BTreeMap;

fn spec(cmdline: &str) -> BootSpec {
    BootSpec {
        kernel: KernelForm::Image,
        cmdline: CommandLine::parse(cmdline).unwrap(),
        environment: BTreeMap::from([("bootdelay".into(), Some("2".into()))]),
        ..BootSpec::default()
    }
}

/// Command lines with all that is odd about them.
const LINES: &[&str] = &[
    "",
    "quiet",
    "console=ttyS0 quiet",
    "quiet root=/dev/sda1 quiet",
    "dyndbg=\"file drivers/usb/* +p\" quiet",
    "console=ttyS0 -- quiet single",
    "a=\"x y\"z quiet  b",
];

#[test]
fn apply_and_undo_is_identity() {
    for line in LINES {
        for text in [
            "cmdline+=quiet",
            "cmdline+=dyndbg=\"module ext4 +p\"",
            "cmdline-=quiet",
            "mask=cron.service",
            "kernel=uncompressed",
            "kernel=direct",
            "kernel=image",
            "env=bootdelay=-2",
            "env=bootdelay=2",
            "env=bootcmd=a=b; c",
            "env-=bootdelay",
            "env-=other",
            "prefetch=lists/boot.list",
            "prefetch=boot.list,window=250,no-idle",
            "order=lists/boot.list",
            "order=lists/boot.list,read-around",
            "build=micro",
            "build=configs/no-network.config",
            "initramfs=lz4",
            "initramfs=none",
            "modules=unsigned",
            "ubi-fastmap=on",
        ] {
            let before = spec(line);
            let treatment = Treatment::parse(text).unwrap();
            assert_eq!(treatment.to_string(), text);
            match treatment.apply(&before) {
                Ok((after, undo)) => {
                    assert_eq!(undo.apply(&after).unwrap(), before, "{text} on {line}");
                }
                Err(TreatError::NotThere { .. }) => {
                    assert!(text.starts_with("cmdline-=") && !before.cmdline.contains("quiet"));
                }
                Err(other) => panic!("{text} on {line}: {other}"),
            }
        }
    }
}

#[test]
fn a_command_line_is_split_as_the_kernel_splits_it() {
    let line = CommandLine::parse(" a  b=\"c d\" \"e=f g\"\th ").unwrap();
    assert_eq!(line.words(), ["a", "b=\"c d\"", "\"e=f g\"", "h"]);
    assert_eq!(line.to_string(), "a b=\"c d\" \"e=f g\" h");
}

#[test]
fn words_are_added_before_those_for_init() {
    let (after, _) = Treatment::parse("cmdline+=quiet")
        .unwrap()
        .apply(&spec("a -- quiet"))
        .unwrap();
    assert_eq!(after.cmdline.to_string(), "a quiet -- quiet");
}

#[test]
fn words_for_init_stay() {
    let remove = Treatment::parse("cmdline-=quiet").unwrap();
    let (after, _) = remove.apply(&spec("quiet a -- quiet")).unwrap();
    assert_eq!(after.cmdline.to_string(), "a -- quiet");
    let error = remove.apply(&spec("a -- quiet")).unwrap_err();
    assert!(matches!(error, TreatError::NotThere { .. }));
}

#[test]
fn only_whole_words_are_taken_away() {
    let (after, _) = Treatment::parse("cmdline-=quiet")
        .unwrap()
        .apply(&spec("quiet=1 quiet a=\"b quiet c\""))
        .unwrap();
    assert_eq!(after.cmdline.to_string(), "quiet=1 a=\"b quiet c\"");
}

#[test]
fn a_mask_is_a_word_of_systemd() {
    let mask = Treatment::parse("mask=cron.service").unwrap();
    let (after, _) = mask.apply(&spec("a")).unwrap();
    assert_eq!(after.cmdline.to_string(), "a systemd.mask=cron.service");
}

#[test]
fn one_list_is_read_ahead() {
    let apply =
        |text: &str, spec: &BootSpec| Treatment::parse(text).unwrap().apply(spec).unwrap().0;
    let first = apply("prefetch=a.list", &spec("quiet"));
    let second = apply("prefetch=b.list,window=250", &first);
    let word = "firstlight.prefetch=/firstlight/boot.list";
    assert_eq!(first.cmdline.to_string(), format!("quiet {word}"));
    assert_eq!(
        second.cmdline.to_string(),
        format!("quiet {word},window=250")
    );
    assert_eq!(second.reading.prefetch.as_deref(), Some("b.list"));
}

#[test]
fn plans_say_before_and_after() {
    for (text, line, plan) in [
        (
            "cmdline+=quiet",
            "a",
            "the kernel command line gains `quiet`",
        ),
        (
            "cmdline+=quiet",
            "a quiet",
            "`quiet` is already on the kernel command line: nothing changes",
        ),
        (
            "cmdline+=loglevel=3",
            "loglevel=8",
            "the kernel command line gains `loglevel=3` in addition to `loglevel=8`",
        ),
        (
            "cmdline-=quiet",
            "quiet a quiet",
            "the kernel command line loses `quiet` (2 occurrences)",
        ),
        (
            "kernel=direct",
            "a",
            "an uncompressed kernel is entered directly, and no firmware runs before it",
        ),
        (
            "kernel=image",
            "a",
            "the kernel already has the form `image`: nothing changes",
        ),
    ] {
        let treatment = Treatment::parse(text).unwrap();
        assert_eq!(treatment.plan(&spec(line)), plan);
    }
}

#[test]
fn what_is_no_treatment_gets_a_sentence() {
    for (text, part) in [
        ("quiet", "unknown treatment `quiet`; known treatments: "),
        ("kernel=zstd", "unknown treatment"),
        ("cmdline+=", "the kernel parameter is empty"),
        ("cmdline+=a b", "contains a space outside quotes"),
        ("cmdline+= a", "contains a space outside quotes"),
        ("cmdline+=a=\"b", "unclosed double quote"),
        ("cmdline+=a\u{7}", "control character"),
        (
            "mask=cron",
            "full unit name; write one such as `cron.service`",
        ),
        ("mask=.service", "full unit name"),
        ("mask=a b.service", "full unit name"),
    ] {
        let said = Treatment::parse(text).unwrap_err().to_string();
        assert!(said.contains(part), "{text}: {said}");
    }
    assert_eq!(
        CommandLine::parse("a \"b"),
        Err(WordError::Quote("\"b".into()))
    );
}

#[test]
fn a_later_change_stops_an_undo() {
    let (after, undo) = Treatment::parse("cmdline+=quiet")
        .unwrap()
        .apply(&spec("a"))
        .unwrap();
    let (later, _) = Treatment::parse("cmdline-=quiet")
        .unwrap()
        .apply(&after)
        .unwrap();
    let said = undo.apply(&later).unwrap_err().to_string();
    assert!(
        said.contains("a later treatment changed the same thing"),
        "{said}"
    );
}

#[test]
fn a_variable_of_the_environment_is_set_and_taken_away() {
    let set = Treatment::parse("env=bootdelay=-2").unwrap();
    let before = spec("");
    assert_eq!(
        set.plan(&before),
        "the boot loader variable `bootdelay` changes from `2` to `-2`"
    );
    let (after, undo) = set.apply(&before).unwrap();
    assert_eq!(after.environment["bootdelay"].as_deref(), Some("-2"));
    let gone = Treatment::parse("env-=bootdelay").unwrap();
    let (later, _) = gone.apply(&after).unwrap();
    assert_eq!(later.environment["bootdelay"], None);
    assert!(matches!(
        undo.apply(&later),
        Err(TreatError::ChangedSince { .. })
    ));
    for wrong in [
        "env=",
        "env=a",
        "env==b",
        "env=a b=c",
        "env-=",
        "env-=a=b",
        "env=a=\n",
    ] {
        let said = Treatment::parse(wrong).unwrap_err();
        assert!(matches!(said, TreatError::Variable { .. }), "{wrong}");
    }
}

#[test]
fn a_treatment_of_a_boards_files_is_told_apart_and_taken_back() {
    let before = spec("quiet");
    let treatment = Treatment::OfFiles("menu-timeout=0".to_owned());
    let (after, undo) = treatment.apply(&before).unwrap();
    assert_ne!(after, before);
    assert_eq!(treatment.apply(&after).unwrap().0, after);
    assert_eq!(undo.apply(&after).unwrap(), before);
    assert_eq!(treatment.to_string(), "menu-timeout=0");
    assert_eq!(
        FileTreatment::from(treatment),
        FileTreatment::parse("menu-timeout=0").unwrap()
    );
}
