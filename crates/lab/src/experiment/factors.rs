//! Factors: every combination of their levels is a variant.

use super::file::{Factor, VariantFile};
use std::collections::BTreeMap;
use toml::Spanned;

/// More combinations than this are a mistake: each is a boot at least.
pub const MOST: usize = 256;

/// Every combination of one level of each factor, by the factors' names: named by
/// its levels, as in `quiet-uncompressed`, with their treatments one after the
/// other. The combination that changes nothing is the baseline, and left out.
///
/// # Errors
/// Where and a clause, if there are too many, or a factor has no level.
pub fn variants(
    factors: &BTreeMap<String, Spanned<Factor>>,
) -> Result<Vec<Spanned<VariantFile>>, (std::ops::Range<usize>, String)> {
    let Some(first) = factors.values().next() else {
        return Ok(Vec::new());
    };
    let mut all = vec![(Vec::new(), Vec::new())];
    for (name, factor) in factors {
        let levels = factor.get_ref();
        if levels.is_empty() {
            let why = format!("the factor `{name}` has no level; add at least one");
            return Err((factor.span(), why));
        }
        if all.len().saturating_mul(levels.len()) > MOST {
            let why = format!(
                "with the factor `{name}` there are more than {MOST} combinations; remove levels \
                 or list the variants instead"
            );
            return Err((factor.span(), why));
        }
        let mut next = Vec::new();
        for (names, treatments) in &all {
            for (level, more) in levels {
                let names: Vec<&str> = [&names[..], &[level.as_str()]].concat();
                let treatments: Vec<&Spanned<String>> =
                    treatments.iter().copied().chain(more).collect();
                next.push((names, treatments));
            }
        }
        all = next;
    }
    let span = first.span();
    let changed = all.into_iter().filter(|(_, t)| !t.is_empty());
    let variants = changed.map(|(names, treatments)| {
        let file = VariantFile {
            name: Spanned::new(span.clone(), names.join("-")),
            treatments: treatments.into_iter().cloned().collect(),
        };
        Spanned::new(span.clone(), file)
    });
    Ok(variants.collect())
}

#[cfg(test)]
mod tests {
    use crate::experiment::Experiment;

    const HEAD: &str = "firstlight_experiment = 1\n[base]\nmachine = \"pc\"\nstorage = \"none\"\n\
                        kernel = \"debian\"\nroot = \"none\"\ncmdline = [\"a\"]\n\
                        first_light = \"init\"\n";

    fn names(text: &str) -> Result<Vec<String>, String> {
        let experiment = Experiment::parse("e.toml", &format!("{HEAD}{text}"));
        let experiment = experiment.map_err(|e| e.to_string())?;
        let variants = experiment.variants.iter();
        Ok(variants
            .map(|v| format!("{}: {} {}", v.name, v.spec.kernel.as_str(), v.spec.cmdline))
            .collect())
    }

    #[test]
    fn every_combination_is_a_variant() {
        let text = "[[variant]]\nname = \"own\"\ntreatments = [\"cmdline+=own\"]\n\
                    [factor.console]\nloud = []\nquiet = [\"cmdline+=quiet\"]\n\
                    [factor.form]\nimage = []\nunpacked = [\"kernel=uncompressed\"]\n";
        assert_eq!(
            names(text).unwrap(),
            [
                "baseline: image a",
                "own: image a own",
                "loud-unpacked: uncompressed a",
                "quiet-image: image a quiet",
                "quiet-unpacked: uncompressed a quiet",
            ]
        );
    }

    #[test]
    fn what_is_wrong_with_factors_is_said_with_its_line() {
        let said = names("[factor.x]\n").unwrap_err();
        assert!(
            said.starts_with("e.toml:9: the factor `x` has no level"),
            "{said}"
        );
        let mut many = String::new();
        for factor in 0..9 {
            many.push_str(&format!(
                "[factor.f{factor}]\na = []\nb = [\"cmdline+=f{factor}\"]\n"
            ));
        }
        assert!(names(&many).unwrap_err().contains("more than 256"));
        let said = names("[factor.x]\na = [\"no such thing\"]\n").unwrap_err();
        assert!(
            said.starts_with("e.toml:10: ") && said.contains("unknown treatment `no such thing`"),
            "{said}"
        );
    }
}
