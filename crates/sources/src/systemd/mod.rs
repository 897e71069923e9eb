//! What systemd says of a boot.
//!
//! The texts of `systemd-analyze time`, `blame` and `critical-chain`
//! ([`Analyze`]), of `systemd-analyze dump` ([`Dump`]) and `dot` ([`Dot`]), the drawing of
//! `systemd-analyze plot` ([`Plot`]) and its JSON ([`PlotJson`]), the properties that `systemctl show` prints
//! ([`Show`]) or D-Bus gives ([`Bus`]), and the journal ([`Journal`]). The
//! properties are best: they alone have starts and ends to the microsecond, and
//! dependencies. The journal alone has the units of an initramfs, and boots that
//! are over.

mod analyze;
mod bus;
mod clocks;
mod dot;
mod dump;
mod joined;
mod journal;
mod notes;
mod plot;
mod plot_json;
mod show;
pub(crate) mod startup;
mod timespan;
mod unit;

pub use analyze::Analyze;
pub use bus::Bus;
pub(crate) use clocks::MONOTONIC;
pub use dot::Dot;
pub use dump::Dump;
pub use journal::Journal;
pub use plot::Plot;
pub use plot_json::PlotJson;
pub use show::Show;
pub use startup::{StartupTimes, parse_time_line};
pub(crate) use unit::is_name as is_unit;
