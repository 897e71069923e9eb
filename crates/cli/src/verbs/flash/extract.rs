//! `firstlight flash extract`: files out of an image.

use super::args::Extract;
use super::{lost, text};
use crate::out::Out;
use crate::size;
use anyhow::{Context, Result, bail};
use flash::files::{Extracted, Folder, NotExtracted, Why, extract};
use flash::jffs2::Lost;
use inspect::open::Filesystem;
use serde::Serialize;
use std::io;
use views::terminal::Style;
use views::terminal::layout::{BAD, Screen, WARN, right};
use views::{plural, thousands};

/// How many files that are not as they were the screen holds; JSON has them all.
const NOT_AS_THEY_WERE: usize = 20;

pub fn run(args: &Extract, out: &mut Out) -> Result<()> {
    let to = args.out.display();
    let mut damaged = 0;
    let (done, lost) = args.inside.filesystem(&args.image, |filesystem| {
        let mut folder = Folder::new(&args.out, args.owners).map_err(|e| match e.kind() {
            io::ErrorKind::DirectoryNotEmpty => {
                anyhow::anyhow!("{to} is not empty; extract into a new folder or an empty one")
            }
            _ => anyhow::Error::new(e).context(format!("{to} cannot be made")),
        })?;
        let extracting = || format!("extracting to {to}");
        Ok(match filesystem {
            Filesystem::Jffs2(jffs2) => {
                let done = extract(jffs2, &mut folder).with_context(extracting)?;
                (done, jffs2.lost().to_vec())
            }
            Filesystem::Ubifs(ubifs) => {
                let done = extract(ubifs, &mut folder).with_context(extracting)?;
                damaged = ubifs.damage().len();
                (done, Vec::new())
            }
        })
    })?;
    let text = if out.json {
        views::json::text(&Json::of(args, &done, &lost))
    } else {
        screen(args, &done, &lost, &out.style)
    };
    out.text(&text)?;
    let not = done.not.iter().filter(|n| is_loss(&n.why)).count();
    if not > 0 {
        out.flush()?;
        bail!(
            "{}: of {not} {} the image does not hold all; the rest was extracted",
            args.image.display(),
            plural(not, "file"),
        );
    }
    if damaged > 0 {
        out.flush()?;
        bail!(
            "{}: {damaged} parts of the index are damaged, and what they lead to is missing",
            args.image.display()
        );
    }
    Ok(())
}

/// Whether the image is at fault, and not the rights of the user.
fn is_loss(why: &Why) -> bool {
    !matches!(why, Why::NotMade(_) | Why::Metadata(_))
}

fn words(not: &NotExtracted) -> (&'static str, String) {
    match &not.why {
        Why::Name(name, fault) => ("name", format!("`{}`: {fault}", name.name.escape_ascii())),
        Why::Data(bytes, why) => (
            "data",
            format!("{} are lost, and zero: {why}", size::show(*bytes)),
        ),
        Why::Gap(bytes) => (
            "gap",
            format!("{} are in no node, and zero", size::show(*bytes)),
        ),
        Why::Damaged => ("damaged", "the link or device is damaged".to_owned()),
        Why::NotMade(kind) => ("not_made", format!("could not be made: {kind}")),
        Why::Metadata(kind) => (
            "metadata",
            format!("has not all of its owner, rights, times and attributes: {kind}"),
        ),
        _ => ("other", "is not as it was".to_owned()),
    }
}

/// Files that were extracted from an image.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Json {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as views::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: String,
    /// Folder with the files.
    #[schemars(length(min = 1))]
    out: String,
    /// Number of directories.
    directories: u64,
    /// Number of files.
    files: u64,
    /// Number of symbolic links.
    symlinks: u64,
    /// Number of hard links.
    hard_links: u64,
    /// Number of devices, FIFOs and sockets.
    specials: u64,
    /// Bytes of file content.
    bytes: u64,
    /// Data of the image that was left out or not read.
    lost: Vec<lost::Json>,
    /// Files that differ from the image.
    not_as_they_were: Vec<JsonNot>,
}

impl views::json::Document for Json {
    const SCHEMA: &'static str = "firstlight.flash.extract/1";
    const TITLE: &'static str = "Output of `firstlight flash extract --json`";
}

/// A file that differs from the image.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Not")]
struct JsonNot {
    /// Path of the file.
    path: String,
    /// Kind of difference.
    #[schemars(extend("enum" = ["name", "data", "gap", "damaged", "not_made", "metadata", "other"]))]
    kind: &'static str,
    /// Description.
    #[schemars(length(min = 1))]
    what: String,
}

impl Json {
    fn of(args: &Extract, done: &Extracted, lost: &[Lost]) -> Self {
        let not = done.not.iter().map(|n| {
            let (kind, what) = words(n);
            JsonNot {
                path: text(&n.path).0,
                kind,
                what,
            }
        });
        Self {
            schema: <Json as views::json::Document>::SCHEMA,
            image: args.image.display().to_string(),
            out: args.out.display().to_string(),
            directories: done.directories,
            files: done.files,
            symlinks: done.symlinks,
            hard_links: done.hard_links,
            specials: done.specials,
            bytes: done.bytes,
            lost: lost::json(lost),
            not_as_they_were: not.collect(),
        }
    }
}

fn screen(args: &Extract, done: &Extracted, lost: &[Lost], style: &Style) -> String {
    let mut screen = Screen::new(style);
    screen.heading(&args.out.display().to_string(), "");
    for (count, what) in [
        (done.files, "files"),
        (done.directories, "folders, the root among them"),
        (done.symlinks, "symbolic links"),
        (done.hard_links, "further names of files"),
        (done.specials, "pipes, sockets and devices"),
    ] {
        if count > 0 {
            screen.line(&format!("  {}  {what}", right(&thousands(count), 12)));
        }
    }
    let bytes = right(&thousands(done.bytes), 12);
    screen.line(&format!("  {bytes}  bytes of files"));
    lost::section(&mut screen, "What the kernel would not use", lost);
    if !done.not.is_empty() {
        let all = done.not.len();
        let about = match all {
            0..=NOT_AS_THEY_WERE => String::new(),
            _ => format!("the first {NOT_AS_THEY_WERE} of {all}; --json has them all"),
        };
        screen.heading("Not as they were", &about);
        for not in done.not.iter().take(NOT_AS_THEY_WERE) {
            let ansi = if is_loss(&not.why) { BAD } else { WARN };
            let path = not.path.escape_ascii();
            screen.wrapped("", 2, ansi, &format!("{path}: {}", words(not).1));
        }
        if done.not.iter().any(|n| !is_loss(&n.why)) {
            screen.wrapped(
                "",
                2,
                WARN,
                "Devices, owners and most attributes need root.",
            );
        }
    }
    screen.finish()
}
