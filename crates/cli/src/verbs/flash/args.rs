//! What `firstlight flash` takes.

use crate::size;
use clap::{Args, Subcommand, ValueHint};
use image::jffs2::mount::{PROFILES, Profile};
use image::jffs2::{Endian, Oob, Spare};
use image::ubi::cost;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Flash {
    #[command(subcommand)]
    pub verb: FlashVerb,
}

#[derive(Debug, Subcommand)]
pub enum FlashVerb {
    /// What is in each erase block, what is wrong, and how long a mount takes
    #[command(after_help = "Example:\n  $ firstlight flash check rootfs.jffs2")]
    Check(Check),
    /// Write a JFFS2 image anew, with a summary in each erase block
    #[command(
        after_help = "Example:\n  $ firstlight flash summarize rootfs.jffs2 -o rootfs.sum.jffs2 \
                      --erase-size 128KiB --no-cleanmarkers --pad"
    )]
    Summarize(Summarize),
    /// The files in an image of JFFS2 or UBIFS, as the kernel would see them
    #[command(after_help = "Example:\n  $ firstlight flash list rootfs.jffs2 etc")]
    List(List),
    /// Copy the files of an image into a new folder
    #[command(after_help = "Example:\n  $ firstlight flash extract rootfs.jffs2 -o rootfs")]
    Extract(Extract),
    /// Read every file of an image, and all checksums
    #[command(after_help = "Example:\n  $ firstlight flash verify rootfs.jffs2\n\n\
                      Exit codes: 0 all is well, 1 something is wrong, 2 could not do it.")]
    Verify(Verify),
    /// What the kernel would do with a UBI image, and what attaching it costs
    #[command(
        after_help = "Examples:\n  $ firstlight flash ubi rootfs.ubi --min-io 2048 --subpage 512\n  \
                      $ firstlight flash ubi rootfs.ubi --skip-check rootfs -o fast.ubi"
    )]
    Ubi(Ubi),
    /// The environment of U-Boot: read, compare, change
    #[command(after_help = "Example:\n  $ firstlight flash env flash.bin\n  \
                      $ firstlight flash env flash.bin --set bootdelay=0 -o faster.bin\n\n\
                      Without -o, changes are shown and not made.")]
    Env(Box<Env>),
}

/// What is known about a JFFS2 image; what is not given is found.
#[derive(Clone, Debug, Args)]
pub struct Layout {
    /// Size of an erase block: 128KiB, 0x20000 or 131072 [default: found]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    #[command(flatten)]
    pub order: Order,
    /// A dump with spare bytes (OOB): PAGE+SPARE, such as 2048+64, or none [default: found]
    #[arg(long, value_name = "PAGE+SPARE", value_parser = oob)]
    pub oob: Option<Spare>,
}

/// Which filesystem of an image.
#[derive(Clone, Debug, Args)]
pub struct Inside {
    #[command(flatten)]
    pub layout: Layout,
    /// The UBI volume that the files are in, by name or number [default: the one that holds UBIFS]
    #[arg(long, value_name = "VOLUME")]
    pub volume: Option<String>,
}

/// The byte order.
#[derive(Clone, Debug, Args)]
pub struct Order {
    /// The image is big-endian [default: found]
    #[arg(short, long, conflicts_with = "little_endian")]
    pub big_endian: bool,
    /// The image is little-endian [default: found]
    #[arg(short, long)]
    pub little_endian: bool,
}

impl Order {
    pub fn endian(&self) -> Option<Endian> {
        match (self.big_endian, self.little_endian) {
            (true, _) => Some(Endian::Big),
            (_, true) => Some(Endian::Little),
            _ => None,
        }
    }
}

/// Reads `2048+64`.
fn oob(text: &str) -> Result<Spare, String> {
    if text == "none" {
        return Ok(Spare::None);
    }
    let parts = text.split_once('+');
    let sizes = parts.and_then(|(page, spare)| {
        let size = |text| u32::try_from(size::parse(text).ok()?).ok();
        Some((size(page)?, size(spare)?))
    });
    let Some((page, spare)) = sizes else {
        return Err("expected the bytes of a page and of its spare bytes, such as 2048+64".into());
    };
    let checked = Oob { page, spare }.checked();
    checked.map(Spare::Given).map_err(|e| e.to_string())
}

