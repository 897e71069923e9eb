//! What is in an unpacked kernel: its banner and its configuration.

use super::{elf, flat};
use rawimage::Part;
use rawimage::bytes::{read_full, text};
use rawimage::compression::{Compression, Decoder};
use std::io::{self, Read};

/// What was found in unpacked data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// What it begins with.
    pub inner: Inner,
    /// The kernel's banner, `Linux version ...`.
    pub banner: Option<String>,
    /// The kernel's configuration, if it was built in (`CONFIG_IKCONFIG`).
    pub config: Option<Vec<u8>>,
    /// Whether marks of a configuration are there that holds none.
    pub config_is_damaged: bool,
}

/// What unpacked data begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Inner {
    /// An ELF file.
    Elf(elf::Elf),
    /// An arm64 or RISC-V kernel.
    Flat(flat::Flat),
    /// An archive.
    Cpio,
    /// Something else.
    #[default]
    Unknown,
}

/// The banner is no longer than this.
const LONGEST_BANNER: usize = 512;
/// A packed configuration is no longer than this; real ones are below 80 KiB.
const LONGEST_CONFIG: usize = 1 << 20;
/// An unpacked configuration is no longer than this; real ones are below 400 KiB.
const LONGEST_TEXT: u64 = 8 << 20;

const BANNER: &[u8] = b"Linux version ";
/// The marks around the configuration (`kernel/configs.c`).
const BEGIN: &[u8] = b"IKCFG_ST";
const END: &[u8] = b"IKCFG_ED";

/// Reads to the end, and keeps what is worth it. Memory is a few MiB.
///
/// # Errors
/// What reading says.
pub fn scan(reader: &mut dyn Read) -> io::Result<Content> {
    const STEP: usize = 1 << 20;
    let mut content = Content::default();
    // What is wanted may lie across two steps: so much of the last one is kept.
    let mut buffer = vec![0; LONGEST_CONFIG + STEP];
    let mut there = 0;
    let mut first = true;
    while let Some(room) = buffer.get_mut(there..) {
        let new = read_full(reader, room)?;
        there += new;
        let bytes = buffer.get(..there).unwrap_or_default();
        if std::mem::take(&mut first) {
            content.inner = inner(bytes);
        }
        let last = there < buffer.len();
        look(bytes, last, &mut content);
        if last {
            break;
        }
        buffer.copy_within(STEP.., 0);
        there -= STEP;
    }
    if content.config.is_some() {
        content.config_is_damaged = false;
    }
    Ok(content)
}

fn look(bytes: &[u8], last: bool, content: &mut Content) {
    // A kernel may hold its banner twice, once without the number of its build.
    if !content.banner.as_deref().is_some_and(has_number) {
        let found = memchr::memmem::find_iter(bytes, BANNER);
        let found = found.filter_map(|at| banner(bytes.get(at..)?, last));
        let found: Vec<String> = found.take(16).collect();
        let better = found.iter().find(|b| has_number(b)).cloned();
        let first = content.banner.take().or(found.into_iter().next());
        content.banner = better.or(first);
    }
    if content.config.is_some() {
        return;
    }
    for at in memchr::memmem::find_iter(bytes, BEGIN) {
        let rest = bytes.get(at + BEGIN.len()..).unwrap_or_default();
        let rest = rest.get(..LONGEST_CONFIG).unwrap_or(rest);
        let end = memchr::memmem::find(rest, END);
        let packed = end.and_then(|end| rest.get(..end));
        content.config = packed.and_then(unpack);
        if content.config.is_some() {
            return;
        }
        // Its end may come with the next step. The marks alone, without gzip
        // data, are in any program that looks for them.
        let gzip = Compression::detect(rest) == Some(Compression::Gzip);
        content.config_is_damaged |= gzip && (last || end.is_some());
    }
}

/// Whether a banner says how often the kernel was built: ` #1 `.
fn has_number(banner: &str) -> bool {
    let numbers = banner.match_indices(" #");
    let mut behind = numbers.filter_map(|(at, _)| banner.as_bytes().get(at + 2));
    behind.any(u8::is_ascii_digit)
}

fn banner(bytes: &[u8], last: bool) -> Option<String> {
    // The kernel has format strings that begin alike.
    if !bytes.get(BANNER.len()).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let line = bytes.iter().take(LONGEST_BANNER);
    let end = line.clone().position(|b| matches!(b, b'\n' | 0));
    let end = end.or_else(|| last.then_some(line.count()))?;
    Some(text(bytes.get(..end)?))
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let part = Part::whole(&packed).ok()?;
    let compression = Compression::detect(packed)?;
    let decoder = Decoder::new(compression, &part, LONGEST_TEXT).ok();
    let mut config = Vec::new();
    decoder?.read_to_end(&mut config).ok()?;
    Some(config)
}

/// What some bytes begin with.
#[must_use]
pub fn inner(bytes: &[u8]) -> Inner {
    if let Some(elf) = elf::header(bytes) {
        return Inner::Elf(elf);
    }
    if let Some(flat) = flat::header(bytes) {
        return Inner::Flat(flat);
    }
    if bytes.starts_with(b"07070") {
        return Inner::Cpio;
    }
    Inner::Unknown
}
