//! `firstlight image`: what a boot loader reads. One file per verb.

pub mod args;
pub mod info;
mod json;
mod repack;
mod screen;

use crate::out::Out;
use anyhow::Result;
use args::{Image, ImageVerb};

pub fn run(args: &Image, out: &mut Out) -> Result<()> {
    match &args.verb {
        ImageVerb::Info(a) => info::run(a, out),
        ImageVerb::Repack(a) => repack::run(a, out),
    }
}
