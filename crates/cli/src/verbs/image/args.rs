//! What `firstlight image` takes.

use super::mount;
use crate::size;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use inspect::requests::Unit;
use rawimage::Compression;
use std::path::PathBuf;
use storage::Profile;

#[derive(Debug, Args)]
pub struct Image {
    #[command(subcommand)]
    pub verb: ImageVerb,
}

#[derive(Debug, Subcommand)]
pub enum ImageVerb {
    /// Show what a kernel, initramfs, filesystem or container image contains
    #[command(
        after_help = "Example:\n  $ firstlight image info /boot/vmlinuz /boot/initrd.img\n  \
                      $ firstlight image info root.img --storage sd-card\n\n\
                      A stream that unpacks to more than 1 GiB is refused."
    )]
    Info(Info),
    /// Map block requests to files, and files to blocks
    #[command(
        after_help = "Example:\n  $ firstlight image map root.img --requests requests.txt\n  \
                      $ firstlight image map disk.img --requests sda.blktrace.0 --requests sda.blktrace.1\n\n\
                      A list of requests is lines of `start+len` in sectors of 512 bytes, what blktrace \
                      or blkparse wrote, or a kernel trace with block events. ext2, ext3, ext4, \
                      squashfs, erofs and FAT are known, on their own and in partitions (MBR, GPT); of a folder \
                      the kernel says where its files lie, where the filesystem answers that (FIEMAP): \
                      ext4, xfs and f2fs do, vfat and btrfs do not."
    )]
    Map(Map),
    /// Score how well the layout of an image suits an order of reading
    #[command(
        after_help = "Example:\n  $ firstlight image score root.img --files order.txt\n\n\
                      The list has one path in a line, in the order of access. Each file is read whole, once."
    )]
    Score(Score),
    /// Move files of a mounted ext4 into the order in which they are read
    #[command(
        after_help = "Example:\n  $ firstlight image relocate / --files order.txt\n  \
                      $ firstlight image relocate / --files order.txt --apply\n\n\
                      Without --apply it only says what it would do. With it, the files move only if the \
                      forecast says that they will be read sooner. The list has one path in a line, from \
                      the folder on. A file that is running, immutable or not there is left where it is."
    )]
    Relocate(Relocate),
    /// Convert an access order for an image builder
    #[command(
        after_help = "Example:\n  $ firstlight image order order.txt --for mksquashfs -o sort.txt\n  \
                      $ mksquashfs root root.squashfs -sort sort.txt\n\n  \
                      $ firstlight image order order.txt --for tar --root root --null -o names\n  \
                      $ tar -C root --no-recursion --null -T names -cf root.tar\n\n  \
                      $ firstlight image order order.txt --for cpio --root root --null -o names\n  \
                      $ (cd root && cpio -o -0 -H newc) < names > initrd.cpio\n\n  \
                      $ firstlight image order boot.list --for ext4 --image root.img -o ordered.img\n\n\
                      For ext4 the blocks that are read move, one behind the other; without -o it says \
                      what would move. No image is written if the forecast says that it would be read later."
    )]
    Order(Order),
    /// Write an initramfs anew, packed in another way or not at all
    #[command(
        after_help = "Example:\n  $ firstlight image repack initrd.img --compression zstd -o new.img\n\n\
                      Every entry keeps every byte. The processor's microcode stays first, and as it was."
    )]
    Repack(Repack),
    /// Show sizes of directories and files, and forecast the time of a file system check
    #[command(
        after_help = "Example:\n  $ firstlight image statistics root.ext4 --storage usb-flash"
    )]
    Statistics(Statistics),
    /// Create a filesystem or flash image of a folder
    #[command(
        after_help = "Example:\n  $ firstlight image create target --form jffs2:nor:summary -o rootfs.jffs2\n\n\
                      Forms: ext2, ext3, ext4[:no-journal|:inline-data|...], squashfs[:gzip|lzo|xz|lz4|zstd], erofs[:lz4],\n\
                      cramfs, cramfs:xip (programs run from NOR flash), romfs, xfs, btrfs, f2fs,\n\
                      jffs2[:nor|:nor-256k][:summary], ubifs[:none|lzo|zlib|zstd], ubi-squashfs.\n\
                      The same folder gives the same bytes. Files are dated 2026 at the latest."
    )]
    Create(Create),
}

