//! What environments are changed to, so that a boot is faster; which environment that is; and
//! what is refused.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use firstlight_bootimage::environment::{
    Change, Data, Error, Found, Options, Proposals, Scheme, check_changed, find, find_any, look,
    patch, proposals, refuse_unsafe, verifies,
};
use firstlight_bootimage::{Part, fit};

fn corpus(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
    std::fs::read(format!("{path}{name}")).unwrap()
}

fn data(variables: &[(&str, &str)]) -> Data {
    let entries = variables
        .iter()
        .map(|(name, value)| format!("{name}={value}\0"));
    Data::new(format!("{}\0", entries.collect::<String>()).into_bytes()).unwrap()
}

fn of(variables: &[(&str, &str)], image: &[u8], signed: Option<bool>) -> Proposals {
    let part = Part::whole(&image).unwrap();
    proposals(&data(variables), Some(&part), signed).unwrap()
}

/// What is changed, in order: `name=value`.
fn changes(found: &Proposals) -> Vec<String> {
    let text = |change: &Change| match change {
        Change::Set(name, value) => {
            let text = |b: &[u8]| String::from_utf8(b.to_vec()).unwrap();
            format!("{}={}", text(name), text(value))
        }
        Change::Unset(name) => panic!("{name:?} is unset"),
    };
    found.proposals.iter().map(|p| text(&p.change)).collect()
}

/// Nothing is left to wish: no delay, no output, no checks, and one script.
const QUICK: [(&str, &str); 4] = [
    ("bootdelay", "0"),
    ("silent", "1"),
    ("verify", "no"),
    ("bootcmd", "bootm"),
];

/// With these variables in place of the quick ones of that name.
fn but(own: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str)> {
    let quick = QUICK.into_iter();
    let quick = quick.filter(|(name, _)| own.iter().all(|(n, _)| n != name));
    quick.chain(own.iter().copied()).collect()
}

#[test]
fn a_quick_environment_is_left_alone() {
    assert_eq!(of(&QUICK, &[], None), Proposals::default());
}

#[test]
fn what_a_boot_waits_for_is_taken_away() {
    let found = of(
        &[
            ("bootcmd", "bootm"),
            ("bootdelay", "3"),
            ("baudrate", "115200"),
        ],
        &[],
        None,
    );
    assert_eq!(changes(&found), ["bootdelay=0", "silent=1", "verify=no"]);
    assert_eq!(found.proposals[0].saves_ns, Some(3_000_000_000));
    // Ten bits a character: 86.8 us.
    assert!(found.proposals[1].why.contains("115200 baud, 86 us"));
    // Unless it is known that no signed image is booted, that must be said.
    assert!(found.proposals[2].cost.contains("signed FIT image"));
    assert_eq!(found.notes, Vec::<String>::new());

    let found = of(&[("bootcmd", "bootm"), ("baudrate", "0")], &[], Some(false));
    assert!(found.proposals[0].why.contains("2 s by default"));
    assert_eq!(found.proposals[0].saves_ns, None);
    assert!(found.proposals[1].why.contains("every character"));
    assert_eq!(found.proposals[2].cost, "U-Boot starts a damaged image");
}

