//! The initramfs of a trial: the agent as `/init`, its configuration, modules.

use crate::cpio::Archive;
use crate::error::LabError;
use crate::files::read;
use crate::modules::Modules;
use agent::config::{AgentConfig, MODULES, Model, PATH, Root};
use std::path::{Path, PathBuf};

/// The archive, uncompressed. `tree` is where the kernel's modules are; without
/// one, everything has to be built in. `list` is the access list of a prefetcher.
///
/// # Errors
/// If a module is missing or compressed, or the configuration cannot be written.
pub fn make(
    agent: &[u8],
    config: &AgentConfig,
    tree: Option<&Path>,
    wanted: &[&str],
    list: Option<&[u8]>,
) -> Result<Vec<u8>, LabError> {
    let modules = match tree {
        Some(tree) if !wanted.is_empty() => Modules::read(tree)?.order(wanted)?,
        _ => Vec::new(),
    };
    archive(agent, &config.to_text()?, &modules, list)
}

/// The root that the agent mounts and starts: `bytes` of a filesystem with an init
/// where Linux looks for it first. What cannot be written is mounted so in any case.
#[must_use]
pub fn root(bytes: u64, fstype: &str) -> Root {
    Root {
        size: bytes,
        fstype: fstype.into(),
        options: "rw".into(),
        init: "/sbin/init".into(),
    }
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
            "erofs" => &["erofs"],
            "romfs" => &["romfs"],
            _ => &[],
        });
    }
    wanted
}

fn archive(
    agent: &[u8],
    config: &str,
    modules: &[PathBuf],
    list: Option<&[u8]>,
) -> Result<Vec<u8>, LabError> {
    let mut archive = Archive::default();
    let plain = |path: &str| path.trim_start_matches('/').to_owned();
    archive.folder("dev");
    // The kernel opens it for init before anything is mounted.
    archive.device("dev/console", 5, 1);
    archive.file("init", 0o755, agent);
    archive.folder("firstlight");
    archive.file(&plain(PATH), 0o644, config.as_bytes());
    if let Some(list) = list {
        archive.file(&plain(treat::reading::LIST), 0o644, list);
    }
    archive.folder(&plain(MODULES));
    for (i, path) in modules.iter().enumerate() {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.ends_with(".ko") {
            return Err(LabError::Kernel {
                path: path.clone(),
                why: "the module is compressed, and nothing in the initramfs can unpack it; \
                      name a tree of uncompressed modules as `modules`"
                    .into(),
            });
        }
        let name = format!("{}/{:02}-{name}", plain(MODULES), i + 10);
        archive.file(&name, 0o644, &read(path)?);
    }
    Ok(archive.finish())
}
