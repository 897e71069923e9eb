//! The parts of a capture, as they are gathered, and the tar that they become.

use crate::capture::{MANIFEST, Manifest, MarkInfo, Member, NoteInfo, SourceFile, Writer, note};
use crate::clocks::{Stamp, clocks};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

/// The parts of a capture.
#[derive(Debug)]
pub struct Gathered {
    /// What the files are, the clocks, and what could not be had.
    pub manifest: Manifest,
    /// The raw files, without the manifest.
    pub members: Vec<Member>,
    /// Raw files that are not kept in memory. They come behind the others.
    pub large: Vec<Large>,
    /// Ticks per second of the processor's counter, if it has one.
    pub counter_hz: Option<u64>,
}

/// A raw file that is not kept in memory.
#[derive(Debug)]
pub struct Large {
    /// The member's path in the capture.
    pub file: String,
    /// Where its bytes are, from the first on.
    pub content: File,
    /// How many, in bytes.
    pub length: u64,
}

impl Gathered {
    /// The readings of the clocks, in the place of those that there are.
    pub fn clocks(&mut self, stamps: &[Stamp]) {
        self.manifest.clocks = clocks(stamps, self.counter_hz);
    }

    /// A mark at `stamp`.
    #[must_use]
    pub fn mark(&self, name: &str, begins: Option<&str>, stamp: &Stamp) -> MarkInfo {
        stamp.mark(name, begins, self.counter_hz)
    }

    /// Adds a raw file.
    pub fn add(&mut self, name: &str, format: &str, file: &str, clock: &str, bytes: Vec<u8>) {
        self.list(name, format, file, clock);
        self.members.push((file.into(), bytes));
    }

    /// Adds a raw file that is not kept in memory.
    pub fn add_large(&mut self, name: &str, format: &str, clock: &str, large: Large) {
        self.list(name, format, &large.file, clock);
        self.large.push(large);
    }

    fn list(&mut self, name: &str, format: &str, file: &str, clock: &str) {
        self.manifest.sources.push(SourceFile {
            name: name.into(),
            format: format.into(),
            file: file.into(),
            clock: clock.into(),
        });
    }

    /// Says something about the capture; `kind` is one of [`note`].
    pub fn note(&mut self, kind: &str, text: String) {
        self.manifest.notes.push(NoteInfo {
            kind: kind.into(),
            text,
        });
    }

    /// Says that something could not be had: what, why, and how to get it.
    pub fn missing(&mut self, what: &str, why: &dyn std::fmt::Display, advice: &str) {
        self.note(
            note::MISSING,
            format!("cannot read {what}: {why}; {advice}"),
        );
    }

    /// What there is to say about the capture, a sentence each.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.manifest.notes.iter().map(|n| n.text.as_str())
    }

    /// Writes the capture as a tar, the manifest first. The same bytes each time.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut tar = Writer::new(out);
        tar.member(MANIFEST, &self.manifest_bytes()?)?;
        for (name, bytes) in &self.members {
            tar.member(name, bytes)?;
        }
        for large in &self.large {
            tar.copy(&large.file, large.reader(), large.length)?;
        }
        tar.finish()?;
        Ok(())
    }

    /// The manifest as a file.
    ///
    /// # Errors
    /// If it cannot be put into JSON.
    pub fn manifest_bytes(&self) -> io::Result<Vec<u8>> {
        let mut json = serde_json::to_vec_pretty(&self.manifest)?;
        json.push(b'\n');
        Ok(json)
    }
}

impl Large {
    /// Reads it from its first byte on.
    #[must_use]
    pub fn reader(&self) -> impl Read {
        Positioned {
            file: &self.content,
            at: 0,
        }
    }
}

/// Reads a file without moving its position, so that it can be read again.
struct Positioned<'a> {
    file: &'a File,
    at: u64,
}

impl Read for Positioned<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(to, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
