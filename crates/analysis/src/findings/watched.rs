//! The texts that rules look for in the lines of a log.

use std::num::NonZeroU16;

/// Texts of log lines, and what finds them all in one pass.
pub(super) struct Watched {
    /// In the order of their heads' hashes.
    texts: Vec<&'static str>,
    /// By the hash of a head: behind which place in the texts those begin that have it; 0 for
    /// none. Few lines have such heads, and looking them up takes a fraction of a search.
    places: Box<[u16]>,
    /// Those that are shorter than a head.
    short: Vec<&'static str>,
}

/// How many first bytes of a text decide whether it is compared.
const HEAD: usize = 4;

/// How many bits the hash of a head has: with some hundred texts, few other bytes have the hash
/// of one of them, and the table fits into a processor's first cache.
const HASH_BITS: u32 = 13;

impl Watched {
    /// Each of these texts once.
    pub fn of(texts: impl Iterator<Item = &'static str>) -> Self {
        let (mut texts, mut short): (Vec<_>, Vec<_>) = texts.partition(|t| t.len() >= HEAD);
        for texts in [&mut texts, &mut short] {
            texts.sort_unstable_by_key(|t| (head(t.as_bytes()).map(hash), *t));
            texts.dedup();
        }
        let mut places = vec![0; 1 << HASH_BITS].into_boxed_slice();
        for (place, text) in (1..=u16::MAX).zip(&texts) {
            let hash = head(text.as_bytes()).map_or(0, hash);
            if let Some(first @ 0) = places.get_mut(hash) {
                *first = place;
            }
        }
        Self {
            texts,
            places,
            short,
        }
    }

    /// The texts that are in a line, each as often as it is there, but short ones once.
    pub fn within<'l>(&'l self, line: &'l str) -> impl Iterator<Item = &'static str> + 'l {
        let bytes = line.as_bytes();
        let starts = bytes.windows(HEAD).enumerate();
        // First which places are worth a comparison: it is done for each byte of a log.
        let starts =
            starts.filter_map(|(at, head)| Some((at, self.place_of(head.first_chunk()?)?)));
        let long = starts.flat_map(move |(at, place)| {
            let rest = bytes.get(at..).unwrap_or_default();
            let texts = self.texts_at(place);
            texts.filter(move |text| rest.starts_with(text.as_bytes()))
        });
        long.chain(
            self.short
                .iter()
                .copied()
                .filter(|text| line.contains(*text)),
        )
    }

    /// Where the texts begin whose heads have the hash of this one.
    fn place_of(&self, head: &[u8; HEAD]) -> Option<NonZeroU16> {
        NonZeroU16::new(*self.places.get(hash(head))?)
    }

    /// The texts from a place on whose heads have the same hash.
    fn texts_at(&self, place: NonZeroU16) -> impl Iterator<Item = &'static str> + '_ {
        let texts = self.texts.get(usize::from(place.get()) - 1..);
        let texts = texts.unwrap_or_default().iter().copied();
        let hash_of = |text: &&str| head(text.as_bytes()).map(hash);
        let wanted = texts.clone().next().as_ref().and_then(hash_of);
        texts.take_while(move |text| hash_of(text) == wanted)
    }
}

/// The first bytes of a text; `None` if it is shorter.
fn head(text: &[u8]) -> Option<&[u8; HEAD]> {
    text.first_chunk()
}

/// The upper bits of a product with a large odd number (Knuth, "The Art of Computer
/// Programming", 6.4).
fn hash(head: &[u8; HEAD]) -> usize {
    (u32::from_le_bytes(*head).wrapping_mul(0x9e37_79b1) >> (u32::BITS - HASH_BITS)) as usize
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
            const TEXTS: [&str; 7] =
                ["abca", "abcab", "bbbb", "a b c", "cabac", "c  c", "ab"];
            let watched = Watched::of(TEXTS.into_iter());
            let mut plain: Vec<_> = TEXTS.into_iter().filter(|t| line.contains(t)).collect();
            plain.sort_unstable();
            prop_assert_eq!(within(&watched, &line), plain);
        }
    }
}
