//! Treatments of one image: bytes to other bytes, looked at again before they
//! are used, as their consumer would look at them.

use bootimage::environment::{self, Options};
use bootimage::info::{Item, Kind, inspect};
use bootimage::signature::{is_signed_program, is_verity};
use bootimage::{Compression, Part, compression::LIMIT, fit, initramfs, treatment, uki};
use flash::jffs2::{self, CheckOptions, Class, Cleanmarkers, Mode, detect};
use flash::ubi;

use crate::cmdline::WordError;

/// Why an image cannot be changed so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// It is an image of another kind.
    #[error("{0}")]
    Other(&'static str),
    /// A boot image says no.
    #[error(transparent)]
    Boot(#[from] treatment::Error),
    /// A unified kernel image says no.
    #[error(transparent)]
    Unified(#[from] uki::Error),
    /// A word that cannot stand on a command line.
    #[error(transparent)]
    Word(#[from] WordError),
    /// A JFFS2 image says no.
    #[error(transparent)]
    Jffs2(#[from] jffs2::Error),
    /// A UBI image says no.
    #[error(transparent)]
    Ubi(#[from] ubi::Error),
    /// What came out was looked at, and its consumer would not take it.
    #[error("the changed image would be rejected: {0}; check the original image")]
    NotAccepted(String),
    /// An ext image cannot be changed so.
    #[error(transparent)]
    Ext(#[from] disk::ext::arrange::ArrangeError),
    /// A program that does the work is not there, or says no.
    #[error("{0}")]
    Tool(String),
    /// A change would break a chain of signatures or hashes.
    #[error("{0}, and a change would break it; change and sign the original instead")]
    Protected(&'static str),
}

impl From<std::io::Error> for ImageError {
    fn from(e: std::io::Error) -> Self {
        Self::Boot(e.into())
    }
}

impl From<environment::Error> for ImageError {
    fn from(e: environment::Error) -> Self {
        Self::Boot(e.into())
    }
}

/// An image after a treatment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewImage {
    /// Its bytes; the old ones, if it is treated already.
    pub bytes: Vec<u8>,
    /// What is different, a sentence each.
    pub description: Vec<String>,
}

impl NewImage {
    pub(super) fn same(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            description: Vec::new(),
        }
    }
}

impl From<treatment::Treated> for NewImage {
    fn from(t: treatment::Treated) -> Self {
        Self {
            bytes: t.bytes,
            description: t.description,
        }
    }
}

/// An environment in which the variable `name` has this value.
pub(super) fn set_variable(bytes: &[u8], name: &str, value: &str) -> Result<NewImage, ImageError> {
    variable(bytes, environment::Change::Set(name.into(), value.into()))
}

/// An environment without the variable `name`.
pub(super) fn remove_variable(bytes: &[u8], name: &str) -> Result<NewImage, ImageError> {
    variable(bytes, environment::Change::Unset(name.into()))
}

fn variable(bytes: &[u8], change: environment::Change) -> Result<NewImage, ImageError> {
    let part = Part::whole(&bytes)?;
    let fits: Vec<_> = fit::find(&part)?.into_iter().map(|(_, fit)| fit).collect();
    let options = Options::default();
    let found = environment::find(&part, &options)?;
    let data = found.environments.first().and_then(|e| e.data());
    let same = data.is_some_and(|d| match &change {
        environment::Change::Set(name, value) => d.get(name).as_deref() == Some(value.as_slice()),
        environment::Change::Unset(name) => d.get(name).is_none(),
    });
    match same {
        true => Ok(NewImage::same(bytes)),
        false => Ok(treatment::set_environment(bytes, &options, &[change], &fits)?.into()),
    }
}

/// The variable of U-Boot's environment that is the kernel command line.
const BOOTARGS: &str = "bootargs";

/// An image that holds a kernel command line, with that line changed: a unified kernel image,
/// or a U-Boot environment with `bootargs`. `None`: it is neither.
pub(super) fn command_line(
    bytes: &[u8],
    change: impl FnOnce(&str) -> Result<String, WordError>,
) -> Result<Option<NewImage>, ImageError> {
    let part = Part::whole(&bytes)?;
    if let Some(line) = uki::command_line(&part)? {
        if let Some(why) = protected(bytes) {
            return Err(ImageError::Protected(why));
        }
        let before = String::from_utf8_lossy(&line.text).into_owned();
        let after = change(&before)?;
        if after == before {
            return Ok(Some(NewImage::same(bytes)));
        }
        return Ok(Some(NewImage {
            bytes: line.replaced(bytes, after.as_bytes())?,
            description: vec![format!(
                "the unified kernel image has the command line `{after}`"
            )],
        }));
    }
    let Ok(found) = environment::find(&part, &Options::default()) else {
        return Ok(None);
    };
    let data = found.environments.first().and_then(|e| e.data());
    let Some(before) = data.and_then(|d| d.text(BOOTARGS)) else {
        return Ok(None);
    };
    let after = change(&before)?;
    set_variable(bytes, BOOTARGS, &after).map(Some)
}

/// An initramfs that is compressed by another method.
pub(super) fn repacked(bytes: &[u8], method: Compression) -> Result<NewImage, ImageError> {
    if let Some(why) = protected(bytes) {
        return Err(ImageError::Protected(why));
    }
    let part = Part::whole(&bytes)?;
    if !is_initramfs(&part) {
        return Err(ImageError::Other(
            "not an initramfs; pass an initramfs image",
        ));
    }
    let archive = initramfs::read(&part, LIMIT).map_err(treatment::Error::from)?;
    let last = archive.segments.iter().rfind(|s| !s.is_only_early);
    match last.is_some_and(|s| s.compression == method) {
        true => Ok(NewImage::same(bytes)),
        false => Ok(treatment::repack_initramfs(bytes, method)?.into()),
    }
}

fn is_initramfs(part: &Part<'_>) -> bool {
    let items = inspect(part, LIMIT).unwrap_or_default();
    matches!(
        items.as_slice(),
        [Item {
            kind: Kind::Initramfs(_),
            offset: 0,
            ..
        }]
    )
}

/// Why an image must stay as it is to the byte, if it must.
pub(super) fn protected(bytes: &[u8]) -> Option<&'static str> {
    let part = Part::whole(&bytes).ok()?;
    if is_signed_program(&part) {
        return Some("this is a signed EFI program (a kernel or a unified image)");
    }
    if is_verity(&part) {
        return Some("dm-verity protects this image");
    }
    let fits = fit::find(&part).unwrap_or_default();
    let signed = fits.iter().any(|(_, fit)| fit.is_signed());
    signed.then_some("this is a signed FIT image")
}

/// A JFFS2 image with a summary in each full block, packed by the safe rules.
pub(super) fn summaries(bytes: &[u8]) -> Result<NewImage, ImageError> {
    let endian = detect::endian(&bytes)?;
    let endian = endian.ok_or(ImageError::Other(
        "the image contains no JFFS2 node; pass a JFFS2 \
        image",
    ))?;
    let found = detect::erase_size(&bytes, endian)?;
    let erase_size = found.ok_or(jffs2::Error::UnknownEraseSize)?.bytes;
    let look = |bytes: &[u8]| {
        let options = CheckOptions {
            erase_size: Some(erase_size),
            endian: Some(endian),
            ..CheckOptions::default()
        };
        jffs2::check(&bytes, &options)
    };
    let before = look(bytes)?;
    if before.oob.is_some() {
        return Err(ImageError::Other(
            "the dump contains spare (OOB) bytes; dump it without them (`nanddump --omitoob`)",
        ));
    }
    let options = jffs2::Options {
        erase_size,
        endian,
        cleanmarkers: Cleanmarkers::AsFound,
        pad: (bytes.len() as u64).is_multiple_of(u64::from(erase_size)),
        mode: Mode::Safe,
    };
    let mut new = Vec::with_capacity(bytes.len());
    let outcome = jffs2::summarize(&bytes, &mut new, &options)?;
    if new == bytes {
        return Ok(NewImage::same(bytes));
    }
    let after = look(&new)?;
    let broken = after.count(Class::BrokenSummary);
    if broken > 0 || after.count(Class::FullSummary) + after.count(Class::PartialSummary) == 0 {
        let why = format!("broken summaries: {broken}, or no summary at all");
        return Err(ImageError::NotAccepted(why));
    }
    let mut description = vec![format!(
        "{} erase blocks of {erase_size} bytes get a summary, so mounting no longer scans every \
         node (image size: {} bytes before, {} after)",
        outcome.summaries, outcome.bytes_in, outcome.bytes_out
    )];
    for lost in outcome.lost {
        description.push(format!(
            "not copied: {} x {:?}, {} bytes, the first at byte {}",
            lost.count, lost.why, lost.bytes, lost.first
        ));
    }
    Ok(NewImage {
        bytes: new,
        description,
    })
}

/// A UBI image whose static volume is opened without being read first.
pub(super) fn skip_check(bytes: &[u8], volume: &str) -> Result<NewImage, ImageError> {
    let options = ubi::Options::default();
    let mut new = Vec::with_capacity(bytes.len());
    let done = ubi::skip_check(&bytes, volume, true, &options, &mut new)?;
    if done.was_so {
        return Ok(NewImage::same(bytes));
    }
    let after = ubi::check(&new.as_slice(), &options)?;
    if let Some(why) = after.refusal() {
        return Err(ImageError::NotAccepted(why.to_string()));
    }
    let id = done.id;
    let skips = after.volumes.iter().any(|v| v.id == id && v.open_ns == 0);
    if !skips {
        let why = "the changed volume table lacks the flag";
        return Err(ImageError::NotAccepted(why.to_owned()));
    }
    Ok(NewImage {
        bytes: new,
        description: vec![format!(
            "the kernel opens volume {id} ({}) without reading its {} bytes first, so damage is \
             found only when the data is read",
            String::from_utf8_lossy(&done.name).escape_debug(),
            done.bytes
        )],
    })
}

/// A legacy image that runs where the loader puts it.
pub(super) fn moved(bytes: &[u8], address: u32) -> Result<NewImage, ImageError> {
    let treated = treatment::load_uimage_at(bytes, address)?;
    match treated.bytes == bytes {
        true => Ok(NewImage::same(bytes)),
        false => Ok(treated.into()),
    }
}

/// U-Boot's own device tree, with another delay.
pub(super) fn tree_bootdelay(bytes: &[u8], delay: i32) -> Result<NewImage, ImageError> {
    if let Some(why) = protected(bytes) {
        return Err(ImageError::Protected(why));
    }
    let treated = treatment::set_tree_bootdelay(bytes, delay)?;
    match treated.bytes == bytes {
        true => Ok(NewImage::same(bytes)),
        false => Ok(treated.into()),
    }
}
