//! `firstlight image`: what a boot loader and a boot read. One file per verb.

pub mod args;
mod arrange;
mod file;
pub mod info;
mod json;
mod list;
mod map;
pub mod mount;
mod order;
pub mod relocate;
mod repack;
mod requests;
mod score;
mod screen;

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
    }
}

/// The schemas of what is printed here.
#[cfg(test)]
pub fn schema_files() -> Vec<views::json::SchemaFile> {
    use views::json::schema_file;
    vec![schema_file::<repack::Json<'_>>()]
}
