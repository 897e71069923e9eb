//! `firstlight lab mounts`: mounts in exact time, beside what the model says.

use crate::args::LabMounts;
use crate::out::Out;
use crate::progress;
use anyhow::{Context, Result, bail};
use lab::mounts;

pub fn run(args: &LabMounts, out: &mut Out) -> Result<()> {
    let mut reports = Vec::new();
    for path in &args.files {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{name}: cannot be read"))?;
        let experiment = mounts::Mounts::parse(&name, &text)?;
        let folder = args.out.join(path.file_stem().unwrap_or_default());
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("{}: cannot be made", folder.display()))?;
        let say = &mut |text: String| progress::done(&text, false);
        let report = mounts::run(&experiment, &folder, say);
        progress::clear();
        reports.push(report?);
    }
    let result = proof::mounts(&reports);
    let text = if out.json {
        views::json::text(&result)
    } else if args.markdown {
        result.markdown()
    } else {
        result.terminal(&out.style)
    };
    out.text(&text)?;
    out.flush()?;
    match reports.iter().find(|r| !r.failures.is_empty()) {
        Some(failed) => bail!("not all boots of `{}` came to their end", failed.title),
        None => Ok(()),
    }
}
