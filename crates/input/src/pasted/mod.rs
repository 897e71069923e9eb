//! Logs that somebody copied from a page: what the page put around their text.
//!
//! A forum, a mail or a commented file changes a log in ways that have nothing to do with it:
//! characters become references (`&#9492;`, `&lt;`), colors become tags (`[COLOR=#CC0000]`),
//! and each line gets an indentation, a mark (`# `, `> `) or a number. They are taken away here,
//! before any source sees the log. Every line keeps its length, with blanks at its end, so
//! evidence points to the same place.
//!
//! Some show the newest line first. Such a log is turned round; its evidence points into the
//! turned text.

mod characters;
mod lines;
mod order;
mod padded;
pub mod page;

use characters::Characters;
use lines::LineMark;
use order::oldest_first;
use sources::{Sniff, Source};
use std::borrow::Cow;

/// What a page put into a log.
#[derive(Debug)]
pub struct Pasted {
    characters: Option<Characters>,
    lines: Option<LineMark>,
    /// The newest line is the first.
    turned: bool,
}

impl Pasted {
    /// What there is to take away, by the first bytes of a text; `None` if nothing. `known` is
    /// how sure the source is that knows these bytes best.
    ///
    /// Marks of lines count only if a source is surer of the text without them, or if it was
    /// taken for the text of any console: an indentation may belong to a format.
    pub fn of(head: &[u8], known: Known) -> Option<Self> {
        let is_text = memchr::memchr(0, head).is_none() && !head.starts_with(b"{");
        if !is_text || sources::document(head).is_some() {
            return None;
        }
        let characters = Characters::of(head);
        let (text, (sure, name)) = match &characters {
            Some(characters) => {
                let plain = characters.plain(head);
                let known = strength(sources::best(&plain));
                (Cow::Owned(plain), known)
            }
            None => (Cow::Borrowed(head), strength(known)),
        };
        let is_console = matches!(name, "console" | "loader-console");
        let lines = match sure < Sniff::Yes || is_console {
            true => LineMark::of(&text),
            false => None,
        };
        let lines = lines.filter(|mark| {
            let (surer, other) = strength(sources::best(&mark.plain(&text)));
            surer > sure || is_console && other != name
        });
        let turned = match &lines {
            Some(mark) => sources::newest_first(&mark.plain(&text)),
            None => sources::newest_first(&text),
        };
        let is_any = characters.is_some() || lines.is_some() || turned;
        is_any.then_some(Self {
            characters,
            lines,
            turned,
        })
    }

    /// A text without it.
    pub fn plain(&self, text: &[u8]) -> Vec<u8> {
        let text = match &self.characters {
            Some(characters) => Cow::Owned(characters.plain(text)),
            None => Cow::Borrowed(text),
        };
        let text = match &self.lines {
            Some(mark) => mark.plain(&text),
            None => text.into_owned(),
        };
        match self.turned {
            true => oldest_first(&text),
            false => text,
        }
    }
}

/// The source that knows a text best, and how sure it is.
pub type Known = Option<(Sniff, &'static dyn Source)>;

/// How sure that source is, and its name.
fn strength(known: Known) -> (Sniff, &'static str) {
    known.map_or((Sniff::No, ""), |(sure, source)| (sure, source.name()))
}

#[cfg(test)]
mod tests {
    use super::Pasted;
    use super::characters::Characters;
    use super::lines::LineMark;
    use proptest::prelude::*;

    /// What pages write, and what tears it.
    fn pages() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop::sample::select(vec![
            "&#9492;",
            "&lt;",
            "&",
            ";",
            "&#",
            "[B]",
            "[/B]",
            "[/",
            "<pre>",
            "</pre>",
            "<",
            "=3D",
            "=\n",
            "=",
            "# ",
            "> ",
            ">",
            "\t",
            "  ",
            "12 ",
            "\r\n",
            "\n",
            "[    0.100000] a: b",
            "└─a.service @1s",
            "\u{fffd}",
        ]);
        let text = prop::collection::vec(pieces, 0..60).prop_map(|p| p.concat().into_bytes());
        prop_oneof![text, prop::collection::vec(any::<u8>(), 0..200)]
    }

    #[test]
    fn an_indentation_of_a_format_stays() {
        let trace = "  8,0    0        1     0.000000000   100  D   R 800 + 8 [cat]\n\
                     \x20 8,0    0        2     0.000100000     0  C   R 800 + 8 [0]\n\
                     \x20 8,0    0        3     0.000200000   100  D   R 16 + 8 [cat]\n";
        assert!(Pasted::of(trace.as_bytes(), sources::best(trace.as_bytes())).is_none());
    }

    proptest! {
        #[test]
        fn no_text_grows_or_shrinks(text in pages()) {
            if let Some(characters) = Characters::of(&text) {
                prop_assert_eq!(characters.plain(&text).len(), text.len());
            }
            if let Some(mark) = LineMark::of(&text) {
                let plain = mark.plain(&text);
                prop_assert_eq!(plain.len(), text.len());
                // Lines begin where they began.
                let ends = |t: &[u8]| memchr::memchr_iter(b'\n', t).collect::<Vec<_>>();
                prop_assert_eq!(ends(&plain), ends(&text));
            }
            if let Some(pasted) = Pasted::of(&text, sources::best(&text)) {
                prop_assert_eq!(pasted.plain(&text).len(), text.len());
            }
        }
    }
}
