//! The differences of two lists of packages.

use std::collections::BTreeMap;

/// The packages of a list by their names, each with its line. Known forms: `name version`
/// (`dpkg-query -W`), `name=version`, `name architecture version` (Yocto's manifest) and
/// the lines of installed packages of `dpkg -l`.
pub fn packages(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let is_dpkg = text.lines().any(|l| l.starts_with("ii  "));
    for line in text.lines().map(str::trim) {
        let installed = line.strip_prefix("ii ").map(str::trim_start);
        let whole = match (installed, is_dpkg) {
            (Some(rest), _) => rest,
            (None, true) => continue,
            (None, false) if line.is_empty() || line.starts_with('#') => continue,
            (None, false) => line,
        };
        let mut words = whole.split_whitespace();
        let first = words.next().unwrap_or_default();
        // Behind the version, `dpkg -l` has what a reader wants.
        let (line, first) = match is_dpkg {
            true => (
                format!("{first} {}", words.next().unwrap_or_default()),
                first,
            ),
            false => (whole.to_owned(), first),
        };
        let name = first.split_once('=').map_or(first, |(name, _)| name);
        all.insert(name.to_owned(), line);
    }
    all
}

/// A package that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its line in the first list; `None`: it is not there.
    pub before: Option<String>,
    /// Its line in the second list.
    pub after: Option<String>,
}

impl Package {
    /// For the reader.
    pub fn shown(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => format!("{before} -> {after}"),
            (Some(before), None) => format!("{before} -> absent"),
            (None, Some(after)) => format!("absent -> {after}"),
            (None, None) => self.name.clone(),
        }
    }
}

/// What differs, by names.
pub fn differences(
    first: &BTreeMap<String, String>,
    second: &BTreeMap<String, String>,
) -> Vec<Package> {
    let mut names: Vec<&String> = first.keys().chain(second.keys()).collect();
    names.sort();
    names.dedup();
    let all = names.into_iter().map(|name| Package {
        name: name.clone(),
        before: first.get(name).cloned(),
        after: second.get(name).cloned(),
    });
    all.filter(|p| p.before != p.after).collect()
}

/// The first list with some differences.
pub fn text<'a>(
    first: &BTreeMap<String, String>,
    applied: impl Iterator<Item = &'a Package>,
) -> String {
    let mut all = first.clone();
    for package in applied {
        match &package.after {
            Some(line) => all.insert(package.name.clone(), line.clone()),
            None => all.remove(&package.name),
        };
    }
    all.values().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::{differences, packages, text};

    #[test]
    fn all_forms_of_lists_are_read() {
        let dpkg = "Desired=Unknown/Install\n||/ Name  Version\n+++-===\n\
                    ii  cron           3.0pl1-162  amd64  daemon\n\
                    rc  gone           1.0         amd64  old\n\
                    ii  libc6:amd64    2.36-9      amd64  library\n";
        for first in [
            dpkg,
            "cron 3.0pl1-162\nlibc6:amd64 2.36-9\n",
            "cron=3.0pl1-162\nlibc6:amd64=2.36-9\n",
        ] {
            let names: Vec<String> = packages(first).into_keys().collect();
            assert_eq!(names, ["cron", "libc6:amd64"], "{first}");
        }
    }

    #[test]
    fn packages_come_go_and_change() {
        let [first, second] = ["a 1\nb 1\nc 1\n", "a 1\nb 2\nd 1\n"].map(packages);
        let all = differences(&first, &second);
        let names: Vec<String> = all.iter().map(super::Package::shown).collect();
        assert_eq!(names, ["b 1 -> b 2", "c 1 -> absent", "absent -> d 1"]);
        assert_eq!(text(&first, all.iter().take(1)), "a 1\nb 2\nc 1\n");
        assert_eq!(text(&first, all.iter()), "a 1\nb 2\nd 1\n");
    }
}
