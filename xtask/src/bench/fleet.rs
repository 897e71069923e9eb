//! `./x bench fleet`: how fast boots are read, stored and asked, and how many bytes they
//! take. The script is in the Python package; what follows `fleet` goes to it.

use crate::{fleet, root, step};
use anyhow::Result;

const SCRIPT: &str = "python/firstlight_fleet/bench/bench.py";

pub fn run(args: &[String]) -> Result<()> {
    let python = match fleet::installed() {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: {why}");
            return Ok(());
        }
    };
    let build = ["build", "--release", "--locked", "--bin", "firstlight"];
    step("cargo", &build, &[])?;
    let firstlight = root().join("target/release/firstlight");
    let folder = root().join("target/bench/fleet");
    let (python, folder) = (python.to_string_lossy(), folder.to_string_lossy());
    let mut words = vec![SCRIPT, &folder];
    words.extend(args.iter().map(String::as_str));
    step(
        &python,
        &words,
        &[("FIRSTLIGHT", &firstlight.to_string_lossy())],
    )
}
