//! What `firstlight image` takes.

use clap::{Args, Subcommand, ValueHint};
use image::boot::Compression;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Image {
    #[command(subcommand)]
    pub verb: ImageVerb,
}

#[derive(Debug, Subcommand)]
pub enum ImageVerb {
    /// What a kernel, an initramfs, a device tree or a container of them is, and holds
    #[command(
        after_help = "Example:\n  $ firstlight image info /boot/vmlinuz /boot/initrd.img\n\n\
                      A stream that unpacks to more than 1 GiB is refused."
    )]
    Info(Info),
    /// Write an initramfs anew, packed in another way or not at all
    #[command(
        after_help = "Example:\n  $ firstlight image repack initrd.img --compression zstd -o new.img\n\n\
                      Every entry keeps every byte. The processor's microcode stays first, and as it was."
    )]
    Repack(Repack),
}

#[derive(Debug, Args)]
pub struct Info {
    /// Kernels (uImage, FIT, zImage, bzImage, arm64, RISC-V, EFI zboot, ELF), initramfs, device trees, flash images
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub files: Vec<PathBuf>,
    /// List the entries of archives too
    #[arg(long, conflicts_with = "config")]
    pub entries: bool,
    /// Print the kernel's built-in configuration (CONFIG_IKCONFIG), and nothing else
    #[arg(long, conflicts_with = "json")]
    pub config: bool,
}

#[derive(Debug, Args)]
pub struct Repack {
    /// The initramfs; it may be the same file as the output
    #[arg(value_name = "INITRD", value_hint = ValueHint::FilePath)]
    pub image: PathBuf,
    /// How to pack it: none, gzip, bzip2, lzma, xz, lzo, lz4 or zstd
    #[arg(short, long, value_name = "NAME", value_parser = compression)]
    pub compression: Compression,
    /// The initramfs to write
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
