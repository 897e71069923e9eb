//! FIT images: a device tree that holds kernels, device trees and archives, with
//! hashes and signatures.
//!
//! Source: U-Boot's `doc/usage/fit/source_file_format.rst` and
//! `boot/image-fit.c`.

use super::fdt::{self, Fdt, Node, Property};
use rawimage::Part;
use sha2::Digest;
use std::io;
use std::io::Read;

/// So many FIT images in one image are told.
const MOST: usize = 64;

/// A FIT image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    /// The length of its tree, bytes; data may follow it.
    pub size: u32,
    /// Where it ends with all data that it names.
    pub end: u64,
    /// What it says of itself.
    pub description: Option<String>,
    /// When it was made, seconds since 1970.
    pub timestamp: Option<u64>,
    /// What is in it.
    pub images: Vec<Image>,
    /// Which of them are booted together.
    pub configurations: Vec<Configuration>,
    /// The configuration that is taken if none is named.
    pub default: Option<String>,
}

/// Something in a FIT image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Its name: that of its node.
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// `kernel`, `flat_dt`, `ramdisk`, ...
    pub kind: Option<String>,
    /// The processor that it is for.
    pub arch: Option<String>,
    /// The system that it belongs to.
    pub os: Option<String>,
    /// How U-Boot is to unpack it.
    pub compression: Option<String>,
    /// Where it goes in memory.
    pub load: Option<u64>,
    /// Where it is entered.
    pub entry: Option<u64>,
    /// Where its data lies in the image: first byte and length.
    pub data: Option<(u64, u64)>,
    /// Whether its data lies behind the tree.
    pub is_external: bool,
    /// Its hashes.
    pub hashes: Vec<Hash>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
}

/// A hash of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hash {
    /// The algorithm, as it is written.
    pub algorithm: String,
    /// Whether U-Boot passes over it.
    pub is_ignored: bool,
    /// Whether it is right.
    pub check: Check,
}

/// Whether a hash is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// It is.
    Right,
    /// It is not.
    Wrong,
    /// The algorithm is not computed here.
    NotChecked,
    /// The data, or the hash itself, is not there.
    Missing,
}

impl Check {
    /// The word used in every output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::NotChecked => "not checked",
            Self::Missing => "missing",
        }
    }
}

/// A signature, of an image or of a configuration. It is recognised, and not
/// checked: that takes the public key in U-Boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The algorithm, such as `sha256,rsa2048`.
    pub algorithm: String,
    /// The name of its key.
    pub key: Option<String>,
    /// Whether there is a value: the image was signed.
    pub has_value: bool,
}

/// What is booted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// Its name.
    pub name: String,
    /// What it says of itself.
    pub description: Option<String>,
    /// The kernel's name.
    pub kernel: Option<String>,
    /// The names of the device tree and of its overlays.
    pub fdt: Vec<String>,
    /// The initramfs' name.
    pub ramdisk: Option<String>,
    /// The names of what else is loaded.
    pub loadables: Vec<String>,
    /// The machines that it is for.
    pub compatible: Vec<String>,
    /// Its signatures.
    pub signatures: Vec<Signature>,
}

impl Fit {
    /// Whether anything in it is signed. Then `verify=no` in the environment
    /// turns off more than checksums.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        let images = self.images.iter().any(|i| !i.signatures.is_empty());
        let mut configurations = self.configurations.iter();
        images || configurations.any(|c| !c.signatures.is_empty())
    }
}

/// What a hash costs U-Boot, in instructions for each byte; `None` if it was not
/// measured.
///
/// Measured on 32-bit ARM, U-Boot 2023.01, as exact instruction counts over
/// 7.4 MB. SHA-384 is SHA-512 with another beginning. A processor with
/// instructions for SHA, or a hash engine, costs far less.
#[must_use]
pub fn instructions_per_byte(algorithm: &str) -> Option<f64> {
    match algorithm {
        "crc32" => Some(4.3),
        "sha1" => Some(21.7),
        "sha256" => Some(37.0),
        "sha384" | "sha512" => Some(109.0),
        _ => None,
    }
}

/// Whether a device tree is a FIT image.
#[must_use]
pub fn is_fit(tree: &Fdt) -> bool {
    tree.at("/images").is_some()
}

/// Reads the FIT image that `part` begins with, and checks its hashes.
///
/// # Errors
/// It is no device tree, or reading fails.
pub fn read(part: &Part<'_>) -> Result<Fit, fdt::Error> {
    let tree = Fdt::read(part)?;
    Ok(from_tree(part, &tree, true)?)
}

/// As [`read`], from a tree that was read, and checking hashes only if wanted.
///
/// # Errors
/// Reading fails.
pub fn from_tree(part: &Part<'_>, tree: &Fdt, check: bool) -> io::Result<Fit> {
    let root = tree.root();
    let mut images = Vec::new();
    for node in tree.at("/images").into_iter().flat_map(|n| n.children()) {
        images.push(image(part, tree, node, check)?);
    }
    let configurations = tree.at("/configurations");
    let ends = images.iter().filter_map(|i| i.data);
    let ends = ends.map(|(start, length)| start.saturating_add(length));
    let end = ends.fold(u64::from(tree.size), u64::max).min(part.len());
    Ok(Fit {
        size: tree.size,
        end,
        description: root.text("description"),
        timestamp: root.number("timestamp"),
        images,
        default: configurations.and_then(|c| c.text("default")),
        configurations: configurations
            .into_iter()
            .flat_map(|n| n.children())
            .map(configuration)
            .collect(),
    })
}

