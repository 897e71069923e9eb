//! Not there yet.
use crate::{args::Demo, out::Out};
use anyhow::{Result, bail};
pub fn run(_: &Demo, _: &mut Out) -> Result<()> {
    bail!("the lab is not part of this build yet")
}
