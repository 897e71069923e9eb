//! How long a request to the lab's storage server takes beyond the time of the device that
//! it plays. It answers so much earlier.
//!
//! A request goes to the server through the kernel's network block device, and the
//! answer back; that takes the guest's processor time, which a real device would not.
//! The figures are the straight line through the reads of 4 and of 512 KiB of
//! `experiments/storage/own-*.toml`, run with nothing given back: on `pc` 45.2 us and
//! 513.1 us more than promised, on `arm-virt` 48.5 us and 624.0 us, with 64 bits 108.3 us
//! and 668.4 us. Between them, at 32 and 128 KiB, the line is 0.7 to 3.7 us too high.

use crate::figures::{Model, Storage};

/// What a request costs a server of modelled storage, in instructions of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerCost {
    /// For a request and its answer.
    pub request: u64,
    /// For each KiB of it besides.
    pub kib: u64,
}

impl ServerCost {
    /// On a 64-bit PC processor.
    pub const X86_64: Self = Self {
        request: 41_500,
        kib: 921,
    };
    /// On a 32-bit ARM processor from ARMv7 on.
    pub const ARMV7: Self = Self {
        request: 44_000,
        kib: 1_133,
    };
    /// On a 64-bit ARM processor.
    pub const AARCH64: Self = Self {
        request: 103_900,
        kib: 1_103,
    };
}

impl Storage {
    /// The figures as a server serves them that costs so much, where an instruction takes 2 to
    /// the power of `shift` nanoseconds: the server answers earlier by its own cost.
    #[must_use]
    pub fn served(mut self, cost: ServerCost, shift: u8) -> Self {
        if self.model != Model::None {
            self.own_request_ns = cost.request << shift;
            self.own_kib_ns = cost.kib << shift;
        }
        self
    }
}

/// What of the server's own cost the served `figures` of the profile `name` cannot give back,
/// in a sentence; `None`: nothing.
#[must_use]
pub fn not_given_back(name: &str, figures: &Storage) -> Option<String> {
    let s = figures;
    if s.model == Model::None {
        return None;
    }
    if s.own_request_ns == 0 {
        return Some(format!(
            "every request takes longer than profile `{name}` states, because the cost of the \
             storage server was not measured for this machine"
        ));
    }
    let own = s.own_request_ns + 4 * s.own_kib_ns;
    let us = |ns: u64| ns as f64 / 1e3;
    let (fastest, closest) = (fastest_ns(s), closest_ns(s));
    if fastest < own {
        return Some(format!(
            "profile `{name}` states {:.1} us for a read of 4 KiB, but the storage server needs \
             {:.1} us, so the fastest reads take that long",
            us(fastest),
            us(own)
        ));
    }
    // What overlaps in the device does not on the one processor.
    (closest < own).then(|| {
        format!(
            "profile `{name}` states 4 KiB every {:.1} us at full queue depth, but the storage \
             server needs {:.1} us per read, which limits the throughput of queued reads",
            us(closest),
            us(own)
        )
    })
}

/// The least time that the device takes for a read of 4 KiB.
fn fastest_ns(s: &Storage) -> u64 {
    let bytes = 4096 * 1_000_000_000_u64;
    s.command_ns + bytes.checked_div(s.read_bytes_per_s).unwrap_or(0)
}

/// The least time from the end of one read of 4 KiB to the end of the next.
fn closest_ns(s: &Storage) -> u64 {
    if s.queue_depth.get() == 1 {
        return fastest_ns(s);
    }
    let bytes = 4096 * 1_000_000_000_u64;
    let bus = bytes.checked_div(s.read_bytes_per_s).unwrap_or(0);
    let command = s.command_ns / u64::from(s.queue_depth.get());
    bus.max(s.command_interval_ns).max(command)
}
