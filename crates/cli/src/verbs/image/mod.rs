//! `firstlight image`: what a boot loader and a boot read. One file per verb.

pub mod args;
mod arrange;
mod create;
mod info;
mod map;
mod mount;
mod order;
mod relocate;
mod repack;
mod score;
mod statistics;

use crate::out::Out;
use anyhow::Result;
use args::{Image, ImageVerb};

pub fn run(args: &Image, out: &mut Out) -> Result<()> {
    match &args.verb {
        ImageVerb::Info(a) => info::run(a, out),
        ImageVerb::Map(a) => map::run(a, out),
        ImageVerb::Relocate(a) => relocate::run(a, out),
        ImageVerb::Order(a) => order::run(a, out),
        ImageVerb::Score(a) => score::run(a, out),
        ImageVerb::Repack(a) => repack::run(a, out),
        ImageVerb::Statistics(a) => statistics::run(a, out),
        ImageVerb::Create(a) => create::run(a, out),
    }
}
