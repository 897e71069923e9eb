//! The arguments of `boots` and `gate`.

use crate::args::Reading;
use clap::{Args, ValueHint};
use record::Nanos;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Boots {
    /// Boots of one system: a capture or a raw file each, a folder of captures, or a table
    #[arg(required = true, value_name = "BOOT", value_hint = ValueHint::AnyPath)]
    pub boots: Vec<PathBuf>,
    /// Boots after a change, to compare them with
    #[arg(long, value_name = "BOOT", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub against: Vec<PathBuf>,
    /// How many items; 0 for all [default: 10]
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10,
        hide_default_value = true
    )]
    pub top: usize,
    #[command(flatten)]
    pub reading: Reading,
}

#[derive(Debug, Args)]
pub struct Gate {
    /// The boots to compare with: a capture, a folder of captures, or a table
    #[arg(value_name = "BASE", value_hint = ValueHint::AnyPath)]
    pub base: PathBuf,
    /// The boots to judge
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    pub new: PathBuf,
    /// How much slower is still fine: a part of the base's median, or a time
    #[arg(long, value_name = "PERCENT|TIME", default_value = "0.5%", value_parser = allowance)]
    pub allow: Allowance,
    /// The time to judge by, as `boots` names it: a phase, a milestone, an item, a column
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

/// How much slower is still fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Hundredths of the base's median.
    Percent(f64),
    /// A time.
    Time(Nanos),
}

impl Allowance {
    /// The time that it is for a base of this median.
    pub fn of(self, median: Nanos) -> Nanos {
        match self {
            Self::Percent(percent) => Nanos((median.get() as f64 * percent / 100.0) as i64),
            Self::Time(time) => time,
        }
    }
}

fn allowance(text: &str) -> Result<Allowance, String> {
    let wrong = || format!("expected a part such as 1% or a time such as 50ms, found `{text}`");
    if let Some(number) = text.strip_suffix('%') {
        let percent: f64 = number.trim().parse().map_err(|_| wrong())?;
        let fits = (0.0..=1000.0).contains(&percent);
        return fits
            .then_some(Allowance::Percent(percent))
            .ok_or_else(wrong);
    }
    let time = crate::args::duration(text).map_err(|_| wrong())?;
    let ns = i64::try_from(time.as_nanos()).map_err(|_| wrong())?;
    Ok(Allowance::Time(Nanos(ns)))
}

#[cfg(test)]
mod tests {
    use super::{Allowance, allowance};
    use record::Nanos;

    #[test]
    fn allowances_are_parts_or_times() {
        let of = |text: &str| allowance(text).map(|a| a.of(Nanos::from_millis(2_000)));
        assert_eq!(of("1%"), Ok(Nanos::from_millis(20)));
        assert_eq!(of("0%"), Ok(Nanos::ZERO));
        assert_eq!(of("50ms"), Ok(Nanos::from_millis(50)));
        for wrong in ["-1%", "x%", "nan%", "50 apples", "", "%"] {
            assert!(allowance(wrong).is_err(), "{wrong}");
        }
        assert_eq!(allowance("0.5%"), Ok(Allowance::Percent(0.5)));
    }
}
