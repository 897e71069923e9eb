//! Boots variants in a machine whose time is a pure function of its input.
//!
//! An [`Experiment`] names a boot and variants of it. [`run()`] boots each in
//! QEMU, under a clock that counts instructions, and leaves one capture a trial.
//! Storage takes its time inside the guest: the agent serves the root as the
//! device of a [storage profile](storage::Profile) would. So the same inputs give the
//! same bytes, and one boot is a proof.
//!
//! There are no statistics here and nothing is printed: [`Event`]s say what
//! happens, captures hold what was seen.

mod arch;
mod arm9;
mod arm_virt;
pub mod board;
mod boot;
mod cache;
pub mod calibration;
mod capture;
pub mod classics;
mod console;
mod cpio;
mod doctor;
mod elsewhere;
mod emulated;
mod emulator;
mod entry;
mod error;
mod event;
mod experiment;
mod files;
mod hex;
mod initramfs;
mod journal;
pub mod layout;
mod loading;
mod machine;
mod made;
mod modules;
mod on_files;
mod pace;
mod pc;
mod prepared;
mod replay;
mod run;
mod shared;
mod store;
mod tools;
mod treated;
mod trial;
mod workload;

pub mod artifacts;
pub mod bisect;
pub mod mounts;
pub mod planted;
pub mod profiles;
pub mod reads;
pub mod search;

pub use boot::{Boot, Evidence, HostMark};
pub use doctor::{Check, doctor};
pub use elsewhere::{JOBS, Job, On, Slurm};
pub use error::{Disagreement, LabError};
pub use event::Event;
pub use experiment::{
    ArmArch, BASELINE, Base, Experiment, Kernel, Loader, Mode, Platform, Quick, Recording, Root,
    Sampling, Variant,
};
pub use loading::Loading;
pub use machine::Machine;
pub use prepared::{InputFolders, Prepared, run_plan};
pub use run::{
    Basis, Difference, ExactCheck, Forecast, ForecastBoot, Hosts, Options, Outcome, RecordingCost,
    forecast, prepare_elsewhere, run, run_on,
};
pub use shared::{AUDIT_EVERY, Shared};
pub use trial::{BoardBoot, BoardProof, Failure, Lights, Plan, Purpose, Reason, Trial, TrialId};
