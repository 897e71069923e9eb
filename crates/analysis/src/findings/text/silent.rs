//! Why a rule is silent.

use std::fmt::Display;

pub(in crate::findings) fn too_little(most: impl Display) -> String {
    format!("would save at most {most}, too little to matter in this boot")
}

pub(in crate::findings) fn not_seen(needs: impl Display) -> String {
    format!("not found; this finding needs {needs}")
}
