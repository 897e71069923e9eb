//! How time passes in an experiment's boots.

use super::file::BaseFile;
use std::num::NonZeroU32;
use std::ops::Range;
use toml::Spanned;

/// How time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// An instruction takes a fixed time, so a boot is a pure function.
    #[default]
    Exact,
    /// In real time: every boot differs, and only many of them say something.
    Statistical(Sampling),
}

/// In which way boots in real time are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// How many boots each variant gets before those that count.
    pub warm_up: u32,
    /// What the order of the boots is drawn from.
    pub seed: u64,
}

impl Mode {
    /// Whether the same inputs give the same boot.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self == Self::Exact
    }

    /// How many boots each variant gets, if nobody says otherwise. Exact: one as it
    /// is and three perturbed ones. With fewer, more than one in a hundred pairs of equal
    /// variants would be called different (`firstlight lab resolution`). In real time: what
    /// tells two samples that lie apart at one chance in ten thousand, and still sees a few
    /// outliers as such.
    pub(super) const fn ensemble(self) -> NonZeroU32 {
        match self {
            Self::Exact => const { NonZeroU32::new(4).unwrap() },
            Self::Statistical(_) => const { NonZeroU32::new(10).unwrap() },
        }
    }

    /// The mode of a file, or where and what is wrong with it.
    pub(super) fn read(file: &BaseFile) -> Result<Self, (Range<usize>, String)> {
        match file.mode.as_ref().map(|m| m.get_ref().as_str()) {
            None | Some("exact") => {}
            Some("statistical") => {
                return Ok(Self::Statistical(Sampling {
                    warm_up: file.warm_up.as_ref().map_or(1, |w| *w.get_ref()),
                    seed: file.seed.as_ref().map_or(1, |s| *s.get_ref()),
                }));
            }
            Some(other) => {
                let span = file.mode.as_ref().map_or(0..0, Spanned::span);
                return Err((
                    span,
                    format!("expected `exact` or `statistical`, found `{other}`"),
                ));
            }
        }
        let seed = file.seed.as_ref().map(|s| (s.span(), "seed"));
        let warm_up = file.warm_up.as_ref().map(|w| (w.span(), "warm_up"));
        match warm_up.or(seed) {
            None => Ok(Self::Exact),
            Some((span, key)) => {
                let why = format!(
                    "`{key}` works only with `mode = \"statistical\"`; remove it or set the mode"
                );
                Err((span, why))
            }
        }
    }
}
