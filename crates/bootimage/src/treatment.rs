//! Changes that make a boot faster: pure functions from the bytes of an image to
//! other bytes, with what they did and what takes it back.

use super::edit::{Edit, Patch};
use super::environment::{self, Change, Options};
use super::fdt::{self, Fdt};
use super::fit::Fit;
use super::initramfs::{self, RepackError};
use super::uimage::{self, Xip};
use rawimage::bytes::{Part, be32};
use rawimage::compression::{Compression, LIMIT};
use std::io;

/// What a treatment made of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Treated {
    /// The image after it.
    pub bytes: Vec<u8>,
    /// What was done, a sentence each.
    pub description: Vec<String>,
    /// What takes it back; `None` if only the old bytes do.
    pub undo: Option<Patch>,
}

/// Why a treatment cannot be applied.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The environment cannot be changed.
    #[error(transparent)]
    Environment(#[from] environment::Error),
    /// The initramfs cannot be packed anew.
    #[error(transparent)]
    Repack(#[from] RepackError),
    /// The device tree cannot be read.
    #[error(transparent)]
    Tree(#[from] fdt::Error),
    /// Reading failed.
    #[error("reading failed: {0}")]
    Read(#[from] io::Error),
    /// There is no legacy image.
    #[error("not a legacy U-Boot image (the first four bytes are not 27051956); pass a uImage")]
    NotUimage,
    /// The image cannot be started in place.
    #[error("the kernel cannot run where it is loaded: {0}")]
    NotInPlace(Xip),
    /// There is no room for the header before the data.
    #[error("no image fits above the address {0:#x}; pass a lower address")]
    Address(u32),
    /// There is no such property, and a tree does not grow in place.
    #[error("the device tree has no /config/bootdelay; pass the device tree of U-Boot")]
    NoDelay,
}

fn treated(image: &[u8], patch: &Patch) -> Treated {
    let mut bytes = image.to_vec();
    // The patch was made for these bytes.
    let applied = patch.apply(&mut bytes);
    debug_assert!(applied.is_ok());
    Treated {
        bytes,
        description: patch.description.clone(),
        undo: Some(patch.inverse()),
    }
}

/// Changes variables in the one environment of an image, as `fw_setenv` does.
/// `fits` are the FIT images that are booted: signatures forbid `verify=no`.
///
/// # Errors
/// There is not exactly one environment, or it cannot be changed so.
pub fn set_environment(
    image: &[u8],
    options: &Options,
    changes: &[Change],
    fits: &[Fit],
) -> Result<Treated, Error> {
    let part = Part::whole(&image)?;
    for fit in fits {
        environment::refuse_unsafe(changes, fit, "which is booted")?;
    }
    let found = environment::find(&part, options)?;
    match found.environments.as_slice() {
        [one] => Ok(treated(image, &environment::patch(&part, one, changes)?)),
        several => {
            let offsets = several.iter().filter_map(|e| Some(e.active()?.offset));
            let offsets = offsets.collect();
            Err(environment::Error::Several { offsets }.into())
        }
    }
}

/// Packs an initramfs in another way. It cannot be taken back from the new bytes:
/// the same packer with other settings made the old ones.
///
/// # Errors
/// It is damaged, or Linux cannot decompress the data.
pub fn repack_initramfs(image: &[u8], compression: Compression) -> Result<Treated, Error> {
    let part = Part::whole(&image)?;
    let mut bytes = Vec::new();
    let done = initramfs::repack(&part, compression, LIMIT, &mut bytes)?;
    let how = match compression {
        Compression::None => "stored without compression".to_owned(),
        other => format!("compressed with {other}"),
    };
    Ok(Treated {
        description: vec![format!(
            "the initramfs is {how}: {} bytes (was {})",
            done.bytes, done.before.end
        )],
        bytes,
        undo: None,
    })
}

/// Changes the header of a legacy image so that its kernel runs where it lies
/// when the file is loaded to `address`: nothing is moved. The kernel must be
/// able to run there; a zImage is, anywhere in the first 128 MiB of memory.
///
/// # Errors
/// It is no legacy image, or not a kernel that is started in place.
pub fn load_uimage_at(image: &[u8], address: u32) -> Result<Treated, Error> {
    let part = Part::whole(&image)?;
    let found = uimage::read(&part)?.ok_or(Error::NotUimage)?;
    let Xip::At { address: now } = found.xip() else {
        return Err(Error::NotInPlace(found.xip()));
    };
    let load = address.checked_add(found.load.wrapping_sub(now));
    let load = load.ok_or(Error::Address(address))?;
    let entry = found.entry.wrapping_sub(found.load).wrapping_add(load);
    let before = part.read(0, 64)?;
    let mut after = before.clone();
    for (at, number) in [(4, 0), (16, load), (20, entry)] {
        put(&mut after, at, number);
    }
    let sum = crc32fast::hash(&after);
    put(&mut after, 4, sum);
    let patch = Patch {
        edits: vec![Edit {
            offset: 0,
            before,
            after,
        }],
        description: vec![format!(
            "the load address becomes {load:#010x} (was {:#010x}); U-Boot copies nothing if the \
             file is loaded to {address:#010x}",
            found.load
        )],
    };
    Ok(treated(image, &patch))
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&number.to_be_bytes());
    }
}

/// Changes `/config/bootdelay` in U-Boot's device tree, which comes before the
/// variable of the environment.
///
/// # Errors
/// It is no device tree, or has no such property.
pub fn set_tree_bootdelay(image: &[u8], delay: i32) -> Result<Treated, Error> {
    let part = Part::whole(&image)?;
    let tree = Fdt::read(&part)?;
    let property = tree.at("/config").and_then(|c| c.property("bootdelay"));
    let Some(property) = property.filter(|p| p.length == 4) else {
        return Err(Error::NoDelay);
    };
    let before = part.read(property.offset, 4)?;
    let old = be32(&before, 0).unwrap_or(0).cast_signed();
    let patch = Patch {
        edits: vec![Edit {
            offset: property.offset,
            before,
            after: delay.to_be_bytes().to_vec(),
        }],
        description: vec![format!("/config/bootdelay becomes {delay} (was {old})")],
    };
    Ok(treated(image, &patch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device_tree;

    fn corpus(name: &str) -> Vec<u8> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/");
        std::fs::read(format!("{root}{name}")).unwrap()
    }

    /// Taken back, the image is what it was.
    fn undone(image: &[u8], treated: &Treated) {
        let mut bytes = treated.bytes.clone();
        assert!(!treated.description.is_empty());
        treated.undo.as_ref().unwrap().apply(&mut bytes).unwrap();
        assert_eq!(bytes, image);
    }

    #[test]
    fn variables_are_changed_and_put_back() {
        let change = [Change::parse_set("bootdelay=-2").unwrap()];
        for name in ["flash/environment.bin", "flash/environment-redundant.bin"] {
            let image = corpus(name);
            let done = set_environment(&image, &Options::default(), &change, &[]).unwrap();
            undone(&image, &done);
            let bytes = done.bytes.as_slice();
            let part = Part::whole(&bytes).unwrap();
            let found = environment::find(&part, &Options::default()).unwrap();
            let data = found.environments[0].data().unwrap();
            assert_eq!(data.text("bootdelay").as_deref(), Some("-2"));
        }
        let signed = corpus("boot/signed.itb");
        let fit = crate::fit::read(&Part::whole(&signed.as_slice()).unwrap()).unwrap();
        let no = [Change::parse_set("verify=no").unwrap()];
        let image = corpus("flash/environment.bin");
        let refused = set_environment(&image, &Options::default(), &no, &[fit]);
        assert!(refused.unwrap_err().to_string().contains("signature check"));
    }

    #[test]
    fn a_kernel_is_made_for_where_it_lies() {
        let image = corpus("boot/uImage");
        let done = load_uimage_at(&image, 0x8200_0000).unwrap();
        undone(&image, &done);
        let bytes = done.bytes.as_slice();
        let found = uimage::read(&Part::whole(&bytes).unwrap())
            .unwrap()
            .unwrap();
        assert!(found.header_is_right);
        assert_eq!((found.load, found.entry), (0x8200_0040, 0x8200_0040));
        assert_eq!(
            found.xip(),
            Xip::At {
                address: 0x8200_0000
            }
        );
        assert!(load_uimage_at(&image, u32::MAX - 3).is_err());
        assert!(load_uimage_at(&corpus("boot/board.dtb"), 0).is_err());
    }

    #[test]
    fn the_delay_in_a_tree_is_changed() {
        let image = corpus("boot/board.dtb");
        let done = set_tree_bootdelay(&image, 5).unwrap();
        undone(&image, &done);
        let tree = Fdt::read(&Part::whole(&done.bytes.as_slice()).unwrap()).unwrap();
        assert_eq!(device_tree::bootdelay(&tree), Some(5));
        assert!(set_tree_bootdelay(&corpus("boot/board.itb"), 0).is_err());
    }

    #[test]
    fn an_initramfs_is_packed_anew() {
        let image = corpus("boot/initrd.img");
        let done = repack_initramfs(&image, Compression::None).unwrap();
        assert_eq!(done.undo, None);
        let print =
            |bytes: &[u8]| initramfs::fingerprint(&Part::whole(&bytes).unwrap(), LIMIT).unwrap();
        assert_eq!(print(&done.bytes), print(&image));
    }
}
