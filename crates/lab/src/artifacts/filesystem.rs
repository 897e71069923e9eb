//! Images of a tree, in every form that a root comes in.
//!
//! Each is made by the tool that owns the format, with fixed identifiers, times
//! and owners; cramfs by this program, since no tool makes one to be executed in
//! place. Tools that put chance into an image whatever they are told (`mkfs.ubifs`,
//! `mkfs.xfs`, `mkfs.btrfs`, `mkfs.f2fs`, `mkfs.reiserfs`) are run where there is none.

use super::listing::listing;
use super::tree::Tree;
use super::{Cache, Programs, cramfs, ext4, hash_bytes, packages};
use crate::error::{LabError, io_error};
use crate::files::{HashedFile, read};
use crate::tools::{FAKETIME, Tool, UNSHARE, find};
use std::fmt;
use std::fs;
use std::path::Path;

/// 2026-01-01, which the emulated clock begins with too.
const EPOCH_S: u32 = 1_767_225_600;
/// The same, as `faketime` takes it.
const EPOCH: &str = "2026-01-01 00:00:00";
const UUID: &str = "f1257119-4700-4000-8000-000000000001";
/// `mkfs.btrfs` refuses an identifier that a device of the host has: that above is
/// the lab's Debian root, which somebody may look into.
const BTRFS_UUID: &str = "f1257119-4700-4000-8000-000000000004";

/// The form of an image: a filesystem's name, then its options, parted by colons,
/// as in `squashfs:xz` or `jffs2:nor:summary`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    kind: &'static Kind,
    options: Vec<String>,
}

/// A filesystem that images are made of.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Kind {
    name: &'static str,
    /// What `mount -t` takes.
    fstype: &'static str,
    /// The program that makes it, and its Debian package; `None`: this one.
    tool: Option<(&'static str, &'static str)>,
    /// The options that it has.
    options: &'static [&'static str],
}

/// Those whose tools draw random numbers, or write the time of day.
const BY_CHANCE: &[&str] = &["xfs", "btrfs", "f2fs", "reiserfs", "ubifs"];

const COMPRESSORS: &[&str] = &["gzip", "lzo", "xz", "lz4", "zstd"];

const KINDS: &[Kind] = &[
    kind("ext2", "ext2", ("mke2fs", "e2fsprogs"), &[]),
    kind("ext3", "ext3", ("mke2fs", "e2fsprogs"), &[]),
    kind(
        "ext4",
        "ext4",
        ("mke2fs", "e2fsprogs"),
        &[
            "no-journal",
            "no-extents",
            "no-dir-index",
            "inline-data",
            "replay",
            "long-replay",
        ],
    ),
    kind("xfs", "xfs", ("mkfs.xfs", "xfsprogs"), &[]),
    kind("btrfs", "btrfs", ("mkfs.btrfs", "btrfs-progs"), &[]),
    kind("f2fs", "f2fs", ("mkfs.f2fs", "f2fs-tools"), &[]),
    kind(
        "reiserfs",
        "reiserfs",
        ("mkfs.reiserfs", "reiserfsprogs"),
        &[],
    ),
    kind("jfs", "jfs", ("mkfs.jfs", "jfsutils"), &[]),
    kind("vfat", "vfat", ("mkfs.vfat", "dosfstools"), &[]),
    kind(
        "squashfs",
        "squashfs",
        ("mksquashfs", "squashfs-tools"),
        COMPRESSORS,
    ),
    kind(
        "erofs",
        "erofs",
        ("mkfs.erofs", "erofs-utils"),
        &["lz4", "lz4hc"],
    ),
    Kind {
        name: "cramfs",
        fstype: "cramfs",
        tool: None,
        options: &["xip"],
    },
    kind("romfs", "romfs", ("genromfs", "genromfs"), &[]),
    kind(
        "jffs2",
        "jffs2",
        ("mkfs.jffs2", "mtd-utils"),
        &["nor", "nor-256k", "summary"],
    ),
    kind(
        "ubifs",
        "ubifs",
        ("mkfs.ubifs", "mtd-utils"),
        &["none", "lzo", "zlib", "zstd", "fixed"],
    ),
    kind(
        "ubi-squashfs",
        "squashfs",
        ("ubinize", "mtd-utils"),
        &["skip-check"],
    ),
];

