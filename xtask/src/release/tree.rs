//! What a package installs, in one folder: the layout of every package.

use super::base::Release;
use super::files::{place, put, quietly};
use super::programs::Programs;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The experiments that need nothing but the lab.
const EXPERIMENTS: [&str; 7] = [
    "arm-virt.toml",
    "demo.toml",
    "micro.toml",
    "smoke.toml",
    "statistical.toml",
    "u-boot.toml",
    "classics",
];

/// Makes the folder `to`; `to` again.
pub(super) fn stage(
    release: &Release,
    programs: &Programs,
    licenses: &str,
    to: &Path,
) -> Result<PathBuf> {
    let source = &release.source;
    place(&programs.program, &to.join("usr/bin/firstlight"), 0o755)?;
    for (agent, file) in &programs.agents {
        place(
            file,
            &to.join("usr/lib/firstlight").join(agent.file()),
            0o755,
        )?;
    }
    let made = |args: &[&str]| quietly(Command::new(&programs.program).args(args));
    let man = to.join("usr/share/man/man1/firstlight.1");
    put(&man, &made(&["man"])?, 0o644)?;
    quietly(Command::new("gzip").args(["-9n"]).arg(&man))?;
    for (shell, file) in [
        ("bash", "bash-completion/completions/firstlight"),
        ("zsh", "zsh/site-functions/_firstlight"),
        ("fish", "fish/vendor_completions.d/firstlight.fish"),
    ] {
        let file = to.join("usr/share").join(file);
        put(&file, &made(&["completions", shell])?, 0o644)?;
    }
    let doc = to.join("usr/share/doc/firstlight");
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md"] {
        place(&source.join(name), &doc.join(name), 0o644)?;
    }
    put(
        &doc.join("THIRD-PARTY-LICENSES.txt"),
        licenses.as_bytes(),
        0o644,
    )?;
    copy(
        &source.join("docs"),
        &doc.join("docs"),
        &["md", "png", "svg"],
    )?;
    for name in EXPERIMENTS {
        let (from, to) = (
            source.join("experiments").join(name),
            doc.join("examples").join(name),
        );
        match from.is_dir() {
            true => copy(&from, &to, &["toml", "md"])?,
            false => place(&from, &to, 0o644)?,
        }
    }
    copy(
        &source.join("schemas"),
        &to.join("usr/share/firstlight/schemas"),
        &["json"],
    )?;
    Ok(to.to_owned())
}

/// Copies a folder's files that end in one of `ends`, with what is below.
pub(super) fn copy(from: &Path, to: &Path, ends: &[&str]) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        let is_wanted = path
            .extension()
            .is_some_and(|e| ends.iter().any(|end| e == *end));
        if path.is_dir() {
            copy(&path, &to.join(name), ends)?;
        } else if is_wanted {
            place(&path, &to.join(name), 0o644)?;
        }
    }
    Ok(())
}