fn image(part: &Part<'_>, tree: &Fdt, node: Node<'_>, check: bool) -> io::Result<Image> {
    let (data, is_external) = match node.property("data") {
        Some(data) => (Some((data.offset, u64::from(data.length))), false),
        None => (external(tree, node), true),
    };
    let there = data.filter(|(start, length)| {
        let end = start.checked_add(*length);
        end.is_some_and(|end| end <= part.len())
    });
    let mut hashes = Vec::new();
    for hash in node.children().filter(|c| is_named(c.name(), "hash")) {
        let data = there.map(|(start, length)| part.part(start, length));
        hashes.push(self::hash(hash, data.filter(|_| check))?);
    }
    Ok(Image {
        name: node.name().to_owned(),
        description: node.text("description"),
        kind: node.text("type"),
        arch: node.text("arch"),
        os: node.text("os"),
        compression: node.text("compression"),
        load: node.number("load"),
        entry: node.number("entry"),
        data,
        is_external: is_external && data.is_some(),
        hashes,
        signatures: signatures(node),
    })
}

/// Data behind the tree: from the next multiple of 4 behind it, or from the
/// start of the image.
fn external(tree: &Fdt, node: Node<'_>) -> Option<(u64, u64)> {
    let size = node.number("data-size")?;
    if let Some(position) = node.number("data-position") {
        return Some((position, size));
    }
    let base = u64::from(tree.size).next_multiple_of(4);
    let offset = node.number("data-offset")?;
    Some((base.checked_add(offset)?, size))
}

/// `hash`, `hash-1`, `hash@1`.
fn is_named(name: &str, wanted: &str) -> bool {
    let rest = name.strip_prefix(wanted);
    rest.is_some_and(|r| r.is_empty() || r.starts_with(['-', '@']))
}

fn hash(node: Node<'_>, data: Option<Part<'_>>) -> io::Result<Hash> {
    let algorithm = node.text("algo").unwrap_or_default();
    let value = node.property("value").and_then(Property::value);
    let check = match (data, value) {
        (Some(data), Some(value)) => match digest(&algorithm, &data)? {
            Some(digest) if digest == value => Check::Right,
            Some(_) => Check::Wrong,
            None => Check::NotChecked,
        },
        _ => Check::Missing,
    };
    Ok(Hash {
        is_ignored: node.property("uboot-ignore").is_some(),
        algorithm,
        check,
    })
}

/// The digest of some data; `None` if the algorithm is not computed here.
fn digest(algorithm: &str, data: &Part<'_>) -> io::Result<Option<Vec<u8>>> {
    Ok(Some(match algorithm {
        "crc32" => {
            let mut sum = crc32fast::Hasher::new();
            pieces(data, |piece| sum.update(piece))?;
            sum.finalize().to_be_bytes().to_vec()
        }
        "sha1" => digest_with(sha1::Sha1::new(), data)?,
        "sha256" => digest_with(sha2::Sha256::new(), data)?,
        "sha384" => digest_with(sha2::Sha384::new(), data)?,
        "sha512" => digest_with(sha2::Sha512::new(), data)?,
        _ => return Ok(None),
    }))
}

fn digest_with(mut hash: impl Digest, data: &Part<'_>) -> io::Result<Vec<u8>> {
    pieces(data, |piece| hash.update(piece))?;
    Ok(hash.finalize().to_vec())
}

fn pieces(data: &Part<'_>, mut with: impl FnMut(&[u8])) -> io::Result<()> {
    let mut cursor = data.cursor();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match cursor.read(&mut buffer)? {
            0 => return Ok(()),
            n => with(buffer.get(..n).unwrap_or_default()),
        }
    }
}

fn signatures(node: Node<'_>) -> Vec<Signature> {
    let signatures = node.children().filter(|c| is_named(c.name(), "signature"));
    signatures
        .map(|s| Signature {
            algorithm: s.text("algo").unwrap_or_default(),
            key: s.text("key-name-hint"),
            has_value: s.property("value").is_some(),
        })
        .collect()
}

fn configuration(node: Node<'_>) -> Configuration {
    let texts = |name: &str| node.property(name).map(Property::texts).unwrap_or_default();
    Configuration {
        name: node.name().to_owned(),
        description: node.text("description"),
        kernel: node.text("kernel"),
        fdt: texts("fdt"),
        ramdisk: node.text("ramdisk"),
        loadables: texts("loadables"),
        compatible: texts("compatible"),
        signatures: signatures(node),
    }
}

/// Finds FIT images anywhere in an image, at multiples of 4 bytes, the first 64,
/// without checking their hashes: where each begins, and what it is.
///
/// # Errors
/// What reading says.
pub fn find(image: &Part<'_>) -> io::Result<Vec<(u64, Fit)>> {
    const WINDOW: usize = 1 << 20;
    let mut found: Vec<(u64, Fit)> = Vec::new();
    let mut start = 0;
    let mut skip_to = 0;
    // What is no tree may claim to be one at every fourth byte.
    let mut tries = 4096;
    while start < image.len() {
        let bytes = image.read(start, WINDOW + fdt::MAGIC.len())?;
        for at in memchr::memmem::find_iter(&bytes, &fdt::MAGIC) {
            let offset = start + at as u64;
            if at >= WINDOW || offset < skip_to || !offset.is_multiple_of(4) {
                continue;
            }
            if found.len() >= MOST || tries == 0 {
                return Ok(found);
            }
            tries -= 1;
            let part = image.from(offset);
            let Ok(tree) = Fdt::read(&part) else { continue };
            skip_to = offset + u64::from(tree.size);
            if is_fit(&tree) {
                found.push((offset, from_tree(&part, &tree, false)?));
            }
        }
        start += WINDOW as u64;
    }
    Ok(found)
}