const fn kind(
    name: &'static str,
    fstype: &'static str,
    tool: (&'static str, &'static str),
    options: &'static [&'static str],
) -> Kind {
    Kind {
        name,
        fstype,
        tool: Some(tool),
        options,
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        self.options.iter().try_for_each(|o| write!(f, ":{o}"))
    }
}

impl Form {
    /// Reads what [`fmt::Display`] writes.
    ///
    /// # Errors
    /// A clause: what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let kind = KINDS.iter().find(|k| k.name == name).ok_or_else(|| {
            let known: Vec<_> = KINDS.iter().map(|k| k.name).collect();
            format!(
                "unknown image filesystem `{name}`; write one of {}",
                known.join(", ")
            )
        })?;
        let options: Vec<String> = parts.map(str::to_owned).collect();
        if let Some(wrong) = options.iter().find(|o| !kind.options.contains(&o.as_str())) {
            let known = match kind.options {
                [] => "none".to_owned(),
                some => some.join(", "),
            };
            return Err(format!(
                "{name} has no option `{wrong}`; known options: {known}"
            ));
        }
        Ok(Self { kind, options })
    }

    /// What `mount -t` takes.
    #[must_use]
    pub const fn fstype(&self) -> &'static str {
        self.kind.fstype
    }

    /// The program that makes it and its Debian package, if it is missing.
    #[must_use]
    pub fn missing(&self) -> Option<(&'static str, &'static str)> {
        let mut needed: Vec<_> = self.kind.tool.into_iter().collect();
        if BY_CHANCE.contains(&self.kind.name) {
            needed.extend([FAKETIME, UNSHARE]);
        }
        needed.into_iter().find(|tool| find(tool.0).is_none())
    }

    /// What its images are kept under, beside what is in them.
    pub(super) fn key(&self) -> String {
        match self.kind.tool {
            Some(_) => self.to_string(),
            None => format!("{self} {}", cramfs::EDITION),
        }
    }

    fn has(&self, option: &str) -> bool {
        self.options.iter().any(|o| o == option)
    }

    /// The image of `tree`, at least `mib` large if its form has room to spare:
    /// from the cache, or made. `programs` are what a tree that is a root is filled with.
    ///
    /// # Errors
    /// If the tool is missing, or fails, or packages cannot be fetched.
    pub fn image(
        &self,
        cache: &Cache,
        tree: &Tree,
        mib: u32,
        programs: &Programs,
        say: &mut dyn FnMut(String),
    ) -> Result<HashedFile, LabError> {
        let program = read(&programs.busybox)?;
        let packages = packages::get(cache, programs.architecture, &tree.packages, say)?;
        let mut inputs = format!("{} {tree:?} {mib} {}", self.key(), hash_bytes(&program));
        for package in &packages {
            inputs.push_str(&package.file_name().unwrap_or_default().to_string_lossy());
        }
        let file = cache.path(&format!("images/{}", hash_bytes(inputs.as_bytes())));
        if !file.is_file() {
            let making = cache.make("images")?;
            let folder = making.folder.path();
            say(format!(
                "creating an image: {self}, {} KiB in {} files",
                tree.kib, tree.files
            ));
            let (source, image) = (folder.join("tree"), folder.join("image"));
            fs::create_dir(&source).map_err(io_error(&source, "cannot be created"))?;
            tree.make(&source, &program, &packages)?;
            let entries = match packages.is_empty() {
                true => tree.files,
                false => listing(&source)?.1,
            };
            self.make(&source, &image, mib, entries)?;
            let parent = file.parent().unwrap_or(folder);
            fs::create_dir_all(parent)
                .and_then(|()| fs::rename(&image, &file))
                .map_err(io_error(&file, "cannot be moved into place"))?;
        }
        HashedFile::large(file, cache)
    }

    /// Whether its tools put no files into it.
    pub(super) fn is_created_empty(&self) -> bool {
        ["reiserfs", "jfs", "vfat"].contains(&self.kind.name)
    }

    /// Makes `image` of the folder `tree`. A filesystem that can be written to has
    /// `mib` MiB, or what it needs.
    pub(super) fn make(
        &self,
        tree: &Path,
        image: &Path,
        mib: u32,
        files: u32,
    ) -> Result<(), LabError> {
        let Some((name, package)) = self.kind.tool else {
            return cramfs::make(tree, image, self.has("xip"));
        };
        let content = ext4::clamp_times(tree, EPOCH_S)?;
        let bytes = (u64::from(mib) << 20).max(content + content / 4 + (8 << 20));
        let sized = |bytes: u64| {
            fs::File::create(image)
                .and_then(|f| f.set_len(bytes))
                .map_err(io_error(image, "cannot be written"))
        };
        let call = |name, why| match BY_CHANCE.contains(&self.kind.name) {
            true => Tool::without_chance(name, package, why, EPOCH, None),
            false => Tool::new(name, package, why).env("SOURCE_DATE_EPOCH", &EPOCH_S.to_string()),
        };
        let tool = || call(name, "create the root image");
        let (from, to) = (tree.as_os_str(), image.as_os_str());
        let word = |w: &'static str| std::ffi::OsStr::new(w);
        let run = |tool: Tool| tool.run().map(|_| ());
        match self.kind.name {
            "ext2" | "ext3" | "ext4" => {
                sized(bytes.next_multiple_of(4 << 20))?;
                // Room for the folders too.
                let inodes = files.saturating_add(files / 32).saturating_add(64);
                let mut features = Vec::new();
                for (option, feature) in [
                    ("no-journal", "^has_journal"),
                    ("no-extents", "^extent"),
                    ("no-dir-index", "^dir_index"),
                    ("inline-data", "inline_data"),
                ] {
                    if self.has(option) {
                        features.push(feature);
                    }
                }
                ext4::format(tree, image, self.kind.name, &features, inodes, EPOCH_S)?;
                for (option, blocks) in [("replay", 60), ("long-replay", 600)] {
                    if self.has(option) {
                        ext4::leave_journal(image, blocks, EPOCH_S)?;
                    }
                }
                Ok(())
            }
            "xfs" => {
                // What it calls the least is 300 MiB; its own tests make smaller ones.
                sized(bytes.max(32 << 20).next_multiple_of(4 << 20))?;
                let prototype = image.with_extension("proto");
                fs::write(&prototype, xfs_prototype(tree)?)
                    .map_err(io_error(&prototype, "cannot be written"))?;
                let own_tests = ["TEST_DIR", "TEST_DEV", "QA_CHECK_FS"];
                let tool = own_tests.iter().fold(tool(), |t, name| t.env(name, "1"));
                let uuid = format!("uuid={UUID}");
                run(tool
                    .args(["-q", "-f", "-m", &uuid, "-p"])
                    .args([prototype.as_os_str(), to]))
            }
            "btrfs" => {
                sized(bytes.max(128 << 20))?;
                // It goes away whatever comes of this.
                let working = tempfile::tempdir_in(image.parent().unwrap_or(Path::new("")))
                    .map_err(io_error(image, "cannot create a folder next to it"))?;
                let stage = working.path().join("stage");
                fs::create_dir(&stage).map_err(io_error(&stage, "cannot be created"))?;
                let staged = Some([tree, stage.as_path()]);
                let why = "create the root image";
                run(Tool::without_chance(name, package, why, EPOCH, staged)
                    .args(["-q", "-U", BTRFS_UUID, "-r"])
                    .args([stage.as_os_str(), to]))
            }
            "f2fs" => {
                sized(bytes.max(64 << 20))?;
                run(tool().args(["-q", "-f", "-U", UUID]).args([to]))?;
                let fill = call("sload.f2fs", "fill the root image");
                let time = EPOCH_S.to_string();
                run(fill.args(["-T", &time, "-f"]).args([from, to]))
            }
            _ if self.is_created_empty() => {
                if files > 0 {
                    return Err(LabError::Kernel {
                        path: image.to_owned(),
                        why: format!(
                            "the lab fills no {self}; create it empty, with `files = 0`, and fill \
                            it in the guest"
                        ),
                    });
                }
                sized(bytes.max(64 << 20))?;
                let args: &[&str] = match self.kind.name {
                    "reiserfs" => &["-q", "-f", "-f", "-u", UUID],
                    "jfs" => &["-q"],
                    _ => &["--invariant"],
                };
                run(tool().args(args).args([to]))
            }
            "squashfs" => {
                let compressor = self.options.first().map_or("gzip", String::as_str);
                let time = EPOCH_S.to_string();
                run(tool()
                    .args([from, to])
                    .args(["-quiet", "-no-progress", "-noappend", "-all-root"])
                    .args(["-processors", "1", "-comp", compressor])
                    .env("SOURCE_DATE_EPOCH", &time))
            }
            "erofs" => {
                let time = EPOCH_S.to_string();
                let mut tool = tool().args(["-T", &time, "-U", UUID, "--all-root"]);
                if let Some(compressor) = self.options.first() {
                    tool = tool.args([format!("-z{compressor}")]);
                }
                run(tool.args([to, from]))
            }
            "romfs" => {
                run(tool()
                    .args(["-V", "firstlight"])
                    .args([word("-d"), from, word("-f"), to]))
            }
            "jffs2" => self.make_jffs2(tool(), tree, image),
            "ubifs" => self.make_ubifs(tool(), tree, image),
            "ubi-squashfs" => {
                let volume = image.with_extension("squashfs");
                let squashfs = Form::parse("squashfs").map_err(|why| LabError::Bug { why })?;
                squashfs.make(tree, &volume, mib, files)?;
                let flags = match self.has("skip-check") {
                    true => "vol_flags=skip-check\n",
                    false => "",
                };
                ubinize(&volume, &format!("vol_type=static\n{flags}"), image)
            }
            other => Err(LabError::Bug {
                why: format!("no tool creates images of {other}"),
            }),
        }
    }

    /// JFFS2 for NAND with pages of 2 KiB and erase blocks of 128 KiB, or for NOR
    /// with erase blocks of 64 KiB or of 256 KiB.
    fn make_jffs2(&self, tool: Tool, tree: &Path, image: &Path) -> Result<(), LabError> {
        let (geometry, block): (&[&str], &str) = if self.has("nor") {
            (&["-l", "-p"], "64KiB")
        } else if self.has("nor-256k") {
            (&["-l", "-p"], "256KiB")
        } else {
            (&["-l", "-n", "-p", "-s", "2048"], "128KiB")
        };
        let plain = image.with_extension("plain");
        let target = if self.has("summary") { &plain } else { image };
        tool.args(geometry)
            .args(["-q", "-e", block, "-d"])
            .args([tree.as_os_str(), "-o".as_ref(), target.as_os_str()])
            .run()?;
        if self.has("summary") {
            let geometry = geometry.iter().filter(|w| !["-s", "2048"].contains(*w));
            Tool::new("sumtool", "mtd-utils", "add the summaries")
                .args(geometry)
                .args(["-e", block, "-i"])
                .args([plain.as_os_str(), "-o".as_ref(), image.as_os_str()])
                .run()?;
        }
        Ok(())
    }

    /// UBIFS in a volume that takes all of the flash at the first attach, or has the
    /// size of the image (`fixed`).
    fn make_ubifs(&self, tool: Tool, tree: &Path, image: &Path) -> Result<(), LabError> {
        let volume = image.with_extension("ubifs");
        let compressor = self.options.iter().find(|o| *o != "fixed");
        let compressor = compressor.map_or("lzo", String::as_str);
        tool.args([
            "-m", "2048", "-e", "129024", "-c", "1000", "-x", compressor, "-r",
        ])
        .args([tree.as_os_str(), "-o".as_ref(), volume.as_os_str()])
        .run()?;
        let flags = match self.has("fixed") {
            true => "",
            false => "vol_flags=autoresize\n",
        };
        ubinize(&volume, &format!("vol_type=dynamic\n{flags}"), image)
    }
}

