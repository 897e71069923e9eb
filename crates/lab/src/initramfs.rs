//! The initramfs of a trial: the agent as `/init`, its configuration, modules.

use crate::cpio::Archive;
use crate::error::{LabError, io_error};
use crate::experiment::{self, Experiment};
use crate::files::{HashedFile, folder_within, read};
use crate::modules::{Modules, load, stem, without_signature};
use crate::treated::treat;
use agent::config::{AgentConfig, MODULES, Model, PATH, Place, Root};
use rawimage::Compression;
use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use treat::{BootSpec, FileTreatment};

/// What an initramfs is made of.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The agent's program.
    pub agent: &'a [u8],
    /// What it is told.
    pub config: &'a AgentConfig,
    /// Where the kernel's modules are; without, everything has to be built in.
    pub tree: Option<&'a Path>,
    /// The modules that are loaded.
    pub wanted: &'a [&'a str],
    /// Whether they go without their signatures.
    pub unsigned: bool,
    /// The access list of a prefetcher.
    pub list: Option<&'a [u8]>,
    /// A root that lies in the initramfs itself.
    pub root: Option<&'a Tree>,
}

/// The archive, uncompressed.
///
/// # Errors
/// If a module is missing or damaged, or the configuration cannot be written.
pub fn make(parts: &Parts<'_>) -> Result<Vec<u8>, LabError> {
    let modules = match parts.tree {
        Some(tree) if !parts.wanted.is_empty() => Modules::read(tree)?.order(parts.wanted)?,
        _ => Vec::new(),
    };
    archive(parts, &parts.config.to_text()?, &modules)
}

/// The initramfs of all variants, as each of them has it treated.
#[derive(Debug)]
pub struct Archives {
    /// Untreated.
    plain: HashedFile,
    /// How they are treated, and they.
    treated: Vec<(treat::Initramfs, HashedFile)>,
}

impl Archives {
    /// Makes those that the variants of `experiment` need, with `make`, which is told
    /// whether modules go without signatures, and writes them into `out`.
    ///
    /// # Errors
    /// If one cannot be created or written.
    pub fn make(
        experiment: &Experiment,
        out: &Path,
        make: &dyn Fn(bool) -> Result<Vec<u8>, LabError>,
    ) -> Result<Self, LabError> {
        let written = |name: &str, treated: treat::Initramfs| {
            let mut archive = make(treated.unsigned)?;
            pack(&experiment.base.root, treated, &mut archive)?;
            HashedFile::write(out, name, &archive)
        };
        let mut all = Self {
            plain: written("initramfs.cpio", treat::Initramfs::default())?,
            treated: Vec::new(),
        };
        for treated in experiment.variants.iter().map(|v| v.spec.initramfs) {
            let known = all.treated.iter().any(|(t, _)| *t == treated);
            if known || treated == treat::Initramfs::default() {
                continue;
            }
            let name = format!("initramfs-{}.cpio", all.treated.len());
            let file = written(&name, treated)?;
            all.treated.push((treated, file));
        }
        Ok(all)
    }

    /// The one of a boot.
    pub fn of(&self, spec: &BootSpec) -> &HashedFile {
        let found = self.treated.iter().find(|(t, _)| *t == spec.initramfs);
        found.map_or(&self.plain, |(_, file)| file)
    }
}

/// Packs an archive as the treatment says, or else as the root does.
///
/// # Errors
/// If that cannot be done.
pub fn pack(
    root: &experiment::Root,
    treated: treat::Initramfs,
    archive: &mut Vec<u8>,
) -> Result<(), LabError> {
    match treated.packing {
        None => root.pack(archive),
        // It is not packed yet.
        Some(Compression::None) => Ok(()),
        Some(method) => {
            let packing = [FileTreatment::Initramfs(method)];
            treat("initramfs", &packing, archive)
        }
    }
}

/// The root that the agent mounts and starts: `bytes` of a filesystem with an init
/// where Linux looks for it first. What cannot be written is mounted so in any case.
#[must_use]
pub fn root(bytes: u64, fstype: &str) -> Root {
    Root {
        place: Place::Memory(bytes),
        fstype: fstype.into(),
        options: "rw".into(),
        init: INIT.into(),
    }
}

