//! `firstlight flash`: images of raw flash chips. One file per verb.

pub mod args;
mod check;
mod env;
mod extract;
mod list;
mod summarize;
mod ubi;
mod verify;

use crate::out::Out;
use anyhow::Result;
use args::{Flash, FlashVerb};

pub fn run(args: &Flash, out: &mut Out) -> Result<()> {
    match &args.verb {
        FlashVerb::Check(a) => check::run(a, out),
        FlashVerb::Summarize(a) => summarize::run(a, out),
        FlashVerb::List(a) => list::run(a, out),
        FlashVerb::Extract(a) => extract::run(a, out),
        FlashVerb::Verify(a) => verify::run(a, out),
        FlashVerb::Ubi(a) => ubi::run(a, out),
        FlashVerb::Env(a) => env::run(a, out),
    }
}
