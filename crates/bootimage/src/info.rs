//! What an image is, and what is in it.

use super::barebox::{self, Barebox};
use super::device_tree::{DeviceTree, device_tree};
use super::environment::{self, Environment};
use super::fdt::{self, Fdt};
use super::firmware::{self, Android};
use super::fit::{self, Check, Fit};
use super::initramfs::{self, Initramfs};
use super::kernel::bzimage::{self, BzImage};
use super::kernel::elf::Elf;
use super::kernel::flat::Flat;
use super::kernel::zboot::{self, Zboot};
use super::kernel::zimage::{self, ZImage};
use super::kernel::{self, Content, Inner, Payload};
use super::uimage::{self, Uimage};
use rawimage::Foreign;
use rawimage::Part;
use rawimage::compression::Compression;
use std::io;

/// Images in images in images: no deeper.
const DEEPEST: usize = 4;
/// Hashing less than this takes no time to speak of: 256 KiB.
const WORTH_SAYING: u64 = 256 << 10;
/// What is in the middle of a large image is looked for in so much of it.
const SEARCHED: u64 = 64 << 20;

/// Something recognised.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Where it begins, bytes from the start of the file.
    pub offset: u64,
    /// How many bytes it takes there.
    pub size: u64,
    /// What it is.
    pub kind: Kind,
    /// What is worth saying about it, a sentence each.
    pub notes: Vec<String>,
    /// What is in it, where it is not packed.
    pub inside: Vec<Item>,
}

impl Item {
    /// Whether nothing that stands at its front says what it is.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        matches!(
            self.kind,
            Kind::Foreign(Foreign::Unknown | Foreign::UbootEnvironment)
        )
    }
}

/// What something is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// A legacy image of U-Boot.
    Uimage(Uimage),
    /// A FIT image.
    Fit(Fit),
    /// A device tree.
    DeviceTree(DeviceTree),
    /// A kernel of 32-bit ARM that unpacks itself.
    ZImage(ZImage),
    /// A kernel of x86 that unpacks itself, and what it unpacks.
    BzImage(BzImage, Option<Payload>),
    /// A kernel of arm64 or RISC-V.
    Flat(Flat, Content),
    /// A kernel in an EFI program that unpacks it.
    Zboot(Zboot),
    /// An ELF file.
    Elf(Elf, Content),
    /// An initramfs.
    Initramfs(Initramfs),
    /// Something packed that is no initramfs.
    Packed(Payload),
    /// An environment of U-Boot.
    Environment(Environment),
    /// An environment of Barebox.
    Barebox(Barebox),
    /// A boot image of Android.
    Android(Android),
    /// Something that is only recognised.
    Foreign(Foreign),
}

impl Kind {
    /// The word used in every output.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Uimage(_) => "uimage",
            Self::Fit(_) => "fit",
            Self::DeviceTree(_) => "device-tree",
            Self::ZImage(_) => "zimage",
            Self::BzImage(..) => "bzimage",
            Self::Flat(..) => "kernel-image",
            Self::Zboot(_) => "efi-zboot",
            Self::Elf(..) => "elf",
            Self::Initramfs(_) => "initramfs",
            Self::Packed(_) => "compressed",
            Self::Environment(_) => "u-boot-environment",
            Self::Barebox(_) => "barebox-environment",
            Self::Android(_) => "android-boot",
            Self::Foreign(_) => "other",
        }
    }

    /// The kernel that it unpacks, or what it holds in compressed form.
    #[must_use]
    pub const fn payload(&self) -> Option<&Payload> {
        match self {
            Self::ZImage(z) => z.payload.as_ref(),
            Self::BzImage(_, payload) => payload.as_ref(),
            Self::Zboot(z) => z.payload.as_ref(),
            Self::Packed(payload) => Some(payload),
            _ => None,
        }
    }

    /// What is known of the kernel that it is, or that it holds.
    #[must_use]
    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::Flat(_, content) | Self::Elf(_, content) => Some(content),
            kind => kind.payload().map(|p| &p.content),
        }
    }
}

/// Why an image cannot be looked at. Damage is told in the result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading failed.
    #[error("reading failed: {0}")]
    Read(#[from] io::Error),
    /// There is nothing.
    #[error("the file is empty")]
    Empty,
}

