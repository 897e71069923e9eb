//! `firstlight image relocate` where something stands in its way: no space, files
//! that change, files and filesystems that may not be written, quotas.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

mod common;

use common::firstlight;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{FileExt, chown};
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FILES: usize = 60;

/// Runs a tool; `false` with a visible line where it is not there or fails.
fn tool(name: &str, args: &[&str]) -> bool {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let run = Command::new(name).args(args).env("PATH", path).output();
    let done = run.as_ref().is_ok_and(|o| o.status.success());
    if !done {
        let said = run.map(|o| String::from_utf8_lossy(&o.stderr).into_owned());
        eprintln!("skipped: {name} {args:?}: {said:?}");
    }
    done
}

/// An ext4 of 32 MiB with files that have gaps between them, mounted.
struct Disk {
    folder: tempfile::TempDir,
}

impl Disk {
    /// `None` with a visible line where it cannot be.
    fn new(features: &[&str], options: &str) -> Option<Self> {
        let disk = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(disk.root()).unwrap();
        let (image, root) = (disk.image(), disk.root().to_str()?.to_owned());
        let mut make = vec!["-q", "-F", "-t", "ext4", "-b", "4096"];
        make.extend(features);
        make.extend([&*image, "32M"]);
        if !tool("mke2fs", &make) || !tool("mount", &["-o", options, &image, &root]) {
            return None;
        }
        for number in 0..2 * FILES {
            let path = disk.path(number);
            let file = File::create(&path).unwrap();
            file.write_all_at(&content(number), 0).unwrap();
            file.sync_all().unwrap();
            chown(&path, Some(1000 + number as u32 % 2), None).unwrap();
        }
        for number in (1..2 * FILES).step_by(2) {
            fs::remove_file(disk.path(number)).unwrap();
        }
        let list = (0..FILES).map(|n| n * 17 % FILES * 2);
        let list: String = list.map(|n| format!("/f{n:03}\n")).collect();
        fs::write(disk.list(), list).unwrap();
        Some(disk)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn path(&self, number: usize) -> PathBuf {
        self.root().join(format!("f{number:03}"))
    }

    fn image(&self) -> String {
        self.folder
            .path()
            .join("image")
            .to_str()
            .unwrap()
            .to_owned()
    }

    fn list(&self) -> String {
        self.folder.path().join("list").to_str().unwrap().to_owned()
    }

    fn relocate(&self) -> Output {
        let root = self.root().to_str().unwrap().to_owned();
        let list = self.list();
        firstlight(&[
            "image", "relocate", &root, "--files", &list, "--apply", "--json",
        ])
    }

    /// Everything but `changed` is what it was, and e2fsck has nothing to say.
    fn check(self, changed: &[usize]) {
        for number in (0..2 * FILES).step_by(2).filter(|n| !changed.contains(n)) {
            let found = fs::read(self.path(number)).unwrap();
            assert!(found == content(number), "f{number:03}");
        }
        let root = self.root().to_str().unwrap().to_owned();
        assert!(tool("umount", &[&root]));
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
        let checked = Command::new("e2fsck")
            .args(["-f", "-n", &self.image()])
            .env("PATH", path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&checked.stdout).into_owned();
        assert!(checked.status.success(), "{said}");
        assert!(!said.contains("WARNING"), "{said}");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let root = self.root();
        Command::new("umount").arg(root).output().ok();
    }
}

fn content(number: usize) -> Vec<u8> {
    let byte = |i: usize| ((i * 13 + number * 4093) >> 2) as u8;
    (0..4096 + number * 977 % 90_000).map(byte).collect()
}

fn report(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!("{e}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

/// One sentence, and exit code 2.
fn refused(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
}

#[test]
fn without_space_nothing_moves() {
    let Some(disk) = Disk::new(&[], "loop") else {
        return;
    };
    let filler = File::create(disk.root().join("filler")).unwrap();
    let block = vec![0; 1 << 16];
    while (&filler).write_all(&block).is_ok() {}
    filler.sync_all().ok();
    drop(filler);
    refused(&disk.relocate(), "free space are needed");
    disk.check(&[]);
}

#[test]
fn a_disk_that_fills_up_meanwhile_harms_nothing() {
    let Some(disk) = Disk::new(&[], "loop") else {
        return;
    };
    let stop = Arc::new(AtomicBool::new(false));
    let (told, place) = (stop.clone(), disk.root());
    let filling = std::thread::spawn(move || {
        let block = vec![7; 1 << 16];
        let mut number = 0;
        while !told.load(Ordering::Relaxed) {
            let path = place.join(format!("filler{}", number % 4));
            let filler = File::create(path).unwrap();
            while (&filler).write_all(&block).is_ok() && !told.load(Ordering::Relaxed) {}
            number += 1;
        }
    });
    let mut done = 0;
    for _ in 0..4 {
        let output = disk.relocate();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => done += 1,
            Some(2) => assert_eq!(said.trim().lines().count(), 1, "{said}"),
            code => panic!("{code:?}: {said}"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    filling.join().unwrap();
    eprintln!("{done} of 4 relocations found space");
    disk.check(&[]);
}

#[test]
fn what_is_written_meanwhile_is_not_lost() {
    let Some(disk) = Disk::new(&[], "loop") else {
        return;
    };
    let changing = [0, 6, 40, 118];
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    let paths: Vec<PathBuf> = changing.iter().map(|n| disk.path(*n)).collect();
    let writing = std::thread::spawn(move || {
        let mut models: Vec<Vec<u8>> = changing.iter().map(|n| content(*n)).collect();
        let mut round = 0usize;
        while !told.load(Ordering::Relaxed) || round < 200 {
            for (path, model) in paths.iter().zip(&mut models) {
                let at = round * 5471 % model.len();
                let bytes = vec![round as u8; 3000.min(model.len() - at)];
                let file = File::options().write(true).open(path).unwrap();
                file.write_all_at(&bytes, at as u64).unwrap();
                model[at..at + bytes.len()].copy_from_slice(&bytes);
                // And it grows, and is cut again.
                if round % 16 == 5 {
                    file.write_all_at(&[round as u8; 9000], model.len() as u64)
                        .unwrap();
                    file.set_len(model.len() as u64).unwrap();
                }
            }
            round += 1;
        }
        models
    });
    for _ in 0..4 {
        assert_eq!(disk.relocate().status.code(), Some(0));
    }
    stop.store(true, Ordering::Relaxed);
    let models = writing.join().unwrap();
    for (number, model) in changing.iter().zip(models) {
        let found = fs::read(disk.path(*number)).unwrap();
        assert!(found == model, "f{number:03}");
    }
    disk.check(&changing);
}

#[test]
fn a_read_only_filesystem_is_refused() {
    let Some(disk) = Disk::new(&[], "loop") else {
        return;
    };
    let root = disk.root().to_str().unwrap().to_owned();
    if !tool("mount", &["-o", "remount,ro", &root]) {
        return;
    }
    refused(&disk.relocate(), "mounted read-only");
    disk.check(&[]);
}

#[test]
fn an_immutable_file_stays_and_the_others_move() {
    let Some(disk) = Disk::new(&[], "loop") else {
        return;
    };
    let own = [4, 8].map(|n| disk.path(n).to_str().unwrap().to_owned());
    if !tool("chattr", &["+i", &own[0]]) || !tool("chattr", &["+a", &own[1]]) {
        return;
    }
    let done = report(&disk.relocate());
    let skipped = done["skipped"].as_array().unwrap().clone();
    tool("chattr", &["-i", &own[0]]);
    tool("chattr", &["-a", &own[1]]);
    assert_eq!(skipped.len(), 2, "{done}");
    for one in &skipped {
        assert_eq!(one["reason"], "it is immutable or append-only");
    }
    assert_eq!(done["files"], FILES - 2);
    assert!(
        done["after"]["discontinuities"].as_u64().unwrap() <= 1,
        "{done}"
    );
    disk.check(&[]);
}

#[test]
fn quotas_count_the_same_afterwards() {
    let features = ["-O", "quota", "-E", "quotatype=usrquota"];
    let Some(disk) = Disk::new(&features, "loop,usrquota") else {
        return;
    };
    let done = report(&disk.relocate());
    assert!(
        done["after"]["discontinuities"].as_u64().unwrap() <= 1,
        "{done}"
    );
    disk.check(&[]);
}
