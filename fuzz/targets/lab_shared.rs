#![no_main]

//! A result that others share, and that was changed: cut, foreign, or made to deceive, with
//! right sums. It is refused, and the trial booted here, or taken for what it says; nothing is
//! written outside of the output folder.

use agent::capture::{Limits, Member, read_tar, write_tar};
use arbitrary::Arbitrary;
use fuzz::trials::{OUTSIDE, Script, run};
use lab::Shared;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

#[derive(Debug, Arbitrary)]
enum Change {
    /// These bytes stand in a member from here on.
    Write {
        member: u8,
        at: u16,
        bytes: Vec<u8>,
    },
    /// All of a member.
    Whole {
        member: u8,
        bytes: Vec<u8>,
    },
    Name {
        member: u8,
        name: u8,
    },
    Remove {
        member: u8,
    },
    Add {
        name: u8,
        bytes: Vec<u8>,
    },
}

#[derive(Debug, Arbitrary)]
struct Input {
    changes: Vec<Change>,
    /// Whether the sum is made right.
    seals: bool,
    /// Bytes that are changed when all is packed, and how many are missing.
    damage: Vec<(u16, u8)>,
    cut: u8,
}

const NAMES: [&str; 6] = [
    "manifest.json",
    "console.log",
    "trial.json",
    "entry.json",
    "a/b",
    OUTSIDE,
];

/// The place of a shared result, and what is in it.
fn original() -> &'static (PathBuf, Vec<Member>) {
    static ORIGINAL: OnceLock<(PathBuf, Vec<Member>)> = OnceLock::new();
    ORIGINAL.get_or_init(|| {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let place = folder.path().join("shared");
        let script = Script::new(b"booted\n".to_vec(), None);
        run(
            &script,
            &folder.path().join("out"),
            Some(Shared::in_folder(&place)),
        )
        .unwrap();
        let group = fs::read_dir(&place)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let file = fs::read_dir(group).unwrap().next().unwrap().unwrap().path();
        let packed = fs::read(&file).unwrap();
        let tar = zstd::decode_all(packed.as_slice()).unwrap();
        let members = read_tar(tar.as_slice(), Limits::default()).unwrap();
        (file.strip_prefix(&place).unwrap().to_owned(), members)
    })
}

fn changed(mut members: Vec<Member>, input: &Input) -> Vec<Member> {
    for change in &input.changes {
        let count = members.len().max(1);
        let member = |number: &u8| usize::from(*number) % count;
        let name = |number: &u8| NAMES[usize::from(*number) % NAMES.len()].to_owned();
        match change {
            Change::Add { name: n, bytes } => members.push((name(n), bytes.clone())),
            Change::Remove { member: m } if !members.is_empty() => {
                members.remove(member(m));
            }
            Change::Name { member: m, name: n } => {
                if let Some(found) = members.get_mut(member(m)) {
                    found.0 = name(n);
                }
            }
            Change::Whole { member: m, bytes } => {
                if let Some(found) = members.get_mut(member(m)) {
                    found.1.clone_from(bytes);
                }
            }
            Change::Write {
                member: m,
                at,
                bytes,
            } => {
                if let Some((_, content)) = members.get_mut(member(m)) {
                    let at = usize::from(*at) % (content.len() + 1);
                    let end = (at + bytes.len()).min(content.len());
                    content.splice(at..end, bytes.iter().copied());
                }
            }
            Change::Remove { .. } => {}
        }
    }
    members
}

/// Puts the sum over all other members into the first one, if that is what says it.
fn seal(members: &mut [Member]) {
    let Some(((_, entry), rest)) = members.split_first_mut() else {
        return;
    };
    let mut hash = Sha256::new();
    for part in rest
        .iter()
        .flat_map(|(name, bytes)| [name.as_bytes(), bytes])
    {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let sum: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    if let Ok(serde_json::Value::Object(mut fields)) = serde_json::from_slice(entry) {
        fields.insert("sha256".to_owned(), sum.into());
        *entry = serde_json::to_vec(&fields).unwrap();
    }
}

fn put(folder: &Path, input: &Input) {
    let (path, members) = original();
    let mut members = changed(members.clone(), input);
    if input.seals {
        seal(&mut members);
    }
    let mut tar = Vec::new();
    // A name that no capture may have is refused here already.
    if write_tar(&mut tar, &members).is_err() {
        return;
    }
    let mut packed = zstd::encode_all(tar.as_slice(), 1).unwrap();
    let length = packed.len();
    for (at, value) in &input.damage {
        packed[usize::from(*at) % length] ^= value;
    }
    packed.truncate(length - usize::from(input.cut).min(length));
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, packed).unwrap();
}

libfuzzer_sys::fuzz_target!(|input: Input| {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let place = folder.path().join("shared");
    put(&place, &input);
    let mut shared = Shared::in_folder(&place);
    shared.audit_every = 0;
    let script = Script::new(b"booted\n".to_vec(), None);
    let out = folder.path().join("out");
    match run(&script, &out, Some(shared)) {
        Ok(outcome) => {
            assert_eq!(outcome.trials.len(), 1);
            let is_taken = script.boots() == 0;
            assert_eq!(outcome.trials[0].shared_by.is_some(), is_taken);
            if !is_taken {
                let console = out.join(&outcome.trials[0].capture).join("console.log");
                assert_eq!(fs::read(console).unwrap(), b"booted\n");
            }
        }
        Err(why) => assert!(!why.to_string().trim().is_empty()),
    }
    let entries = fs::read_dir(folder.path()).unwrap();
    let names: Vec<_> = entries.map(|e| e.unwrap().file_name()).collect();
    assert!(
        names.iter().all(|n| n == "out" || n == "shared"),
        "{names:?}"
    );
});
