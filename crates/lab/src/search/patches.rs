//! What is kept, in the forms that build systems take.

use super::outcome::Found;
use crate::artifacts::kernel_fragment;
use crate::error::LabError;
use std::fmt::Write;
use treat::files::{Form, export};
use treat::{FileTreatment, Treatment};

/// All parameters that are added to the kernel command line, as one treatment: an option of a
/// configuration that stands twice has the value of the last.
fn added_words(found: &Found) -> Option<FileTreatment> {
    let words = found.kept.iter().filter_map(|k| match &k.treatment {
        Treatment::AddWord(word) => Some(word.as_str()),
        _ => None,
    });
    let words: Vec<&str> = words.collect();
    let all = Treatment::AddWord(words.join(" "));
    (!words.is_empty()).then_some(FileTreatment::Boot(all))
}

/// The kept treatments in each form that a build system takes.
#[must_use]
pub fn patches(found: &Found) -> Vec<(&'static str, String)> {
    let forms = [Form::Buildroot, Form::Yocto, Form::Debian, Form::Setenv];
    let of = |form: Form| {
        let mut text = String::new();
        let words = added_words(found);
        if let Some(part) = words.as_ref().and_then(|w| export(w, form)) {
            let _ = writeln!(text, "# all kernel parameters");
            for kept in &found.kept {
                if let Treatment::AddWord(word) = &kept.treatment {
                    let _ = writeln!(text, "# {word}: costs {}", kept.price);
                }
            }
            let _ = writeln!(text, "{part}");
        }
        for kept in &found.kept {
            let treatment = FileTreatment::from(kept.treatment.clone());
            if matches!(kept.treatment, Treatment::AddWord(_)) {
                continue;
            }
            let _ = writeln!(text, "# {treatment}: costs {}", kept.price);
            match export(&treatment, form) {
                Some(part) => text.push_str(&part),
                None => {
                    let then = match &kept.treatment {
                        Treatment::Order(_) => "run `firstlight image order --for ext4`",
                        Treatment::Prefetch(_) => "run `firstlight prefetch install`",
                        Treatment::Build(_) => "its configuration is in kernel.config",
                        _ => treatment.kind().then,
                    };
                    let _ = writeln!(text, "# (no form for {}: {then})", form.as_str());
                }
            }
            text.push('\n');
        }
        (form.as_str(), text)
    };
    forms.into_iter().map(of).collect()
}

/// The kernel configuration of what is kept; `None`: no treatment changes it.
///
/// # Errors
/// A fragment cannot be read.
pub fn kernel_config(found: &Found) -> Result<Option<String>, LabError> {
    let mut config = String::new();
    for kept in &found.kept {
        if let Treatment::Build(fragment) = &kept.treatment {
            config.push_str(&kernel_fragment(fragment)?);
        }
    }
    Ok((!config.is_empty()).then_some(config))
}
