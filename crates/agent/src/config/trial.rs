//! What the lab tells the agent about a trial.

use super::error::ConfigError;
use super::figures;
use super::first_light::FirstLight;
use super::lines::Lines;
use super::values::{RootKind, absolute, address, number, root_kind, size, word};
use super::version::{VERSION, VERSION_KEY};
use std::fmt::Write as _;
use storage::{Model, Storage};

/// Everything that the agent needs to know about a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentConfig {
    /// What the machine is, in words, for the capture's manifest.
    pub machine: String,
    /// The size of the persistent memory that takes the payload, in bytes.
    /// Devices are found by their size, because their numbers are not stable.
    pub out_size: u64,
    /// The root filesystem; `None`: the boot ends in the initramfs.
    pub root: Option<Root>,
    /// What ends the boot.
    pub first_light: FirstLight,
    /// Ticks per second of the counter; 0: not known, and then the counter is not
    /// captured. Of a board's counter it must be known.
    pub counter_hz: u64,
    /// The device that the root appears to lie on.
    pub storage: Storage,
    /// What a board has at fixed addresses.
    pub board: Board,
}

/// What a board has at fixed addresses of physical memory, read and written
/// through `/dev/mem`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Board {
    /// A register of 32 bits that counts from reset at `counter_hz`: it is read, and
    /// not the processor's own counter. 0: there is none, and the processor's is
    /// read. A multiple of 4.
    pub counter_at: u64,
    /// The memory that takes the payload, kept from the kernel; 0: it is a device,
    /// found by its size. The start of a page, a multiple of 4096.
    pub out_at: u64,
}

/// A root filesystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// Where it lies.
    pub place: Place,
    /// The filesystem's type, as `mount -t` takes it.
    pub fstype: String,
    /// Mount options, as `mount -o` takes them; may be empty. `ro` and `rw`
    /// are understood, the rest is for the filesystem.
    pub options: String,
    /// The program to start: an absolute path in the root.
    pub init: String,
}

/// Where a root filesystem lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In persistent memory or in a device's memory of so many bytes; not the
    /// payload's size.
    Memory(u64),
    /// On a device of the kernel's, by what `mount` takes: `/dev/mtdblock0`.
    Device(String),
    /// In the initramfs itself: nothing is mounted.
    Initramfs,
}

impl AgentConfig {
    /// The text of the file.
    ///
    /// # Errors
    /// If [`Self::parse`] would not take it: a name that holds a line break, a
    /// relative path of init, a size that is no whole number of sectors, ...
    pub fn to_text(&self) -> Result<String, ConfigError> {
        let mut lines = vec![
            ("machine", self.machine.clone()),
            ("out_size", self.out_size.to_string()),
        ];
        match &self.root {
            None => lines.push(("root", "none".into())),
            Some(root) => {
                match &root.place {
                    Place::Memory(size) => {
                        lines.extend([("root", "pmem".into()), ("root_size", size.to_string())])
                    }
                    Place::Device(device) => {
                        lines.extend([("root", "device".into()), ("root_device", device.clone())])
                    }
                    Place::Initramfs => lines.push(("root", "initramfs".into())),
                }
                lines.extend([
                    ("root_fstype", root.fstype.clone()),
                    ("root_options", root.options.clone()),
                    ("init", root.init.clone()),
                ]);
            }
        }
        lines.push(("first_light", self.first_light.to_string()));
        lines.push(("counter_hz", self.counter_hz.to_string()));
        for (key, address) in [
            ("counter_at", self.board.counter_at),
            ("out_at", self.board.out_at),
        ] {
            if address > 0 {
                lines.push((key, address.to_string()));
            }
        }
        lines.extend(figures::lines(&self.storage));
        let mut text = format!("{VERSION_KEY} = {VERSION}\n");
        for (key, value) in lines {
            // Writing into a string does not fail.
            let _ = writeln!(text, "{key} = {value}");
        }
        // The text is the only way to the agent, so it has the last word.
        match Self::parse(&text)? {
            same if same == *self => Ok(text),
            _ => Err(ConfigError::Shape {
                line: 1,
                found: format!("{self:?}"),
            }),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// One sentence about the first line that is wrong.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let mut lines = Lines::split(text)?;
        let out_size = lines.need("out_size", "a size in bytes, a multiple of 512", size)?;
        let kinds = "`none`, `pmem`, `device` or `initramfs`";
        let place = match lines.need("root", kinds, root_kind)? {
            RootKind::None => None,
            RootKind::Memory => {
                let size = lines.need("root_size", "a size in bytes, a multiple of 512", size)?;
                Some(Place::Memory(size))
            }
            RootKind::Device => Some(Place::Device(lines.need(
                "root_device",
                "a device as for `mount`",
                |v| (!v.is_empty()).then(|| v.to_owned()),
            )?)),
            RootKind::Initramfs => Some(Place::Initramfs),
        };
        let root = match place {
            None => None,
            Some(place) => Some(Root {
                place,
                fstype: lines.need("root_fstype", "a filesystem type", word)?,
                options: lines.text("root_options")?,
                init: lines.need("init", "an absolute path", absolute)?,
            }),
        };
        let config = Self {
            machine: lines.text("machine")?,
            out_size,
            root,
            first_light: lines.need("first_light", FirstLight::EXPECTED, FirstLight::parse)?,
            counter_hz: lines.need("counter_hz", "a whole number", number)?,
            storage: figures::read(&mut lines)?,
            board: Board {
                counter_at: lines
                    .take("counter_at", "an address, a multiple of 4", |v| {
                        address(v, 4)
                    })?
                    .unwrap_or(0),
                out_at: lines
                    .take("out_at", "an address, a multiple of 4096", |v| {
                        address(v, 4096)
                    })?
                    .unwrap_or(0),
            },
        };
        lines.finish()?;
        config.agrees()?;
        Ok(config)
    }

    /// Whether what the keys say goes together.
    fn agrees(&self) -> Result<(), ConfigError> {
        let Board { counter_at, out_at } = self.board;
        match self.root.as_ref().map(|root| &root.place) {
            // A payload that has an address is not looked for by its size.
            Some(Place::Memory(size)) if *size == self.out_size && out_at == 0 => {
                return Err(ConfigError::SameSize { size: *size });
            }
            Some(Place::Device(_) | Place::Initramfs) if self.storage.model != Model::None => {
                return Err(ConfigError::NothingToModel);
            }
            _ => {}
        }
        let hz = self.counter_hz;
        if counter_at > 0 && !(1..=u64::from(u32::MAX)).contains(&hz) {
            return Err(ConfigError::CounterSpeed { hz });
        }
        Ok(())
    }
}
