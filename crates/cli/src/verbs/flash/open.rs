//! Opening an image or a chip.

use super::args::{Inside, Layout};
use crate::progress;
use agent::sys::{is_bad_block, read_spare};
use anyhow::{Context, Result, bail};
use image::foreign::Foreign;
use image::jffs2::{self, Endian, OpenOptions, Spare, has_cleanmarker};
use image::{ReadAt, ubi, ubifs};
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a file or a device that can be read at any place.
pub fn image(path: &Path) -> Result<File> {
    let shown = path.display();
    let kind = std::fs::metadata(path)
        .with_context(|| format!("{shown}: cannot be opened"))?
        .file_type();
    if kind.is_dir() {
        bail!("{shown}: is a folder; expected an image or a device");
    }
    if kind.is_fifo() || kind.is_socket() {
        bail!("{shown}: is a pipe, which can be read only once; expected a file or a device");
    }
    let file = File::open(path).with_context(|| format!("{shown}: cannot be opened"))?;
    if kind.is_file() && file.metadata().is_ok_and(|m| m.len() == 0) {
        bail!("{shown}: is empty; expected an image");
    }
    Ok(file)
}

/// A file of which a terminal sees how far it was read.
pub struct Watched<'f> {
    file: &'f File,
    shown: String,
    length: u64,
    /// The per cent that were told last.
    told: AtomicU64,
}

impl<'f> Watched<'f> {
    /// Watches `file`, which is at `path`.
    pub fn new(file: &'f File, path: &Path) -> Self {
        Self {
            file,
            shown: path.display().to_string(),
            length: file.length().unwrap_or(0),
            told: AtomicU64::new(0),
        }
    }
}

impl ReadAt for Watched<'_> {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let done = offset.saturating_mul(100).checked_div(self.length);
        let done = done.unwrap_or(0).min(100);
        if self.told.fetch_max(done, Ordering::Relaxed) < done {
            progress::say(format!("reading {}: {done} %", self.shown));
        }
        self.file.read_exact_at(offset, buf)
    }
}

/// What the kernel knows of an MTD device.
pub struct Mtd {
    /// Size of an erase block, bytes.
    pub erase_size: u32,
    /// How many erase blocks there are.
    pub blocks: u64,
    /// The smallest write, bytes; a page on NAND.
    pub write_size: u32,
    /// The smallest write of a header, bytes.
    pub subpage_size: u32,
    /// Numbers of the blocks that are marked as bad.
    pub bad_blocks: BTreeSet<u64>,
    /// How many spare bytes a page has.
    spare_size: u32,
}

impl Mtd {
    /// Asks the kernel about `/dev/mtdN`; `None` if that is not what `path` is.
    pub fn of(path: &Path, file: &File) -> Result<Option<Self>> {
        let shown = path.display();
        let is_device = file
            .metadata()
            .is_ok_and(|m| m.file_type().is_char_device());
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let name = real.file_name().unwrap_or_default().to_string_lossy();
        let number = name.trim_end_matches("ro").strip_prefix("mtd");
        let Some(number) = number.and_then(|n| n.parse::<u32>().ok()) else {
            return Ok(None);
        };
        if !is_device {
            return Ok(None);
        }
        let property = |name: &str| -> Result<u64> {
            let path = format!("/sys/class/mtd/mtd{number}/{name}");
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("{shown}: {path} cannot be read"))?;
            let value = text.trim().parse();
            value.with_context(|| format!("{shown}: {path} is `{}`, no number", text.trim()))
        };
        let erase_size = property("erasesize")?;
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let mut mtd = Self {
            erase_size: small(erase_size),
            blocks: property("size")?.checked_div(erase_size).unwrap_or(0),
            write_size: small(property("writesize")?),
            subpage_size: small(property("subpagesize")?),
            bad_blocks: BTreeSet::new(),
            spare_size: small(property("oobsize")?),
        };
        for number in 0..mtd.blocks {
            let offset = i64::try_from(number * erase_size).unwrap_or(i64::MAX);
            if is_bad_block(file, offset)
                .with_context(|| format!("{shown}: the state of block {number} is not known"))?
            {
                mtd.bad_blocks.insert(number);
            }
        }
        Ok(Some(mtd))
    }

    /// Numbers of the blocks with JFFS2's clean marker in the spare bytes of their
    /// first page; none, where the chip has no spare bytes.
    pub fn clean_blocks(&self, file: &File) -> BTreeSet<u64> {
        let mut spare = vec![0; self.spare_size as usize];
        let mut clean = BTreeSet::new();
        if spare.is_empty() {
            return clean;
        }
        for number in 0..self.blocks {
            let offset = number * u64::from(self.erase_size);
            let was_read = read_spare(file, offset, &mut spare).is_ok();
            let orders = [Endian::Little, Endian::Big];
            if was_read && orders.iter().any(|e| has_cleanmarker(*e, &spare)) {
                clean.insert(number);
            }
        }
        clean
    }
}

