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
    let [firstlight, folder, python] =
        [firstlight, folder, python].map(|path| path.to_string_lossy().into_owned());
    let mut words = vec![SCRIPT, folder.as_str()];
    words.extend(args.iter().map(String::as_str));
    step(&python, &words, &[("FIRSTLIGHT", firstlight.as_str())])
}
