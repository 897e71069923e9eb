//! The chip that an image is for.

use super::error::Error;
use super::header::HEADER;
use std::fmt;

/// A flash chip, as the kernel sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The smallest write, bytes: a page on NAND, 1 on NOR.
    pub min_io: u32,
    /// The smallest write of a header, bytes; less than a page on NAND that can
    /// write parts of pages.
    pub subpage: u32,
    /// Where to look for volume identifier headers, if the user says so (the
    /// kernel's `ubi.mtd=` and `ubiattach -O`); `None` is the default place.
    pub vid_offset: Option<u32>,
    /// Size of an erase block, bytes, if it is known.
    pub erase_size: Option<u32>,
    /// How many erase blocks it has, if that is known.
    pub blocks: Option<u64>,
}

/// Why an image does not fit a device. The kernel refuses to attach it, with
/// error -22.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The size of an erase block.
    EraseSize {
        /// The image's.
        found: u32,
        /// The device's.
        expected: u32,
    },
    /// The place of volume identifier headers.
    VidOffset {
        /// The image's.
        found: u32,
        /// The device's.
        expected: u32,
    },
    /// The place of data.
    DataOffset {
        /// The image's.
        found: u32,
        /// The device's.
        expected: u32,
    },
    /// The image is longer than the device.
    Length {
        /// Blocks of the image.
        found: u64,
        /// Blocks of the device.
        expected: u64,
    },
}

impl Misfit {
    /// A name for programs, which stays the same.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::EraseSize { .. } => "erase_size",
            Self::VidOffset { .. } => "vid_offset",
            Self::DataOffset { .. } => "data_offset",
            Self::Length { .. } => "length",
        }
    }

    /// What to do about it, one or two sentences.
    #[must_use]
    pub fn advice(self, device: &Device) -> String {
        match self {
            Self::EraseSize { expected, .. } => {
                format!("Build the image with `ubinize -p {expected}`.")
            }
            Self::VidOffset { found, .. } => {
                let make = format!(
                    "Build the image with `ubinize -m {} -s {}`",
                    device.min_io, device.subpage
                );
                let told = Device {
                    vid_offset: Some(found),
                    ..*device
                };
                let how = format!("(`ubiattach -O {found}`, `ubi.mtd=NAME,{found}`)");
                if told.is_read_only() {
                    format!(
                        "{make}. With offset {found} {how} the kernel attaches the image \
                        read-only."
                    )
                } else {
                    format!("{make}, or attach it with offset {found} {how}.")
                }
            }
            Self::DataOffset { .. } => {
                format!("Build the image with `ubinize -m {}`.", device.min_io)
            }
            Self::Length { .. } => "Make the volumes smaller or the partition larger.".to_owned(),
        }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EraseSize { found, expected } => write!(
                f,
                "the erase blocks of the image have {found} bytes, those of the device {expected}"
            ),
            // The kernel's own words, to be found again in its log.
            Self::VidOffset { found, expected } => {
                write!(f, "bad VID header offset {found}, expected {expected}")
            }
            Self::DataOffset { found, expected } => {
                write!(f, "bad data offset {found}, expected {expected}")
            }
            Self::Length { found, expected } => write!(
                f,
                "the image has {found} erase blocks, but the device only {expected}"
            ),
        }
    }
}

/// The next multiple of a power of two.
fn align(value: u32, to: u32) -> u32 {
    value.checked_next_multiple_of(to).unwrap_or(u32::MAX)
}

impl Device {
    /// Itself, if it is possible.
    ///
    /// # Errors
    /// [`Error::ImpossibleDevice`].
    pub fn checked(self) -> Result<Self, Error> {
        let why = if !self.min_io.is_power_of_two() || self.min_io > 1 << 20 {
            "the minimum write size must be a power of two of at most 1 MiB"
        } else if !self.subpage.is_power_of_two() || self.subpage > self.min_io {
            "the subpage size must be a power of two and at most the minimum write size"
        } else if self
            .vid_offset
            .is_some_and(|o| o < HEADER as u32 || o % 4 != 0)
        {
            "the VID header offset must be a multiple of 4 and at least 64"
        } else {
            return Ok(self);
        };
        Err(Error::ImpossibleDevice(why))
    }

