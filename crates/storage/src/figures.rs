//! The figures of a storage device.

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
}
