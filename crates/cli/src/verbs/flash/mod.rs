//! `firstlight flash`: images of raw flash chips. One file per verb.

pub mod args;
mod check;

use crate::out::Out;
use anyhow::Result;
use args::{Flash, FlashVerb};

pub fn run(args: &Flash, out: &mut Out) -> Result<()> {
    match &args.verb {
        FlashVerb::Check(a) => check::run(a, out),
    }
}
