//! Prints what an image is: `cargo run -p firstlight-bootimage --example info FILE...`.
#![allow(clippy::print_stdout, reason = "an example")]

use firstlight_bootimage::{Part, info};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args_os().skip(1) {
        let file = std::fs::File::open(&path)?;
        let part = Part::whole(&file)?;
        println!("{}: {:#?}", path.display(), info::inspect(&part, 1 << 30)?);
    }
    Ok(())
}
