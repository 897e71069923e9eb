//! An ext4 image of a tree, the same bytes for the same tree.
//!
//! `mke2fs -d` copies each inode's times. Those of access and of content can be
//! set in the tree, the time of change cannot: it is set in the image.

use crate::error::{LabError, io_error};
use crate::tools::Tool;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Fixed, so that directories hash the same way each time.
const UUID: &str = "f1257119-4700-4000-8000-000000000001";
const HASH_SEED: &str = "f1257119-4700-4000-8000-000000000002";

/// The file system's block and inode, in bytes.
const BLOCK: u64 = 4096;
const INODE: u64 = 256;

/// So many inodes the smallest image has anyway.
const INODES_WITHOUT_ASKING: u64 = 2_000;

/// Makes `image` out of `tree`; nothing in it is newer than `epoch_s`, in
/// seconds since 1970.
pub(super) fn make(tree: &Path, image: &Path, epoch_s: u32) -> Result<(), LabError> {
    let bytes = clamp_times(tree, epoch_s)?;
    // A quarter of room to write, and what the file system needs for itself; in
    // pieces that persistent memory likes.
    let size = (bytes + bytes / 4 + (64 << 20)).next_multiple_of(16 << 20);
    fs::File::create(image)
        .and_then(|f| f.set_len(size))
        .map_err(io_error(image, "cannot be written"))?;
    format(tree, image, "ext4", &[], 0, epoch_s)
}

/// Fills the file `image` with `tree`, as ext2, ext3 or ext4 with `features`
/// switched on or off (`^`), and at least `inodes` inodes. All times of change in it are `epoch_s`.
pub(super) fn format(
    tree: &Path,
    image: &Path,
    fstype: &str,
    features: &[&str],
    inodes: u32,
    epoch_s: u32,
) -> Result<(), LabError> {
    // Nothing is left for the first mount to initialise: that would write
    // during the boot.
    let extended =
        format!("hash_seed={HASH_SEED},root_owner=0:0,lazy_itable_init=0,lazy_journal_init=0");
    let epoch = epoch_s.to_string();
    let why = "create the root filesystem";
    let mut tool = Tool::new("mke2fs", "e2fsprogs", why)
        .env("E2FSPROGS_FAKE_TIME", &epoch)
        // Without -b it takes 1 KiB blocks for a small image, which no real
        // root has.
        .args(["-q", "-F", "-t", fstype, "-b", "4096", "-L", "firstlight"]);
    if !features.is_empty() {
        tool = tool.args(["-O", &features.join(",")]);
    }
    if u64::from(inodes) > INODES_WITHOUT_ASKING {
        tool = tool.args(["-N", &inodes.to_string()]);
    }
    tool.args(["-U", UUID, "-E", &extended, "-d"])
        .args([tree, image])
        .run()?;
    set_change_times(image, &epoch)
}

/// Leaves transactions in the journal, as a power cut does: `blocks` blocks of
/// zeros, twenty a transaction, for the end of the image, where nothing lies.
pub(super) fn leave_journal(image: &Path, blocks: u64, epoch_s: u32) -> Result<(), LabError> {
    const EACH: u64 = 20;
    let length = fs::metadata(image).map_err(io_error(image, "cannot be read"))?;
    let end = length.len() / BLOCK;
    let zeros = image.with_extension("zeros");
    fs::write(&zeros, vec![0; (EACH * BLOCK) as usize])
        .map_err(io_error(&zeros, "cannot be written"))?;
    let mut commands = "journal_open -c\n".to_owned();
    for first in (0..blocks).step_by(EACH as usize) {
        let from = end - blocks + first;
        // Writing into a string does not fail.
        let _ = writeln!(
            commands,
            "journal_write -b {from}-{} {}",
            from + EACH - 1,
            zeros.display()
        );
    }
    commands.push_str("journal_close\n");
    let why = "write transactions to the journal of the image";
    debugfs(image, &commands, &epoch_s.to_string(), why)?;
    fs::remove_file(&zeros).map_err(io_error(&zeros, "cannot be removed"))
}

/// Gives every inode in use the same time of change.
fn set_change_times(image: &Path, epoch: &str) -> Result<(), LabError> {
    let why = "list the inodes of the image";
    let said = Tool::new("dumpe2fs", "e2fsprogs", why)
        .args([image])
        .run()?;
    let mut commands = String::new();
    for inode in inodes_in_use(&String::from_utf8_lossy(&said)) {
        // Writing into a string does not fail.
        let _ = writeln!(commands, "set_inode_field <{inode}> ctime @{epoch}");
    }
    debugfs(image, &commands, epoch, "set the timestamps in the image")
}

