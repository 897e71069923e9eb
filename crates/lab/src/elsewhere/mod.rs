//! Trials on other hosts: each is written as a plan, something boots it somewhere, and its
//! result is collected.
//!
//! Plans and results lie in the folder `jobs` of the output folder. What brings a plan to
//! a host and its result back is not ours: Slurm, or a command that the user gives.

mod command;
mod outbox;
mod slurm;

pub(crate) use command::{boot_by, check};
pub use outbox::{FOLDER as JOBS, Job};
pub(crate) use outbox::{Outbox, batches};
pub use slurm::Slurm;
pub(crate) use slurm::{Told, boot_all as boot_on_slurm};

/// Where trials are booted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum On {
    /// On this host.
    #[default]
    Host,
    /// Wherever this command boots one: `{plan}` in it is the plan's file, `{out}` where
    /// the result has to be when it ends, and `{inputs}` the folder of the inputs.
    Command(String),
    /// On a cluster.
    Slurm(Slurm),
}