#[derive(Debug, Args)]
pub struct Info {
    /// Kernels (uImage, FIT, zImage, bzImage, arm64, RISC-V, EFI zboot, ELF), initramfs, device trees, flash images
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// Also list the entries of archives
    #[arg(long, conflicts_with = "config")]
    pub entries: bool,
    /// Storage for mount times: a profile of the lab or of a file (FILE.toml#NAME), or a flash chip [default: emmc, and a fitting chip]
    #[arg(long, value_name = "PROFILE", value_parser = mount::Storage::parse)]
    pub storage: Option<mount::Storage>,
    /// Print the kernel's built-in configuration (CONFIG_IKCONFIG), and nothing else
    #[arg(long, conflicts_with = "json")]
    pub config: bool,
}

#[derive(Debug, Args)]
pub struct Map {
    /// Filesystem or disk image, device, or mounted folder
    #[arg(value_name = "IMAGE", value_hint = ValueHint::AnyPath)]
    pub image: PathBuf,
    /// Requests to map: a list, or a trace; repeatable for the files of one trace
    #[arg(long, value_name = "FILE", required_unless_present = "files", value_hint = ValueHint::FilePath)]
    pub requests: Vec<PathBuf>,
    /// Show where these files are instead: one path per line
    #[arg(long, value_name = "LIST", conflicts_with_all = ["requests", "device"], value_hint = ValueHint::FilePath)]
    pub files: Option<PathBuf>,
    /// Unit of a list: sectors, bytes, or a size such as 4K [default: sectors]
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub unit: Option<Unit>,
    /// Start of the image on the traced device, in that unit [default: 0]
    #[arg(
        long,
        value_name = "START",
        default_value_t = 0,
        hide_default_value = true,
        conflicts_with = "files"
    )]
    pub base: u64,
    /// Use only this partition of the image
    #[arg(long, value_name = "N")]
    pub partition: Option<u32>,
    /// Only this device of a trace, as in 8:0
    #[arg(long, value_name = "MAJOR:MINOR")]
    pub device: Option<String>,
    /// Print one line per file instead of one per piece
    #[arg(long, conflicts_with = "json")]
    pub by_file: bool,
    /// Number of lines of --by-file; 0 for all [default: 20]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        hide_default_value = true,
        requires = "by_file"
    )]
    pub top: usize,
}

#[derive(Debug, Args)]
pub struct Score {
    /// Filesystem or disk image, device, or mounted folder
    #[arg(value_name = "IMAGE", value_hint = ValueHint::AnyPath)]
    pub image: PathBuf,
    /// Files in the order in which they are read: one path per line
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub files: PathBuf,
    /// Use only this partition of the image
    #[arg(long, value_name = "N")]
    pub partition: Option<u32>,
}

#[derive(Debug, Args)]
pub struct Relocate {
    /// Folder on a mounted ext4; paths in the list are below it
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub root: PathBuf,
    /// Files in the order in which they are read: one path per line
    #[arg(long, value_name = "LIST", value_hint = ValueHint::FilePath)]
    pub files: PathBuf,
    /// Move the files if they will be read sooner; without it, only print the plan
    #[arg(long)]
    pub apply: bool,
    /// Move the files even if the forecast says that they will not be read sooner
    #[arg(long, requires = "apply")]
    pub force: bool,
    /// Storage for the forecast: a profile of the lab or of a file (FILE.toml#NAME) [default: hdd-laptop]
    #[arg(long, value_name = "PROFILE", value_parser = proof::layout::profile)]
    pub storage: Option<Profile>,
}

