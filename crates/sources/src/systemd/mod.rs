//! What systemd says of a boot.
//!
//! The texts of `systemd-analyze time`, `blame` and `critical-chain`
//! ([`Analyze`]), of `systemd-analyze dump` ([`Dump`]), the drawing of
//! `systemd-analyze plot` ([`Plot`]), the properties that `systemctl show` prints
//! ([`Show`]) or D-Bus gives ([`Bus`]), and the journal ([`Journal`]). The
//! properties are best: they alone have starts and ends to the microsecond, and
//! dependencies. The journal alone has the units of an initramfs, and boots that
//! are over.

mod analyze;
mod bus;
mod dump;
mod journal;
mod plot;
mod show;
mod startup;
mod timespan;
mod unit;

pub use analyze::Analyze;
pub use bus::Bus;
pub use dump::Dump;
pub use journal::Journal;
pub use plot::Plot;
pub use show::Show;
pub use startup::{StartupTimes, parse_time_line};

use record::{NoteKind, Severity};

/// The clock that systemd measures on.
const MONOTONIC: &str = "monotonic";

/// The clock of texts that count from the start of userspace.
const USERSPACE_CLOCK: &str = "userspace";

const BLANK_LINE: NoteKind = NoteKind {
    name: "blank_line",
    severity: Severity::Info,
    advice: "blank lines hold nothing",
};

const BOOT_NOT_FINISHED: NoteKind = NoteKind {
    name: "boot_not_finished",
    severity: Severity::Doubt,
    advice: "systemd had not finished starting when it was asked, so what came later is missing; \
             ask again when `systemctl is-system-running --wait` returns",
};
