//! The prefetcher with lists that are wrong: it says so in one sentence, and lets
//! the boot go on.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it skips"
)]

use firstlight_agent::access::{AccessList, Entry, Identity, Range, RangeKind, encode};
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn prefetch(list: &Path, root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_firstlight-agent"))
        .args(["prefetch", "--tell", "--root"])
        .args([root, list])
        .output()
        .unwrap()
}

#[test]
fn a_root_that_is_entered_may_be_moved_when_the_first_byte_has_come() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root may change its root directory");
        return;
    }
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let (root, path) = (folder.join("root"), folder.join("list"));
    fs::create_dir_all(&root).unwrap();
    fs::write(&path, encode(&list(&root))).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_firstlight-agent"))
        .args(["prefetch", "--tell", "--enter", "--root"])
        .args([&root, &path])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let told = child.stdout.as_mut().unwrap();
    told.read_exact(&mut [0]).unwrap();
    fs::rename(&root, folder.join("moved")).unwrap();
    let output = child.wait_with_output().unwrap();
    is_told(&output, "of 12 files");
    is_told(&output, "0 files have changed");
    assert_eq!(output.stdout, b"\n");
}

/// It ends well, and has said one sentence that holds `words`.
fn is_told(output: &Output, words: &str) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(words), "{words}: {said}");
}

/// A list of files in `root`, which are made.
fn list(root: &Path) -> AccessList {
    let entries = (0..12).map(|number| {
        let name = format!("f{number:02}");
        let path = root.join(&name);
        fs::write(&path, vec![number; 8192]).unwrap();
        let meta = fs::metadata(&path).unwrap();
        Entry {
            path: format!("/{name}").into(),
            identity: Identity::File {
                size: meta.len(),
                mtime_s: meta.mtime(),
                mtime_ns: u32::try_from(meta.mtime_nsec()).unwrap(),
                inode: meta.ino(),
                generation: 0,
            },
            program: 0,
            ranges: vec![Range {
                page: 0,
                pages: 2,
                first_us: u64::from(number),
                seen: 1,
                kind: RangeKind::Touched,
            }],
        }
    });
    AccessList {
        recordings: 1,
        page_bytes: 4096,
        machine: rustix::system::uname()
            .machine()
            .to_str()
            .unwrap()
            .to_owned(),
        programs: vec!["p".to_owned()],
        entries: entries.collect(),
        ..AccessList::default()
    }
}

/// The list's bytes with another checksum of what is behind it, so that only its
/// meaning is wrong.
fn resealed(mut bytes: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let head = bytes.iter().position(|b| *b == b'\n').unwrap() + 1;
    let mut body = bytes.split_off(head + 8);
    change(&mut body);
    bytes.truncate(head);
    bytes.extend(u32::try_from(body.len()).unwrap().to_le_bytes());
    bytes.extend(firstlight_agent::access::checksum(&body).to_le_bytes());
    bytes.extend(body);
    bytes
}

#[test]
fn a_wrong_list_is_told_in_one_sentence_and_the_boot_goes_on() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let folder = folder.path();
    let (root, path) = (folder.join("root"), folder.join("list"));
    fs::create_dir_all(&root).unwrap();
    let good = list(&root);
    let bytes = encode(&good);
    let given = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        prefetch(&path, &root)
    };
    // The right one is played: what was read is said, and the boot is told to begin.
    let played = given(&bytes);
    is_told(&played, "of 12 files");
    assert_eq!(played.stdout, b"\n");
    // Outside of its root.
    let outside = resealed(bytes.clone(), |body| {
        let at = body.windows(4).position(|w| w == b"/f00").unwrap();
        body[at..at + 4].copy_from_slice(b"/../");
    });
    is_told(&given(&outside), "not a plain absolute path");
    // Of another kind of machine.
    let machine = "m68k".to_owned();
    let other = AccessList {
        machine,
        ..good.clone()
    };
    is_told(&given(&encode(&other)), "the list was recorded on m68k");
    // From a newer version.
    let newer = String::from_utf8_lossy(&bytes[..24]).into_owned();
    assert_eq!(newer, "firstlight-access-list 1");
    let mut newer = bytes.clone();
    newer[23] = b'9';
    is_told(&given(&newer), "version 9");
    // Cut short, wherever.
    for length in [0, 10, 24, 25, 30, 33, 40, bytes.len() / 2, bytes.len() - 1] {
        let said = given(&bytes[..length]);
        assert_eq!(said.status.code(), Some(0), "{length}");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert_eq!(said.lines().count(), 1, "{length}: {said}");
    }
    // Damaged.
    let mut damaged = bytes.clone();
    let last = damaged.len() - 1;
    damaged[last] ^= 0x40;
    is_told(&given(&damaged), "is damaged");
    // Not there.
    is_told(&prefetch(&folder.join("none"), &root), "none");
    // Of another system: most files are others.
    for number in 0..11 {
        fs::write(root.join(format!("f{number:02}")), "changed").unwrap();
    }
    is_told(&given(&bytes), "have changed since the recording");
    fs::remove_dir_all(folder).unwrap();
}