#[test]
fn what_no_variable_changes_is_noted() {
    for (own, note) in [
        (("bootdelay", "-1"), "stops at its prompt"),
        (
            ("bootdelay", "soon"),
            "bootdelay is `soon`, which is not a number",
        ),
        (
            ("bootcmd", "sleep 3; bootm"),
            "bootcmd contains `sleep 3`: U-Boot waits 3 s",
        ),
        (("bootcmd", "usb start && bootm"), "USB enumeration"),
        (("bootcmd", "if dhcp; then bootm; fi"), "network setup"),
        (("bootcmd", "sata init; bootm"), "device enumeration"),
        (("spare", ""), "`spare=` has no value"),
    ] {
        let found = of(&but(&[own]), &[], None);
        assert_eq!(changes(&found), Vec::<String>::new(), "{own:?}");
        assert_eq!(found.notes.len(), 1, "{:?}", found.notes);
        assert!(found.notes[0].contains(note), "{:?}", found.notes);
    }
    // No delay at all; and a command that is there twice is told once.
    for own in [
        ("bootdelay", "-2"),
        ("bootcmd", "mmc rescan; usb tree; sata; bootm"),
    ] {
        assert_eq!(of(&but(&[own]), &[], None), Proposals::default());
    }
    let twice = but(&[("bootcmd", "sleep 1; sleep 1; bootm")]);
    assert_eq!(of(&twice, &[], None).notes.len(), 1);
    let found = proposals(&data(&QUICK[..3]), None, None).unwrap();
    assert_eq!(
        found.notes,
        ["bootcmd is not set, so U-Boot runs its built-in command"]
    );
}

/// `env_get_yesno`: the first letter counts, and nothing means yes.
#[test]
fn a_signed_image_keeps_its_check() {
    let yes: [&[u8]; 5] = [b"1", b"yes", b"Y", b"true", b"T0"];
    assert!(yes.iter().all(|v| verifies(Some(v))) && verifies(None));
    let no: [&[u8]; 4] = [b"", b"0", b"no", b"false"];
    assert!(no.iter().all(|v| !verifies(Some(v))));

    let found = of(&but(&[("verify", "yes")]), &[], Some(true));
    assert_eq!(found, Proposals::default());
    let found = of(&QUICK, &[], Some(true));
    assert!(found.proposals.is_empty() && found.notes[0].contains("unset verify"));

    let signed = corpus("boot/signed.itb");
    let signed = fit::read(&Part::whole(&signed.as_slice()).unwrap()).unwrap();
    let plain = corpus("boot/board.itb");
    let plain = fit::read(&Part::whole(&plain.as_slice()).unwrap()).unwrap();
    let parse = |text: &str| [Change::parse_set(text).unwrap()];
    for text in [
        "verify=no",
        "bootcmd=setenv verify 0; bootm",
        "a=env set -f verify n",
    ] {
        let why = refuse_unsafe(&parse(text), &signed, "signed.itb").unwrap_err();
        assert!(
            matches!(&why, Error::SignedFit { fit, .. } if fit == "signed.itb"),
            "{why}"
        );
        refuse_unsafe(&parse(text), &plain, "board.itb").unwrap();
    }
    for text in [
        "verify=yes",
        "bootcmd=setenv verify 1; bootm",
        "bootdelay=0",
    ] {
        refuse_unsafe(&parse(text), &signed, "signed.itb").unwrap();
    }
    refuse_unsafe(&[Change::parse_unset("verify").unwrap()], &signed, "").unwrap();
}

#[test]
fn scripts_are_made_one_and_their_targets_one() {
    let own = but(&[
        ("bootcmd", "run a; run b"),
        ("a", "mmc dev 0"),
        ("b", "bootm"),
    ]);
    let found = of(&own, &[], None);
    assert_eq!(changes(&found), ["bootcmd=mmc dev 0; bootm"]);
    assert!(found.proposals[0].why.contains("2 other scripts"));
    let own = but(&[("bootcmd", "run a"), ("a", "bootm")]);
    assert!(
        of(&own, &[], None).proposals[0]
            .why
            .contains("runs another script")
    );

    // What is known before the boot is set before it, with what it is made of.
    let own = but(&[
        ("bootcmd", "setenv bootargs console=${console} quiet; bootm"),
        ("console", "ttyS0"),
    ]);
    let found = of(&own, &[], None);
    assert_eq!(changes(&found), ["bootcmd=bootm"]);
    let with = Change::parse_set("bootargs=console=ttyS0 quiet").unwrap();
    assert_eq!(found.proposals[0].with, [with]);
    assert!(
        found.proposals[0]
            .why
            .contains("sets bootargs on every boot")
    );

    let found = of(&but(&[("boot_targets", "mmc1 usb0 pxe ")]), &[], None);
    assert_eq!(changes(&found), ["boot_targets=mmc1"]);
    assert!(found.proposals[0].why.contains("`mmc1 usb0 pxe` in turn"));
    let one = but(&[("boot_targets", "mmc1")]);
    assert_eq!(of(&one, &[], None), Proposals::default());
}

