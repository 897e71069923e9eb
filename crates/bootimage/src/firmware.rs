//! Where the parts of firmware containers lie: TRX, and the boot images of Android.
//!
//! Sources: OpenWrt's `tools/firmware-utils/src/trx.c`, and Android's
//! `system/tools/mkbootimg/include/bootimg/bootimg.h`.

use rawimage::Part;
use rawimage::bytes::{le32, text};
use std::io;

/// The length of the longest header that is read, bytes.
const HEAD: usize = 64;
/// The longest header of an Android image that has a command line, bytes.
const LONGEST_HEADER: usize = 2112;
/// Android's images of version 3 and later, and of vendors, have pages of 4 KiB.
const NEW_PAGE: u64 = 4096;

/// What the header of an Android boot image says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Android {
    /// Whether it is the vendor's part: a ramdisk and a command line without a kernel.
    pub is_vendor: bool,
    /// The version of its header; `None` for the oldest form, which had none.
    pub version: Option<u32>,
    /// The command line of the kernel; empty if it gives none.
    pub cmdline: String,
    /// Where that stands in the image.
    pub cmdline_at: u64,
}

/// The newest version of a header.
const NEWEST: u32 = 4;

/// What the header says, if `image` is an Android boot image.
///
/// # Errors
/// Whatever reading says.
pub fn android_header(image: &Part<'_>) -> io::Result<Option<Android>> {
    let head = image.read(0, LONGEST_HEADER)?;
    let is_vendor = head.starts_with(b"VNDRBOOT");
    if !is_vendor && !head.starts_with(b"ANDROID!") {
        return Ok(None);
    }
    let version = le32(&head, if is_vendor { 8 } else { 40 });
    let version = version.filter(|v| *v <= NEWEST);
    // The fields of the command line: where each begins, and how long it is. What does not fit
    // into the first goes on in the second.
    let fields: &[(usize, usize)] = match (is_vendor, version) {
        (true, _) => &[(28, 2048)],
        (false, Some(3..)) => &[(44, 1536)],
        (false, _) => &[(64, 512), (608, 1024)],
    };
    let mut cmdline = String::new();
    for (at, length) in fields {
        let there = head.len().saturating_sub(*at).min(*length);
        let field = text(head.get(*at..at + there).unwrap_or_default());
        cmdline.push_str(&field);
        if field.len() + 1 < *length {
            break;
        }
    }
    Ok(Some(Android {
        is_vendor,
        version,
        cmdline: cmdline.trim().to_owned(),
        cmdline_at: fields.first().map_or(0, |(at, _)| *at as u64),
    }))
}

/// The parts of a container, in order of place: where each begins, and how long it is,
/// in bytes. Empty if it is none of these, or holds nothing.
///
/// # Errors
/// Whatever reading says.
pub fn parts(image: &Part<'_>) -> io::Result<Vec<(u64, u64)>> {
    let head = image.read(0, HEAD)?;
    let mut parts = if head.starts_with(b"HDR0") {
        trx(&head)
    } else if head.starts_with(b"ANDROID!") {
        android(&head)
    } else if head.starts_with(b"VNDRBOOT") {
        vendor(&head)
    } else {
        Vec::new()
    };
    parts.retain(|(start, len)| *len > 0 && *start < image.len());
    Ok(parts)
}

/// A length, a checksum, flags and a version, and three or four offsets, of which 0 is
/// none. A part ends where the next one begins.
fn trx(head: &[u8]) -> Vec<(u64, u64)> {
    let n = |at: usize| u64::from(le32(head, at).unwrap_or(0));
    let length = n(4);
    let offsets = if n(12) >> 16 >= 2 { 4 } else { 3 };
    let mut starts: Vec<u64> = (0..offsets).map(|i| n(16 + 4 * i)).collect();
    starts.retain(|s| *s >= 28 && *s < length);
    starts.sort_unstable();
    starts.dedup();
    let ends = starts.iter().copied().skip(1).chain([length]);
    let parts = starts.iter().zip(ends);
    parts.map(|(start, end)| (*start, end - start)).collect()
}

/// The kernel, the ramdisk and what comes second, each from a page of its own on.
fn android(head: &[u8]) -> Vec<(u64, u64)> {
    let n = |at: usize| u64::from(le32(head, at).unwrap_or(0));
    // Where old images have the version, the oldest have the size of a device tree.
    match n(40) {
        3 | 4 => in_pages(NEW_PAGE, &[n(8), n(12)]),
        _ => in_pages(n(36), &[n(8), n(16), n(24)]),
    }
}

