//! The catalogue of findings in `docs/findings/` is made from the code.
#![allow(clippy::unwrap_used, reason = "tests")]

use firstlight_analysis::{CATALOGUE, Rule};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Text in lines of at most 80 columns.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > 80 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

fn page(rule: &Rule) -> String {
    let treatment = match rule.treatment {
        Some(t) => format!("`{t}` (see [firstlight treat](../treat.md))"),
        None => "none: this cannot be automated".to_owned(),
    };
    let rows = [
        ("Where", rule.group.as_str().to_owned()),
        ("Needs", rule.needs.to_owned()),
        ("Saving", rule.model.to_owned()),
        ("Confidence", rule.confidence.as_str().to_owned()),
        ("Cost", rule.risk.to_owned()),
        ("Treatment", treatment),
    ];
    let rows: String = rows
        .iter()
        .map(|(name, text)| format!("| {name} | {} |\n", text.replace('|', "\\|")))
        .collect();
    format!(
        "# {}\n\n    {}\n\n{}\n\n| | |\n|---|---|\n{rows}",
        rule.title,
        rule.id,
        wrapped(rule.about)
    )
}

fn index() -> String {
    let mut text =
        "# Findings\n\n`firstlight advise` looks for these findings. The pages are generated \
                    from the code.\n"
            .to_owned();
    let mut by_group: BTreeMap<_, Vec<&Rule>> = BTreeMap::new();
    for rule in CATALOGUE.iter().copied() {
        by_group.entry(rule.group).or_default().push(rule);
    }
    for (group, rules) in by_group {
        text.push_str(&format!("\n## {}\n\n", group.as_str()));
        for rule in rules {
            text.push_str(&format!("- [{}]({}.md)\n", rule.title, rule.id));
        }
    }
    text
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/findings")
}

#[test]
fn every_finding_has_its_page_and_no_page_is_left_over() {
    let mut wanted: BTreeMap<String, String> = CATALOGUE
        .iter()
        .map(|r| (format!("{}.md", r.id), page(r)))
        .collect();
    wanted.insert("README.md".to_owned(), index());
    if std::env::var_os("FIRSTLIGHT_BLESS").is_some() {
        let _ = std::fs::remove_dir_all(folder());
        std::fs::create_dir_all(folder()).unwrap();
        for (name, text) in &wanted {
            std::fs::write(folder().join(name), text).unwrap();
        }
    }
    let there = std::fs::read_dir(folder()).unwrap().map(|e| e.unwrap());
    let there: BTreeMap<String, String> = there
        .map(|e| {
            let name = e.file_name().into_string().unwrap();
            let text = std::fs::read_to_string(e.path()).unwrap();
            (name, text)
        })
        .collect();
    assert_eq!(there, wanted, "./x bless makes the pages anew");
}

#[test]
fn the_catalogue_is_sorted_whole_and_says_all() {
    let ids: Vec<&str> = CATALOGUE.iter().map(|r| r.id).collect();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(ids, sorted);
    assert!(ids.len() >= 30);
    for rule in CATALOGUE.iter().copied() {
        for text in [rule.title, rule.about, rule.model, rule.risk, rule.needs] {
            assert!(!text.is_empty(), "{}", rule.id);
        }
        assert!(firstlight_analysis::rule(rule.id).is_some());
    }
}
