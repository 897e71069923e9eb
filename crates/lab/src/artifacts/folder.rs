//! A root that is made of a folder of the user.

use super::filesystem::Form;
use super::listing::listing;
use super::{Cache, hash_bytes};
use crate::error::{LabError, io_error};
use crate::files::{folder_within, read};
use crate::tools::Tool;
use rustix::fs::{AtFlags, Mode, OFlags, openat, unlinkat};
use rustix::io::Errno;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Filesystems of block devices that keep what is in any folder.
const ROOTS: [&str; 7] = ["ext2", "ext3", "ext4", "btrfs", "f2fs", "squashfs", "erofs"];

/// Those that the kernel of `arm9` mounts from its NOR flash. JFFS2 needs the
/// geometry of that flash; UBI does not take it, since it is two chips in one
/// ("multiple regions, not implemented").
const ON_NOR: [&str; 11] = [
    "jffs2:nor-256k",
    "jffs2:nor-256k:summary",
    "squashfs",
    "squashfs:gzip",
    "squashfs:lzo",
    "squashfs:lz4",
    "squashfs:xz",
    "squashfs:zstd",
    "cramfs",
    "cramfs:xip",
    "romfs",
];

/// Persistent memory comes in pieces of this many bytes.
const PIECE_BYTES: u64 = 2 << 20;

impl Form {
    /// The form, if it can be a root on a block device.
    ///
    /// # Errors
    /// A clause: which ones can.
    pub fn on_a_block_device(self) -> Result<Self, String> {
        let text = self.to_string();
        let name = text.split(':').next().unwrap_or_default();
        match ROOTS.contains(&name) {
            true => Ok(self),
            false => Err(format!(
                "unknown root filesystem `{text}` for a `tree`; write one of {}",
                ROOTS.join(", ")
            )),
        }
    }

    /// The form, if it can be a root in the NOR flash of `arm9`.
    ///
    /// # Errors
    /// A clause: which ones can.
    pub fn on_nor_flash(self) -> Result<Self, String> {
        let text = self.to_string();
        match ON_NOR.contains(&text.as_str()) {
            true => Ok(self),
            false => Err(format!(
                "unknown root filesystem `{text}` for a `tree` on `arm9`; write `initramfs` or \
                 one of {}",
                ON_NOR.join(", ")
            )),
        }
    }

    /// Writes the image of what is in `folder`, which stays as it is, to `to`, without
    /// padding; gives how many files and folders are in it. Owners are root where the format's
    /// tool can say so, and nothing in it is newer than the emulated clock, so that the same
    /// folder gives the same bytes.
    ///
    /// # Errors
    /// If the folder cannot be read, the tool is missing or fails, or nothing can be written.
    pub fn create(&self, folder: &Path, to: &mut fs::File) -> Result<u32, LabError> {
        let (_, entries) = listing(folder)?;
        if self.is_created_empty() && entries > 0 {
            return Err(LabError::Kernel {
                path: folder.to_owned(),
                why: format!("no tool puts a folder into a new {self}; expected another form"),
            });
        }
        let work = tempfile::tempdir().map_err(io_error(folder, "cannot be copied"))?;
        let (tree, image) = (work.path().join("tree"), work.path().join("image"));
        copy(folder, &tree)?;
        self.make(&tree, &image, 0, entries)?;
        let mut made = fs::File::open(&image).map_err(io_error(&image, "cannot be read"))?;
        std::io::copy(&mut made, to).map_err(io_error(&image, "cannot be copied"))?;
        Ok(entries)
    }

    /// The image of what is in `folder`, which stays as it is, with `busybox` in it:
    /// from the cache, or made. Nothing in it is newer than the emulated clock.
    ///
    /// # Errors
    /// If the folder cannot be read, or the tool is missing or fails.
    pub fn image_of(
        &self,
        cache: &Cache,
        folder: &Path,
        busybox: Option<&Path>,
        say: &mut dyn FnMut(String),
    ) -> Result<PathBuf, LabError> {
        let (mut inputs, entries) = listing(folder)?;
        if let Some(busybox) = busybox {
            let _ = writeln!(inputs, "busybox {}", hash_bytes(&read(busybox)?));
        }
        let inputs = format!("{} of a folder\n{inputs}", self.key());
        let file = cache.path(&format!("images/{}", hash_bytes(inputs.as_bytes())));
        if file.is_file() {
            return Ok(file);
        }
        let making = cache.make("images")?;
        let work = making.folder.path();
        say(format!(
            "creating a root: {self}, from {}",
            folder.display()
        ));
        let (tree, image) = (work.join("tree"), work.join("image"));
        copy(folder, &tree)?;
        if let Some(busybox) = busybox {
            put_busybox(&tree, &read(busybox)?)?;
        }
        self.make(&tree, &image, 0, entries)?;
        let cannot = || io_error(&image, "cannot be written");
        let open = fs::File::options().write(true).open(&image);
        let length = fs::metadata(&image).map_err(cannot())?.len();
        open.and_then(|f| f.set_len(length.next_multiple_of(PIECE_BYTES)))
            .map_err(cannot())?;
        let parent = file.parent().unwrap_or(work);
        fs::create_dir_all(parent)
            .and_then(|()| fs::rename(&image, &file))
            .map_err(io_error(&file, "cannot be moved into place"))?;
        Ok(file)
    }
}

