//! What analyses answer, as terminal text, JSON, CSV and HTML.
//!
//! Views lay out and format; they compute nothing. Each function takes reports
//! of [`analysis`] and gives the text. Nothing here prints or opens a file.

pub mod csv;
pub mod export;
pub mod html;
pub mod json;
pub mod terminal;

mod words;

pub use words::{plural, thousands};

/// Something that the lab needs on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was looked for: `qemu-system-x86_64`, `a Debian kernel`.
    pub name: String,
    /// Whether it is there and will do.
    pub ok: bool,
    /// What was found, such as a version or a path.
    pub found: Option<String>,
    /// How to get it, if it is not there or will not do.
    pub advice: Option<String>,
}
