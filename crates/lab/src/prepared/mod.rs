//! A prepared trial: all that its boot needs, and nothing of the experiment that it
//! belongs to. `lab run` boots it here; written as a plan, it is booted by `lab trial` on
//! any host that has the same emulator.

mod boot;
mod host;
mod inputs;
mod plan;

pub use host::run_plan;
pub use inputs::InputFolders;
pub(crate) use inputs::export;
pub use plan::{EarlyStages, MaybeStages, PlanLimits, Prepared, VERSION as PLAN_VERSION};
