//! What a treatment would change, before it does.

use super::content::{Content, Metadata};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A path that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path in the tree, without a leading slash.
    pub path: String,
    /// What it holds.
    pub before: Content,
    /// Its rights and times, if it is there.
    pub metadata: Option<Metadata>,
    /// What it will hold.
    pub after: Content,
}

impl Change {
    /// `create`, `change`, `replace` or `remove`.
    #[must_use]
    pub fn action(&self) -> &'static str {
        match (&self.before, &self.after) {
            (Content::Absent, _) => "create",
            (_, Content::Absent) => "remove",
            (Content::File(_), Content::File(_)) => "change",
            _ => "replace",
        }
    }

    /// The change as a unified diff, as `git apply` and `patch` take it; of
    /// bytes that are no text only the sizes.
    #[must_use]
    pub fn diff(&self) -> String {
        let text = |c: &Content| match c {
            Content::Absent => Some(String::new()),
            Content::File(bytes) => String::from_utf8(bytes.clone())
                .ok()
                .filter(|t| !t.contains('\0')),
            Content::Link(to) => Some(to.clone()),
        };
        let mode = |c: &Content| match c {
            Content::Link(_) => "120000",
            _ => "100644",
        };
        let path = &self.path;
        let mut head = format!("diff --git a/{path} b/{path}\n");
        let (mut from, mut to) = (format!("a/{path}"), format!("b/{path}"));
        match (&self.before, &self.after) {
            (Content::Absent, after) => {
                let _ = writeln!(head, "new file mode {}", mode(after));
                "/dev/null".clone_into(&mut from);
            }
            (before, Content::Absent) => {
                let _ = writeln!(head, "deleted file mode {}", mode(before));
                "/dev/null".clone_into(&mut to);
            }
            _ => {}
        }
        let (Some(before), Some(after)) = (text(&self.before), text(&self.after)) else {
            let size = |c: &Content| match c {
                Content::File(bytes) => bytes.len(),
                _ => 0,
            };
            let (before, after) = (size(&self.before), size(&self.after));
            return format!("{head}Binary file: {before} bytes before, {after} after\n");
        };
        let diff = similar::TextDiff::from_lines(&before, &after);
        let body = diff
            .unified_diff()
            .context_radius(3)
            .header(&from, &to)
            .to_string();
        format!("{head}{body}")
    }
}

/// What a treatment would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The treatment's text.
    pub treatment: String,
    /// What changes; nothing if the target is treated already.
    pub changes: Vec<Change>,
    /// What will be different, a sentence each.
    pub sentences: Vec<String>,
    /// What must be done by hand for it to take effect; empty: nothing.
    pub then: String,
}

impl Plan {
    /// Whether the target is treated already.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// All its diffs, one after another.
    #[must_use]
    pub fn diff(&self) -> String {
        self.changes.iter().map(Change::diff).collect()
    }

    /// What the plan was made for: paths and sums.
    #[must_use]
    pub fn basis(&self) -> Vec<Basis> {
        let of = |c: &Change| Basis {
            path: c.path.clone(),
            before: c.before.digest(),
            after: c.after.digest(),
        };
        self.changes.iter().map(of).collect()
    }
}

/// What a plan was made for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Basis {
    /// The path in the tree.
    pub path: String,
    /// The sum of what it held.
    pub before: String,
    /// The sum of what it will hold.
    pub after: String,
}