/// A UBI image with one volume `rootfs`: pages of 2 KiB, headers in pages of 512
/// bytes, erase blocks of 128 KiB.
fn ubinize(volume: &Path, more: &str, image: &Path) -> Result<(), LabError> {
    let plan = image.with_extension("ini");
    let text = format!(
        "[rootfs]\nmode=ubi\nimage={}\nvol_id=0\nvol_name=rootfs\n{more}",
        volume.display()
    );
    fs::write(&plan, text).map_err(io_error(&plan, "cannot be written"))?;
    Tool::new("ubinize", "mtd-utils", "create the flash image")
        .args(["-Q", "1", "-m", "2048", "-s", "512", "-p", "128KiB", "-o"])
        .args([image.as_os_str(), plan.as_os_str()])
        .run()
        .map(|_| ())
}

/// What `mkfs.xfs -p` fills an image from: two lines to be skipped, then each
/// folder's entries with type, mode, owner and source, and `$` at its end.
fn xfs_prototype(tree: &Path) -> Result<String, LabError> {
    fn folder(path: &Path, text: &mut String) -> Result<(), LabError> {
        let failed = || io_error(path, "cannot be listed");
        let mut entries = Vec::new();
        for entry in fs::read_dir(path).map_err(failed())? {
            entries.push(entry.map_err(failed())?.path());
        }
        entries.sort();
        for entry in entries {
            let name = entry.file_name().unwrap_or_default().to_string_lossy();
            if entry.is_dir() {
                text.push_str(&format!("{name} d--755 0 0\n"));
                folder(&entry, text)?;
                text.push_str("$\n");
            } else {
                text.push_str(&format!("{name} ---755 0 0 {}\n", entry.display()));
            }
        }
        Ok(())
    }
    let mut text = "firstlight\n0 0\nd--755 0 0\n".to_owned();
    folder(tree, &mut text)?;
    text.push_str("$\n");
    Ok(text)
}

