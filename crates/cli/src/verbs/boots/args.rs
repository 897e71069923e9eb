//! The arguments of `boots` and `gate`.

use crate::args::{Compared, Outputs, Reading};
use analysis::{Allowance, Budget};
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
    /// Allow this slowdown: a percentage of the base median, or a time [default: 0.5%]
    #[arg(long, value_name = "PERCENT|TIME", value_parser = allowance)]
    pub allow: Option<Allowance>,
    /// Exit with 2 unless a slowdown of this size is visible [default: --allow, else 5%]
    #[arg(long, value_name = "PERCENT|TIME", value_parser = allowance)]
    pub see: Option<Allowance>,
    /// Fail if a time of the new boots exceeds a limit, such as first-light=2s; repeatable.
    /// Without BASE, only budgets are checked
    #[arg(long = "budget", value_name = "NAME=TIME", value_parser = budget)]
    pub budgets: Vec<Budget>,
    /// Judge another time than first light: a phase, milestone, item or column, as `boots` names it
    #[arg(long, value_name = "NAME")]
    pub of: Option<String>,
    #[command(flatten)]
    pub outputs: Outputs,
}

fn budget(text: &str) -> Result<Budget, String> {
    let wrong = || format!("expected NAME=TIME such as first-light=2s, found `{text}`");
    let (name, time) = text.rsplit_once('=').ok_or_else(wrong)?;
    let time = crate::args::duration(time.trim()).map_err(|_| wrong())?;
    let ns = i64::try_from(time.as_nanos()).map_err(|_| wrong())?;
    let name = name.trim().to_owned();
    if name.is_empty() {
        return Err(wrong());
    }
    Ok(Budget {
        name,
        limit: Nanos(ns),
    })
}

/// A percentage or a time.
pub fn allowance(text: &str) -> Result<Allowance, String> {
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
