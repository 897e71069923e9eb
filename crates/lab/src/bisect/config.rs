//! The differences of two kernel configurations.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What a configuration says of an option that it does not name.
const OFF: &str = "n";

/// The options of a configuration with their values; `n` is off.
///
/// # Errors
/// The number of the first line that is none, and that line.
pub fn options(text: &str) -> Result<BTreeMap<String, String>, (usize, String)> {
    let mut all = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        let off = line
            .strip_prefix("# ")
            .and_then(|l| l.strip_suffix(" is not set"));
        let (name, value) = match (off, line.split_once('=')) {
            (Some(name), _) => (name, OFF),
            (None, _) if line.is_empty() || line.starts_with('#') => continue,
            (None, Some((name, value))) => (name, value),
            (None, None) => return Err((i + 1, line.chars().take(60).collect())),
        };
        if !name.starts_with("CONFIG_") {
            return Err((i + 1, line.chars().take(60).collect()));
        }
        all.insert(name.to_owned(), value.to_owned());
    }
    Ok(all)
}

/// An option that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The option.
    pub option: String,
    /// Its value in the first configuration.
    pub before: String,
    /// Its value in the second.
    pub after: String,
}

/// What the compiler and the build say of themselves, which nobody chose.
fn is_of_the_build(option: &str) -> bool {
    let name = option.trim_start_matches("CONFIG_");
    [
        "CC_", "GCC_", "CLANG_", "AS_", "LD_", "RUSTC_", "PAHOLE_", "TOOLS_", "GCC", "HAVE_",
    ]
    .iter()
    .any(|start| name.starts_with(start))
}

/// What differs, by the options' names.
pub fn differences(
    first: &BTreeMap<String, String>,
    second: &BTreeMap<String, String>,
) -> Vec<Changed> {
    let mut names: Vec<&String> = first.keys().chain(second.keys()).collect();
    names.sort();
    names.dedup();
    let value = |of: &BTreeMap<String, String>, name: &String| {
        of.get(name).cloned().unwrap_or_else(|| OFF.to_owned())
    };
    let all = names.into_iter().map(|name| Changed {
        option: name.clone(),
        before: value(first, name),
        after: value(second, name),
    });
    all.filter(|c| c.before != c.after && !is_of_the_build(&c.option))
        .collect()
}

/// The first configuration with some differences, as text.
pub fn text<'a>(
    first: &BTreeMap<String, String>,
    applied: impl Iterator<Item = &'a Changed>,
) -> String {
    let mut all = first.clone();
    for changed in applied {
        all.insert(changed.option.clone(), changed.after.clone());
    }
    let mut text = String::new();
    for (name, value) in all {
        let _ = match value.as_str() {
            OFF => writeln!(text, "# {name} is not set"),
            value => writeln!(text, "{name}={value}"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{differences, options, text};

    #[test]
    fn options_that_differ_are_applied_one_by_one() {
        let first = "#\n# Linux\n#\nCONFIG_A=y\nCONFIG_B=m\n# CONFIG_C is not set\n\
                     CONFIG_CC_VERSION_TEXT=\"gcc 12\"\nCONFIG_HZ=250\n";
        let second = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_HZ=1000\n\
                      CONFIG_CC_VERSION_TEXT=\"gcc 13\"\nCONFIG_D=y\n";
        let [first, second] = [first, second].map(|t| options(t).unwrap());
        let all = differences(&first, &second);
        let names: Vec<String> = all
            .iter()
            .map(|c| format!("{} {} {}", c.option, c.before, c.after))
            .collect();
        let wanted = [
            "CONFIG_B m n",
            "CONFIG_C n y",
            "CONFIG_D n y",
            "CONFIG_HZ 250 1000",
        ];
        assert_eq!(names, wanted);
        let mixed = text(&first, all.iter().skip(3));
        assert!(mixed.contains("CONFIG_HZ=1000\n") && mixed.contains("CONFIG_B=m\n"));
        assert!(mixed.contains("# CONFIG_C is not set\n"));
        let whole = options(&text(&first, all.iter())).unwrap();
        assert!(differences(&whole, &second).is_empty());
    }

    #[test]
    fn another_file_is_refused_with_its_line() {
        assert_eq!(
            options("CONFIG_A=y\nhello\n").unwrap_err(),
            (2, "hello".to_owned())
        );
        assert_eq!(options("PATH=/bin\n").unwrap_err().0, 1);
    }
}
