//! Long initcalls, with what the kernel's source says of them.

use super::evidence::{Evidence, SHOWN};
use super::found::{Found, Scope};
use super::text::driver_source as text;
use super::view::View;
use crate::drivers::{LEAST, function};

/// What is saved of a call that a module makes, later or never, in percent, as of any long
/// initcall; and of one whose waits can only be shortened.
const AS_MODULE: i64 = 80;
const SHORTER: i64 = 50;

/// The longest initcalls whose source is known, one finding each.
pub(super) fn driver_source(view: &View<'_>) -> Vec<Found> {
    let drivers = &view.system.drivers;
    let known = |f: &str| drivers.iter().any(|d| d.function == f);
    let calls = view.initcalls(|f| known(function(f)));
    let long = calls.iter().filter(|(_, time, _)| *time >= LEAST);
    let found = long.take(SHOWN).filter_map(|(name, time, span)| {
        let driver = drivers.iter().find(|d| d.function == function(name))?;
        let built_in = !name.contains('[');
        let option = driver.option.as_deref();
        let declared = Evidence {
            text: text::declared(&driver.function, option),
            place: driver.place.clone(),
        };
        let waits = driver.waits.iter().map(|w| Evidence {
            text: w.text.clone(),
            place: w.place.clone(),
        });
        let can_be_module = built_in && driver.is_tristate;
        let treatment = option.filter(|_| can_be_module);
        let expected = if can_be_module { AS_MODULE } else { SHORTER };
        let why = text::why(
            driver.module.as_deref().filter(|_| can_be_module),
            (
                driver.waits.len(),
                driver.waits.iter().filter(|w| w.is_busy).count(),
            ),
            &driver.parameters,
        );
        Some(
            Found::new()
                .title(text::title(&driver.function, *time, &driver.place.source))
                .why(why)
                .evidence([
                    view.evidence(text::took(name, *time), span.origin),
                    declared,
                ])
                .evidence(waits)
                .maybe_treatment(treatment.map(|o| format!("config=CONFIG_{o}=m")))
                .parts(*time, 0, expected, 100)
                .names(option.map(|o| format!("CONFIG_{o}")))
                .names(driver.module.clone())
                .scope(match span.start {
                    Some(_) => Scope::Items(vec![(*name).to_owned()]),
                    None => Scope::Serial,
                }),
        )
    });
    found.collect()
}