    /// Where the kernel (`io_init` of `build.c`) expects volume identifier
    /// headers, and data.
    #[must_use]
    pub fn offsets(&self) -> (u32, u32) {
        let header = HEADER as u32;
        let vid = self.vid_offset;
        let vid = vid.unwrap_or_else(|| align(header, self.subpage.max(1)));
        (vid, align(vid.saturating_add(header), self.min_io.max(1)))
    }

    /// Whether both headers are in one smallest write: then the kernel attaches
    /// read-only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.offsets().0.saturating_add(HEADER as u32) <= self.subpage
    }

    /// Why an image cannot be attached, if it cannot.
    #[must_use]
    pub fn misfit(&self, erase_size: u32, offsets: (u32, u32), blocks: u64) -> Option<Misfit> {
        let (vid, data) = self.offsets();
        if let Some(expected) = self.erase_size.filter(|e| *e != erase_size) {
            let found = erase_size;
            return Some(Misfit::EraseSize { found, expected });
        }
        if let Some(expected) = self.blocks.filter(|b| *b < blocks) {
            let found = blocks;
            return Some(Misfit::Length { found, expected });
        }
        if offsets.0 != vid {
            let (found, expected) = (offsets.0, vid);
            return Some(Misfit::VidOffset { found, expected });
        }
        let (found, expected) = (offsets.1, data);
        (found != expected).then_some(Misfit::DataOffset { found, expected })
    }

    /// The devices (smallest write, subpage) that an image with these offsets
    /// fits, the likely one first.
    #[must_use]
    pub fn fitting(offsets: (u32, u32)) -> Vec<(u32, u32)> {
        let sizes = || (0..=16).map(|bits| 1_u32 << bits);
        let mut fitting = Vec::new();
        for min_io in sizes() {
            for subpage in sizes().filter(|s| *s <= min_io) {
                let device = Self {
                    min_io,
                    subpage,
                    vid_offset: None,
                    erase_size: None,
                    blocks: None,
                };
                if device.offsets() == offsets {
                    fitting.push((min_io, subpage));
                }
            }
        }
        // NAND pages have no subpages, or at most four.
        fitting.sort_by_key(|(min_io, subpage)| match (min_io / subpage, min_io) {
            (_, 1) => 0,
            (1 | 2 | 4, 512..) => 1,
            (1, _) => 2,
            _ => 3,
        });
        fitting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nand(min_io: u32, subpage: u32) -> Device {
        Device {
            min_io,
            subpage,
            vid_offset: None,
            erase_size: None,
            blocks: None,
        }
    }

    #[test]
    fn headers_are_where_ubinize_puts_them() {
        // As `ubinize -v` says for -m and -s.
        for (min_io, subpage, offsets) in [
            (2048, 512, (512, 2048)),
            (2048, 2048, (2048, 4096)),
            (4096, 1024, (1024, 4096)),
            (512, 256, (256, 512)),
            (512, 512, (512, 1024)),
            (1, 1, (64, 128)),
            (8, 8, (64, 128)),
        ] {
            assert_eq!(nand(min_io, subpage).offsets(), offsets);
        }
    }

    #[test]
    fn the_wrong_subpage_is_the_kernels_minus_22() {
        let misfit = nand(2048, 512).misfit(131_072, (2048, 4096), 10).unwrap();
        assert_eq!(
            misfit.to_string(),
            "bad VID header offset 2048, expected 512"
        );
        let told = Device {
            vid_offset: Some(2048),
            ..nand(2048, 512)
        };
        assert_eq!(told.misfit(131_072, (2048, 4096), 10), None);
        assert!(nand(2048, 512).misfit(131_072, (512, 2048), 10).is_none());
    }

    #[test]
    fn an_image_tells_the_chips_that_it_fits() {
        assert_eq!(Device::fitting((512, 2048)), [(2048, 512)]);
        assert_eq!(Device::fitting((2048, 4096))[0], (2048, 2048));
        assert_eq!(Device::fitting((64, 128))[0], (1, 1));
        assert_eq!(Device::fitting((100, 200)), []);
    }

    #[test]
    fn one_unit_for_both_headers_is_read_only() {
        let told = Device {
            vid_offset: Some(64),
            ..nand(512, 512)
        };
        assert!(told.is_read_only());
        assert!(!nand(512, 512).is_read_only());
    }
}
