#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use treat::FileTreatment;
use treat::files::{Applied, Journal, Target};

/// How treatments begin.
const FORMS: [&str; 18] = [
    "cmdline+=",
    "cmdline-=",
    "mask=",
    "config=",
    "env=",
    "env-=",
    "fstab=/",
    "fstab=/:",
    "menu-timeout=",
    "initramfs-modules=dep",
    "journald=volatile",
    "initramfs=",
    "uimage-load=",
    "dtb-bootdelay=",
    "jffs2=summaries",
    "ubi-skip-check=",
    "strip=usr/bin",
    "library-=usr/lib/liba.so.1",
];

/// Files that treatments look for.
const PATHS: [&str; 12] = [
    "boot/cmdline.txt",
    "boot/extlinux/extlinux.conf",
    "boot/loader/entries/a.conf",
    "boot/loader/loader.conf",
    "etc/default/grub",
    "etc/fstab",
    "etc/initramfs-tools/initramfs.conf",
    "etc/kernel/cmdline",
    "etc/systemd/journald.conf.d/50-firstlight.conf",
    "usr/bin/app",
    "usr/lib/liba.so.1",
    "usr/lib/systemd/system/a.service",
];

/// Everything in a folder.
type Seen = BTreeMap<PathBuf, Vec<u8>>;

fn seen(folder: &Path, all: &mut Seen) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let content = if about.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if about.is_dir() {
            seen(&path, all);
            Vec::new()
        } else {
            fs::read(&path).unwrap()
        };
        all.insert(path, content);
    }
}

fn all(folder: &Path) -> Seen {
    let mut found = Seen::new();
    seen(folder, &mut found);
    found
}

fn go_on(_: &str) -> io::Result<()> {
    Ok(())
}

fn apply(target: &Target, treatment: &FileTreatment, until: u8) -> Option<Applied> {
    let mut journal = Journal::open(target, &mut go_on).unwrap();
    let mut left = until;
    let mut fault = |_: &str| {
        left = left.checked_sub(1).ok_or(io::ErrorKind::Other)?;
        Ok(())
    };
    let done = journal.apply(treatment, None, &mut fault);
    done.ok().map(|(_, applied)| applied)
}

thread_local! {
    // In memory: files are written, and synced, thousands of times.
    static FOLDER: RefCell<tempfile::TempDir> = RefCell::new(
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap(),
    );
}

type Input = (u8, String, bool, u8, Vec<(u8, Vec<u8>)>);

libfuzzer_sys::fuzz_target!(|input: Input| {
    let (form, rest, is_file, until, files) = input;
    let form = FORMS[usize::from(form) % FORMS.len()];
    let Ok(treatment) = FileTreatment::parse(&format!("{form}{rest}")) else {
        return;
    };
    assert_eq!(
        FileTreatment::parse(&treatment.to_string()).unwrap(),
        treatment
    );
    FOLDER.with_borrow(|folder| one(folder.path(), &treatment, is_file, until, &files));
});

fn one(
    folder: &Path,
    treatment: &FileTreatment,
    is_file: bool,
    until: u8,
    files: &[(u8, Vec<u8>)],
) {
    let root = folder.join("root");
    for (number, bytes) in files {
        let path = root.join(PATHS[usize::from(*number) % PATHS.len()]);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
    }
    fs::create_dir_all(&root).unwrap();
    let path = match files.first().filter(|_| is_file) {
        Some((number, _)) => root.join(PATHS[usize::from(*number) % PATHS.len()]),
        None => root.clone(),
    };
    let before = all(folder);
    check(folder, &path, treatment, until, &before);
    fs::remove_dir_all(&root).unwrap();
}

fn check(folder: &Path, path: &Path, treatment: &FileTreatment, until: u8, before: &Seen) {
    let target = Target::open(path).unwrap();
    match treatment.plan(&target) {
        Ok(plan) => drop((plan.diff(), plan.basis())),
        Err(refused) => {
            // One sentence, and nothing is changed.
            assert!(!refused.to_string().trim().is_empty());
            assert_eq!(apply(&target, treatment, u8::MAX), None);
            assert_eq!(all(folder), *before);
            return;
        }
    }
    // Stopped somewhere, it is the old state or the new one.
    apply(&target, treatment, until);
    drop(Journal::open(&target, &mut go_on).unwrap());
    let stopped = all(folder);
    let kept = Journal::open(&target, &mut go_on).unwrap().kept().unwrap();
    if kept.is_empty() {
        assert_eq!(stopped, *before, "stopped after {until} steps");
    }
    let done = apply(&target, treatment, u8::MAX);
    let after = all(folder);
    if !kept.is_empty() {
        assert_eq!(stopped, after, "stopped after {until} steps");
    }
    if done.is_some() {
        assert_eq!(apply(&target, treatment, u8::MAX), Some(Applied::Already));
        assert_eq!(all(folder), after);
    }
    let mut journal = Journal::open(&target, &mut go_on).unwrap();
    if !journal.kept().unwrap().is_empty() {
        journal.undo(Some(treatment), &mut go_on).unwrap();
    }
    drop(journal);
    assert_eq!(all(folder), *before);
}