/// The ramdisk behind a header of 2112 bytes, in pages of a stated size.
fn vendor(head: &[u8]) -> Vec<(u64, u64)> {
    let n = |at: usize| u64::from(le32(head, at).unwrap_or(0));
    let page = n(12);
    let header = 2112_u64.next_multiple_of(page.max(1));
    let mut parts = in_pages(page, &[n(24)]);
    for (start, _) in &mut parts {
        *start = header;
    }
    parts
}

/// Places of parts that follow a header of one page.
fn in_pages(page: u64, lengths: &[u64]) -> Vec<(u64, u64)> {
    if !page.is_power_of_two() || !(512..=65_536).contains(&page) {
        return Vec::new();
    }
    let mut at = page;
    let mut parts = Vec::new();
    for length in lengths {
        parts.push((at, *length));
        // Lengths have 32 bits, so nothing overflows.
        at += length.next_multiple_of(page);
    }
    parts
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use proptest::prelude::*;

    fn look(bytes: &[u8]) -> Vec<(u64, u64)> {
        parts(&Part::whole(&bytes).unwrap()).unwrap()
    }

    fn made(magic: &[u8], fields: &[(usize, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; 20_000];
        bytes[..magic.len()].copy_from_slice(magic);
        for (at, value) in fields {
            bytes[*at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn parts_of_trx_end_where_the_next_begins() {
        let image = made(
            b"HDR0",
            &[(4, 9000), (12, 1 << 16), (16, 28), (20, 5000), (24, 0)],
        );
        assert_eq!(look(&image), [(28, 4972), (5000, 4000)]);
    }

    #[test]
    fn android_images_of_both_forms_have_a_kernel_and_a_ramdisk() {
        let old = made(b"ANDROID!", &[(8, 3000), (16, 100), (36, 2048)]);
        assert_eq!(look(&old), [(2048, 3000), (6144, 100)]);
        let new = made(b"ANDROID!", &[(8, 3000), (12, 100), (40, 4)]);
        assert_eq!(look(&new), [(4096, 3000), (8192, 100)]);
        let vendor = made(b"VNDRBOOT", &[(12, 4096), (24, 77)]);
        assert_eq!(look(&vendor), [(4096, 77)]);
    }

    #[test]
    fn android_headers_tell_their_version_and_command_line() {
        let header = |bytes: &[u8]| android_header(&Part::whole(&bytes).unwrap()).unwrap();
        let put = |mut image: Vec<u8>, at: usize, text: &str| {
            image[at..at + text.len()].copy_from_slice(text.as_bytes());
            image
        };
        let old = put(
            made(b"ANDROID!", &[(36, 2048), (40, 2)]),
            64,
            "console=ttyMSM0 quiet",
        );
        let found = header(&old).unwrap();
        assert_eq!((found.version, found.cmdline_at), (Some(2), 64));
        assert_eq!(found.cmdline, "console=ttyMSM0 quiet");
        // The second field is read only where the first is full.
        let short = put(old, 608, "not=read");
        assert!(!header(&short).unwrap().cmdline.contains("not=read"));
        let long = put(made(b"ANDROID!", &[(40, 0)]), 64, &"x".repeat(511));
        let long = header(&put(long, 608, "yz")).unwrap();
        assert_eq!((long.version, long.cmdline.len()), (Some(0), 513));
        // The oldest have the size of a device tree there.
        assert_eq!(
            header(&made(b"ANDROID!", &[(40, 70_000)])).unwrap().version,
            None
        );
        let new = put(made(b"ANDROID!", &[(40, 4)]), 44, "a=b");
        assert_eq!(header(&new).unwrap().cmdline, "a=b");
        let vendor = header(&put(made(b"VNDRBOOT", &[(8, 3)]), 28, "c=d")).unwrap();
        assert!(vendor.is_vendor && vendor.cmdline == "c=d" && vendor.version == Some(3));
        assert_eq!(header(b"HDR0"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(
            which in 0_usize..3,
            rest in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let magic: &[u8] = [&b"HDR0"[..], b"ANDROID!", b"VNDRBOOT"][which];
            let image = [magic, &rest].concat();
            let _ = android_header(&Part::whole(&image.as_slice()).unwrap());
            for (start, len) in look(&image) {
                prop_assert!(start < image.len() as u64 && len > 0);
            }
        }
    }
}
