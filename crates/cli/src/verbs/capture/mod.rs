//! `firstlight capture`: taking evidence.

pub mod board;
pub mod here;
pub mod serial;
pub mod ssh;

use crate::args::{Capture, CaptureFrom};
use crate::out::Out;
use anyhow::Result;

pub fn run(args: &Capture, out: &mut Out) -> Result<()> {
    match &args.from {
        CaptureFrom::Board(a) => board::run(a, out),
        CaptureFrom::Here { out: path } => here::capture(path, out),
        CaptureFrom::Serial(a) => serial::run(a, out),
        CaptureFrom::Ssh(a) => ssh::run(a, out),
    }
}
