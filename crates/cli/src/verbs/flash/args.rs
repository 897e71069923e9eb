//! What `firstlight flash` takes.

use crate::{progress, size};
use anyhow::{Context, Result};
use clap::{Args, Subcommand, ValueHint};
use flash::jffs2::mount::{PROFILES, Profile};
use flash::jffs2::{Endian, Oob, Spare};
use flash::ubi::cost;
use inspect::open::{self, Filesystem};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct Flash {
    #[command(subcommand)]
    pub verb: FlashVerb,
}

#[derive(Debug, Subcommand)]
pub enum FlashVerb {
    /// Check each erase block, and estimate the mount time
    #[command(after_help = "Example:\n  $ firstlight flash check rootfs.jffs2")]
    Check(Check),
    /// Rewrite a JFFS2 image with a summary in each erase block
    #[command(
        after_help = "Example:\n  $ firstlight flash summarize rootfs.jffs2 -o rootfs.sum.jffs2 \
                      --erase-size 128KiB --no-cleanmarkers --pad"
    )]
    Summarize(Summarize),
    /// List the files of a JFFS2 or UBIFS image as the kernel would see them
    #[command(after_help = "Example:\n  $ firstlight flash list rootfs.jffs2 etc")]
    List(List),
    /// Copy the files of an image into a new folder
    #[command(after_help = "Example:\n  $ firstlight flash extract rootfs.jffs2 -o rootfs")]
    Extract(Extract),
    /// Read every file of an image and verify all checksums
    #[command(after_help = "Example:\n  $ firstlight flash verify rootfs.jffs2\n\n\
                      Exit codes: 0 all is well, 1 something is wrong, 2 could not do it.")]
    Verify(Verify),
    /// Show how the kernel would attach a UBI image, and how long that takes
    #[command(
        after_help = "Examples:\n  $ firstlight flash ubi rootfs.ubi --min-io 2048 --subpage 512\n  \
                      $ firstlight flash ubi rootfs.ubi --skip-check rootfs -o fast.ubi"
    )]
    Ubi(Ubi),
    /// Read, compare or change a U-Boot environment
    #[command(after_help = "Example:\n  $ firstlight flash env flash.bin\n  \
                      $ firstlight flash env flash.bin --set bootdelay=0 -o faster.bin\n\n\
                      Without -o, changes are shown and not made.")]
    Env(Box<Env>),
}

/// Layout of a JFFS2 image; missing values are detected.
#[derive(Clone, Debug, Args)]
pub struct Layout {
    /// Erase block size: 128KiB, 0x20000 or 131072 [default: detected]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    #[command(flatten)]
    pub order: Order,
    /// Spare bytes (OOB) in the dump: PAGE+SPARE, such as 2048+64, or none [default: detected]
    #[arg(long, value_name = "PAGE+SPARE", value_parser = oob)]
    pub oob: Option<Spare>,
}

impl Layout {
    /// The same, for the room that reads images.
    pub fn known(&self) -> inspect::open::Layout {
        inspect::open::Layout {
            erase_size: self.erase_size,
            endian: self.order.endian(),
            spare: self.oob,
        }
    }
}

/// Which filesystem of an image.
#[derive(Clone, Debug, Args)]
pub struct Inside {
    #[command(flatten)]
    pub layout: Layout,
    /// UBI volume with the files, by name or number [default: the one with UBIFS]
    #[arg(long, value_name = "VOLUME")]
    pub volume: Option<String>,
}

