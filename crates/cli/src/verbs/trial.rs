//! `firstlight lab trial`: one prepared trial.

use crate::args::LabTrial;
use crate::beside;
use crate::out::Out;
use anyhow::{Context, Result};
use std::io::{Read as _, Write as _};
use std::path::Path;

pub fn run(args: &LabTrial, out: &mut Out) -> Result<()> {
    let is_std = |path: &Path| path.as_os_str() == "-";
    let mut folders = args.inputs.clone();
    let (name, text) = if is_std(&args.plan) {
        let mut text = Vec::new();
        let read = std::io::stdin().read_to_end(&mut text);
        read.context("standard input cannot be read")?;
        ("standard input".to_owned(), text)
    } else {
        folders.insert(0, args.plan.parent().unwrap_or(Path::new("")).to_owned());
        let name = args.plan.display().to_string();
        let text = std::fs::read(&args.plan).with_context(|| format!("{name}: cannot be read"))?;
        (name, text)
    };
    let folders = lab::InputFolders::new(folders)?;
    let (trial, result) = lab::run_plan(&name, &text, &folders, &mut |_| {})?;
    if is_std(&args.out) {
        return out.bytes(&result);
    }
    beside::write(&args.out, |f| Ok(f.write_all(&result)?))?;
    let booted = views::BootedTrial {
        trial: trial.id.to_string(),
        fingerprint: trial.fingerprint,
        digest: trial.digest,
        wall_s: trial.wall_s,
        failure: trial.failure.map(|f| f.detail),
        result: args.out.display().to_string(),
    };
    out.show(
        || views::json::lab_trial(&booted),
        |_| views::terminal::lab_trial(&booted),
    )
}