/// Finds a storage profile by its name.
fn profile(name: &str) -> Result<Profile, String> {
    let found = PROFILES.into_iter().find(|p| p.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|p| p.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Finds a profile of what attaching costs by its name.
fn attach_profile(name: &str) -> Result<cost::Profile, String> {
    let found = cost::PROFILES.into_iter().find(|p| p.name == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = cost::PROFILES.iter().map(|p| p.name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A size that is at most 4 GiB.
fn small_size(text: &str) -> Result<u32, String> {
    let size = size::parse(text)?;
    u32::try_from(size).map_err(|_| "expected a size of less than 4GiB".to_owned())
}

#[derive(Debug, Args)]
pub struct Check {
    /// A JFFS2 image, a dump of a chip, or an MTD device
    #[arg(value_name = "IMAGE|/dev/mtdN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub layout: Layout,
    /// The chip to estimate the mount time for: nandsim-128m or nor-s29gl [default: as the image looks]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub storage: Option<Profile>,
    /// Size of the chip, if it is larger than the image; the rest is taken as erased
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub chip_size: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Summarize {
    /// The JFFS2 image; it may be the same file as the output
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// The image to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Size of an erase block: 128KiB, 0x20000 or 131072 [default: found; with --compat 64KiB]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    /// No clean markers in the data, as on NAND
    #[arg(short, long)]
    pub no_cleanmarkers: bool,
    /// Size of the clean markers, in bytes [default: as the image has them]
    #[arg(short, long, value_name = "BYTES", value_parser = size::parse, conflicts_with = "no_cleanmarkers")]
    pub cleanmarker: Option<u64>,
    /// Fill the last erase block with 0xff
    #[arg(short, long)]
    pub pad: bool,
    #[command(flatten)]
    pub order: Order,
    /// Write the same bytes as sumtool of mtd-utils, its defects included
    #[arg(long)]
    pub compat: bool,
}

#[derive(Debug, Args)]
pub struct List {
    /// An image of JFFS2, UBI or UBIFS, or a dump of a chip
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Only this file, or what is below this folder
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Also the nodes of each file, in the order in which the kernel replays them
    #[arg(long)]
    pub nodes: bool,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Extract {
    /// An image of JFFS2, UBI or UBIFS, or a dump of a chip
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// The folder to make; an empty one may be there
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Give files the owners and the set-user-id bits that they have in the image; needs root
    #[arg(long)]
    pub owners: bool,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// An image of JFFS2, UBI or UBIFS, or a dump of a chip
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Ubi {
    /// A UBI image, a dump of a chip, or an MTD device
    #[arg(value_name = "IMAGE|/dev/mtdN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub chip: Chip,
    /// Do not read and check the data of static volumes
    #[arg(long)]
    pub headers_only: bool,
    /// Let the kernel open this static volume without checking it first (name or number)
    #[arg(
        long,
        value_name = "VOLUME",
        requires = "out",
        conflicts_with = "check"
    )]
    pub skip_check: Option<String>,
    /// Let the kernel check this static volume again
    #[arg(long, value_name = "VOLUME", requires = "out")]
    pub check: Option<String>,
    /// Copy the bytes of this volume
    #[arg(long, value_name = "VOLUME", requires = "out", conflicts_with_all = ["check", "skip_check"])]
    pub copy: Option<String>,
    /// The file to write, with --skip-check, --check or --copy
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

/// The chip that a UBI image is for.
#[derive(Debug, Args)]
pub struct Chip {
    /// Size of an erase block: 128KiB, 0x20000 or 131072 [default: found]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    /// A dump with spare bytes (OOB): PAGE+SPARE, such as 2048+64, or none [default: found]
    #[arg(long, value_name = "PAGE+SPARE", value_parser = oob)]
    pub oob: Option<Spare>,
    /// Where the UBI partition begins in the image [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub offset: Option<u64>,
    /// The chip's smallest write: 2048 on NAND with such pages, 1 on NOR
    #[arg(short, long, value_name = "BYTES", value_parser = small_size)]
    pub min_io: Option<u32>,
    /// The chip's smallest write of a header [default: as --min-io]
    #[arg(short, long, value_name = "BYTES", value_parser = small_size, requires = "min_io")]
    pub subpage: Option<u32>,
    /// Where the kernel is told to look for VID headers [default: the first subpage behind 64 bytes]
    #[arg(short = 'O', long, value_name = "BYTES", value_parser = small_size, requires = "min_io")]
    pub vid_offset: Option<u32>,
    /// Size of the partition, if it is larger than the image; the rest is taken as erased
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub chip_size: Option<u64>,
    /// The chip to estimate times for: nandsim-128m or nor-s29gl [default: as the image looks]
    #[arg(long, value_name = "PROFILE", value_parser = attach_profile)]
    pub storage: Option<cost::Profile>,
}

#[derive(Debug, Args)]
pub struct Env {
    /// An environment, or an image of a chip or a disk that holds one
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Give a variable a value; may be given again
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Take a variable away; may be given again
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub unset: Vec<String>,
    /// The image to write, with the changes; it may be the one that is read
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Compare with the environment in this image
    #[arg(long, value_name = "IMAGE", value_hint = ValueHint::FilePath, conflicts_with_all = ["set", "unset", "out"])]
    pub diff: Option<PathBuf>,
    /// Where the environment begins [default: found]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub offset: Option<u64>,
    /// Its size with its checksum, CONFIG_ENV_SIZE [default: found]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,
    /// Where its second copy begins, whatever is there now [default: found]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub redundant: Option<u64>,
    /// How two copies say which is active [default: as their flags look]
    #[arg(long, value_name = "HOW")]
    pub flags: Option<Flags>,
    /// The FIT image that is booted, if it is not in IMAGE: its signatures forbid verify=no
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub fit: Option<PathBuf>,
}

/// How two copies say which is active.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum Flags {
    /// 1 is active, 0 is obsolete: parallel NOR flash
    Boolean,
    /// A number that grows: everything else
    Serial,
}
