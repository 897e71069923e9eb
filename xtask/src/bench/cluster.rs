//! `./x bench cluster`: trials on two Slurm nodes against one at a time, and a run whose
//! trials are all known. The measuring itself is a test of the command, which has the
//! cluster: `crates/cli/tests/cluster_bench.rs`.

use crate::{root, runner, step};
use anyhow::Result;

pub fn run() -> Result<()> {
    step("cargo", &["build", "--release", "--bins", "--locked"], &[])?;
    runner::build_programs()?;
    let program = root().join("target/release/firstlight");
    let words = [
        "test",
        "--locked",
        "--workspace",
        "--test",
        "cluster_bench",
        "--",
        "--ignored",
        "--nocapture",
    ];
    let envs = [("FIRSTLIGHT", &*program.to_string_lossy())];
    step("cargo", &words, &envs)
}