/// Runs commands of `debugfs` on an image, at the time `epoch`. `why`: what they do,
/// should the tool be missing.
fn debugfs(image: &Path, commands: &str, epoch: &str, why: &'static str) -> Result<(), LabError> {
    let script = image.with_extension("debugfs");
    fs::write(&script, commands).map_err(io_error(&script, "cannot be written"))?;
    Tool::new("debugfs", "e2fsprogs", why)
        .env("E2FSPROGS_FAKE_TIME", epoch)
        .args([
            "-w".as_ref(),
            "-f".as_ref(),
            script.as_os_str(),
            image.as_os_str(),
        ])
        .run()?;
    fs::remove_file(&script).map_err(io_error(&script, "cannot be removed"))
}

/// The inodes that are in use, by what `dumpe2fs` says is free.
fn inodes_in_use(said: &str) -> Vec<u64> {
    let after = |key: &str| {
        let line = said.lines().find_map(|l| l.strip_prefix(key));
        line.and_then(|l| l.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let all = after("Inode count:");
    let mut free = Vec::new();
    // The groups' lines are indented; the summary's is not.
    for ranges in said
        .lines()
        .filter_map(|l| l.strip_prefix("  Free inodes: "))
    {
        for range in ranges.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            if let (Ok(first), Ok(last)) = (first.trim().parse::<u64>(), last.trim().parse()) {
                free.push(first..=last);
            }
        }
    }
    free.sort_by_key(|r| *r.start());
    let mut used = Vec::new();
    let mut next = 1;
    for range in free {
        used.extend(next..*range.start());
        next = range.end() + 1;
    }
    used.extend(next..=all);
    used
}

/// No file is newer than `latest`; gives the sum of all sizes, in blocks.
pub(super) fn clamp_times(tree: &Path, epoch_s: u32) -> Result<u64, LabError> {
    let latest = SystemTime::UNIX_EPOCH + Duration::from_secs(epoch_s.into());
    let mut bytes = 0;
    let mut open = vec![tree.to_owned()];
    while let Some(folder) = open.pop() {
        let failed = || io_error(&folder, "cannot be listed");
        let mut folders = Vec::new();
        for entry in fs::read_dir(&folder).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let meta = entry.metadata().map_err(failed())?;
            bytes += meta.len().next_multiple_of(BLOCK) + INODE;
            let content = meta
                .modified()
                .ok()
                .filter(|t| meta.is_file() && *t <= latest);
            set_times(&entry.path(), content.unwrap_or(latest), latest)?;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
        // Once more: listing it was an access.
        set_times(&folder, latest, latest)?;
        open.extend(folders);
    }
    Ok(bytes)
}

/// Sets the times of content and access of a file, or of a link itself.
fn set_times(path: &Path, content: SystemTime, access: SystemTime) -> Result<(), LabError> {
    let stamp = |time: SystemTime| {
        let since = time
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        Timespec {
            tv_sec: i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
            // Whole seconds: finer ones differ from one unpacking to the next.
            tv_nsec: 0,
        }
    };
    let times = Timestamps {
        last_access: stamp(access),
        last_modification: stamp(content),
    };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)
        .map_err(|e| io_error(path, "its timestamp cannot be set")(e.into()))
}

#[cfg(test)]
mod tests {
    use super::{inodes_in_use, make};
    use crate::tools::find;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_is_not_free_is_in_use() {
        let said = "Inode count:              32\nFree inodes:              20\n\
                    Group 0: (Blocks 0-99)\n  Free inodes: 12, 14-16\n\
                    Group 1: (Blocks 100-199)\n  Free inodes: 18-32\n";
        let used: Vec<u64> = (1..=11).chain([13, 17]).collect();
        assert_eq!(inodes_in_use(said), used);
    }

    #[expect(clippy::print_stderr, reason = "what is skipped is said")]
    #[test]
    fn a_tree_made_again_gives_the_same_image() {
        if ["mke2fs", "debugfs", "dumpe2fs"]
            .iter()
            .any(|t| find(t).is_none())
        {
            eprintln!("skipped: e2fsprogs is not installed");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let images = ["one", "two"].map(|name| {
            let tree = folder.path().join(name);
            fs::create_dir_all(tree.join("etc/deep")).unwrap();
            fs::write(tree.join("etc/hostname"), "lab").unwrap();
            symlink("hostname", tree.join("etc/link")).unwrap();
            let image = folder.path().join(format!("{name}.img"));
            make(&tree, &image, 1_767_225_600).unwrap();
            // The clock moves on between the two.
            std::thread::sleep(std::time::Duration::from_millis(1_100));
            fs::read(image).unwrap()
        });
        assert!(images[0] == images[1]);
    }
}
