//! What the agent is told: by the lab in the initramfs, and by anyone on the
//! kernel's [command line](Words).
//!
//! `/firstlight/agent.conf` is text, one `key = value` a line. Its first line is
//! `firstlight_agent_config = 1`. Empty lines and lines that start with `#` say
//! nothing. A key that is not known, or is given twice, is an error: a trial
//! must not run on other figures than the ones that were asked for.

mod figures;
mod first_light;
mod out;
mod words;

pub use first_light::{Endpoint, FirstLight};
pub use out::Out;
pub use storage::{Model, Storage};
pub use words::{KEYS, Recording, Sampling, Words};

use std::fmt::Write as _;

/// Where the file lies in the initramfs.
pub const PATH: &str = "/firstlight/agent.conf";

/// Where the modules lie in the initramfs; they are loaded in lexical order.
pub const MODULES: &str = "/firstlight/modules";

/// The version of the format that this program writes and reads.
pub const VERSION: u32 = 1;

/// The key of the first line.
const VERSION_KEY: &str = "firstlight_agent_config";

/// The unit of block device sizes in sysfs, in bytes.
pub const SECTOR_BYTES: u64 = 512;

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

/// Why a configuration cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file is of another kind or version.
    #[error(
        "line 1 of the agent's configuration is `{found}` instead of `{VERSION_KEY} = {VERSION}`; \
         use the agent and the lab of the same release"
    )]
    Version {
        /// The first line.
        found: String,
    },
    /// A line is not `key = value`.
    #[error("line {line} of the agent's configuration is `{found}`; write `key = value`")]
    Shape {
        /// Counted from 1.
        line: usize,
        /// The line.
        found: String,
    },
    /// No such key.
    #[error(
        "line {line} of the agent's configuration has the unknown key `{key}`; remove the line"
    )]
    UnknownKey {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key is given again.
    #[error("line {line} of the agent's configuration repeats `{key}`; remove one of the lines")]
    Twice {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// A key that this configuration needs is not there.
    #[error("the agent's configuration lacks `{key}`; add a line `{key} = ...`")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A value is not what its key takes.
    #[error("line {line} of the agent's configuration: `{key}` is `{found}`; write {expected}")]
    Value {
        /// Counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
        /// The value.
        found: String,
    },
    /// The payload's and the root's memory could not be told apart.
    #[error(
        "`out_size` and `root_size` are both {size}, but the agent finds devices by size; make \
         one of them larger"
    )]
    SameSize {
        /// The size of both, in bytes.
        size: u64,
    },
    /// The root lies where no storage can be modelled.
    #[error("`storage.model` works only with `root = pmem`; set it to `none`")]
    NothingToModel,
    /// A board's counter whose speed is not known, or is none of a register of 32
    /// bits.
    #[error(
        "`counter_at` needs the counter's ticks per second as `counter_hz`, from 1 to \
         4294967295, not {hz}"
    )]
    CounterSpeed {
        /// `counter_hz`.
        hz: u64,
    },
    /// A disk's shortest seek is longer than its longest.
    #[error(
        "`storage.seek_min_ns` is {min}, which exceeds `storage.seek_max_ns`, {max}; swap them"
    )]
    SeekOrder {
        /// `storage.seek_min_ns`.
        min: u64,
        /// `storage.seek_max_ns`.
        max: u64,
    },
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

/// The lines of a file that nobody has asked for yet.
struct Lines<'a>(Vec<(usize, &'a str, &'a str)>);

impl<'a> Lines<'a> {
    fn split(text: &'a str) -> Result<Self, ConfigError> {
        let first = text.lines().next().unwrap_or_default();
        let version = first.split_once('=').map(|(k, v)| (k.trim(), v.trim()));
        if version != Some((VERSION_KEY, VERSION.to_string().as_str())) {
            return Err(ConfigError::Version {
                found: shown(first),
            });
        }
        let mut lines: Vec<(usize, &str, &str)> = Vec::new();
        for (i, raw) in text.lines().enumerate().skip(1) {
            let line = i + 1;
            let raw = raw.trim();
            if raw.is_empty() || raw.starts_with('#') {
                continue;
            }
            let Some((key, value)) = raw.split_once('=') else {
                return Err(ConfigError::Shape {
                    line,
                    found: shown(raw),
                });
            };
            let (key, value) = (key.trim(), value.trim());
            if lines.iter().any(|l| l.1 == key) {
                return Err(ConfigError::Twice {
                    line,
                    key: shown(key),
                });
            }
            lines.push((line, key, value));
        }
        Ok(Self(lines))
    }

    fn take<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, ConfigError> {
        let Some(i) = self.0.iter().position(|l| l.1 == key) else {
            return Ok(None);
        };
        let (line, _, value) = self.0.remove(i);
        match parse(value) {
            Some(value) => Ok(Some(value)),
            None => Err(ConfigError::Value {
                line,
                key: key.into(),
                expected,
                found: shown(value),
            }),
        }
    }

    fn need<T>(
        &mut self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ConfigError> {
        self.take(key, expected, parse)?
            .ok_or(ConfigError::Missing { key })
    }

    /// A text that may be empty or left out.
    fn text(&mut self, key: &'static str) -> Result<String, ConfigError> {
        let text = self.take(key, "a text", |v| Some(v.to_owned()))?;
        Ok(text.unwrap_or_default())
    }

    fn finish(self) -> Result<(), ConfigError> {
        match self.0.first() {
            None => Ok(()),
            Some(&(line, key, _)) => Err(ConfigError::UnknownKey {
                line,
                key: shown(key),
            }),
        }
    }
}

/// At most 80 characters of what was found, for a message.
fn shown(text: &str) -> String {
    text.chars().take(80).collect()
}

fn number(v: &str) -> Option<u64> {
    v.parse().ok()
}

fn size(v: &str) -> Option<u64> {
    number(v).filter(|n| *n > 0 && n.is_multiple_of(SECTOR_BYTES))
}

/// What the key `root` says.
enum RootKind {
    None,
    Memory,
    Device,
    Initramfs,
}

fn root_kind(v: &str) -> Option<RootKind> {
    match v {
        "none" => Some(RootKind::None),
        "pmem" => Some(RootKind::Memory),
        "device" => Some(RootKind::Device),
        "initramfs" => Some(RootKind::Initramfs),
        _ => None,
    }
}

fn address(v: &str, unit: u64) -> Option<u64> {
    number(v).filter(|n| n.is_multiple_of(unit))
}

fn word(v: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_graphic() && c != '/';
    (!v.is_empty() && v.chars().all(plain)).then(|| v.to_owned())
}

fn absolute(v: &str) -> Option<String> {
    v.starts_with('/').then(|| v.to_owned())
}
