//! Not there yet.
use crate::{args::LabRun, out::Out};
use anyhow::{Result, bail};
pub fn run(_: &LabRun, _: &mut Out) -> Result<()> {
    bail!("the lab is not part of this build yet")
}
pub fn doctor(_: &mut Out) -> Result<()> {
    bail!("the lab is not part of this build yet")
}
