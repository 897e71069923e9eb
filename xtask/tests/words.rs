//! How Firstlight speaks: phrases that are no plain English, and better ones.
//!
//! Looked at is everything that a user reads: string literals and the help of arguments
//! in the rooms, the page's text, the documentation and the schemas.

#![allow(clippy::expect_used, clippy::panic, reason = "a test")]

use proc_macro2::{TokenStream, TokenTree};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A phrase, in lower case, and what to write in its place.
const BANNED: &[(&str, &str)] = &[
    ("told apart", "distinguished"),
    ("tells them apart", "distinguishes them"),
    ("are apart", "differ"),
    ("further apart", "differ by more"),
    ("the middle of the errors", "the median error"),
    ("made anew", "rebuilt"),
    ("tried anew", "retried"),
    ("begin anew", "restart"),
    ("boots everything anew", "repeats all boots"),
    ("innocent word", "neutral perturbation"),
    ("innocent change", "neutral perturbation"),
    ("innocent perturbation", "neutral perturbation"),
    ("innocently perturbed", "with a neutral perturbation"),
    ("what it takes", "its duration"),
    ("what it costs", "its cost"),
    ("what that costs", "its cost"),
    ("what it needs", "its requirements"),
    ("what goes in", "inputs"),
    ("what was read", "files read"),
    ("what they took", "their duration"),
    ("is there already", "already exists"),
    ("are there already", "already exist"),
    ("is not there yet", "has not appeared yet"),
    ("these sources", "the input"),
    ("in the sources ends", "no input says when the boot ended"),
    ("by order", "on the critical path"),
    ("as far as is known", "apparently; or leave it out"),
    ("looks whether", "checks whether"),
    ("look whether", "check whether"),
    ("sums up every", "checksums every"),
    ("in format that is known", "not a recognized format"),
    ("in no format that is known", "not a recognized format"),
    ("hold no evidence", "were skipped"),
    ("holds up all", "delays every unit"),
    ("holds first light up", "delays first light"),
    ("lie where", "are at"),
    ("to be had", "available"),
    ("by chance alone", "(give the p value)"),
    ("in 19 of 20 cases", "95 % confidence interval"),
    ("word on the command line", "kernel parameter"),
    ("word of the command line", "option"),
    ("no program can", "this cannot be automated"),
    ("an emulator's", "an emulated UART"),
    ("has no name any more", "has been deleted"),
    ("have no name any more", "have been deleted"),
    ("judge nothing", "shown for reference only"),
    ("and says no.", "and is refused"),
    ("is doubtful, and what", "is uncertain"),
    ("at least one ran for", "with overlaps counted once"),
    ("evidence is missing", "incomplete input"),
    ("of another kind", "unrelated"),
    ("or is counted above", "or is accounted for above"),
];

/// British spellings, and the American ones.
const SPELLINGS: &[(&str, &str)] = &[
    ("colour", "color"),
    ("behaviour", "behavior"),
    ("licence", "license"),
    ("recognised", "recognized"),
    ("initialise", "initialize"),
    ("optimise", "optimize"),
    ("summarise", "summarize"),
    ("journalling", "journaling"),
];

/// Texts that a user reads, each with its line.
type Texts = Vec<(usize, String)>;

/// The string literals of a Rust file, with the documentation of its items, which is
/// the help of arguments. Tests are left out.
fn of_rust(text: &str, with_docs: bool) -> Texts {
    let file = syn::parse_file(text).expect("the compiler parses it too");
    let mut found = Texts::new();
    for item in file.items {
        let tokens = quote::ToTokens::to_token_stream(&item);
        if !tokens.to_string().starts_with("# [cfg (test)]") {
            literals(tokens, with_docs, &mut found);
        }
    }
    found
}

fn literals(tokens: TokenStream, with_docs: bool, found: &mut Texts) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Literal(literal) => {
                if let syn::Lit::Str(text) = syn::Lit::new(literal.clone()) {
                    found.push((literal.span().start().line, text.value()));
                }
            }
            TokenTree::Group(group) => {
                let before = at.checked_sub(1).and_then(|i| tokens.get(i));
                let is_attribute =
                    matches!(before, Some(TokenTree::Punct(p)) if p.as_char() == '#');
                let is_doc = group.stream().to_string().starts_with("doc =");
                if !(is_attribute && is_doc && !with_docs) {
                    literals(group.stream(), with_docs, found);
                }
            }
            _ => {}
        }
    }
}

