//! Kernels in `firstlight.image.info/1`.

use super::part::Part;
use crate::words::protocol;
use bootimage::kernel::bzimage::BzImage;
use bootimage::kernel::zimage::ZImage;
use bootimage::kernel::{self, Inner, elf, flat, zboot};
use serde::Serialize;

/// A self-extracting kernel of 32-bit ARM.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Zimage {
    /// Processor architecture.
    #[schemars(extend("const" = "arm"))]
    arch: &'static str,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: &'static str,
    /// Address that it was linked for.
    start: u32,
    /// Address after its last byte.
    end: u64,
    /// Memory that the kernel needs beyond its image; null if unknown.
    bss_size: Option<u32>,
    /// Offset of the kernel in memory; null if unknown.
    text_offset: Option<u32>,
    /// Device tree after the kernel; null if there is none.
    appended_dtb: Option<Part>,
    /// Compressed kernel; null if there is none.
    payload: Option<Payload>,
}

/// A self-extracting kernel of x86.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Bzimage {
    /// Processor architecture.
    #[schemars(extend("enum" = ["x86", "x86_64"]))]
    arch: &'static str,
    /// Version of the boot protocol.
    #[schemars(length(min = 1))]
    protocol: String,
    /// Version of the kernel; null if there is none.
    #[schemars(length(min = 1))]
    version: Option<String>,
    /// Size of the setup code.
    setup_size: u64,
    /// Entry address.
    entry: u32,
    /// Preferred load address; null if there is none.
    preferred_address: Option<u64>,
    /// Alignment.
    alignment: u32,
    /// Memory that it needs during decompression; null if unknown.
    init_size: Option<u32>,
    /// Whether it is relocatable.
    relocatable: bool,
    /// Whether it is an EFI program.
    efi_stub: bool,
    /// Compressed kernel; null if there is none.
    payload: Option<Payload>,
}

/// A kernel of arm64 or RISC-V.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Flat {
    /// Processor architecture.
    #[schemars(extend("enum" = ["arm64", "riscv"]))]
    arch: &'static str,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: &'static str,
    /// Offset of the kernel in memory.
    text_offset: u64,
    /// Memory that it needs.
    memory: u64,
    /// Page size; null if unknown.
    page_size: Option<u32>,
    /// Whether it can be placed anywhere in memory; null if unknown.
    anywhere: Option<bool>,
    /// Whether it is an EFI program.
    efi_stub: bool,
    /// Content.
    content: Content,
}

/// A kernel in an EFI program that decompresses it.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Zboot {
    /// Processor architecture.
    #[schemars(length(min = 1))]
    arch: &'static str,
    /// Compression as named in the header.
    method: String,
    /// Compressed kernel; null if there is none.
    payload: Option<Payload>,
}

/// An ELF file.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Elf {
    /// Processor architecture.
    #[schemars(length(min = 1))]
    arch: &'static str,
    /// Bits of an address.
    #[schemars(extend("enum" = [32, 64]))]
    bits: u32,
    /// Byte order.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: &'static str,
    /// Entry address.
    entry: u64,
    /// Content.
    content: Content,
}

/// Compressed data.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Payload {
    /// Byte offset.
    offset: u64,
    /// Compression.
    #[schemars(extend("enum" = ["none", "gzip", "bzip2", "lzma", "xz", "lzo", "lz4", "lz4-frame", "zstd"]))]
    compression: &'static str,
    /// Compressed size.
    size: u64,
    /// Uncompressed size; null if it cannot be decompressed.
    unpacked: Option<u64>,
    /// Uncompressed size that the image states; null if there is none.
    stated: Option<u64>,
    /// Why it cannot be decompressed; null if it can.
    #[schemars(length(min = 1))]
    failure: Option<String>,
    /// Content.
    content: Content,
}

/// Content of a kernel image or of compressed data.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Content {
    /// Kind of content.
    #[schemars(extend("enum" = ["elf", "kernel-image", "cpio", "unknown"]))]
    kind: &'static str,
    /// Processor architecture; null if unknown.
    #[schemars(length(min = 1))]
    arch: Option<&'static str>,
    /// Entry address; null if unknown.
    entry: Option<u64>,
    /// Version line of the kernel; null if there is none.
    #[schemars(length(min = 1))]
    banner: Option<String>,
    /// Size of the kernel configuration; null if there is none.
    config_bytes: Option<usize>,
}

fn endian(big: bool) -> &'static str {
    if big { "big" } else { "little" }
}

impl Zimage {
    pub(super) fn of(z: &ZImage) -> Self {
        Self {
            arch: "arm",
            endian: endian(z.kernel_is_big_endian.unwrap_or(z.is_big_endian)),
            start: z.start,
            end: u64::from(z.start) + z.size,
            bss_size: z.bss_size,
            text_offset: z.text_offset,
            appended_dtb: z.appended_dtb.map(Part::of),
            payload: z.payload.as_ref().map(Payload::of),
        }
    }
}

impl Bzimage {
    pub(super) fn of(b: &BzImage, payload: Option<&kernel::Payload>) -> Self {
        Self {
            arch: if b.is_64 { "x86_64" } else { "x86" },
            protocol: protocol(b.protocol),
            version: b.version.clone(),
            setup_size: b.setup_size,
            entry: b.code32_start,
            preferred_address: b.preferred_address,
            alignment: b.alignment,
            init_size: b.init_size,
            relocatable: b.is_relocatable,
            efi_stub: b.has_efi_stub,
            payload: payload.map(Payload::of),
        }
    }
}

impl Flat {
    pub(super) fn of(f: &flat::Flat, content: &kernel::Content) -> Self {
        Self {
            arch: f.arch.name(),
            endian: endian(f.is_big_endian),
            text_offset: f.text_offset,
            memory: f.memory,
            page_size: f.page_size,
            anywhere: f.anywhere,
            efi_stub: f.has_efi_stub,
            content: Content::of(content),
        }
    }
}

impl Zboot {
    pub(super) fn of(z: &zboot::Zboot) -> Self {
        Self {
            arch: z.arch,
            method: z.method.clone(),
            payload: z.payload.as_ref().map(Payload::of),
        }
    }
}

impl Elf {
    pub(super) fn of(e: &elf::Elf, content: &kernel::Content) -> Self {
        Self {
            arch: e.arch(),
            bits: if e.is_64 { 64 } else { 32 },
            endian: endian(e.is_big_endian),
            entry: e.entry,
            content: Content::of(content),
        }
    }
}

impl Payload {
    pub(super) fn of(p: &kernel::Payload) -> Self {
        Self {
            offset: p.offset,
            compression: p.compression.name(),
            size: p.packed,
            unpacked: p.unpacked,
            stated: p.stated,
            failure: p.failure.clone(),
            content: Content::of(&p.content),
        }
    }
}

impl Content {
    fn of(c: &kernel::Content) -> Self {
        let (kind, arch, entry) = match &c.inner {
            Inner::Elf(e) => ("elf", Some(e.arch()), Some(e.entry)),
            Inner::Flat(f) => ("kernel-image", Some(f.arch.name()), None),
            Inner::Cpio => ("cpio", None, None),
            Inner::Unknown => ("unknown", None, None),
        };
        Self {
            kind,
            arch,
            entry,
            banner: c.banner.clone(),
            config_bytes: c.config.as_ref().map(Vec::len),
        }
    }
}
