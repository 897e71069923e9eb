//! A minimal Debian as an ext4 image.
//!
//! Made so that its first boot is like every later one: nothing is generated,
//! nothing is random, and all names and numbers are fixed.

use super::{Cache, DebianKernel, ext4, hash_bytes};
use crate::error::{LabError, io_error};
use crate::tools::Tool;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// 2026-01-01, which the emulated clock begins with too.
const EPOCH_S: u32 = 1_767_225_600;

/// The Debian release.
const SUITE: &str = "bookworm";

/// What is in it beyond the essential packages.
const PACKAGES: &str = "systemd,systemd-sysv,udev,dbus,openssh-server,cron,kmod,e2fsprogs,\
    iproute2,procps";

/// Files that no boot reads.
const LEFT_OUT: &[&str] = &[
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/locale/*",
    "/usr/share/info/*",
];

/// Folders of modules whose hardware the machine does not have: half of all.
const MODULES_LEFT_OUT: &[&str] = &[
    "sound",
    "drivers/comedi",
    "drivers/gpu",
    "drivers/iio",
    "drivers/infiniband",
    "drivers/isdn",
    "drivers/media",
    "drivers/net/ethernet",
    "drivers/net/wireless",
    "drivers/staging",
];

/// Small files that a first boot would make, or that name the machine. A boot
/// under other names takes other times.
const FILES: &[(&str, &str)] = &[
    ("etc/hostname", "firstlight\n"),
    ("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 firstlight\n"),
    ("etc/machine-id", "f1257119470040008000000000000003\n"),
    (
        "etc/fstab",
        "UUID=f1257119-4700-4000-8000-000000000001 / ext4 errors=remount-ro 0 1\n",
    ),
    ("etc/resolv.conf", ""),
    // systemd does not look for things to update after an update of /usr.
    ("etc/.updated", "TIMESTAMP_NSEC=1767225600000000000\n"),
    ("var/.updated", "TIMESTAMP_NSEC=1767225600000000000\n"),
];

/// The ssh server's keys: the package makes random ones, and a boot with other
/// keys is another boot. Nothing is secret about these: the machine that has
/// them has no network.
const SSH_KEYS: &[(&str, &str)] = &[
    ("etc/ssh/ssh_host_ed25519_key", include_str!("lab_host_key")),
    (
        "etc/ssh/ssh_host_ed25519_key.pub",
        include_str!("lab_host_key.pub"),
    ),
];

/// Files that name inodes and times of the machine that made the tree, and keys
/// that are not fixed.
const REMOVED: &[&str] = &[
    "var/cache/ldconfig/aux-cache",
    "etc/ssh/ssh_host_rsa_key",
    "etc/ssh/ssh_host_rsa_key.pub",
    "etc/ssh/ssh_host_ecdsa_key",
    "etc/ssh/ssh_host_ecdsa_key.pub",
];

/// What systemd feeds to the kernel's random numbers and saves anew. The
/// emulated machine has no entropy anyway.
const RANDOM_SEED: (&str, [u8; 512]) = ("var/lib/systemd/random-seed", [0xf1; 512]);

pub(super) fn get(
    cache: &Cache,
    kernel: &DebianKernel,
    say: &mut dyn FnMut(String),
) -> Result<PathBuf, LabError> {
    let image = place(cache, kernel);
    if image.is_file() {
        return Ok(image);
    }
    let making = cache.make("root")?;
    if image.is_file() {
        return Ok(image);
    }
    let folder = making.folder.path();
    // A folder in /proc is its process's: the effective user's.
    if fs::metadata("/proc/self").map(|m| m.uid()).ok() != Some(0) {
        return Err(LabError::ToolFailed {
            what: "creating a Debian root".into(),
            detail: "the owners and devices in it need root; run this once with sudo, with \
                FIRSTLIGHT_CACHE set to a folder that you can read"
                .into(),
        });
    }
    say(format!(
        "creating a minimal Debian root ({SUITE}), about 1 min"
    ));
    let tree = folder.join("tree");
    let mut words = vec![
        "--variant=minbase".to_owned(),
        format!("--include={PACKAGES}"),
    ];
    words.extend(
        LEFT_OUT
            .iter()
            .map(|p| format!("--dpkgopt=path-exclude={p}")),
    );
    words.extend([SUITE.to_owned(), tree.display().to_string()]);
    let why = "create the Debian root";
    Tool::new("mmdebstrap", "mmdebstrap", why)
        .env("SOURCE_DATE_EPOCH", &EPOCH_S.to_string())
        .args(words)
        .run()?;
    say("copying modules and creating the ext4 image".into());
    copy_modules(kernel, &tree)?;
    for name in REMOVED {
        let path = tree.join(name);
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).map_err(io_error(&path, "cannot be removed"))?;
        }
    }
    let files = FILES.iter().chain(SSH_KEYS);
    let files = files.map(|(name, text)| (*name, text.as_bytes()));
    let (seed, bytes) = &RANDOM_SEED;
    for (name, content) in files.chain([(*seed, &bytes[..])]) {
        let path = tree.join(name);
        // What is there may be a link to somewhere else.
        let _ = fs::remove_file(&path);
        fs::write(&path, content).map_err(io_error(&path, "cannot be written"))?;
        if name.ends_with("_key") {
            let mode = fs::Permissions::from_mode(0o600);
            fs::set_permissions(&path, mode).map_err(io_error(&path, "cannot be protected"))?;
        }
    }
    let new = folder.join("root.img");
    ext4::make(&tree, &new, EPOCH_S)?;
    let parent = image.parent().unwrap_or(folder);
    fs::create_dir_all(parent).map_err(io_error(parent, "cannot be created"))?;
    fs::rename(&new, &image).map_err(io_error(&image, "cannot be moved into place"))?;
    Ok(image)
}

/// The image's place in the cache: another recipe or kernel, another image.
pub(super) fn place(cache: &Cache, kernel: &DebianKernel) -> PathBuf {
    let recipe = format!(
        "{SUITE} {PACKAGES} {LEFT_OUT:?} {MODULES_LEFT_OUT:?} {FILES:?} {SSH_KEYS:?} \
         {REMOVED:?} {RANDOM_SEED:?} {EPOCH_S} {}",
        kernel.release
    );
    let mut key = hash_bytes(recipe.as_bytes());
    key.truncate(12);
    cache.path(&format!("root/debian-minimal-{key}/root.img"))
}

/// The kernel's modules, without those of hardware that is not there.
fn copy_modules(kernel: &DebianKernel, tree: &Path) -> Result<(), LabError> {
    let to = tree.join("lib/modules").join(&kernel.release);
    copy(&kernel.modules, &to, Path::new(""))?;
    let why = "find the dependencies of kernel modules";
    Tool::new("depmod", "kmod", why)
        .args(["-b".as_ref(), tree.as_os_str(), kernel.release.as_ref()])
        .run()?;
    Ok(())
}

fn copy(from: &Path, to: &Path, below: &Path) -> Result<(), LabError> {
    let (from_here, to_here) = (from.join(below), to.join(below));
    fs::create_dir_all(&to_here).map_err(io_error(&to_here, "cannot be created"))?;
    let failed = || io_error(&from_here, "cannot be listed");
    for entry in fs::read_dir(&from_here).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let name = below.join(entry.file_name());
        let kind = entry.file_type().map_err(failed())?;
        let module = name.strip_prefix("kernel").unwrap_or(&name);
        if MODULES_LEFT_OUT.iter().any(|out| module == Path::new(out)) {
            continue;
        }
        if kind.is_dir() {
            copy(from, to, &name)?;
        } else if kind.is_file() {
            let target = to.join(&name);
            fs::copy(entry.path(), &target).map_err(io_error(&target, "cannot be written"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::copy;
    use std::fs;
    use std::path::Path;

    #[test]
    fn folders_of_absent_hardware_are_not_copied() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for name in [
            "kernel/drivers/gpu/a.ko",
            "kernel/drivers/ata/b.ko",
            "kernel/sound/c.ko",
            "modules.order",
        ] {
            let path = from.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        copy(&from, &to, Path::new("")).unwrap();
        for (name, there) in [
            ("kernel/drivers/gpu", false),
            ("kernel/drivers/ata/b.ko", true),
            ("kernel/sound", false),
            ("modules.order", true),
        ] {
            assert_eq!(to.join(name).exists(), there, "{name}");
        }
    }
}