#[cfg(test)]
mod refused;

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "what is skipped is said")]
mod tests {
    use super::{BY_CHANCE, Form, KINDS};
    use crate::artifacts::tree::Tree;

    #[test]
    fn forms_are_read_and_written_alike() {
        for text in [
            "ext2",
            "ext4:no-journal",
            "squashfs:xz",
            "jffs2:nor:summary",
            "cramfs:xip",
        ] {
            assert_eq!(Form::parse(text).unwrap().to_string(), text);
        }
        assert!(
            Form::parse("ntfs")
                .unwrap_err()
                .contains("write one of ext2")
        );
        let why = Form::parse("romfs:xz").unwrap_err();
        assert!(why.contains("romfs"), "{why}");
        assert!(
            Form::parse("squashfs:bz")
                .unwrap_err()
                .contains("gzip, lzo")
        );
    }

    /// Every form that this host has the tool for, made twice, a second apart.
    #[test]
    fn every_form_is_made_and_the_same_again() {
        let tree = Tree {
            files: 3,
            kib: 30,
            root: true,
            ..Tree::default()
        };
        for kind in KINDS {
            let form = Form::parse(kind.name).unwrap();
            let tree = match form.is_created_empty() {
                true => Tree::default(),
                false => tree.clone(),
            };
            if let Some((tool, package)) = form.missing() {
                eprintln!("skipped: {form}: {tool} is not there ({package})");
                continue;
            }
            let make = || {
                let folder = tempfile::tempdir().unwrap();
                let (source, image) = (folder.path().join("tree"), folder.path().join("image"));
                std::fs::create_dir(&source).unwrap();
                tree.make(&source, b"#!", &[]).unwrap();
                form.make(&source, &image, 0, tree.files).unwrap();
                assert!(image.metadata().unwrap().len() > 4096, "{form}");
                (folder, image)
            };
            let first = make();
            if BY_CHANCE.contains(&kind.name) {
                // Some of them write the second.
                std::thread::sleep(std::time::Duration::from_millis(1100));
            }
            let read = |i: &std::path::Path| std::fs::read(i).unwrap();
            // `mkfs.jfs` leaves pieces of its memory in blocks that nobody reads.
            if kind.name != "jfs" {
                assert!(read(&first.1) == read(&make().1), "{form}");
            }
        }
    }
}