/// Puts busybox into the folder `bin` of `tree`, in place of another one. Links are
/// followed as the booted system does, with `tree` as the root: never out of it.
fn put_busybox(tree: &Path, busybox: &[u8]) -> Result<(), LabError> {
    let path = tree.join("bin/busybox");
    let failed = || io_error(&path, "cannot be written");
    let bin = match folder_within(tree, "bin")? {
        Some(bin) => bin,
        None => {
            let made = tree.join("bin");
            fs::create_dir(&made).map_err(io_error(&made, "cannot be created"))?;
            folder_within(tree, "bin")?
                .ok_or_else(|| failed()(std::io::ErrorKind::NotFound.into()))?
        }
    };
    match unlinkat(&bin, "busybox", AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(e) => return Err(failed()(e.into())),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(&bin, "busybox", flags, Mode::from_raw_mode(0o755));
    let mut file = fs::File::from(file.map_err(|e| failed()(e.into()))?);
    // The mode again: of the first one, the user's mask takes some.
    file.write_all(busybox)
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(0o755)))
        .map_err(failed())
}

/// Copies what is in a folder.
fn copy(folder: &Path, to: &Path) -> Result<(), LabError> {
    Tool::new("cp", "coreutils", "copy the root folder")
        // The dot: what a link leads to, not the link.
        .args(["-a".as_ref(), folder.join(".").as_os_str(), to.as_os_str()])
        .run()
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::{Form, listing, put_busybox};
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    /// A folder becomes an image that is the same each time, and stays as it is.
    #[test]
    fn an_image_of_a_folder_is_whole_and_the_same_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        fs::write(folder.path().join("bin/app"), [7; 9_000]).unwrap();
        let before = listing(folder.path()).unwrap();
        let form = Form::parse("cramfs:xip").unwrap();
        let made = || {
            let mut image = tempfile::tempfile().unwrap();
            assert_eq!(form.create(folder.path(), &mut image).unwrap(), before.1);
            let mut bytes = Vec::new();
            std::io::Seek::rewind(&mut image).unwrap();
            std::io::Read::read_to_end(&mut image, &mut bytes).unwrap();
            bytes
        };
        let image = made();
        assert_eq!(image.get(..4), Some(&0x28cd_3d45_u32.to_le_bytes()[..]));
        assert_eq!(made(), image);
        assert_eq!(listing(folder.path()).unwrap(), before);
        // No tool fills a new one of these, and the folder is named, not a temporary file.
        let empty = Form::parse("vfat").unwrap();
        let why = empty.create(folder.path(), &mut tempfile::tempfile().unwrap());
        let why = why.unwrap_err().to_string();
        assert!(
            why.starts_with(&folder.path().display().to_string()),
            "{why}"
        );
        assert!(
            why.contains("no tool puts a folder into a new vfat"),
            "{why}"
        );
    }

    /// Puts busybox into a tree whose `bin` is a link to `target`, and whose
    /// `usr/bin` has a link as its busybox; gives what happened and what is there.
    fn busybox_by(target: &Path) -> (bool, Option<Vec<u8>>) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("usr/bin")).unwrap();
        let busybox = folder.path().join("usr/bin/busybox");
        symlink("/etc/hostname", &busybox).unwrap();
        symlink(target, folder.path().join("bin")).unwrap();
        let done = put_busybox(folder.path(), b"new").is_ok();
        let plain = fs::symlink_metadata(&busybox).unwrap().is_file();
        if plain {
            let mode = fs::metadata(&busybox).unwrap().permissions().mode();
            assert_eq!(mode & 0o7777, 0o755);
        }
        (done, plain.then(|| fs::read(&busybox).unwrap()))
    }

    #[test]
    fn busybox_never_goes_out_of_the_tree() {
        let outside = tempfile::tempdir().unwrap();
        let old = outside.path().join("busybox");
        fs::write(&old, "old").unwrap();
        let new = || Some(b"new".to_vec());
        // As in the booted system: relative, absolute, and above the root is the root.
        for inside in ["usr/bin", "/usr/bin", "../../usr/bin"] {
            assert_eq!(busybox_by(Path::new(inside)), (true, new()), "{inside}");
        }
        assert_eq!(busybox_by(outside.path()), (false, None));
        assert_eq!(fs::read(&old).unwrap(), b"old");

        let tree = tempfile::tempdir().unwrap();
        put_busybox(tree.path(), b"new").unwrap();
        let busybox = tree.path().join("bin/busybox");
        fs::remove_file(&busybox).unwrap();
        symlink(&old, &busybox).unwrap();
        put_busybox(tree.path(), b"new").unwrap();
        assert_eq!(fs::read(&busybox).unwrap(), b"new");
        assert_eq!(fs::read(&old).unwrap(), b"old");
    }

    #[test]
    fn only_what_keeps_a_tree_is_a_root() {
        for (text, can) in [
            ("ext4:no-journal", true),
            ("squashfs:xz", true),
            ("romfs", false),
        ] {
            let form = Form::parse(text).unwrap().on_a_block_device();
            assert_eq!(form.is_ok(), can, "{text}");
        }
    }

    #[test]
    fn a_listing_tells_contents_modes_and_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("etc")).unwrap();
        fs::write(path("etc/a"), "1").unwrap();
        symlink("a", path("etc/b")).unwrap();
        let mut seen = vec![listing(folder.path()).unwrap()];
        assert_eq!(seen[0].1, 3);
        assert_eq!(listing(folder.path()).unwrap(), seen[0]);
        fs::write(path("etc/a"), "2").unwrap();
        seen.push(listing(folder.path()).unwrap());
        fs::remove_file(path("etc/b")).unwrap();
        symlink("c", path("etc/b")).unwrap();
        seen.push(listing(folder.path()).unwrap());
        assert!(seen[0] != seen[1] && seen[1] != seen[2]);
    }
}
