//! Images of disks, and the programs that make, check and mount them.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub fn run(name: &str, args: &[&str]) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    match Command::new(name).args(args).env("PATH", path).output() {
        Ok(out) if out.status.success() => Ok(()),
        Ok(out) => Err(format!(
            "{name} {args:?}: {}{}",
            String::from_utf8_lossy(&out.stdout),
            String::from_utf8_lossy(&out.stderr)
        )),
        Err(e) => Err(format!("{name}: {e}")),
    }
}

/// A part of an image that may be zero.
const PART: usize = 65_536;

/// A mounted image; unmounted when it goes, and then free: whoever made a mount
/// namespace of its own meanwhile, as another test's machine may, holds the mount for as
/// long as it lives, and until then the image is in use.
pub struct Mounted {
    pub at: PathBuf,
    image: PathBuf,
}

impl Mounted {
    pub fn new(image: &Path, at: &Path, options: &str) -> Result<Self, String> {
        fs::create_dir_all(at).unwrap();
        run("mount", &["-o", options, &text(image), &text(at)])?;
        Ok(Self {
            at: at.to_owned(),
            image: image.to_owned(),
        })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        if let Err(why) = run("umount", &[&text(&self.at)]) {
            eprintln!("{why}");
            return;
        }
        let begun = Instant::now();
        while has_loop_device(&self.image) {
            if begun.elapsed() > Duration::from_secs(120) {
                eprintln!("{} is still in use", self.image.display());
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a loop device has this image, by what the kernel lists in `/sys/block`.
fn has_loop_device(image: &Path) -> bool {
    let devices = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut backing =
        devices.filter_map(|d| fs::read_to_string(d.path().join("loop/backing_file")).ok());
    let image = image.canonicalize().unwrap_or_else(|_| image.to_owned());
    backing.any(|file| Path::new(file.trim_end()) == image)
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// Writes an image without what is zero.
pub fn write_sparse(image: &Path, bytes: &[u8]) {
    let file = File::create(image).unwrap();
    file.set_len(bytes.len() as u64).unwrap();
    let zeros = vec![0; PART];
    for (number, part) in bytes.chunks(PART).enumerate() {
        if part != &zeros[..part.len()] {
            file.write_all_at(part, (number * PART) as u64).unwrap();
        }
    }
}

/// Where a tool is.
pub fn path_of(tool: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let mut places = path.split(':').map(|folder| Path::new(folder).join(tool));
    places.find(|p| p.is_file())
}

/// Whether there is a tool; says if not.
pub fn has(tool: &str) -> bool {
    let found = path_of(tool).is_some();
    if !found {
        eprintln!("skipped: power cuts: {tool} is not there");
    }
    found
}

/// Whether a machine with a disk can be made here.
pub fn has_tools() -> bool {
    let tools = ["qemu-system-x86_64", "mke2fs", "e2fsck", "cpio", "ldd"];
    tools.into_iter().all(has)
}
