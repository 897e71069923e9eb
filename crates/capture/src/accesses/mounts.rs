//! What is mounted where: `/proc/self/mountinfo` (proc(5)).

use super::event::Device;
use crate::error::FileError;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Filesystems without storage: their files are memory already.
const IN_MEMORY: &[&str] = &[
    "autofs",
    "binfmt_misc",
    "bpf",
    "cgroup",
    "cgroup2",
    "configfs",
    "debugfs",
    "devpts",
    "devtmpfs",
    "efivarfs",
    "fusectl",
    "hugetlbfs",
    "mqueue",
    "nsfs",
    "proc",
    "pstore",
    "ramfs",
    "rootfs",
    "rpc_pipefs",
    "securityfs",
    "selinuxfs",
    "sysfs",
    "tmpfs",
    "tracefs",
];

/// A mounted filesystem that has storage, however far away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The number of the mount.
    pub id: u64,
    /// The filesystem's device.
    pub device: Device,
    /// What of the filesystem is mounted: `/` for all.
    pub root: PathBuf,
    /// Where.
    pub place: PathBuf,
    /// The filesystem's kind, such as `ext4`.
    pub kind: String,
    /// What is mounted, such as `/dev/sda1`.
    pub source: String,
}

/// The mounts of this process, in the order they were made.
///
/// # Errors
/// If `/proc` cannot be read.
pub fn mounts() -> Result<Vec<Mount>, FileError> {
    let path = Path::new("/proc/self/mountinfo");
    let text = fs::read(path).map_err(FileError::of(path, "cannot be read"))?;
    let lines = text.split(|b| *b == b'\n').filter_map(mount);
    Ok(lines.filter(|m| !IN_MEMORY.contains(&&*m.kind)).collect())
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime shared:1 - ext3 /dev/root rw`: the number
/// of optional fields before the dash varies.
fn mount(line: &[u8]) -> Option<Mount> {
    let mut words = line.split(|b| *b == b' ');
    let mut next = || words.next();
    let id = str::from_utf8(next()?).ok()?.parse().ok()?;
    next()?;
    let (major, minor) = str::from_utf8(next()?).ok()?.split_once(':')?;
    let device = (major.parse().ok()?, minor.parse().ok()?);
    let root = unescaped(next()?);
    let place = unescaped(next()?);
    let mut rest = words.skip_while(|w| *w != b"-");
    rest.next()?;
    let kind = str::from_utf8(rest.next()?).ok()?.to_owned();
    let source = String::from_utf8_lossy(rest.next()?).into_owned();
    Some(Mount {
        id,
        device,
        root,
        place,
        kind,
        source,
    })
}

/// Blanks and backslashes stand there as `\040`.
fn unescaped(word: &[u8]) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = word;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let octal = after.first_chunk::<3>();
        let octal = octal.filter(|d| byte == b'\\' && d.iter().all(|d| (b'0'..=b'7').contains(d)));
        bytes.push(match octal {
            Some([a, b, c]) => {
                rest = after.get(3..).unwrap_or_default();
                (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')
            }
            None => byte,
        });
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::mount;
    use std::path::Path;

    #[test]
    fn optional_fields_and_blanks_are_understood() {
        let line = b"36 35 98:0 / /mnt\\0402 rw,noatime shared:1 master:2 - ext3 /dev/root rw";
        let found = mount(line).unwrap();
        assert_eq!(
            (found.id, found.device, &*found.kind),
            (36, (98, 0), "ext3")
        );
        assert_eq!(found.place, Path::new("/mnt 2"));
        let private = mount(b"36 35 98:0 / /m rw - ext3 /dev/root rw").unwrap();
        assert_eq!(private.kind, "ext3");
        assert_eq!(mount(b"36 35 98:0 / /m rw"), None);
    }
}
