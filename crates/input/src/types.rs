//! What the inputs of a boot are.

use crate::bytes::Bytes;
use agent::capture::Manifest;
use sources::Source;
use std::path::PathBuf;

/// What one path turned out to be.
pub enum Input {
    /// A capture: the manifest, and the members that it names.
    Capture(Box<Capture>),
    /// A raw file, and the source that knows it.
    Raw(Raw),
}

/// The evidence of one boot, with its manifest.
pub struct Capture {
    /// Where it was read.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest,
    /// The names and the content of its files.
    pub members: Vec<(String, Vec<u8>)>,
}

/// A file of one format.
pub struct Raw {
    /// The path that the user gave.
    pub name: String,
    /// What reads its format.
    pub source: &'static dyn Source,
    /// Its content.
    pub bytes: Bytes,
}

/// What the user calls this machine's last boot: no input at all.
pub const HERE: &str = "this machine";

/// The input that is standard input.
pub const STDIN: &str = "-";
