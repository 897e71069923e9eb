//! Signatures that a change of an image would break.

use rawimage::bytes::{Part, le16, le32};

/// Whether an EFI program carries a signature: its certificate table is not
/// empty. A kernel for EFI, a unified kernel image and a boot loader are such
/// programs.
///
/// Layout: "PE Format", optional header data directories; the certificate table
/// is the fifth.
#[must_use]
pub fn is_signed_program(image: &Part<'_>) -> bool {
    certificates(image).is_some_and(|size| size > 0)
}

fn certificates(image: &Part<'_>) -> Option<u32> {
    /// Where the magic of the optional header says that addresses have 64 bits.
    const WIDE: u16 = 0x20b;
    const NARROW: u16 = 0x10b;
    let head = image.read(0, 64).ok()?;
    if !head.starts_with(b"MZ") {
        return None;
    }
    let at = u64::from(le32(&head, 0x3c)?);
    let header = image.read(at, 24 + 160).ok()?;
    if !header.starts_with(b"PE\0\0") {
        return None;
    }
    // Behind the signature and the COFF header: the optional header.
    let directories = match le16(&header, 24)? {
        WIDE => 24 + 112,
        NARROW => 24 + 96,
        _ => return None,
    };
    // Each directory is an address and a size.
    le32(&header, directories + 4 * 8 + 4)
}

/// Whether an image begins as the hash tree of dm-verity, or holds the footer of
/// Android's verified boot.
///
/// Layout: cryptsetup's `lib/verity/verity.c`; AVB's `avb_footer.h`, the last 64
/// bytes.
#[must_use]
pub fn is_verity(image: &Part<'_>) -> bool {
    let begins = image
        .read(0, 8)
        .is_ok_and(|b| b.as_slice() == b"verity\0\0");
    let end = image.len().saturating_sub(64);
    begins || image.read(end, 4).is_ok_and(|b| b.as_slice() == b"AVBf")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program with the certificate table of this size.
    fn program(size: u32) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[..2].copy_from_slice(b"MZ");
        bytes[0x3c] = 0x80;
        bytes[0x80..0x84].copy_from_slice(b"PE\0\0");
        bytes[0x98..0x9a].copy_from_slice(&0x20b_u16.to_le_bytes());
        let table = 0x80 + 24 + 112 + 4 * 8;
        bytes[table + 4..table + 8].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    #[test]
    fn a_signed_program_is_told_from_others_at_any_length() {
        let told = |b: &[u8]| is_signed_program(&Part::whole(&b).unwrap());
        assert!(told(&program(1_408)));
        assert!(!told(&program(0)));
        let whole = program(1_408);
        for end in 0..whole.len() {
            // Never a panic, and no signature where it is cut off.
            let said = told(&whole[..end]);
            assert!(!said || end >= 0x80 + 24 + 112 + 40);
        }
    }

    #[test]
    fn verity_is_known_by_its_first_and_last_bytes() {
        let told = |b: &[u8]| is_verity(&Part::whole(&b).unwrap());
        assert!(told(b"verity\0\0\x01\0\0\0"));
        let mut footer = vec![0; 4096];
        let end = footer.len() - 64;
        footer[end..end + 4].copy_from_slice(b"AVBf");
        assert!(told(&footer));
        assert!(!told(&[0; 4096]));
        assert!(!told(b""));
    }
}
