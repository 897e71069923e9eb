//! What `redact` replaced: the report that its screen and its JSON print.

/// What was taken out of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redaction {
    /// The file that was written.
    pub file: String,
    /// By kind; kinds of which there was nothing are left out.
    pub replaced: Vec<RedactionKind>,
    /// Host and user names that were kept because they are common words.
    pub kept: Vec<String>,
}

/// One kind of what was replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactionKind {
    /// `MAC address`, `host name`, ...
    pub kind: &'static str,
    /// How many different ones there were.
    pub distinct: u32,
    /// How many places were replaced.
    pub places: u64,
}
