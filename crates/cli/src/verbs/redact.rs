//! `firstlight redact`: an input that can be sent.

use crate::beside;
use crate::input::{self, Input, redacted};
use crate::out::Out;
use agent::capture::{MANIFEST, Member, write_tar};
use anyhow::{Context, Result, bail};
use clap::{Args, ValueHint};
use redact::Redactor;
use std::io::Write;
use std::path::{Path, PathBuf};
use views::html::{CannotOpen, Taken};
use views::{Redaction, RedactionKind};

/// The arguments of `redact`.
#[derive(Debug, Args)]
pub struct Redact {
    /// A capture, a raw file or a page; `-` is standard input
    #[arg(value_name = "INPUT", value_hint = ValueHint::AnyPath)]
    pub input: PathBuf,
    /// Write the result to OUT; a capture becomes a tar, compressed if OUT ends in .zst
    #[arg(short, long, value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub output: PathBuf,
}

pub fn run(args: &Redact, out: &mut Out) -> Result<()> {
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if same(&args.input, &args.output) {
        let shown = args.output.display();
        bail!("{shown}: the input and the output are the same file; name another output");
    }
    let mut redactor = Redactor::default();
    match input::read(&args.input) {
        Ok(input) => {
            redacted::learn(&mut redactor, &input)?;
            let input = redacted::redacted(&mut redactor, input)?;
            write(&input, &args.output)?;
        }
        // A page, or other text: its format need not be known.
        Err(unknown) => match text(&args.input) {
            Some(bytes) => {
                let sent = page_or_text(&mut redactor, &bytes)
                    .with_context(|| format!("{}: cannot be redacted", args.input.display()))?;
                beside::write(&args.output, |file| Ok(file.write_all(&sent)?))?;
            }
            None => return Err(unknown),
        },
    }
    show(&redactor, &args.output, out)
}

/// Shows what was replaced in `file`.
pub fn show(redactor: &Redactor, file: &Path, out: &mut Out) -> Result<()> {
    let counts = redactor.counts().into_iter().map(|c| RedactionKind {
        kind: c.kind.as_str(),
        distinct: c.distinct,
        places: c.places,
    });
    let redaction = Redaction {
        file: file.display().to_string(),
        replaced: counts.collect(),
        kept: redactor.kept(),
    };
    out.text(&match out.json {
        true => views::json::text(&views::json::redact(&redaction)),
        false => views::terminal::redact(&redaction, &out.style),
    })
}

/// A page, also its data where that is compressed, or another text, redacted.
fn page_or_text(redactor: &mut Redactor, bytes: &[u8]) -> Result<Vec<u8>, CannotOpen> {
    let page = std::str::from_utf8(bytes).map_or(Ok(None), Taken::of)?;
    let Some(page) = page else {
        redactor.learn(bytes);
        return Ok(redactor.redact(bytes));
    };
    for part in [page.before, &page.data, page.after] {
        redactor.learn(part.as_bytes());
    }
    let [before, data, after] = [page.before, &page.data, page.after]
        .map(|part| String::from_utf8_lossy(&redactor.redact(part.as_bytes())).into_owned());
    let sent = page.with(&before, data, &after);
    Ok(sent.page().into_bytes())
}

/// The file at `path`, if it is text.
fn text(path: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    (!bytes.is_empty() && !bytes.contains(&0)).then_some(bytes)
}

fn write(input: &Input, path: &Path) -> Result<()> {
    let capture = match input {
        Input::Raw(raw) => {
            return beside::write(path, |file| Ok(file.write_all(&raw.bytes)?));
        }
        Input::Capture(capture) => capture,
    };
    let mut manifest = serde_json::to_vec_pretty(&capture.manifest)?;
    manifest.push(b'\n');
    let mut members: Vec<Member> = vec![(MANIFEST.into(), manifest)];
    members.extend(capture.members.iter().cloned());
    let packed = path.extension().is_some_and(|e| e == "zst");
    beside::write(path, |file| {
        if packed {
            let mut zstd = zstd::Encoder::new(file, 0)?;
            write_tar(&mut zstd, &members)?;
            zstd.finish()?;
        } else {
            write_tar(file, &members)?;
        }
        Ok(())
    })
}
