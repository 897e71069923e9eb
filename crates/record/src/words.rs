//! Counts in sentences.

/// `initcall` or `initcalls`; `match` or `matches`; `try` or `tries`.
#[must_use]
pub fn plural(n: usize, word: &str) -> String {
    if n == 1 {
        return word.to_owned();
    }
    let vowel = |c: char| "aeiou".contains(c);
    match word.strip_suffix('y') {
        Some(stem) if !stem.ends_with(vowel) => format!("{stem}ies"),
        _ if ["s", "x", "ch", "sh"].iter().any(|e| word.ends_with(e)) => format!("{word}es"),
        _ => format!("{word}s"),
    }
}

/// `1 device` or `2 devices`: a number and what it counts.
#[must_use]
pub fn counted(n: usize, word: &str) -> String {
    format!("{n} {}", plural(n, word))
}