/// What `image` is, in order of place; one item, but for environments. Each
/// stream in it may unpack to `limit` bytes.
///
/// # Errors
/// It is empty, or reading fails.
pub fn inspect(image: &Part<'_>, limit: u64) -> Result<Vec<Item>, Error> {
    let item = front(image, limit)?;
    if !item.is_unknown() {
        return Ok(vec![item]);
    }
    let items = search(image)?;
    Ok(if items.is_empty() { vec![item] } else { items })
}

/// What `image` begins with. Each stream in it may unpack to `limit` bytes.
///
/// # Errors
/// It is empty, or reading fails.
pub fn front(image: &Part<'_>, limit: u64) -> Result<Item, Error> {
    if image.is_empty() {
        return Err(Error::Empty);
    }
    Ok(item(image, 0, limit, 0)?)
}

/// What has no magic number at the front of `image`: environments, in order of place.
///
/// # Errors
/// Reading fails.
pub fn search(image: &Part<'_>) -> Result<Vec<Item>, Error> {
    let front = image.part(0, SEARCHED);
    let mut items = environments(&front)?;
    for found in barebox::find(&front)? {
        items.push(Item {
            offset: found.offset,
            size: found.size,
            notes: match found.is_whole {
                true => Vec::new(),
                false => {
                    vec![
                        "the checksum of the files is wrong, so Barebox refuses the environment"
                            .into(),
                    ]
                }
            },
            kind: Kind::Barebox(found),
            inside: Vec::new(),
        });
    }
    items.sort_by_key(|i| i.offset);
    Ok(items)
}

fn environments(image: &Part<'_>) -> io::Result<Vec<Item>> {
    let found = match environment::find(image, &environment::Options::default()) {
        Ok(found) => found.environments,
        Err(environment::Error::Read { source, .. } | environment::Error::Length(source)) => {
            return Err(source);
        }
        Err(_) => Vec::new(),
    };
    let items = found.into_iter().map(|e| {
        let first = e.copies.first().map_or(0, |c| c.offset);
        let end = e.copies.iter().map(|c| c.offset + c.size).max();
        Item {
            offset: first,
            size: end.unwrap_or(0).saturating_sub(first),
            kind: Kind::Environment(e),
            notes: Vec::new(),
            inside: Vec::new(),
        }
    });
    Ok(items.collect())
}

/// What the image begins with. `at` is where that is in the file.
fn item(image: &Part<'_>, at: u64, limit: u64, depth: usize) -> io::Result<Item> {
    let head = image.read(0, 4096)?;
    let new = |size: u64, kind: Kind| Item {
        offset: at,
        size: size.min(image.len()),
        kind,
        notes: Vec::new(),
        inside: Vec::new(),
    };
    let all = image.len();
    if let Some(found) = uimage::read(image)? {
        return uimage_item(image, found, new, limit, depth);
    }
    if head.starts_with(&fdt::MAGIC) {
        return tree_item(image, new, limit, depth);
    }
    if let Some(found) = zboot::read(image, limit)? {
        let mut item = new(all, Kind::Zboot(found.clone()));
        item.notes = payload_notes(found.payload.as_ref());
        return Ok(item);
    }
    if let Some(found) = bzimage::read(image)? {
        let payload = found.unpack(image, limit)?;
        let mut item = new(all, Kind::BzImage(found.clone(), payload.clone()));
        if found.is_cut {
            item.notes
                .push("the file is truncated: its payload extends past the end".to_owned());
        } else {
            item.notes = payload_notes(payload.as_ref());
        }
        return Ok(item);
    }
    if let Some(found) = zimage::read(image, limit)? {
        return zimage_item(image, found, new, limit, depth);
    }
    match kernel::content::inner(&head) {
        Inner::Flat(found) => {
            let content = kernel::content::scan(&mut image.cursor())?;
            let mut item = new(all, Kind::Flat(found, content));
            item.notes.push(
                "the kernel is not compressed: the loader reads all of it, and nothing is \
                 decompressed"
                    .to_owned(),
            );
            return Ok(item);
        }
        Inner::Elf(found) => {
            let content = kernel::content::scan(&mut image.cursor())?;
            return Ok(new(all, Kind::Elf(found, content)));
        }
        Inner::Cpio | Inner::Unknown => {}
    }
    if let Some(item) = archive_or_packed(image, &head, at, limit)? {
        return Ok(item);
    }
    // What is only recognised.
    let head = image.read(0, 1 << 18)?;
    let kind = match firmware::android_header(image)? {
        Some(android) => Kind::Android(android),
        None => Kind::Foreign(Foreign::recognise(&head)),
    };
    let mut item = new(all, kind);
    let places = firmware::parts(image)?;
    inside(image, &mut item, &places, limit, depth)?;
    Ok(item)
}