impl Layout {
    /// How to read what `path` is: what is given, and what the kernel says of a
    /// device.
    pub fn options(&self, mtd: Option<&Mtd>) -> OpenOptions {
        OpenOptions {
            erase_size: self.erase_size.or(mtd.map(|m| m.erase_size)),
            endian: self.order.endian(),
            spare: match (self.oob, mtd) {
                (Some(given), _) => given,
                // The kernel hands out the data without its spare bytes.
                (None, Some(_)) => Spare::None,
                (None, None) => Spare::Detect,
            },
        }
    }
}

/// A filesystem that files can be read from.
pub enum Filesystem<'f> {
    Jffs2(&'f jffs2::Filesystem<'f>),
    Ubifs(&'f ubifs::Filesystem<'f>),
}

impl Filesystem<'_> {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Jffs2(_) => "jffs2",
            Self::Ubifs(_) => "ubifs",
        }
    }
}

impl Inside {
    /// Opens the filesystem in `path` and lets `with` look at it.
    pub fn filesystem<T>(
        &self,
        path: &Path,
        with: impl FnOnce(Filesystem) -> Result<T>,
    ) -> Result<T> {
        let shown = || path.display().to_string();
        let file = image(path)?;
        let mtd = Mtd::of(path, &file)?;
        let layout = self.layout.options(mtd.as_ref());
        let mut head = [0; 4096];
        let read = file.read_exact_at(0, &mut head);
        let looks = read.map_or(Foreign::Unknown, |()| Foreign::recognise(&head));
        if looks == Foreign::Ubifs {
            let filesystem = ubifs::Filesystem::open(&file).with_context(shown)?;
            return with(Filesystem::Ubifs(&filesystem)).with_context(shown);
        }
        if looks == Foreign::Ubi || self.volume.is_some() {
            return self.in_ubi(&file, layout, mtd, with).with_context(shown);
        }
        let watched = Watched::new(&file, path);
        let filesystem = jffs2::Filesystem::open(&watched, &layout).with_context(shown)?;
        let seen = with(Filesystem::Jffs2(&filesystem)).with_context(shown);
        progress::clear();
        seen
    }

    /// Opens UBIFS in a volume.
    fn in_ubi<T>(
        &self,
        file: &File,
        layout: OpenOptions,
        mtd: Option<Mtd>,
        with: impl FnOnce(Filesystem) -> Result<T>,
    ) -> Result<T> {
        let options = ubi::Options {
            erase_size: layout.erase_size,
            spare: layout.spare,
            bad_blocks: mtd.map(|m| m.bad_blocks).unwrap_or_default(),
            ..ubi::Options::default()
        };
        let image = ubi::Image::open(file, &options)?;
        let volumes: Vec<ubi::Volume> = match &self.volume {
            Some(volume) => {
                let (id, record) = image.find(volume)?;
                vec![image.volume(id, record)]
            }
            None => {
                let all = image.records.iter();
                let all = all.map(|(id, record)| image.volume(*id, record));
                all.filter(is_ubifs).collect()
            }
        };
        match volumes.as_slice() {
            [] => bail!("no volume of this UBI image holds UBIFS; see `firstlight flash ubi`"),
            [volume] => {
                let filesystem = ubifs::Filesystem::open(volume)
                    .with_context(|| format!("volume {} ({})", volume.id, name(volume)))?;
                with(Filesystem::Ubifs(&filesystem))
            }
            several => {
                let names: Vec<String> = several.iter().map(name).collect();
                bail!(
                    "several volumes hold UBIFS; choose one with --volume: {}",
                    names.join(", ")
                )
            }
        }
    }
}

fn is_ubifs(volume: &ubi::Volume) -> bool {
    let mut head = [0; 4096];
    let read = volume.read_exact_at(0, &mut head);
    read.is_ok() && Foreign::recognise(&head) == Foreign::Ubifs
}

fn name(volume: &ubi::Volume) -> String {
    String::from_utf8_lossy(volume.record.name()).into_owned()
}
