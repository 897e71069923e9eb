//! How long a request to the lab's storage server takes beyond the time of the device that
//! it plays. It answers so much earlier.
//!
//! A request goes to the server through the kernel's network block device, and the
//! answer back; that takes the guest's processor time, which a real device would not.
//! The figures are the straight line through the reads of 4 and of 512 KiB of
//! `experiments/storage/own-*.toml`, run with nothing given back: on `pc` 45.2 us and
//! 513.1 us more than promised, on `arm-virt` 48.5 us and 624.0 us, with 64 bits 108.3 us
//! and 668.4 us. Between them, at 32 and 128 KiB, the line is 0.7 to 3.7 us too high.

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
        Arch::Aarch64 => Some(Own {
            request: 103_900,
            kib: 1_103,
        }),
        Arch::Armv5 => None,
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
        let own = s.own_request_ns + 4 * s.own_kib_ns;
        let us = |ns: u64| ns as f64 / 1e3;
        let (fastest, closest) = (fastest_ns(s), closest_ns(s));
        if fastest < own {
            return Some(format!(
                "the profile `{name}` promises 4 KiB within {:.1} us, but its server takes {:.1} us \
                 for them: the fastest reads take so long",
                us(fastest),
                us(own)
            ));
        }
        // What overlaps in the device does not on the one processor.
        (closest < own).then(|| {
            format!(
                "the profile `{name}` promises 4 KiB every {:.1} us when many are asked for at once, \
                 but its server takes {:.1} us for each: then they follow one another so slowly",
                us(closest),
                us(own)
            )
        })
    }
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

#[cfg(test)]
mod tests {
    use super::Pace;
    use crate::artifacts::Arch;
    use crate::storage::named;

    fn said(profile: &str, arch: Arch, pace: Pace) -> Option<String> {
        named(profile).unwrap().served(arch, pace).not_given_back()
    }

    #[test]
    fn what_cannot_be_given_back_is_said() {
        let exact = Pace::Counted(0);
        for arch in [Arch::X86_64, Arch::Armv7, Arch::Aarch64] {
            for profile in ["none", "sd-card", "usb-flash", "hdd-laptop"] {
                assert_eq!(said(profile, arch, exact), None, "{profile}");
            }
        }
        assert_eq!(said("emmc", Arch::X86_64, exact), None);
        let queue = said("emmc", Arch::Aarch64, exact).unwrap();
        assert!(
            queue.contains("every 90.9 us when many") && queue.contains("takes 108.3 us"),
            "{queue}"
        );
        let slow = said("emmc", Arch::X86_64, Pace::Counted(3)).unwrap();
        assert!(slow.contains("the fastest reads"), "{slow}");
        let unknown = said("emmc", Arch::Armv5, exact).unwrap();
        assert!(unknown.contains("was not measured"), "{unknown}");
    }
}
