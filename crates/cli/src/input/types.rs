//! What the inputs of a boot are.

use super::bytes::Bytes;
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
    pub path: PathBuf,
    pub manifest: Manifest,
    pub members: Vec<(String, Vec<u8>)>,
}

/// A file of one format.
pub struct Raw {
    pub name: String,
    pub source: &'static dyn Source,
    pub bytes: Bytes,
}

/// What the user calls this machine's last boot: no input at all.
pub const HERE: &str = "this machine";

/// The input that is standard input.
pub const STDIN: &str = "-";