/// A legacy image of 3156 bytes at byte 8192.
fn flash() -> Vec<u8> {
    let mut image = vec![0xff; 8192];
    image.extend(corpus("boot/uImage"));
    assert_eq!(image.len(), 8192 + 3156);
    image.resize(64 << 10, 0xff);
    image
}

#[test]
fn an_image_is_read_to_its_end_and_no_further() {
    let image = flash();
    for (own, change, surplus) in [
        // NAND in pages of 4 KiB at the most: 0xa000 bytes, of which 0x1000 are needed.
        (
            vec![(
                "bootcmd",
                "nand read 0x80008000 0x2000 0xa000; bootm 0x80008000",
            )],
            "bootcmd=nand read 0x80008000 0x2000 0x1000; bootm 0x80008000",
            0x9000,
        ),
        // SPI flash by bytes: 3156 are 0xc54. The length stands in a variable.
        (
            vec![
                ("bootcmd", "sf read ${at} 0x2000 ${size}; bootm"),
                ("size", "8000"),
            ],
            "size=0xc54",
            0x8000 - 3156,
        ),
        // A disk by blocks of 512 bytes: 7 of 64, from the sixteenth on.
        (
            vec![("bootcmd", "mmc read 0x80008000 0x10 0x40; bootm")],
            "bootcmd=mmc read 0x80008000 0x10 0x7; bootm",
            (64 - 7) * 512,
        ),
    ] {
        let found = of(&but(&own), &image, None);
        assert_eq!(changes(&found), [change]);
        assert_eq!(found.proposals[0].surplus_bytes, Some(surplus));
        assert!(found.proposals[0].why.contains("the image has 3156"));
    }
    // Too little is read: a note, for no boot can do with it.
    let own = but(&[("bootcmd", "sf read 0x80008000 0x2000 0x400; bootm")]);
    let found = of(&own, &image, None);
    assert_eq!(changes(&found), Vec::<String>::new());
    assert!(found.notes[0].contains("reads 1024 bytes, but the image has 3156"));
    for script in [
        // Just enough; nothing is known there; no number; more than a number holds.
        "sf read 0x80008000 0x2000 0xc54",
        "nand read 0x80008000 0x2000 0x1000",
        "sf read 0x80008000 0x4000 0xa000",
        "sf read 0x80008000 kernel 0xa000",
        "mmc read 0x80008000 0x10 0xffffffffffffffff",
        // Which of the two numbers is the length, a search would not tell.
        "nand read 0xa000 0x2000 0xa000",
        "mmc write 0x80008000 0x10 0x40",
    ] {
        let own = [&QUICK[..3], &[("bootcmd", script)]].concat();
        assert_eq!(of(&own, &image, None), Proposals::default(), "{script}");
    }
}

#[test]
fn any_image_that_says_its_length_is_read_to_its_end() {
    let fit = corpus("boot/board.itb");
    // Its last image has 3219 bytes, which mkimage fills up to 3220.
    let end = fit.len() - 1;
    let mut kernel = vec![0; 0x1000];
    kernel[0x24..0x28].copy_from_slice(&0x016f_2818_u32.to_le_bytes());
    // It begins at 0 and ends at 0x1234.
    kernel[0x2c..0x30].copy_from_slice(&0x1234_u32.to_le_bytes());
    for (image, needed) in [(&fit, end), (&kernel, 0x1234)] {
        let own = but(&[("bootcmd", "sf read 0x80008000 0 0xa000; bootm")]);
        let found = of(&own, image, None);
        let length = format!("bootcmd=sf read 0x80008000 0 {needed:#x}; bootm");
        assert_eq!(changes(&found), [length]);
    }
    // A device tree that is cut off says nothing.
    let own = but(&[("bootcmd", "sf read 0x80008000 0 0xa000; bootm")]);
    assert_eq!(of(&own, &fit[..200], None), Proposals::default());
}

