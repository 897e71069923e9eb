//! Release notes, cut from `CHANGELOG.md`.

use anyhow::{Context, Result};
use std::fs;
use std::path::Path;

/// The part of `CHANGELOG.md` of this version; if it has none yet, what is unreleased.
/// Empty if that lists nothing.
pub(super) fn cut(source: &Path, version: &str) -> Result<String> {
    let text = fs::read_to_string(source.join("CHANGELOG.md")).context("CHANGELOG.md")?;
    let own = section(&text, &format!("[{version}]")).or_else(|| section(&text, "[Unreleased]"));
    Ok(own.map_or_else(String::new, |body| {
        format!("# Firstlight {version}\n\n{body}\n")
    }))
}

/// What stands below a heading of the second level, up to the next one.
fn section(text: &str, heading: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|l| {
        !l.strip_prefix("## ")
            .is_some_and(|h| h.starts_with(heading))
    });
    lines.next()?;
    let body: Vec<&str> = lines.take_while(|l| !l.starts_with("## ")).collect();
    let body = body.join("\n").trim().to_owned();
    (!body.is_empty()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_version_ends_where_the_next_begins() {
        let text = "# C\n\n## [Unreleased]\n\n### Added\n\n- a\n\n## [0.1.0] - 2026-11-24\n\n- b\n";
        assert_eq!(
            section(text, "[Unreleased]").as_deref(),
            Some("### Added\n\n- a")
        );
        assert_eq!(section(text, "[0.1.0]").as_deref(), Some("- b"));
        assert_eq!(section(text, "[0.2.0]"), None);
    }
}
