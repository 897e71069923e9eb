//! Commands that a user copies into a shell.

use std::borrow::Cow;
use std::fmt::Display;
use std::path::Path;

/// A word as a POSIX shell reads it: as it stands where the shell leaves it alone,
/// in single quotes otherwise.
///
/// ```
/// use firstlight_treat::shell::quoted;
///
/// assert_eq!(quoted("cmdline+=quiet"), "cmdline+=quiet");
/// assert_eq!(quoted("env=bootcmd=run a; run b"), "'env=bootcmd=run a; run b'");
/// assert_eq!(quoted("it's"), r"'it'\''s'");
/// ```
#[must_use]
pub fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_./:=+,@%".contains(&b);
    // zsh expands a word that begins with `=`.
    match !word.is_empty() && !word.starts_with('=') && word.bytes().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(in_quotes(word)),
    }
}

/// The command that undoes `treatment` on `target`.
#[must_use]
pub fn undo_command(treatment: &impl Display, target: &Path) -> String {
    let (treatment, target) = (treatment.to_string(), target.to_string_lossy());
    format!(
        "firstlight treat undo {} {}",
        quoted(&treatment),
        quoted(&target)
    )
}

/// A word in single quotes, whatever it holds.
pub(crate) fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A text between double quotes, in which a shell expands nothing.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}
