//! The critical path of small boots.

mod common;

use analysis::{CriticalPath, Options, critical_path, phases_with};

fn path(boot: &str) -> CriticalPath {
    let record = common::record(boot);
    let phases = phases_with(&record, &Options::default());
    critical_path(&record, &phases)
}

/// Kind, name, length, saving if halved; in milliseconds.
fn items(path: &CriticalPath) -> Vec<(&str, &str, i64, i64)> {
    let ms = |t: record::Nanos| t.get() / 1_000_000;
    let items = path.items.iter();
    items
        .map(|i| {
            let length = ms(i.end - i.start);
            (i.kind.as_str(), &*i.name, length, ms(i.saving_if_halved))
        })
        .collect()
}

const KERNEL: &str = "\
source boot.log kernel-log
clock printk printk
mark 0s power-on firmware
mark 1s kernel-start kernel
span initcall 1100ms 1300ms a_init track=1
span initcall 1150ms 1200ms inner_init track=1
span initcall 1150ms 1900ms async_init track=9
span initcall 1300ms 1400ms b_init track=1
mark 2s userspace-start userspace
";

#[test]
fn before_userspace_a_boot_is_one_thing_after_another() {
    let path = path(&format!("{KERNEL}mark 3s first-light -\n"));
    assert!(!path.knows_units);
    assert_eq!(
        items(&path),
        [
            ("phase", "firmware", 1000, 500),
            ("kernel", "the kernel, before its first initcall", 100, 50),
            ("initcall", "a_init", 200, 100),
            ("initcall", "b_init", 100, 50),
            ("kernel", "the kernel, after b_init", 600, 300),
            ("phase", "userspace", 1000, 500),
        ]
    );
}

#[test]
fn a_unit_saves_until_another_one_is_waited_for() {
    let path = path(&format!(
        "{KERNEL}mark 3s first-light -\n\
         span unit 2000ms 2800ms slow.service\n\
         span unit 2000ms 2700ms nearly.service\n\
         span unit 2800ms 2900ms last.service\n\
         span unit 2900ms 2900ms multi-user.target\n\
         after last.service slow.service\n\
         after last.service nearly.service\n\
         after multi-user.target last.service\n"
    ));
    assert!(path.knows_units);
    assert_eq!(
        items(&path)[5..],
        [
            ("unit", "slow.service", 800, 100),
            ("unit", "last.service", 100, 50),
            ("wait", "until first light", 100, 50),
        ]
    );
    // Without gaps, from zero to first light.
    assert!(path.items.windows(2).all(|w| w[0].end == w[1].start));
    let (first, last) = (path.items.first(), path.items.last());
    assert_eq!(first.map(|i| i.start.get()), Some(0));
    assert_eq!(last.map(|i| i.end), Some(path.end));
}

#[test]
fn nothing_has_no_path() {
    assert!(
        path("source boot.log kernel-log\nclock printk printk\n")
            .items
            .is_empty()
    );
}
