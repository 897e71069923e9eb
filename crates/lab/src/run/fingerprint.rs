//! The fingerprint of a trial: a hash of everything that goes into it.

use crate::artifacts::hash_bytes;
use crate::error::LabError;
use crate::machine::Machine;
use crate::trial::Plan;

/// The fingerprint of the trial of this plan on `machine`.
pub fn fingerprint(machine: &dyn Machine, plan: &Plan) -> Result<String, LabError> {
    Ok(hash_bytes(machine.inputs(plan)?.as_bytes()))
}

/// The fingerprints of the trials of these plans, in their order.
pub fn fingerprints(machine: &dyn Machine, plans: &[Plan]) -> Result<Vec<String>, LabError> {
    plans.iter().map(|p| fingerprint(machine, p)).collect()
}
