//! The texts that rules look for in the lines of a log.

use aho_corasick::AhoCorasick;

/// Texts of log lines, and what finds them all in one pass.
pub(super) struct Watched {
    texts: Vec<&'static str>,
    heads: Option<Heads>,
    found: Option<AhoCorasick>,
}

impl Watched {
    /// Each of these texts once.
    pub fn of(texts: impl Iterator<Item = &'static str>) -> Self {
        let mut texts: Vec<&'static str> = texts.collect();
        texts.sort_unstable();
        texts.dedup();
        Self {
            heads: Heads::of(&texts),
            found: AhoCorasick::new(&texts).ok(),
            texts,
        }
    }

    /// The texts that are in a line, each as often as it is there.
    pub fn within<'l>(&'l self, line: &'l str) -> impl Iterator<Item = &'static str> + 'l {
        let may_have = |heads: &Heads| heads.may_begin_in(line.as_bytes());
        let is_searched = self.heads.as_ref().is_none_or(may_have);
        let found = self.found.as_ref().filter(|_| is_searched);
        let hits = found
            .into_iter()
            .flat_map(move |f| f.find_overlapping_iter(line));
        hits.filter_map(|hit| self.texts.get(hit.pattern().as_usize()).copied())
    }
}

/// How many first bytes of a text decide whether a line is searched.
const HEAD: usize = 4;

/// The first bytes of all texts: a bit for each 16-bit hash that one of them has. Most lines
/// have no such bytes, and looking them up takes a fraction of a search.
struct Heads(Box<[bool]>);

impl Heads {
    /// `None` if one of the texts is shorter.
    fn of(texts: &[&str]) -> Option<Self> {
        let mut bits = vec![false; 1 << u16::BITS].into_boxed_slice();
        for text in texts {
            *bits.get_mut(hash(text.as_bytes().first_chunk()?))? = true;
        }
        Some(Self(bits))
    }

    /// Whether one of the texts may begin in a line; it may not be there, too.
    fn may_begin_in(&self, line: &[u8]) -> bool {
        let heads = line.windows(HEAD).filter_map(<[u8]>::first_chunk);
        heads.map(hash).any(|at| self.0.get(at) == Some(&true))
    }
}

/// The upper half of a product with a large odd number (Knuth, "The Art of Computer
/// Programming", 6.4): below 65,536.
fn hash(head: &[u8; HEAD]) -> usize {
    (u32::from_le_bytes(*head).wrapping_mul(0x9e37_79b1) >> u16::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::Watched;
    use proptest::prelude::*;

    fn within(watched: &Watched, line: &str) -> Vec<&'static str> {
        let mut all: Vec<_> = watched.within(line).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    #[test]
    fn texts_are_found_wherever_they_stand_and_inside_each_other() {
        let watched = Watched::of(["firmware", "timed out", "firm", "firmware"].into_iter());
        assert_eq!(within(&watched, "no such line"), Vec::<&str>::new());
        assert_eq!(within(&watched, "the firmware"), ["firm", "firmware"]);
        assert_eq!(within(&watched, "timed out"), ["timed out"]);
        assert_eq!(within(&watched, "tim"), Vec::<&str>::new());
        let short = Watched::of(["ab", "firmware"].into_iter());
        assert_eq!(within(&short, "cab"), ["ab"]);
    }

    proptest! {
        /// Looking at first bytes leaves out no line that has a text.
        #[test]
        fn what_a_plain_search_finds_is_found(line in "[abc ]{0,40}") {
            const TEXTS: [&str; 5] = ["abca", "bbbb", "a b c", "cabac", "c  c"];
            let watched = Watched::of(TEXTS.into_iter());
            let mut plain: Vec<_> = TEXTS.into_iter().filter(|t| line.contains(t)).collect();
            plain.sort_unstable();
            prop_assert_eq!(within(&watched, &line), plain);
        }
    }
}
