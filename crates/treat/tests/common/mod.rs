//! A small root, and what tests of treatments do with it.
#![allow(dead_code, reason = "each test program uses its part")]

use firstlight_treat::FileTreatment;
use firstlight_treat::files::{Applied, FileError, Journal, Target};
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The smallest program with symbols: 64 bits, one segment of all that is loaded.
/// Layout: System V Application Binary Interface.
pub fn program(text: &[u8]) -> Vec<u8> {
    let sections: [(&[u8], u32, &[u8], u32); 4] = [
        (b"", 0, b"", 0),
        (b".symtab", 2, &[7; 48], 2),
        (b".strtab", 3, b"\0main\0", 0),
        (b".shstrtab", 3, b"\0.symtab\0.strtab\0.shstrtab\0", 0),
    ];
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(64 + 56, 0);
    let set = |out: &mut Vec<u8>, at: usize, bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
    };
    set(&mut out, 16, &3_u16.to_le_bytes());
    set(&mut out, 32, &64_u64.to_le_bytes());
    set(&mut out, 54, &56_u16.to_le_bytes());
    set(&mut out, 56, &1_u16.to_le_bytes());
    set(&mut out, 58, &64_u16.to_le_bytes());
    set(&mut out, 60, &4_u16.to_le_bytes());
    set(&mut out, 62, &3_u16.to_le_bytes());
    out.extend_from_slice(text);
    let loaded = out.len() as u64;
    set(&mut out, 64, &1_u32.to_le_bytes());
    set(&mut out, 64 + 32, &loaded.to_le_bytes());
    let mut table = Vec::new();
    let names = sections[3].2;
    for (name, kind, bytes, link) in sections {
        let find = |w: &&[u8]| w.starts_with(name);
        let place = names.windows(name.len() + 1).position(|w| find(&w));
        let mut header = [0_u8; 64];
        header[..4].copy_from_slice(&(place.unwrap() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&kind.to_le_bytes());
        header[24..32].copy_from_slice(&(out.len() as u64).to_le_bytes());
        header[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        header[40..44].copy_from_slice(&link.to_le_bytes());
        out.extend_from_slice(bytes);
        table.extend_from_slice(&header);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    let at = out.len() as u64;
    set(&mut out, 40, &at.to_le_bytes());
    out.extend_from_slice(&table);
    out
}

/// A small root with systemd, a boot loader's files and an old time stamp.
pub fn root(folder: &Path) -> PathBuf {
    let root = folder.join("root");
    let files = [
        ("boot/cmdline.txt", "console=ttyS0 root=/dev/sda1\n"),
        ("boot/config.txt", "boot_delay=1\n[pi4]\narm_boost=1\n"),
        (
            "etc/default/grub",
            "GRUB_TIMEOUT=5\nGRUB_CMDLINE_LINUX_DEFAULT=\"splash\"\n",
        ),
        ("etc/fstab", "/dev/sda1 / ext4 rw,discard 0 1\n"),
        ("etc/initramfs-tools/initramfs.conf", "MODULES=most\n"),
        ("usr/lib/systemd/system/a.service", "[Service]\n"),
        ("usr/lib/systemd/system/b@.service", "[Service]\n"),
        (
            "etc/systemd/system/a.service",
            "[Service]\nExecStart=/own\n",
        ),
        (
            "usr/lib/modules/6.1/modules.dep",
            "kernel/btusb.ko.xz:\nkernel/snd_usb_audio.ko: kernel/snd.ko\n",
        ),
        ("usr/lib/udev/rules.d/50-a.rules", "# none\n"),
        (
            "etc/init.d/rcS",
            "#!/bin/sh\necho first\nfor i in /etc/init.d/S??*; do\n  $i start\ndone\necho last\n",
        ),
        (
            "etc/init.d/S10model",
            "#!/bin/sh\ncase $1 in start) cat /proc/cpuinfo | grep model;; esac\nexit 1\n",
        ),
        ("etc/init.d/S20name", "#!/bin/sh\necho $0 $1\n"),
    ];
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
    }
    for (path, text) in [
        ("usr/bin/app", &b"libneeded.so.2"[..]),
        ("usr/lib/libneeded.so.2.0", b"libneeded"),
        ("usr/lib/libspare.so.1.0", b"libspare.so.1"),
    ] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, program(text)).unwrap();
    }
    for (link, to) in [
        ("lib", "usr/lib"),
        ("usr/lib/libneeded.so.2", "libneeded.so.2.0"),
        ("usr/lib/libspare.so.1", "/lib/libspare.so.1.0"),
        ("usr/lib/libspare.so", "libspare.so.1"),
    ] {
        symlink(to, root.join(link)).unwrap();
    }
    for script in ["rcS", "S10model", "S20name"] {
        let script = root.join("etc/init.d").join(script);
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let cmdline = root.join("boot/cmdline.txt");
    fs::set_permissions(&cmdline, fs::Permissions::from_mode(0o640)).unwrap();
    let old = SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_789);
    for path in [
        "boot/cmdline.txt",
        "etc/fstab",
        "etc",
        "boot",
        "etc/systemd",
    ] {
        let file = File::open(root.join(path)).unwrap();
        file.set_times(FileTimes::new().set_modified(old).set_accessed(old))
            .unwrap();
    }
    root
}

/// Everything about a tree that a treatment could change.
pub fn seen(root: &Path) -> BTreeMap<String, String> {
    fn walk(root: &Path, at: &Path, all: &mut BTreeMap<String, String>) {
        let about = at.symlink_metadata().unwrap();
        let name = at.strip_prefix(root).unwrap().display().to_string();
        let content = if about.is_symlink() {
            format!("-> {}", fs::read_link(at).unwrap().display())
        } else if about.is_file() {
            String::from_utf8_lossy(&fs::read(at).unwrap()).into_owned()
        } else {
            for entry in fs::read_dir(at).unwrap() {
                walk(root, &entry.unwrap().path(), all);
            }
            String::new()
        };
        let facts = format!(
            "{:o} {}:{} {}.{:09} {content}",
            about.mode(),
            about.uid(),
            about.gid(),
            about.mtime(),
            about.mtime_nsec()
        );
        all.insert(name, facts);
    }
    let mut all = BTreeMap::new();
    walk(root, root, &mut all);
    all
}

/// The same without times: those of new files are the present's.
pub fn content(root: &Path) -> BTreeMap<String, String> {
    let timeless = |v: String| {
        let words: Vec<&str> = v.splitn(4, ' ').collect();
        format!("{} {} {}", words[0], words[1], words[3])
    };
    seen(root)
        .into_iter()
        .map(|(k, v)| (k, timeless(v)))
        .collect()
}

pub fn go_on(_: &str) -> io::Result<()> {
    Ok(())
}

pub fn parse(text: &str) -> FileTreatment {
    FileTreatment::parse(text).unwrap()
}

pub fn apply(root: &Path, text: &str) -> Result<Applied, FileError> {
    let target = Target::open(root)?;
    let mut journal = Journal::open(&target, &mut go_on)?;
    Ok(journal.apply(&parse(text), None, &mut go_on)?.1)
}

pub fn undo(root: &Path, text: &str) -> Result<(), FileError> {
    let target = Target::open(root)?;
    let mut journal = Journal::open(&target, &mut go_on)?;
    journal.undo(Some(&parse(text)), &mut go_on).map(|_| ())
}
