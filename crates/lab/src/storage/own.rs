//! How long a request to the lab's storage server takes beyond the time of the device that
//! it plays. It answers so much earlier.
//!
//! A request goes to the server through the kernel's network block device, and the
//! answer back; that takes the guest's processor time, which a real device would not.
//! The figures are the straight line through the reads of 4 and of 512 KiB of
//! `experiments/storage/own-*.toml`, run with nothing given back: on `pc` 45.2 us and
//! 513.1 us more than promised, on `arm-virt` 48.5 us and 624.0 us. Between them, at 32
//! and 128 KiB, the line is 0.7 to 3.2 us too high.

use super::Profile;
use crate::artifacts::Arch;
use crate::emulator::Pace;
use agent::config::{Model, Storage};

/// Instructions of the guest for a request and its answer, and for each KiB of it.
struct Own {
    request: u64,
    kib: u64,
}

/// `None`: it was not measured on such a processor.
const fn of(arch: Arch) -> Option<Own> {
    match arch {
        Arch::X86_64 => Some(Own {
            request: 41_500,
            kib: 921,
        }),
        Arch::Armv7 => Some(Own {
            request: 44_000,
            kib: 1_133,
        }),
        Arch::Aarch64 | Arch::Armv5 => None,
    }
}

/// The figures as they are served on such a processor: with what the server gives
/// back. In real time that is nothing, since nobody knows it.
#[must_use]
pub(crate) fn served(mut storage: Storage, arch: Arch, pace: Pace) -> Storage {
    if let (Some(own), Pace::Counted(shift)) = (of(arch), pace)
        && storage.model != Model::None
    {
        storage.own_request_ns = own.request << shift;
        storage.own_kib_ns = own.kib << shift;
    }
    storage
}

impl Profile {
    /// The profile as it is served on such a processor.
    #[must_use]
    pub(crate) fn served(self, arch: Arch, pace: Pace) -> Self {
        Self {
            storage: served(self.storage, arch, pace),
            ..self
        }
    }

    /// What of the server's own cost a profile that is served cannot give back, in a
    /// sentence; `None`: all of it.
    #[must_use]
    pub(crate) fn not_given_back(&self) -> Option<String> {
        let (s, name) = (&self.storage, &self.name);
        if s.model == Model::None {
            return None;
        }
        if s.own_request_ns == 0 {
            return Some(format!(
                "each request takes longer than the profile `{name}` promises, by the time that \
                 its server needs: that was not measured for this machine"
            ));
        }
        let (fastest, own) = (fastest_ns(s), s.own_request_ns + 4 * s.own_kib_ns);
        (fastest < own).then(|| {
            format!(
                "the profile `{name}` promises 4 KiB within {:.1} us, but its server takes {:.1} us \
                 for them: the fastest reads take so long",
                fastest as f64 / 1e3,
                own as f64 / 1e3
            )
        })
    }
}

/// The least time that the device takes for a read of 4 KiB.
fn fastest_ns(s: &Storage) -> u64 {
    let bytes = 4096 * 1_000_000_000_u64;
    s.command_ns + bytes.checked_div(s.read_bytes_per_s).unwrap_or(0)
}
