//! Opening an image or a chip.

use crate::error::{Content, Error, Of};
use agent::sys::{is_bad_block, read_spare};
use flash::jffs2::{self, Endian, OpenOptions, Spare, has_cleanmarker};
use flash::{ReadAt, ubi, ubifs};
use rawimage::foreign::Foreign;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Opens a file or a device that can be read at any place.
///
/// # Errors
/// It cannot be opened, or is no file or device with content.
pub fn image(path: &Path) -> Result<File, Error> {
    let shown = path.display().to_string();
    let kind = std::fs::metadata(path)
        .map_err(|e| Error::io(&shown, "cannot be opened", e))?
        .file_type();
    if kind.is_dir() {
        return Err(Error::unusable(
            &shown,
            "is a folder; expected an image or a device",
        ));
    }
    if kind.is_fifo() || kind.is_socket() {
        return Err(Error::unusable(
            &shown,
            "is a pipe, which can be read only once; expected a file or a device",
        ));
    }
    let file = File::open(path).map_err(|e| Error::io(&shown, "cannot be opened", e))?;
    if kind.is_file() && file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(Error::unusable(&shown, "is empty; expected an image"));
    }
    Ok(file)
}

/// A file that reports how far it was read.
pub struct Watched<'f> {
    file: &'f File,
    tell: &'f (dyn Fn(u64) + Sync),
    length: u64,
    /// The percentage reported last.
    told: AtomicU64,
}

impl<'f> Watched<'f> {
    /// Watches `file`; `tell` is given each new percentage.
    pub fn new(file: &'f File, tell: &'f (dyn Fn(u64) + Sync)) -> Self {
        Self {
            file,
            tell,
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
            (self.tell)(done);
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
    ///
    /// # Errors
    /// The kernel does not say what it must.
    pub fn of(path: &Path, file: &File) -> Result<Option<Self>, Error> {
        let shown = path.display().to_string();
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
        let property = |name: &str| -> Result<u64, Error> {
            let path = format!("/sys/class/mtd/mtd{number}/{name}");
            let text = std::fs::read_to_string(&path)
                .map_err(|e| Error::io(&shown, format!("{path} cannot be read"), e))?;
            let value = text.trim().parse();
            value.map_err(|e: std::num::ParseIntError| {
                let why = format!("{path} is `{}`, no number: {e}", text.trim());
                Error::unusable(&shown, why)
            })
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
            let what = || format!("the state of block {number} is not known");
            if is_bad_block(file, offset).map_err(|e| Error::io(&shown, what(), e))? {
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

/// How to read an image, as far as the user said it.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Size of an erase block, bytes.
    pub erase_size: Option<u32>,
    /// The byte order.
    pub endian: Option<Endian>,
    /// The spare bytes of each page.
    pub spare: Option<Spare>,
}

impl Layout {
    /// How to read what `path` is: what is given, and what the kernel says of a
    /// device.
    #[must_use]
    pub fn options(&self, mtd: Option<&Mtd>) -> OpenOptions {
        OpenOptions {
            erase_size: self.erase_size.or(mtd.map(|m| m.erase_size)),
            endian: self.endian,
            spare: match (self.spare, mtd) {
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
    /// JFFS2.
    Jffs2(&'f jffs2::Filesystem<'f>),
    /// UBIFS.
    Ubifs(&'f ubifs::Filesystem<'f>),
}

impl Filesystem<'_> {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Jffs2(_) => "jffs2",
            Self::Ubifs(_) => "ubifs",
        }
    }
}

/// Opens the filesystem in `path`, in UBI the one of `volume`, and lets `with` look at it.
/// `tell` is given each new percentage of the image that was read.
///
/// # Errors
/// No filesystem can be opened there.
pub fn filesystem<T>(
    path: &Path,
    layout: &Layout,
    volume: Option<&str>,
    tell: &(dyn Fn(u64) + Sync),
    with: impl FnOnce(Filesystem<'_>) -> T,
) -> Result<T, Error> {
    let shown = path.display().to_string();
    let file = image(path)?;
    let mtd = Mtd::of(path, &file)?;
    let layout = layout.options(mtd.as_ref());
    let mut head = [0; 4096];
    let read = file.read_exact_at(0, &mut head);
    let looks = read.map_or(Foreign::Unknown, |()| Foreign::recognise(&head));
    if looks == Foreign::Ubifs {
        let filesystem = ubifs::Filesystem::open(&file).of(&shown)?;
        return Ok(with(Filesystem::Ubifs(&filesystem)));
    }
    if looks == Foreign::Ubi || volume.is_some() {
        return in_ubi(&file, layout, mtd, volume, with).of(&shown);
    }
    let watched = Watched::new(&file, tell);
    let filesystem = jffs2::Filesystem::open(&watched, &layout).of(&shown)?;
    Ok(with(Filesystem::Jffs2(&filesystem)))
}

/// Opens UBIFS in a volume.
fn in_ubi<T>(
    file: &File,
    layout: OpenOptions,
    mtd: Option<Mtd>,
    volume: Option<&str>,
    with: impl FnOnce(Filesystem<'_>) -> T,
) -> Result<T, Content> {
    let options = ubi::Options {
        erase_size: layout.erase_size,
        spare: layout.spare,
        bad_blocks: mtd.map(|m| m.bad_blocks).unwrap_or_default(),
        ..ubi::Options::default()
    };
    let image = ubi::Image::open(file, &options)?;
    let volumes: Vec<ubi::Volume<'_>> = match volume {
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
        [] => Err(Content::Lacks(
            "no volume of this UBI image holds UBIFS; see `firstlight flash ubi`".to_owned(),
        )),
        [volume] => {
            let filesystem = ubifs::Filesystem::open(volume)
                .of(&format!("volume {} ({})", volume.id, name(volume)))
                .map_err(|e| Content::Volume(Box::new(e)))?;
            Ok(with(Filesystem::Ubifs(&filesystem)))
        }
        several => {
            let names: Vec<String> = several.iter().map(name).collect();
            Err(Content::Lacks(format!(
                "several volumes hold UBIFS; choose one with --volume: {}",
                names.join(", ")
            )))
        }
    }
}

fn is_ubifs(volume: &ubi::Volume<'_>) -> bool {
    let mut head = [0; 4096];
    let read = volume.read_exact_at(0, &mut head);
    read.is_ok() && Foreign::recognise(&head) == Foreign::Ubifs
}

fn name(volume: &ubi::Volume<'_>) -> String {
    String::from_utf8_lossy(volume.record.name()).into_owned()
}