fn found(image: &[u8]) -> Found {
    find(&Part::whole(&image).unwrap(), &Options::default()).unwrap()
}

#[test]
fn the_one_environment_is_compared_and_its_change_is_checked() {
    let one = corpus("flash/environment.bin");
    let pair = corpus("flash/environment-redundant.bin");
    let image = one.as_slice();
    let part = Part::whole(&image).unwrap();
    let before = found(&one);
    let environment = before.one().unwrap();
    let changes = Change::parse_all(&["bootdelay=7".to_owned()], &["baudrate".to_owned()]).unwrap();
    let mut after = one.clone();
    patch(&part, environment, &changes)
        .unwrap()
        .apply(&mut after)
        .unwrap();
    let changed = after.as_slice();
    let changed = Part::whole(&changed).unwrap();
    check_changed(&changed, environment, &changes).unwrap();
    // The old image does not hold what was asked for.
    let why = check_changed(&part, environment, &changes).unwrap_err();
    assert!(matches!(why, Error::NotAsWanted), "{why}");

    let differences = before.differences(&found(&after)).unwrap();
    let names: Vec<&[u8]> = differences.iter().map(|d| d.name.as_slice()).collect();
    assert_eq!(names, [&b"baudrate"[..], b"bootdelay"]);
    assert_eq!(before.differences(&before).unwrap(), []);

    let image = pair.as_slice();
    let looked = look(&Part::whole(&image).unwrap(), found(&pair), None).unwrap();
    assert_eq!(looked.bytes, pair.len() as u64);
    assert_eq!(
        (looked.found.environments.len(), looked.proposals.len()),
        (1, 1)
    );
    assert!(looked.barebox.is_empty() && !looked.proposals[0].proposals.is_empty());

    let several = [&one[..], &vec![0xff; 4096], &one[..]].concat();
    let why = found(&several).one().unwrap_err().to_string();
    assert!(
        why.contains(&format!("at bytes 0, {}", one.len() + 4096)),
        "{why}"
    );
    let none = Found {
        environments: Vec::new(),
        gave_up: None,
    };
    assert!(matches!(none.one(), Err(Error::Nowhere)));
    let twice = Change::parse_all(&["a=1".to_owned()], &["a".to_owned()]).unwrap_err();
    assert!(matches!(&twice, Error::Twice(name) if name == "a"));
    let why = find_any(
        &Part::whole(&&[0xff_u8; 9000][..]).unwrap(),
        &Options::default(),
    );
    assert!(matches!(why, Err(Error::None { barebox: None, .. })));
}

/// U-Boot's `env/flash.c` and `env/common.c`: what each pair of flags means.
#[test]
fn which_copy_is_active_depends_on_the_scheme() {
    for (flags, boolean, serial) in [
        ([1, 0], 0, 0),
        ([0, 1], 1, 1),
        ([1, 1], 0, 0),
        ([0, 0], 0, 0),
        ([255, 1], 0, 0),
        ([1, 255], 1, 1),
        // A number begins again behind 255.
        ([255, 0], 0, 1),
        ([0, 255], 1, 0),
        ([2, 3], 1, 1),
        ([3, 2], 0, 0),
    ] {
        assert_eq!(Scheme::Boolean.active(flags), boolean, "{flags:?}");
        assert_eq!(Scheme::Serial.active(flags), serial, "{flags:?}");
    }
    let names = [Scheme::Boolean, Scheme::Serial].map(|s| s.to_string());
    assert_eq!(names, ["boolean", "serial"]);
}
