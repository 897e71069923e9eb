//! Several boots in what was given for one: in one log, or in several files.

use crate::Input;
use crate::error::{Result, refuse};
use record::{Fact, Record};
use sources::Source;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;

/// How many boots an input holds, one after the other.
pub fn boots(input: &Input) -> usize {
    match input {
        Input::Raw(raw) => raw.source.boots(&raw.bytes).len().max(1),
        Input::Capture(_) => 1,
    }
}

/// Whether the files hold the boot that the user chose.
pub(crate) fn check(
    files: &[(&'static dyn Source, &str, &[u8])],
    serial: Option<&dyn Source>,
    boot: Option<NonZeroUsize>,
) -> Result<()> {
    let Some(boot) = boot else {
        return Ok(());
    };
    let count = |(source, _, bytes): &(&'static dyn Source, &str, &[u8])| {
        let own = serial.filter(|s| s.name() == source.name());
        own.map_or_else(|| source.boots(bytes), |s| s.boots(bytes))
            .len()
    };
    let most = files.iter().map(count).max().unwrap_or(0).max(1);
    if boot.get() > most {
        let boots = if most == 1 {
            "1 boot"
        } else {
            &format!("{most} boots")
        };
        refuse!("--boot {boot}: the input holds {boots}; give a number from 1 to {most}");
    }
    Ok(())
}

/// Facts that one boot has only once: the kernel that ran, what it was told, and systemd's
/// last word.
const ONCE: [(&str, &str); 2] = [
    ("kernel.version", "kernel versions"),
    ("systemd.startup_total_ns", "startup times"),
];

/// Refuses files that cannot be of one boot: those of the same kind that say something else
/// of what a boot has once.
pub(crate) fn one_boot(record: &Record) -> Result<()> {
    for (key, what) in ONCE {
        let mut said: BTreeMap<&str, &Fact> = BTreeMap::new();
        for fact in record.facts().iter().filter(|f| record.name(f.key) == key) {
            said.entry(record.name(fact.value)).or_insert(fact);
        }
        let file = |fact: &Fact| record.source(fact.origin.source).map(|s| &s.name);
        let format = |fact: &Fact| record.source(fact.origin.source).map(|s| s.format);
        let mut facts = said.values();
        let Some(first) = facts.next() else { continue };
        let other = facts.find(|f| file(f) != file(first) && format(f) == format(first));
        if let (Some(a), Some(b)) = (file(first), other.and_then(|f| file(f))) {
            refuse!(
                "{a} and {b} are of different boots: their {what} differ; give the files of one \
                 boot, or compare them with `firstlight diff BASE --against NEW`"
            );
        }
    }
    Ok(())
}
