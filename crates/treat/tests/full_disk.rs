//! A disk without room, and one that cannot be written: nothing in between.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says that it was skipped"
)]

use firstlight_treat::FileTreatment;
use firstlight_treat::files::{Applied, FileError, Journal, Target};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a page of memory holds, which is what a file of a tmpfs takes at least.
const PAGE: usize = 4096;

/// A small disk of its own.
struct Disk {
    folder: tempfile::TempDir,
}

/// One test at a time: until a program that is started runs, it holds what is open
/// here, the lock of the other test's journal too.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Disk {
    /// `None`: this user may not mount.
    fn mount() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let disk = Self { folder };
        disk.mount_with("size=256k").then_some(disk)
    }

    fn mount_with(&self, options: &str) -> bool {
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(self.folder.path())
            .output();
        done.is_ok_and(|d| d.status.success())
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.folder.path()).output();
    }
}

fn root(disk: &Disk) -> PathBuf {
    let root = disk.path().join("root");
    for (path, text) in [
        ("boot/cmdline.txt", "console=ttyS0 root=/dev/sda1 splash\n"),
        ("etc/fstab", "/dev/sda1 / ext4 rw,discard 0 1\n"),
        ("usr/lib/systemd/system/a.service", "[Service]\n"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

fn content(at: &Path, all: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(at).unwrap() {
        let path = entry.unwrap().path();
        if path.is_symlink() {
            let to = fs::read_link(&path).unwrap();
            all.push((path, to.into_os_string().into_encoded_bytes()));
        } else if path.is_dir() {
            content(&path, all);
        } else {
            let bytes = fs::read(&path).unwrap();
            all.push((path, bytes));
        }
    }
}

fn seen(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    content(root, &mut all);
    all.sort();
    all
}

fn go_on(_: &str) -> io::Result<()> {
    Ok(())
}

fn apply(root: &Path, text: &str) -> Result<Applied, FileError> {
    let target = Target::open(root)?;
    let mut journal = Journal::open(&target, &mut go_on)?;
    let treatment = FileTreatment::parse(text)?;
    Ok(journal.apply(&treatment, None, &mut go_on)?.1)
}

fn undo(root: &Path, text: &str) -> Result<(), FileError> {
    let target = Target::open(root)?;
    let mut journal = Journal::open(&target, &mut go_on)?;
    let treatment = FileTreatment::parse(text)?;
    journal.undo(Some(&treatment), &mut go_on).map(|_| ())
}

/// Fills the disk but for `pages`.
fn fill(disk: &Disk, pages: usize) -> PathBuf {
    let filler = disk.path().join("filler");
    fs::write(&filler, []).unwrap();
    let page = [7_u8; PAGE];
    let mut file = fs::OpenOptions::new().append(true).open(&filler).unwrap();
    let mut written = 0;
    while io::Write::write_all(&mut file, &page).is_ok() {
        written += 1;
    }
    file.set_len((written * PAGE).saturating_sub(pages * PAGE) as u64)
        .unwrap();
    filler
}

#[test]
fn a_full_disk_leaves_the_old_state_or_the_new_one() {
    let _alone = alone();
    let Some(disk) = Disk::mount() else {
        println!("skipped: mounting a small disk needs root");
        return;
    };
    let root = root(&disk);
    let (mut refused, mut done) = (0, 0);
    for text in ["cmdline+=quiet", "mask=a.service", "fstab=/:-discard"] {
        let old = seen(&root);
        for pages in 0..24 {
            let filler = fill(&disk, pages);
            let applied = apply(&root, text);
            let now = seen(&root);
            match &applied {
                Ok(_) => done += 1,
                Err(e) => {
                    refused += 1;
                    assert_eq!(now, old, "{text} with {pages} pages: {e}");
                    let said = e.to_string();
                    assert!(!said.contains('\n'), "{said}");
                    assert!(said.contains("No space left"), "{said}");
                }
            }
            // With room again, and with none, there is a way back.
            if applied.is_ok() {
                assert_ne!(now, old);
                let without_room = undo(&root, text);
                fs::remove_file(&filler).unwrap();
                if without_room.is_err() {
                    assert_eq!(seen(&root), now);
                    undo(&root, text).unwrap();
                }
            } else {
                fs::remove_file(&filler).unwrap();
                // What was left is taken back, and then it can be done.
                assert!(matches!(apply(&root, text), Ok(Applied::Changed { .. })));
                undo(&root, text).unwrap();
            }
            assert_eq!(seen(&root), old, "{text} with {pages} pages");
            assert!(!disk.path().join("root.firstlight").exists());
        }
    }
    assert!(refused > 6 && done > 6, "{refused} refused, {done} done");
}

#[test]
fn a_read_only_tree_stays_as_it_is() {
    let _alone = alone();
    let Some(disk) = Disk::mount() else {
        println!("skipped: mounting a small disk needs root");
        return;
    };
    let root = root(&disk);
    let old = seen(&root);
    assert!(disk.mount_with("remount,ro"));
    for text in ["cmdline+=quiet", "mask=a.service", "fstab=/:-discard"] {
        let refused = apply(&root, text).unwrap_err().to_string();
        assert!(refused.contains("Read-only file system"), "{refused}");
        assert!(!refused.contains('\n'), "{refused}");
        assert_eq!(seen(&root), old);
    }
}
