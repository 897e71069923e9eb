//! A UBI image with the filesystems in its volumes.

use crate::Foreign;
use crate::ubi::{Device, Image, Options, Report, report};
use crate::ubifs::{self, Home};
use std::collections::BTreeMap;

/// What the kernel would do with a UBI image, and with UBIFS in it.
pub struct Attached {
    /// The chip that the image is held against.
    pub device: Option<Device>,
    /// The image.
    pub report: Report,
    /// By number of the volume; or why it cannot be looked at.
    pub ubifs: BTreeMap<u32, Result<ubifs::Report, String>>,
}

/// Looks at an image, and at the volumes that hold UBIFS.
#[must_use]
pub fn attach(opened: &Image, options: &Options) -> Attached {
    let report = report(opened, options);
    let profile = &report.attach.profile;
    let with_ubifs = report
        .volumes
        .iter()
        .filter(|v| v.content == Some(Foreign::Ubifs));
    let ubifs = with_ubifs
        .map(|seen| {
            let volume = opened.volume(seen.id, &seen.record);
            let home = Home {
                leb_size: volume.leb_size,
                // How far it will grow is not known yet.
                lebs: (!volume.is_autoresize()).then_some(seen.record.reserved),
                min_io: options.device.map(|d| d.min_io),
            };
            let found = ubifs::inspect(&volume, Some(home), profile);
            (seen.id, found.map_err(|e| e.to_string()))
        })
        .collect();
    Attached {
        device: options.device,
        ubifs,
        report,
    }
}