#[derive(Debug, Args)]
pub struct Order {
    /// Files in the order in which they are read: one path per line, or a folder of such lists
    /// (*.list); for ext4 also an access list
    #[arg(value_name = "LIST", value_hint = ValueHint::AnyPath)]
    pub list: PathBuf,
    /// Image builder
    #[arg(long = "for", value_name = "BUILDER")]
    pub builder: Builder,
    /// Folder that the image is built from; files outside it are skipped
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub root: Option<PathBuf>,
    /// Separate archive names by NUL instead of a line break
    #[arg(short = '0', long)]
    pub null: bool,
    /// ext4 image to rearrange; it is not changed
    #[arg(long, value_name = "IMAGE", value_hint = ValueHint::FilePath)]
    pub image: Option<PathBuf>,
    /// Also move what the kernel reads around a fault: for programs that no prefetcher is ahead of
    #[arg(long, requires = "image")]
    pub read_around: bool,
    /// Write the image even if the forecast says that it will not be read sooner
    #[arg(long, requires = "image")]
    pub force: bool,
    /// Storage for the forecast: a profile of the lab or of a file (FILE.toml#NAME) [default: hdd-laptop]
    #[arg(long, value_name = "PROFILE", requires = "image", value_parser = proof::layout::profile)]
    pub storage: Option<Profile>,
    /// Write the access list for the new image to LIST
    #[arg(long, value_name = "LIST", requires = "image", value_hint = ValueHint::FilePath)]
    pub new_list: Option<PathBuf>,
    /// List or image to write [default: standard output]
    #[arg(short, long, value_name = "OUT", required_if_eq("json", "true"), value_hint = ValueHint::FilePath)]
    pub out: Option<PathBuf>,
}

/// What makes an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Builder {
    /// A list for `-sort`
    Mksquashfs,
    /// Names for `tar -T`: for mke2fs -d and mkfs.erofs --tar
    Tar,
    /// Names for `cpio -o`
    Cpio,
    /// A new image with that layout
    Ext4,
}

impl Builder {
    /// The builder as the command line names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Mksquashfs => "mksquashfs",
            Self::Tar => "tar",
            Self::Cpio => "cpio",
            Self::Ext4 => "ext4",
        }
    }
}

#[derive(Debug, Args)]
pub struct Repack {
    /// Initramfs; may be the same file as the output
    #[arg(value_name = "INITRD", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// Compression: none, gzip, bzip2, lzma, xz, lzo, lz4 or zstd
    #[arg(short, long, value_name = "NAME", value_parser = compression)]
    pub compression: Compression,
    /// Initramfs to write
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

#[derive(Debug, Args)]
pub struct Statistics {
    /// Filesystem or disk image, or device
    #[arg(value_name = "IMAGE", value_hint = ValueHint::AnyPath)]
    pub image: PathBuf,
    /// Only this partition of a disk
    #[arg(long, value_name = "N")]
    pub partition: Option<u32>,
    /// Storage profile for the check: of the lab or of a file (FILE.toml#NAME) [default: four of the lab]
    #[arg(long, value_name = "PROFILE", value_parser = mount::Storage::parse)]
    pub storage: Option<mount::Storage>,
}

#[derive(Debug, Args)]
pub struct Create {
    /// Folder whose content becomes the root of the image; it stays as it is
    #[arg(value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub folder: PathBuf,
    /// Filesystem and its options, such as squashfs:zstd or cramfs:xip
    #[arg(long, value_name = "FORM")]
    pub form: String,
    /// Image to write
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub out: PathBuf,
}

/// Finds a compression that Linux reads by its name.
fn compression(name: &str) -> Result<Compression, String> {
    let found = Compression::from_name(name).filter(|c| c.is_read_by_linux());
    found.ok_or_else(|| {
        let all = Compression::ALL
            .into_iter()
            .filter(|c| c.is_read_by_linux());
        let names: Vec<&str> = all.map(Compression::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// Reads `bytes`, `sectors`, or the size of a block.
fn unit(text: &str) -> Result<Unit, String> {
    let bytes = match text {
        "bytes" | "byte" => 1,
        "sectors" | "sector" => 512,
        size => size::parse(size)
            .map_err(|_| "expected bytes, sectors, or a size such as 4K".to_owned())?,
    };
    match bytes {
        0 => Err("expected a unit of at least one byte".to_owned()),
        bytes => Ok(Unit { bytes }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Unit, unit};

    #[test]
    fn units_have_words() {
        assert_eq!(unit("bytes").unwrap().bytes, 1);
        assert_eq!(unit("sectors").unwrap(), Unit::SECTORS);
        assert_eq!(unit("4K").unwrap().word(), "blocks of 4096 bytes");
        assert!(unit("0").is_err());
        assert!(unit("many").is_err());
    }
}