fn uimage_item(
    image: &Part<'_>,
    found: Uimage,
    new: impl Fn(u64, Kind) -> Item,
    limit: u64,
    depth: usize,
) -> io::Result<Item> {
    let size = uimage::HEADER + u64::from(found.size);
    let mut item = new(size, Kind::Uimage(found.clone()));
    let notes = &mut item.notes;
    if !found.header_is_right {
        notes.push("the header checksum is wrong, so U-Boot refuses the image".to_owned());
    }
    match found.data_is_right {
        Some(true) => {}
        Some(false) => notes.push(
            "the data checksum is wrong, so U-Boot refuses the image unless `verify` is `no`"
                .to_owned(),
        ),
        None => notes.push(format!(
            "the file is truncated: it should have {size} bytes but has {}",
            image.len()
        )),
    }
    let xip = found.xip();
    if xip != uimage::Xip::NotAKernel {
        notes.push(xip.to_string());
    }
    let places = match found.parts.is_empty() {
        true => vec![(uimage::HEADER, u64::from(found.size))],
        false => found.parts.clone(),
    };
    let head = image.read(uimage::HEADER, 64)?;
    let packed = Compression::detect(&head);
    if found.compression == 0 && packed.is_some() && found.kind == 2 {
        notes.push(
            "the header says that the kernel is not compressed, but its data is compressed, so it \
             cannot run"
                .to_owned(),
        );
    }
    inside(image, &mut item, &places, limit, depth)?;
    Ok(item)
}

fn inside(
    image: &Part<'_>,
    outer: &mut Item,
    places: &[(u64, u64)],
    limit: u64,
    depth: usize,
) -> io::Result<()> {
    for (start, length) in places {
        let part = image.part(*start, *length);
        if depth < DEEPEST && !part.is_empty() {
            let inner = item(&part, outer.offset + start, limit, depth + 1)?;
            outer.inside.push(inner);
        }
    }
    Ok(())
}

fn tree_item(
    image: &Part<'_>,
    new: impl Fn(u64, Kind) -> Item,
    limit: u64,
    depth: usize,
) -> io::Result<Item> {
    let tree = match Fdt::read(image) {
        Ok(tree) => tree,
        Err(fdt::Error::Read(error)) => return Err(error),
        Err(error) => {
            let mut item = new(image.len(), Kind::Foreign(Foreign::DeviceTree));
            item.notes.push(error.to_string());
            return Ok(item);
        }
    };
    if !fit::is_fit(&tree) {
        let size = u64::from(tree.size);
        let mut item = new(size, Kind::DeviceTree(device_tree(&tree)));
        if let Some(delay) = super::device_tree::bootdelay(&tree) {
            item.notes.push(format!(
                "/config/bootdelay is {delay} and overrides `bootdelay` in the environment"
            ));
        }
        return Ok(item);
    }
    let found = fit::from_tree(image, &tree, true)?;
    let mut item = new(found.end, Kind::Fit(found.clone()));
    item.notes = fit_notes(&found, image.len());
    let places: Vec<(u64, u64)> = found.images.iter().filter_map(|i| i.data).collect();
    inside(image, &mut item, &places, limit, depth)?;
    Ok(item)
}

fn fit_notes(found: &Fit, length: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if found.is_signed() {
        notes.push(
            "the image is signed, and `verify=no` in the environment would turn off the signature \
             check too"
                .to_owned(),
        );
    }
    for image in &found.images {
        let name = &image.name;
        match image.data {
            None => notes.push(format!("{name} has no data")),
            Some((start, size)) if start.saturating_add(size) > length => {
                notes.push(format!(
                    "the data of {name} extends past the end of the file"
                ));
            }
            Some((_, size)) => notes.extend(hash_notes(image, size)),
        }
    }
    notes
}

