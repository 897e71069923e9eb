//! Opening an image or a chip.

use crate::error::{Content, Error, Of};
use agent::sys::{is_bad_block, read_spare};
use flash::jffs2::{self, Endian, OpenOptions, Spare, has_cleanmarker};
use flash::{ReadAt, ubi, ubifs};
use rawimage::foreign::Foreign;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The name of standard input.
const STANDARD_INPUT: &str = "-";

/// The most bytes of a pipe: they are kept in a temporary file.
const MOST_OF_A_PIPE: u64 = 8 << 30;

/// What was read from pipes, by their paths: a pipe gives its bytes once, and some verbs look
/// at an image twice.
static OF_PIPES: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// Opens a file or a device that can be read at any place, or what a pipe gives; `-` is
/// standard input.
///
/// # Errors
/// It cannot be opened, or is no file or device with content, or a pipe gives more than
/// 8 GiB.
pub fn image(path: &Path) -> Result<File, Error> {
    let is_input = path == Path::new(STANDARD_INPUT);
    let shown = match is_input {
        true => "standard input".to_owned(),
        false => path.display().to_string(),
    };
    let cannot = |e| Error::io(&shown, "cannot be opened", e);
    // A pipe that is opened waits for its writer, and is opened once.
    if let Some(file) = OF_PIPES
        .lock()
        .ok()
        .and_then(|o| o.get(path)?.try_clone().ok())
    {
        return Ok(file);
    }
    let kind = match is_input {
        true => std::io::stdin()
            .as_fd()
            .try_clone_to_owned()
            .map(File::from),
        false => std::fs::metadata(path).and_then(|m| match m.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => File::open(path),
        }),
    };
    let mut file = match kind {
        Err(e) if e.kind() == io::ErrorKind::IsADirectory => {
            let what = "is a folder; expected an image or a device";
            return Err(Error::unusable(&shown, what));
        }
        other => other.map_err(cannot)?,
    };
    let kind = file.metadata().map_err(cannot)?.file_type();
    let is_pipe = kind.is_fifo() || kind.is_socket();
    if is_pipe {
        file = kept(&mut file, &shown)?;
        if let (Ok(mut all), Ok(copy)) = (OF_PIPES.lock(), file.try_clone()) {
            all.insert(path.to_owned(), copy);
        }
    }
    if (kind.is_file() || is_pipe) && file.metadata().is_ok_and(|m| m.len() == 0) {
        return Err(Error::unusable(&shown, "is empty; expected an image"));
    }
    Ok(file)
}

/// All bytes of a file, or of standard input (`-`), at most `most` and one.
///
/// # Errors
/// It cannot be opened or read.
pub fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let shown = path.display().to_string();
    let mut bytes = Vec::new();
    let read = match path == Path::new(STANDARD_INPUT) {
        true => io::stdin().take(most + 1).read_to_end(&mut bytes),
        false => File::open(path)
            .map_err(|e| Error::io(&shown, "cannot be opened", e))?
            .take(most + 1)
            .read_to_end(&mut bytes),
    };
    read.map_err(|e| Error::io(&shown, "cannot be read", e))?;
    Ok(bytes)
}

/// What a pipe gives, in a temporary file without a name.
fn kept(pipe: &mut File, shown: &str) -> Result<File, Error> {
    let mut file = tempfile::tempfile()
        .map_err(|e| Error::io(shown, "no temporary file can be made for it", e))?;
    let length = io::copy(&mut pipe.take(MOST_OF_A_PIPE + 1), &mut file)
        .map_err(|e| Error::io(shown, "cannot be read", e))?;
    if length > MOST_OF_A_PIPE {
        let why = "is a pipe of more than 8 GiB; write it to a file and name that";
        return Err(Error::unusable(shown, why));
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
