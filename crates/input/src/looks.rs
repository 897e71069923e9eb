//! What a file is by its first bytes: one answer for all that open files.

use crate::packed;
use crate::pasted::Pasted;
use inspect::kernel_image::KERNEL_IMAGE;
use sources::{Sniff, Source};

/// What a file is by its first bytes.
pub enum Looks {
    /// There is nothing in it.
    Empty,
    /// A tar: a capture, or boots.
    Tar,
    /// A source knows it, without what a page put into it, if that is some.
    Known(&'static dyn Source, Option<Pasted>),
    /// What is in it shows when it is unpacked, or made UTF-8.
    Packed,
    /// A page, which may show a log.
    Page,
    /// No source knows it.
    Unknown,
}

impl Looks {
    /// By at most [`sources::SNIFF_BYTES`] bytes.
    pub fn of(head: &[u8]) -> Self {
        if head.is_empty() {
            return Self::Empty;
        }
        if packed::tar_magic(head) && !sources::is_archive_of_others(head) {
            return Self::Tar;
        }
        if packed::is_utf16(head) {
            return Self::Packed;
        }
        let known = sources::best(head);
        if let Some(pasted) = Pasted::of(head, known)
            && let Some(source) = sources::sniff(&pasted.plain(head))
        {
            return Self::Known(source, Some(pasted));
        }
        let image: &'static dyn Source = &KERNEL_IMAGE;
        let image = Some(image).filter(|i| i.sniff(head) == Sniff::Yes);
        if let Some(source) = known.map(|(_, source)| source).or(image) {
            return Self::Known(source, None);
        }
        if packed::is_packed(head) {
            return Self::Packed;
        }
        match sources::is_page(head) {
            true => Self::Page,
            false => Self::Unknown,
        }
    }
}
