//! What could be better: advice with its evidence and its expected saving.
//!
//! Each finding is one [`Rule`] of the [`CATALOGUE`]: what holds for all of its
//! kind as data, and one pure function that looks for it in a record and in
//! what else is known of the system.

mod advice;
mod application;
mod catalogue;
mod cloud_init;
mod cmdline;
mod coldplug;
mod config;
mod console;
mod contention;
mod delays;
mod devices;
mod driver_remedies;
mod driver_source;
mod evidence;
mod falcon;
mod filesystems;
mod finding;
mod firmware;
mod flash;
mod found;
mod fstab;
mod group;
mod hardware;
mod images;
mod in_place;
mod initramfs;
mod joint;
mod judge;
mod kernel;
mod known_units;
mod libraries;
mod loader;
mod modules;
mod names;
mod order;
mod packing;
mod pictures;
mod probes;
mod processes;
mod quiet;
mod random;
mod relocations;
mod remedies;
mod requests;
mod root;
mod rule;
mod scripts;
mod shells;
mod silence;
mod startup;
mod storage;
mod subject;
mod text;
mod told;
mod udev_units;
mod units;
mod view;
mod waits;
mod watched;
mod work;

pub use advice::{advice, findings, findings_for, rule};
pub use catalogue::CATALOGUE;
pub use evidence::Evidence;
pub use finding::{Advice, Finding, Joint, Silent};
pub use group::Group;
pub use rule::{Confidence, Rule};
pub(crate) use work::computed_on_one;
