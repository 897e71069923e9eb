//! The kernel command line as words.

use std::fmt;

/// The words of a kernel command line, each as it is written: quotes stay.
///
/// The kernel splits at white space outside of double quotes
/// (`next_arg` of `lib/cmdline.c`), and so does this.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine(Vec<String>);

/// Why a text is not one word of a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordError {
    /// There is nothing.
    #[error("the kernel parameter is empty")]
    Empty,
    /// A double quote has no partner.
    #[error("`{0}` has an unclosed double quote")]
    Quote(String),
    /// There is white space outside of quotes.
    #[error(
        "`{0}` contains a space outside quotes; quote its value as in `key=\"a b\"` or pass \
        two treatments"
    )]
    Several(String),
    /// It is `--`.
    #[error(
        "`--` is not a kernel parameter; it separates kernel parameters from arguments of init"
    )]
    End,
    /// The console and the kernel read bytes up to the first NUL.
    #[error("`{0}` contains a control character")]
    Control(String),
}

/// Everything behind this word is for init, not for the kernel.
const END: &str = "--";

impl CommandLine {
    /// Splits a command line.
    ///
    /// # Errors
    /// If a double quote is not closed, or a control character is in it.
    pub fn parse(text: &str) -> Result<Self, WordError> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quoted = false;
        for c in text.trim_end().chars() {
            match c {
                '"' => {
                    quoted = !quoted;
                    word.push(c);
                }
                ' ' | '\t' | '\n' if !quoted => {
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                }
                c if c.is_control() => return Err(WordError::Control(text.to_owned())),
                c => word.push(c),
            }
        }
        if quoted {
            return Err(WordError::Quote(word));
        }
        if !word.is_empty() {
            words.push(word);
        }
        Ok(Self(words))
    }

    /// The words, in order.
    #[must_use]
    pub fn words(&self) -> &[String] {
        &self.0
    }

    /// The words that the kernel gets, and those behind `--`, which are init's.
    #[must_use]
    pub fn parts(&self) -> (&[String], &[String]) {
        let (kernel, rest) = self.0.split_at(self.end());
        (kernel, rest.get(1..).unwrap_or_default())
    }

    /// Whether the kernel gets `word`.
    #[must_use]
    pub fn contains(&self, word: &str) -> bool {
        self.parts().0.iter().any(|w| w == word)
    }

    /// Adds `word` behind the kernel's last; says where, or `None` if it is
    /// already there.
    pub fn add(&mut self, word: &str) -> Option<usize> {
        if self.contains(word) {
            return None;
        }
        let at = self.end();
        self.0.insert(at, word.to_owned());
        Some(at)
    }

    /// Takes all `word`s away from the kernel's; says where they were, first to last.
    pub(crate) fn remove(&mut self, word: &str) -> Vec<usize> {
        let places = self.parts().0.iter().enumerate();
        let places = places.filter(|(_, w)| *w == word).map(|(i, _)| i);
        let places: Vec<usize> = places.collect();
        for place in places.iter().rev() {
            self.0.remove(*place);
        }
        places
    }

    /// Takes `word` away from place `at`; false if it is not there.
    pub(crate) fn take(&mut self, at: usize, word: &str) -> bool {
        let there = self.0.get(at).is_some_and(|w| w == word);
        if there {
            self.0.remove(at);
        }
        there
    }

    /// Puts `word` at place `at`; false if there is no such place.
    pub(crate) fn put(&mut self, at: usize, word: &str) -> bool {
        let possible = at <= self.0.len();
        if possible {
            self.0.insert(at, word.to_owned());
        }
        possible
    }

    /// Puts what `with` says in the place of each of the kernel's words; false if all
    /// stay as they are.
    pub(crate) fn change(&mut self, mut with: impl FnMut(&str) -> Option<String>) -> bool {
        let end = self.end();
        let mut changed = false;
        for word in self.0.iter_mut().take(end) {
            if let Some(new) = with(word).filter(|new| new != word) {
                *word = new;
                changed = true;
            }
        }
        changed
    }

    fn end(&self) -> usize {
        self.0.iter().position(|w| w == END).unwrap_or(self.0.len())
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(" "))
    }
}

/// Checks that `text` is exactly one word.
pub(crate) fn check_word(text: &str) -> Result<(), WordError> {
    if text == END {
        return Err(WordError::End);
    }
    let line = CommandLine::parse(text)?;
    match line.words() {
        [] => Err(WordError::Empty),
        [word] if word == text => Ok(()),
        _ => Err(WordError::Several(text.to_owned())),
    }
}

/// What stands before the first `=`; dashes and underscores are the same to
/// the kernel.
pub(crate) fn key(word: &str) -> String {
    let key = word.split('=').next().unwrap_or(word);
    key.replace('-', "_")
}