fn hash_notes(image: &fit::Image, size: u64) -> Vec<String> {
    let mut notes = Vec::new();
    let name = &image.name;
    for hash in &image.hashes {
        if hash.check == Check::Wrong {
            let algorithm = &hash.algorithm;
            notes.push(format!(
                "the {algorithm} of {name} is wrong, so U-Boot refuses the image"
            ));
        }
    }
    let used = || image.hashes.iter().filter(|h| !h.is_ignored);
    let cost = |algorithm: &str| fit::instructions_per_byte(algorithm).unwrap_or(0.0);
    let total: f64 = used().map(|h| cost(&h.algorithm)).sum();
    let least = fit::instructions_per_byte("crc32").unwrap_or(0.0);
    if total > least && size >= WORTH_SAYING {
        let names: Vec<&str> = used().map(|h| h.algorithm.as_str()).collect();
        let millions = |per_byte: f64| per_byte * size as f64 / 1e6;
        notes.push(format!(
            "the check of {name} ({}) takes U-Boot about {:.0} million instructions in software; \
             crc32 alone takes {:.0} million",
            names.join(" and "),
            millions(total),
            millions(least),
        ));
    }
    notes
}

fn payload_notes(payload: Option<&Payload>) -> Vec<String> {
    let Some(payload) = payload else {
        return vec!["the image contains no compressed kernel".to_owned()];
    };
    let mut notes = Vec::new();
    if let Some(failure) = &payload.failure {
        notes.push(format!("the kernel cannot be decompressed: {failure}"));
    }
    if let (Some(stated), Some(unpacked)) = (payload.stated, payload.unpacked)
        && stated != unpacked & 0xffff_ffff
    {
        notes.push(format!(
            "the image states {stated} bytes for the decompressed kernel, but it has {unpacked}"
        ));
    }
    if payload.content.config_is_damaged {
        notes.push("the built-in kernel configuration is damaged".to_owned());
    }
    notes
}

fn zimage_item(
    image: &Part<'_>,
    found: ZImage,
    new: impl Fn(u64, Kind) -> Item,
    limit: u64,
    depth: usize,
) -> io::Result<Item> {
    let mut item = new(found.size, Kind::ZImage(found.clone()));
    item.notes = payload_notes(found.payload.as_ref());
    if found.size > image.len() {
        item.notes.push(format!(
            "the file is truncated: it should have {} bytes but has {}",
            found.size,
            image.len()
        ));
    }
    if let Some(dtb) = found.appended_dtb {
        item.size = (found.size + dtb.1).min(image.len());
        inside(image, &mut item, &[dtb], limit, depth)?;
    }
    Ok(item)
}

fn archive_or_packed(
    image: &Part<'_>,
    head: &[u8],
    at: u64,
    limit: u64,
) -> io::Result<Option<Item>> {
    let new = |size: u64, kind: Kind, notes: Vec<String>| Item {
        offset: at,
        size,
        kind,
        notes,
        inside: Vec::new(),
    };
    let packed = Compression::detect(head);
    if initramfs::is_archive(head) || packed.is_some_and(is_archive_packed(image, limit)) {
        let found = initramfs::read(image, limit)?;
        let mut notes = found.problems.clone();
        for (i, segment) in found.segments.iter().enumerate() {
            if let Some(problem) = &segment.problem {
                notes.push(format!("segment {i}: {problem}"));
            }
        }
        return Ok(Some(new(found.end, Kind::Initramfs(found), notes)));
    }
    let Some(compression) = packed else {
        return Ok(None);
    };
    let place = (0, image.len());
    let found = kernel::payload(image, place, compression, None, limit)?;
    let mut notes = Vec::new();
    if let Some(failure) = &found.failure {
        notes.push(format!("the data cannot be decompressed: {failure}"));
    }
    Ok(Some(new(found.packed, Kind::Packed(found), notes)))
}

/// Whether a stream holds an archive: looks at its front only.
fn is_archive_packed<'a>(image: &'a Part<'a>, limit: u64) -> impl Fn(Compression) -> bool + 'a {
    move |compression| {
        let mut head = [0; 6];
        let decoder = rawimage::compression::Decoder::new(compression, image, limit);
        let read = decoder.map(|mut d| io::Read::read_exact(&mut d, &mut head).is_ok());
        read.unwrap_or(false) && initramfs::is_archive(&head)
    }
}
