//! The figures of a storage profile, as the agent takes them.

use super::{ConfigError, Lines, number, word};
use std::num::NonZeroU32;

/// How long storage takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// No storage server: the root is mounted from persistent memory as it is.
    None,
    /// Each request costs a command and its bytes, wherever they lie.
    Flash,
    /// As flash, and the head has to move to bytes that are not near.
    Disk,
}

/// The figures of a storage profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The cost function.
    pub model: Model,
    /// How many requests the device works on at a time. Their commands overlap;
    /// their bytes share one bus.
    pub queue_depth: NonZeroU32,
    /// The fixed cost of a read, in nanoseconds.
    pub command_ns: u64,
    /// The fixed cost of a write or a flush, in nanoseconds.
    pub write_command_ns: u64,
    /// The least time from the beginning of one command to that of the next, in
    /// nanoseconds: what limits requests per second however deep the queue is.
    pub command_interval_ns: u64,
    /// Bandwidth of reads, in bytes per second; 0: without limit.
    pub read_bytes_per_s: u64,
    /// Bandwidth of writes, in bytes per second; 0: without limit.
    pub write_bytes_per_s: u64,
    /// Disk: the average wait for the platter to come round, in nanoseconds.
    pub rotation_ns: u64,
    /// Disk: the seek to the next track, in nanoseconds.
    pub seek_min_ns: u64,
    /// Disk: the seek over the whole device, in nanoseconds.
    pub seek_max_ns: u64,
    /// Disk: a request that begins at most this many bytes behind the end of
    /// the last one costs neither seek nor rotation.
    pub near_bytes: u64,
    /// `read_ahead_kb` of the device's queue.
    pub read_ahead_kb: u32,
    /// `nr_requests` of the device's queue.
    pub nr_requests: u32,
    /// `scheduler` of the device's queue: `none`, `mq-deadline`, ...
    pub scheduler: String,
    /// What a request to the storage server costs beyond the device's time, in
    /// nanoseconds: it answers so much earlier. 0: it answers when the device would.
    pub own_request_ns: u64,
    /// What each KiB of a request costs it besides, in nanoseconds.
    pub own_kib_ns: u64,
}

impl Default for Storage {
    /// No model, and the kernel's usual queue.
    fn default() -> Self {
        Self {
            model: Model::None,
            queue_depth: NonZeroU32::MIN,
            command_ns: 0,
            write_command_ns: 0,
            command_interval_ns: 0,
            read_bytes_per_s: 0,
            write_bytes_per_s: 0,
            rotation_ns: 0,
            seek_min_ns: 0,
            seek_max_ns: 0,
            near_bytes: 0,
            read_ahead_kb: 128,
            nr_requests: 128,
            scheduler: "none".into(),
            own_request_ns: 0,
            own_kib_ns: 0,
        }
    }
}

impl Storage {
    /// Whether the device has parts that turn: `queue/rotational` of its device, which
    /// the kernel does not know of a device that a server makes.
    #[must_use]
    pub fn turns(&self) -> bool {
        self.model == Model::Disk
    }

    pub(super) fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![(
            "storage.model",
            match self.model {
                Model::None => "none".into(),
                Model::Flash => "flash".into(),
                Model::Disk => "disk".into(),
            },
        )];
        for (key, value) in [
            ("storage.queue_depth", u64::from(self.queue_depth.get())),
            ("storage.command_ns", self.command_ns),
            ("storage.write_command_ns", self.write_command_ns),
            ("storage.command_interval_ns", self.command_interval_ns),
            ("storage.read_bytes_per_s", self.read_bytes_per_s),
            ("storage.write_bytes_per_s", self.write_bytes_per_s),
            ("storage.rotation_ns", self.rotation_ns),
            ("storage.seek_min_ns", self.seek_min_ns),
            ("storage.seek_max_ns", self.seek_max_ns),
            ("storage.near_bytes", self.near_bytes),
            ("storage.read_ahead_kb", u64::from(self.read_ahead_kb)),
            ("storage.nr_requests", u64::from(self.nr_requests)),
            ("storage.own_request_ns", self.own_request_ns),
            ("storage.own_kib_ns", self.own_kib_ns),
        ] {
            lines.push((key, value.to_string()));
        }
        lines.push(("storage.scheduler", self.scheduler.clone()));
        lines
    }

    /// Figures that are not given are those of [`Storage::default`].
    pub(super) fn read(lines: &mut Lines<'_>) -> Result<Self, ConfigError> {
        const NUMBER: &str = "a whole number";
        let d = Self::default();
        let model = |v: &str| match v {
            "none" => Some(Model::None),
            "flash" => Some(Model::Flash),
            "disk" => Some(Model::Disk),
            _ => None,
        };
        let mut figure = |key, default| Ok(lines.take(key, NUMBER, number)?.unwrap_or(default));
        let command_ns = figure("storage.command_ns", d.command_ns)?;
        let storage = Self {
            command_ns,
            write_command_ns: figure("storage.write_command_ns", d.write_command_ns)?,
            command_interval_ns: figure("storage.command_interval_ns", d.command_interval_ns)?,
            own_request_ns: figure("storage.own_request_ns", d.own_request_ns)?,
            own_kib_ns: figure("storage.own_kib_ns", d.own_kib_ns)?,
            read_bytes_per_s: figure("storage.read_bytes_per_s", d.read_bytes_per_s)?,
            write_bytes_per_s: figure("storage.write_bytes_per_s", d.write_bytes_per_s)?,
            rotation_ns: figure("storage.rotation_ns", d.rotation_ns)?,
            seek_min_ns: figure("storage.seek_min_ns", d.seek_min_ns)?,
            seek_max_ns: figure("storage.seek_max_ns", d.seek_max_ns)?,
            near_bytes: figure("storage.near_bytes", d.near_bytes)?,
            model: lines
                .take("storage.model", "`none`, `flash` or `disk`", model)?
                .unwrap_or(d.model),
            queue_depth: lines
                .take("storage.queue_depth", "a whole number above 0", |v| {
                    v.parse().ok()
                })?
                .unwrap_or(d.queue_depth),
            read_ahead_kb: lines
                .take("storage.read_ahead_kb", NUMBER, |v| v.parse().ok())?
                .unwrap_or(d.read_ahead_kb),
            nr_requests: lines
                .take("storage.nr_requests", NUMBER, |v| v.parse().ok())?
                .unwrap_or(d.nr_requests),
            scheduler: lines
                .take("storage.scheduler", "a scheduler's name", word)?
                .unwrap_or(d.scheduler),
        };
        if storage.seek_min_ns > storage.seek_max_ns {
            return Err(ConfigError::SeekOrder {
                min: storage.seek_min_ns,
                max: storage.seek_max_ns,
            });
        }
        Ok(storage)
    }
}
