//! The page: built from `ui/` with node, kept where `views` embeds it.

use crate::{root, step};
use anyhow::Result;
use std::path::Path;

/// What is installed in `ui/`, as npm notes it.
const INSTALLED: &str = "ui/node_modules/.package-lock.json";

/// Brings the packages that `ui/package-lock.json` names, unless they are there.
fn install() -> Result<()> {
    let modified = |path: &str| {
        let meta = std::fs::metadata(root().join(path)).ok()?;
        meta.modified().ok()
    };
    let is_new = modified(INSTALLED) >= modified("ui/package-lock.json");
    if modified(INSTALLED).is_some() && is_new {
        return Ok(());
    }
    // Scripts of packages are not run: none is needed.
    let quiet = ["--ignore-scripts", "--no-audit", "--no-fund"];
    step(
        "npm",
        &[&["--prefix", "ui", "ci"][..], &quiet].concat(),
        &[],
    )
}

fn npm(script: &str, envs: &[(&str, &str)]) -> Result<()> {
    step("npm", &["--prefix", "ui", "run", script], envs)
}

/// Checks that the page that is kept is what `ui/` gives, and its logic.
pub fn check() -> Result<()> {
    install()?;
    npm("check", &[])?;
    npm("test:logic", &[])
}

/// What a person does with pages, in a browser. Pages are made by the program,
/// so it must be built. With `bless`, pictures are taken anew.
pub fn browser(program: &str, bless: bool) -> Result<()> {
    install()?;
    let mut envs = vec![("FIRSTLIGHT", program)];
    if bless {
        envs.push(("FIRSTLIGHT_BLESS", "1"));
    }
    npm("test:browser", &envs)
}

/// Makes the page anew.
pub fn build() -> Result<()> {
    install()?;
    npm("build", &[])
}

/// How fast a page of a million events is, in a browser.
pub fn bench(program: &Path) -> Result<()> {
    install()?;
    let program = program.to_string_lossy();
    npm("bench", &[("FIRSTLIGHT", &program)])
}
