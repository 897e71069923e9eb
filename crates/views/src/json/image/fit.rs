//! FIT images in `firstlight.image.info/1`.

use super::part::Part;
use bootimage::fit::{self, instructions_per_byte};
use serde::Serialize;

/// A FIT image.
#[derive(schemars::JsonSchema, Serialize)]
pub(super) struct Fit {
    /// Size of its device tree.
    tree_size: u32,
    /// Description; null if there is none.
    description: Option<String>,
    /// Time of creation, in seconds since 1970; null if there is none.
    timestamp: Option<u64>,
    /// Whether anything in it is signed.
    signed: bool,
    /// Default configuration; null if there is none.
    default: Option<String>,
    /// Images.
    images: Vec<FitImage>,
    /// Configurations.
    configurations: Vec<Configuration>,
}

/// An image in a FIT image.
#[derive(schemars::JsonSchema, Serialize)]
struct FitImage {
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Description; null if there is none.
    description: Option<String>,
    /// Type; null if there is none.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Processor architecture; null if there is none.
    arch: Option<String>,
    /// Operating system; null if there is none.
    os: Option<String>,
    /// Compression; null if there is none.
    compression: Option<String>,
    /// Load address; null if there is none.
    load: Option<u64>,
    /// Entry address; null if there is none.
    entry: Option<u64>,
    /// Place of the data; null if unknown.
    data: Option<Part>,
    /// Whether the data is outside of the device tree.
    external: bool,
    /// Hashes.
    hashes: Vec<Hash>,
    /// Signatures.
    signatures: Vec<Signature>,
}

/// A hash of an image.
#[derive(schemars::JsonSchema, Serialize)]
struct Hash {
    /// Algorithm.
    algorithm: String,
    /// Whether U-Boot ignores it.
    ignored: bool,
    /// Result of the check.
    #[schemars(extend("enum" = ["right", "wrong", "not checked", "missing"]))]
    check: &'static str,
    /// Instructions that U-Boot needs for one byte; null if unknown.
    #[schemars(range(min = 0))]
    instructions_per_byte: Option<f64>,
}

/// A signature.
#[derive(schemars::JsonSchema, Serialize)]
struct Signature {
    /// Algorithm.
    algorithm: String,
    /// Name of the key; null if there is none.
    key: Option<String>,
    /// Whether the signature has a value.
    has_value: bool,
}

/// A configuration of a FIT image.
#[derive(schemars::JsonSchema, Serialize)]
struct Configuration {
    /// Name.
    #[schemars(length(min = 1))]
    name: String,
    /// Description; null if there is none.
    description: Option<String>,
    /// Kernel; null if there is none.
    kernel: Option<String>,
    /// Device tree and its overlays.
    fdt: Vec<String>,
    /// Initramfs; null if there is none.
    ramdisk: Option<String>,
    /// Other images to load.
    loadables: Vec<String>,
    /// Compatible boards.
    compatible: Vec<String>,
    /// Signatures.
    signatures: Vec<Signature>,
}

impl Fit {
    pub(super) fn of(f: &fit::Fit) -> Self {
        Self {
            tree_size: f.size,
            description: f.description.clone(),
            timestamp: f.timestamp,
            signed: f.is_signed(),
            default: f.default.clone(),
            images: f.images.iter().map(FitImage::of).collect(),
            configurations: f.configurations.iter().map(Configuration::of).collect(),
        }
    }
}

impl FitImage {
    fn of(i: &fit::Image) -> Self {
        let hashes = i.hashes.iter().map(|h| Hash {
            algorithm: h.algorithm.clone(),
            ignored: h.is_ignored,
            check: h.check.name(),
            instructions_per_byte: instructions_per_byte(&h.algorithm),
        });
        Self {
            name: i.name.clone(),
            description: i.description.clone(),
            kind: i.kind.clone(),
            arch: i.arch.clone(),
            os: i.os.clone(),
            compression: i.compression.clone(),
            load: i.load,
            entry: i.entry,
            data: i.data.map(Part::of),
            external: i.is_external,
            hashes: hashes.collect(),
            signatures: i.signatures.iter().map(Signature::of).collect(),
        }
    }
}

impl Signature {
    fn of(s: &fit::Signature) -> Self {
        Self {
            algorithm: s.algorithm.clone(),
            key: s.key.clone(),
            has_value: s.has_value,
        }
    }
}

impl Configuration {
    fn of(c: &fit::Configuration) -> Self {
        Self {
            name: c.name.clone(),
            description: c.description.clone(),
            kernel: c.kernel.clone(),
            fdt: c.fdt.clone(),
            ramdisk: c.ramdisk.clone(),
            loadables: c.loadables.clone(),
            compatible: c.compatible.clone(),
            signatures: c.signatures.iter().map(Signature::of).collect(),
        }
    }
}
