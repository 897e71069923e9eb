//! The differences of two kernel command lines.

use treat::{BootSpec, CommandLine, Treatment};

/// A parameter that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The parameter, and what it becomes: `loglevel: 7 -> 4`.
    pub name: String,
    /// The words of the first command line that go.
    pub removed: Vec<String>,
    /// The words of the second that come.
    pub added: Vec<String>,
}

/// The name of a parameter: what is before `=`.
fn key(word: &str) -> &str {
    word.split_once('=').map_or(word, |(key, _)| key)
}

/// What differs between the kernel's words of two command lines, one parameter each. A
/// parameter that both have with other values is one difference.
pub fn differences(first: &CommandLine, second: &CommandLine) -> Vec<Words> {
    let only = |of: &CommandLine, other: &CommandLine| -> Vec<String> {
        let words = of.parts().0.iter();
        words.filter(|w| !other.contains(w)).cloned().collect()
    };
    let (removed, added) = (only(first, second), only(second, first));
    let mut keys: Vec<&str> = Vec::new();
    for word in removed.iter().chain(&added) {
        if !keys.contains(&key(word)) {
            keys.push(key(word));
        }
    }
    let of = |words: &[String], wanted: &str| -> Vec<String> {
        let found = words.iter().filter(|w| key(w) == wanted);
        found.cloned().collect()
    };
    let all = keys.iter().map(|wanted| {
        let (removed, added) = (of(&removed, wanted), of(&added, wanted));
        let name = match (removed.as_slice(), added.as_slice()) {
            (gone, []) => format!("{} -> absent", gone.join(" ")),
            ([], new) => format!("absent -> {}", new.join(" ")),
            (gone, new) => format!("{} -> {}", gone.join(" "), new.join(" ")),
        };
        Words {
            name,
            removed,
            added,
        }
    });
    all.collect()
}

/// `base` with the first command line's own words, and with some differences.
pub fn applied<'a>(
    base: &BootSpec,
    own: &[String],
    differences: impl Iterator<Item = &'a Words>,
) -> BootSpec {
    let mut spec = base.clone();
    for word in own {
        spec.cmdline.add(word);
    }
    let treatments = differences.flat_map(|words| {
        let removed = words.removed.iter().cloned().map(Treatment::RemoveWord);
        removed.chain(words.added.iter().cloned().map(Treatment::AddWord))
    });
    for treatment in treatments {
        // A word that is not there needs not be taken away.
        if let Ok((after, _)) = treatment.apply(&spec) {
            spec = after;
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::{applied, differences};
    use treat::{BootSpec, CommandLine};

    #[test]
    fn words_of_init_are_no_parameters() {
        let of = |text: &str| CommandLine::parse(text).unwrap();
        assert_eq!(differences(&of("a -- single"), &of("a -- single")), []);
        let all = differences(&of("quiet -- quiet"), &of("-- quiet"));
        let names: Vec<&str> = all.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, ["quiet -> absent"]);
    }

    #[test]
    fn a_changed_value_is_one_difference() {
        let of = |text: &str| CommandLine::parse(text).unwrap();
        let (first, second) = (of("a quiet loglevel=7 x=1"), of("a loglevel=4 x=1 splash"));
        let all = differences(&first, &second);
        let names: Vec<&str> = all.iter().map(|w| w.name.as_str()).collect();
        let wanted = [
            "quiet -> absent",
            "loglevel=7 -> loglevel=4",
            "absent -> splash",
        ];
        assert_eq!(names, wanted);
        let own = ["quiet".to_owned(), "loglevel=7".to_owned()];
        let base = BootSpec {
            cmdline: of("console=ttyS0"),
            ..BootSpec::default()
        };
        let with = |numbers: &[usize]| {
            let some = numbers.iter().filter_map(|i| all.get(*i));
            applied(&base, &own, some).cmdline.to_string()
        };
        assert_eq!(with(&[]), "console=ttyS0 quiet loglevel=7");
        assert_eq!(with(&[1]), "console=ttyS0 quiet loglevel=4");
        assert_eq!(with(&[0, 1, 2]), "console=ttyS0 loglevel=4 splash");
    }
}