/// The string literals of a script, line by line.
fn of_script(text: &str) -> Texts {
    let mut found = Texts::new();
    for (at, line) in text.lines().enumerate() {
        let mut rest = line;
        while let Some((_, opened)) = rest.split_once(['"', '`']) {
            let quote = rest.as_bytes().get(rest.len() - opened.len() - 1);
            let end = opened.find(if quote == Some(&b'"') { '"' } else { '`' });
            let end = end.unwrap_or(opened.len());
            found.push((at + 1, opened[..end].to_owned()));
            rest = opened.get(end + 1..).unwrap_or_default();
        }
    }
    found
}

/// The lines of another text; in Markdown without code, in which others speak.
fn of_lines(text: &str, is_markdown: bool) -> Texts {
    let mut in_code = false;
    let mut found = Texts::new();
    for (at, line) in text.lines().enumerate() {
        if is_markdown && line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code {
            found.push((at + 1, line.to_owned()));
        }
    }
    found
}

/// The files below `folder` whose names end in one of `endings`.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("readable")
        .flatten()
        .map(|e| e.path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, endings, found);
        } else if endings.iter().any(|e| path.to_string_lossy().ends_with(e)) {
            found.push(path);
        }
    }
}

/// What is wrong with a text: the phrase, and a better one.
fn faults(text: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let words = words.to_lowercase();
    let all = BANNED.iter().chain(SPELLINGS);
    all.filter(move |(phrase, _)| contains(&words, phrase))
        .copied()
}

/// Whether `text` has `phrase` at the beginning of a word.
fn contains(text: &str, phrase: &str) -> bool {
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back());
        before.is_none_or(|c| !c.is_alphanumeric())
    })
}

#[test]
fn all_that_a_user_reads_is_plain_english() {
    let workspace = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut all = Vec::new();
    for room in std::fs::read_dir(workspace.join("crates"))
        .expect("crates/")
        .flatten()
    {
        files(&room.path().join("src"), &[".rs"], &mut all);
    }
    for (folder, endings) in [
        ("ui/src", [".ts"]),
        ("docs", [".md"]),
        ("schemas", [".json"]),
    ] {
        files(&workspace.join(folder), &endings, &mut all);
    }
    all.extend(["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|f| workspace.join(f)));
    let mut report = String::new();
    for path in all {
        let name = path
            .strip_prefix(workspace)
            .unwrap_or(&path)
            .display()
            .to_string();
        let text = std::fs::read_to_string(&path).expect("readable");
        let is_test = name.ends_with("/tests.rs") || name.contains("/tests/");
        let texts = match path.extension().and_then(|e| e.to_str()) {
            Some("rs") if is_test => continue,
            Some("rs") => of_rust(&text, name.contains("args")),
            Some("ts") => of_script(&text),
            Some(extension) => of_lines(&text, extension == "md"),
            None => continue,
        };
        for (line, text) in texts {
            for (phrase, better) in faults(&text) {
                writeln!(report, "{name}:{line}: '{phrase}': write '{better}'").ok();
            }
        }
    }
    let count = report.lines().count();
    assert!(report.is_empty(), "{count} phrases\n{report}");
}

#[test]
fn phrases_are_found_in_literals_and_help_but_not_in_tests_or_comments() {
    let text = "// told apart\n/// told apart\nfn f() {\n    g(\"they are\n        told apart\");\n}\n\
                #[cfg(test)]\nmod tests { const A: &str = \"made anew\"; }\n";
    let found = |with_docs| -> Vec<usize> {
        let texts = of_rust(text, with_docs).into_iter();
        let bad = texts.filter(|(_, text)| faults(text).next().is_some());
        bad.map(|(line, _)| line).collect()
    };
    assert_eq!(found(false), [4]);
    assert_eq!(found(true), [2, 4]);
}

#[test]
fn a_phrase_begins_at_a_word_and_code_blocks_are_left_out() {
    assert_eq!(faults("the software apart").count(), 0);
    assert_eq!(faults("Colours").next(), Some(("colour", "color")));
    assert_eq!(faults("discoloured").count(), 0);
    let lines = of_lines("a\n```\nmade anew\n```\nmade anew\n", true);
    let bad = lines
        .iter()
        .filter(|(_, text)| faults(text).next().is_some());
    assert_eq!(bad.map(|(line, _)| *line).collect::<Vec<_>>(), [5]);
    let script = "// told apart\nconst colour = \"made anew\" + `${a} made anew`;\n";
    assert_eq!(of_script(script).len(), 2);
}