/// The root that the agent mounts from a board's NOR flash.
#[must_use]
pub fn flash_root(fstype: &str) -> Root {
    Root {
        place: Place::Device("/dev/mtdblock0".into()),
        fstype: fstype.into(),
        options: "rw".into(),
        init: INIT.into(),
    }
}

/// Where Linux looks first for a root's init.
const INIT: &str = "/sbin/init";

/// Where the init of a tree goes that has it where the agent has to be.
const MOVED_INIT: &str = "/firstlight/init";

/// A folder of the user that becomes a part of an initramfs. All of it belongs to
/// root; it has no times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    members: Vec<(String, Member)>,
}

/// A member of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Member {
    Folder(u32),
    File(u32, Vec<u8>),
    Link(PathBuf),
}

impl Tree {
    /// Reads `folder`; `busybox` goes to `bin/busybox`.
    ///
    /// # Errors
    /// If something cannot be read.
    pub fn read(folder: &Path, busybox: Option<&Path>) -> Result<Self, LabError> {
        let mut members: BTreeMap<String, Member> = BTreeMap::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            let failed = || io_error(&next, "cannot be listed");
            for entry in fs::read_dir(&next).map_err(failed())? {
                let path = entry.map_err(failed())?.path();
                let failed = || io_error(&path, "cannot be read");
                let about = fs::symlink_metadata(&path).map_err(failed())?;
                let name = path.strip_prefix(folder).unwrap_or(&path);
                let name = name.to_string_lossy().into_owned();
                let member = if about.is_dir() {
                    open.push(path.clone());
                    Member::Folder(about.mode())
                } else if about.is_symlink() {
                    Member::Link(fs::read_link(&path).map_err(failed())?)
                } else if about.is_file() {
                    Member::File(about.mode(), read(&path)?)
                } else {
                    // The kernel itself makes the devices.
                    continue;
                };
                members.insert(name, member);
            }
        }
        if let Some(busybox) = busybox {
            let bin = match folder_within(folder, "bin")? {
                Some(found) => within(folder, &found)?,
                None => {
                    members.insert("bin".into(), Member::Folder(0o755));
                    "bin".into()
                }
            };
            let name = bin.join("busybox").to_string_lossy().into_owned();
            members.insert(name, Member::File(0o755, read(busybox)?));
        }
        if let Some(init) = members.remove("init") {
            let init = match init {
                // It led on from the root.
                Member::Link(target) => Member::Link(Path::new("/").join(target)),
                other => other,
            };
            members.insert(MOVED_INIT.trim_start_matches('/').into(), init);
        }
        Ok(Self {
            members: members.into_iter().collect(),
        })
    }

    /// The root that the agent starts.
    #[must_use]
    pub fn root(&self) -> Root {
        let moved = MOVED_INIT.trim_start_matches('/');
        let has = |name: &str| self.members.iter().any(|(n, _)| n == name);
        Root {
            place: Place::Initramfs,
            fstype: "rootfs".into(),
            options: String::new(),
            init: if has(moved) { MOVED_INIT } else { INIT }.into(),
        }
    }
}

/// Where an open folder lies in `tree`, without links.
fn within(tree: &Path, folder: &OwnedFd) -> Result<PathBuf, LabError> {
    let failed = || io_error(tree, "no longer exists");
    let real = fs::canonicalize(tree).map_err(failed())?;
    let link = format!("/proc/self/fd/{}", folder.as_raw_fd());
    let found = fs::read_link(link).map_err(failed())?;
    let inside = found.strip_prefix(&real).map(Path::to_owned);
    inside.map_err(|_| failed()(std::io::ErrorKind::NotFound.into()))
}

