//! How time passes in an experiment's boots.

use super::file::BaseFile;
use std::num::NonZeroU32;
use std::ops::Range;

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
    /// How many rounds of two baselines a board does before the others, which show how
    /// much its boots scatter.
    pub scatter_rounds: u32,
    /// The least difference that counts, in millionths of the baseline.
    pub minimum_effect_ppm: u32,
}

impl Sampling {
    /// The least difference that counts, as a part of the baseline.
    #[must_use]
    pub fn minimum_effect(self) -> f64 {
        f64::from(self.minimum_effect_ppm) / 1e6
    }
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

    /// The mode of a file, or where and what is wrong with it. A board is never exact.
    pub(super) fn read(file: &BaseFile, on_board: bool) -> Result<Self, (Range<usize>, String)> {
        let statistical = match &file.mode {
            None => on_board,
            Some(mode) => match mode.get_ref().as_str() {
                "exact" if on_board => {
                    let why = "a board is not exact: no two of its boots are alike; remove `mode` \
                        or write \"statistical\"";
                    return Err((mode.span(), why.to_owned()));
                }
                "exact" => false,
                "statistical" => true,
                other => {
                    let why = format!("expected `exact` or `statistical`, found `{other}`");
                    return Err((mode.span(), why));
                }
            },
        };
        if statistical {
            return Ok(Self::Statistical(sampling(file, on_board)?));
        }
        let keys = [
            file.warm_up.as_ref().map(|w| (w.span(), "warm_up")),
            file.seed.as_ref().map(|s| (s.span(), "seed")),
            file.minimum_effect
                .as_ref()
                .map(|m| (m.span(), "minimum_effect")),
        ];
        match keys.into_iter().flatten().next() {
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

/// Half a percent on this host, whose other work disturbs its boots; half of that on a
/// board, so that a true half percent is found.
const MINIMUM_EFFECT: [f64; 2] = [0.005, 0.0025];

fn sampling(file: &BaseFile, on_board: bool) -> Result<Sampling, (Range<usize>, String)> {
    let least = match &file.minimum_effect {
        Some(given) if !(0.0..=0.5).contains(given.get_ref()) => {
            let why = "`minimum_effect` is a part of the baseline; write 0 to 0.5, such as 0.0025";
            return Err((given.span(), why.to_owned()));
        }
        Some(given) => *given.get_ref(),
        None => MINIMUM_EFFECT[usize::from(on_board)],
    };
    Ok(Sampling {
        warm_up: file.warm_up.as_ref().map_or(1, |w| *w.get_ref()),
        seed: file.seed.as_ref().map_or(1, |s| *s.get_ref()),
        scatter_rounds: match (&file.scatter_rounds, on_board) {
            (Some(rounds), _) => *rounds.get_ref(),
            (None, true) => SCATTER_ROUNDS,
            (None, false) => 0,
        },
        minimum_effect_ppm: (least * 1e6).round() as u32,
    })
}

/// Ten boots of the baseline show its scatter well enough to plan.
const SCATTER_ROUNDS: u32 = 5;
