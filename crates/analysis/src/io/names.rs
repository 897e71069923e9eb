//! What files of a trace are called.

use hashbrown::HashMap;
use record::{Access, Device, NameId, Record, Request};
use std::collections::BTreeSet;

/// What tells files apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Key {
    Path(NameId),
    Inode(Option<Device>, u64),
    Unknown,
}

fn key(access: &Access) -> Key {
    match (access.path, access.inode) {
        (Some(path), _) => Key::Path(path),
        (None, Some(inode)) => Key::Inode(access.device, inode),
        (None, None) => Key::Unknown,
    }
}

/// What files are called.
pub(crate) struct Names<'r> {
    record: &'r Record,
    /// The path of each inode that any access names by both.
    paths: HashMap<(Option<Device>, u64), NameId>,
    /// Block devices that were asked for something.
    disks: BTreeSet<Device>,
}

impl<'r> Names<'r> {
    pub(crate) fn of(record: &'r Record) -> Self {
        let both = |a: &Access| Some(((a.device, a.inode?), a.path?));
        Self {
            record,
            paths: record.accesses().iter().filter_map(both).collect(),
            disks: devices(record.requests()),
        }
    }

    /// What an access is about.
    pub(crate) fn key(&self, access: &Access) -> Key {
        match key(access) {
            Key::Inode(device, inode) => match self.paths.get(&(device, inode)) {
                Some(&path) => Key::Path(path),
                None => Key::Inode(device, inode),
            },
            key => key,
        }
    }

    /// The name of what a key stands for.
    pub(crate) fn name_of(&self, key: Key) -> String {
        match key {
            Key::Path(path) => self.record.name(path).to_owned(),
            Key::Inode(Some(device), inode) => match self.disk(device, inode) {
                Some(disk) => format!("{disk} itself: file system metadata"),
                None => format!("inode {inode} on {device}"),
            },
            Key::Inode(None, inode) => format!("inode {inode}"),
            Key::Unknown => "unknown".to_owned(),
        }
    }

    /// The block device whose own cache an inode is. Such inodes are on a
    /// device without a disk, and their number is the device's: major number
    /// from bit 20 on (`bdev_add` of block/bdev.c, `MKDEV`).
    pub(super) fn disk(&self, device: Device, inode: u64) -> Option<Device> {
        let minor = u32::try_from(inode & 0xf_ffff).ok()?;
        let disk = Device {
            major: u32::try_from(inode >> 20).ok()?,
            minor,
        };
        (device.major == 0 && self.disks.contains(&disk)).then_some(disk)
    }
}

/// The devices of requests, which mostly are of the one that the last was of.
fn devices(requests: &[Request]) -> BTreeSet<Device> {
    let mut devices = BTreeSet::new();
    let mut last = None;
    for request in requests {
        if last != Some(request.device) {
            devices.insert(request.device);
            last = Some(request.device);
        }
    }
    devices
}