/// The modules that serving and mounting the configuration's root needs.
#[must_use]
pub fn root_modules(config: &AgentConfig, served: bool) -> Vec<&'static str> {
    let mut wanted = Vec::new();
    if let Some(root) = &config.root {
        if served || config.storage.model != Model::None {
            wanted.push("nbd");
        }
        // Some check their metadata with what depmod does not know.
        wanted.extend(match root.fstype.as_str() {
            "ext2" | "ext3" | "ext4" => &["crc32c_generic", "ext4"][..],
            "xfs" => &["crc32c_generic", "xfs"],
            "btrfs" => &["crc32c_generic", "btrfs"],
            "f2fs" => &["crc32_generic", "f2fs"],
            "squashfs" => &["squashfs"],
            "erofs" => &["crc32c_generic", "erofs"],
            "romfs" => &["romfs"],
            _ => &[],
        });
    }
    wanted
}

fn archive(parts: &Parts<'_>, config: &str, modules: &[PathBuf]) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    let plain = |path: &str| path.trim_start_matches('/').to_owned();
    archive.folder("dev");
    // The kernel opens it for init before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.file("init", 0o755, parts.agent);
    archive.folder("firstlight");
    archive.file(&plain(PATH), 0o644, config.as_bytes());
    if let Some(list) = parts.list {
        archive.file(&plain(treat::reading::LIST), 0o644, list);
    }
    archive.folder(&plain(MODULES));
    for (i, path) in modules.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let name = format!("{}/{:02}-{}.ko", plain(MODULES), i + 10, stem(&name));
        let module = load(path)?;
        let content = match parts.unsigned {
            true => without_signature(&module),
            false => &module,
        };
        archive.file(&name, 0o644, content);
    }
    for (name, member) in parts.root.iter().flat_map(|t| &t.members) {
        match member {
            Member::Folder(_) if name == "dev" || name == "firstlight" => {}
            Member::Folder(mode) => archive.folder_with_mode(name, *mode),
            Member::File(mode, content) => archive.file(name, *mode, content),
            Member::Link(target) => archive.link(name, &target.to_string_lossy()),
        }
    }
    Ok(archive.finish())
}

#[cfg(test)]
mod tests {
    use super::{Member, Tree};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    fn member<'a>(tree: &'a Tree, name: &str) -> Option<&'a Member> {
        tree.members.iter().find(|m| m.0 == name).map(|m| &m.1)
    }

    #[test]
    fn an_init_that_is_a_link_leads_where_it_led() {
        for (target, moved) in [
            ("bin/busybox", "/bin/busybox"),
            ("/sbin/start", "/sbin/start"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            symlink(target, folder.path().join("init")).unwrap();
            let tree = Tree::read(folder.path(), None).unwrap();
            let found = member(&tree, "firstlight/init");
            assert_eq!(found, Some(&Member::Link(PathBuf::from(moved))));
            assert_eq!(tree.root().init, "/firstlight/init");
        }
    }

    #[test]
    fn folders_keep_their_modes() {
        let folder = tempfile::tempdir().unwrap();
        let tmp = folder.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        fs::set_permissions(&tmp, PermissionsExt::from_mode(0o1777)).unwrap();
        let tree = Tree::read(folder.path(), None).unwrap();
        let Some(Member::Folder(mode)) = member(&tree, "tmp") else {
            unreachable!("{tree:?}")
        };
        assert_eq!(mode & 0o7777, 0o1777);
    }

    #[test]
    fn busybox_lies_where_bin_leads() {
        let busybox = Path::new("/proc/self/comm");
        for (link, place) in [
            (None, "bin/busybox"),
            (Some("usr/bin"), "usr/bin/busybox"),
            (Some("/usr/bin"), "usr/bin/busybox"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join("usr/bin")).unwrap();
            if let Some(link) = link {
                symlink(link, folder.path().join("bin")).unwrap();
            }
            let tree = Tree::read(folder.path(), Some(busybox)).unwrap();
            let found = member(&tree, place);
            assert!(matches!(found, Some(Member::File(0o755, _))), "{link:?}");
            let bin = matches!(member(&tree, "bin"), Some(Member::Folder(_)));
            assert_eq!(bin, link.is_none());
        }
        let folder = tempfile::tempdir().unwrap();
        symlink("/no/such/folder", folder.path().join("bin")).unwrap();
        assert!(Tree::read(folder.path(), Some(busybox)).is_err());
    }
}