impl Inside {
    /// Opens the filesystem in `path` and lets `with` look at it.
    pub fn filesystem<T>(
        &self,
        path: &Path,
        with: impl FnOnce(Filesystem<'_>) -> Result<T>,
    ) -> Result<T> {
        let (layout, tell) = (self.layout.known(), progress::reading(path));
        let seen = open::filesystem(path, &layout, self.volume.as_deref(), &tell, with)?;
        let seen = seen.with_context(|| path.display().to_string());
        progress::clear();
        seen
    }
}

/// The byte order.
#[derive(Clone, Debug, Args)]
pub struct Order {
    /// Read the image as big-endian [default: detected]
    #[arg(short, long, conflicts_with = "little_endian")]
    pub big_endian: bool,
    /// Read the image as little-endian [default: detected]
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
    /// JFFS2 image, chip dump, or MTD device
    #[arg(value_name = "IMAGE|/dev/mtdN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub layout: Layout,
    /// Chip profile for the mount time: nandsim-128m or nor-s29gl [default: by the image]
    #[arg(long, value_name = "PROFILE", value_parser = profile)]
    pub storage: Option<Profile>,
    /// Chip size if larger than the image; the rest counts as erased
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub chip_size: Option<u64>,
}

#[derive(Debug, Args)]
pub struct Summarize {
    /// JFFS2 image; may be the same file as the output
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Image to write
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
    /// Erase block size: 128KiB, 0x20000 or 131072 [default: detected; with --compat 64KiB, or refused where the image shows another one]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    /// Write no clean markers into the data, as on NAND
    #[arg(short, long)]
    pub no_cleanmarkers: bool,
    /// Size of the clean markers, in bytes [default: as in the image]
    #[arg(short, long, value_name = "BYTES", value_parser = size::parse, conflicts_with = "no_cleanmarkers")]
    pub cleanmarker: Option<u64>,
    /// Pad the last erase block with 0xff
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
    /// JFFS2, UBI or UBIFS image, or chip dump
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Only this file, or the files below this folder
    #[arg(value_name = "PATH")]
    pub path: Option<PathBuf>,
    /// Also list the nodes of each file, in the order in which the kernel replays them
    #[arg(long)]
    pub nodes: bool,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Extract {
    /// JFFS2, UBI or UBIFS image, or chip dump
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Folder to create; it may exist if it is empty
    #[arg(short, long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub out: PathBuf,
    /// Restore owners and set-user-id bits; needs root
    #[arg(long)]
    pub owners: bool,
    /// Make device nodes; needs root
    #[arg(long)]
    pub devices: bool,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Verify {
    /// JFFS2, UBI or UBIFS image, or chip dump
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub inside: Inside,
}

#[derive(Debug, Args)]
pub struct Ubi {
    /// UBI image, chip dump, or MTD device
    #[arg(value_name = "IMAGE|/dev/mtdN", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    #[command(flatten)]
    pub chip: Chip,
    /// Skip the data checksums of static volumes
    #[arg(long)]
    pub headers_only: bool,
    /// Let the kernel open this static volume without a check (name or number)
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
    /// File to write, with --skip-check, --check or --copy
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

/// The chip that a UBI image is for.
#[derive(Debug, Args)]
pub struct Chip {
    /// Erase block size: 128KiB, 0x20000 or 131072 [default: detected]
    #[arg(short, long, value_name = "SIZE", value_parser = size::erase_size)]
    pub erase_size: Option<u32>,
    /// Spare bytes (OOB) in the dump: PAGE+SPARE, such as 2048+64, or none [default: detected]
    #[arg(long, value_name = "PAGE+SPARE", value_parser = oob)]
    pub oob: Option<Spare>,
    /// Offset of the UBI partition in the image [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub offset: Option<u64>,
    /// Minimum write size of the chip: 2048 on NAND with such pages, 1 on NOR
    #[arg(short, long, value_name = "BYTES", value_parser = small_size)]
    pub min_io: Option<u32>,
    /// Minimum write size of a header [default: as --min-io]
    #[arg(short, long, value_name = "BYTES", value_parser = small_size, requires = "min_io")]
    pub subpage: Option<u32>,
    /// Offset of VID headers as given to the kernel [default: the first subpage after 64 bytes]
    #[arg(short = 'O', long, value_name = "BYTES", value_parser = small_size, requires = "min_io")]
    pub vid_offset: Option<u32>,
    /// Partition size if larger than the image; the rest counts as erased
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub chip_size: Option<u64>,
    /// Chip profile for estimated times: nandsim-128m or nor-s29gl [default: by the image]
    #[arg(long, value_name = "PROFILE", value_parser = attach_profile)]
    pub storage: Option<cost::Profile>,
}

#[derive(Debug, Args)]
pub struct Env {
    /// Environment, or image of a chip or disk that contains one
    #[arg(value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Set a variable; repeatable
    #[arg(long, value_name = "NAME=VALUE", allow_hyphen_values = true)]
    pub set: Vec<String>,
    /// Remove a variable; repeatable
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    pub unset: Vec<String>,
    /// Image to write with the changes; may be the input
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
    /// Compare with the environment in this image
    #[arg(long, value_name = "IMAGE", value_hint = ValueHint::FilePath, conflicts_with_all = ["set", "unset", "out"])]
    pub diff: Option<PathBuf>,
    /// Offset of the environment [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub offset: Option<u64>,
    /// Size of the environment with its checksum, CONFIG_ENV_SIZE [default: detected]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: Option<u64>,
    /// Offset of the second copy, whatever is there now [default: detected]
    #[arg(long, value_name = "BYTES", value_parser = size::parse)]
    pub redundant: Option<u64>,
    /// How two copies mark the active one [default: by their flags]
    #[arg(long, value_name = "HOW")]
    pub flags: Option<Flags>,
    /// FIT image that boots, if it is not in IMAGE; its signatures forbid verify=no
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
