//! The arguments of `boots` and `gate`.

use crate::args::{Compared, Reading};
use clap::{Args, ValueHint};
use record::Nanos;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct Boots {
    /// Boots of one system: a capture or a raw file each, a folder of captures, or a table
    /// [default: this machine's last boot]
    #[arg(value_name = "BASE", value_hint = ValueHint::AnyPath)]
    pub base: Vec<PathBuf>,
    /// Compare with boots after a change
    #[arg(long, value_name = "NEW", num_args = 1.., value_hint = ValueHint::AnyPath)]
    pub against: Vec<PathBuf>,
    /// Number of items; 0 for all [default: 10]
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
    #[command(flatten)]
    pub compared: Compared,
    /// Allow this slowdown: a percentage of the base median, or a time
    #[arg(long, value_name = "PERCENT|TIME", default_value = "0.5%", value_parser = allowance)]
    pub allow: Allowance,
    /// Judge another time than first light: a phase, milestone, item or column, as `boots` names it
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
}

/// The slowdown that is still fine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Allowance {
    /// Percent of the base median.
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
    let wrong =
        || format!("expected a percentage such as 1% or a time such as 50ms, found `{text}`");
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
