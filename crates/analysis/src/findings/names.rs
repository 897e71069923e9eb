//! What a finding is about, by name.

use super::found::{Found, Scope};
use super::view::function;

/// The names of a finding, each once: those that its rule gave, those of its scope, and
/// those in its treatment.
pub(super) fn of(found: &Found) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    };
    found.names.iter().for_each(|n| add(n));
    if let Scope::Items(items) | Scope::Shared(items) = &found.scope {
        items.iter().for_each(|i| add(function(i)));
    }
    if let Some(treatment) = &found.treatment {
        of_treatment(treatment).for_each(&mut add);
    }
    names
}

/// `mask=a.service`, `cmdline+=quiet`, `cmdline+=initcall_blacklist=a,b`,
/// `config=CONFIG_A=n`, `env=bootdelay=0`: the unit, the parameter with what it lists, the
/// option, the variable.
fn of_treatment(treatment: &str) -> impl Iterator<Item = &str> {
    let (kind, what) = treatment.split_once('=').unwrap_or((treatment, ""));
    let kind = kind.trim_end_matches(['+', '-']);
    let (name, value) = what.split_once('=').unwrap_or((what, ""));
    let lists = name == "initcall_blacklist" || name.ends_with(".blacklist");
    let listed = value.split(',').filter(move |_| lists);
    let of_value = matches!(kind, "mask" | "cmdline" | "config" | "env");
    let first = Some(name).filter(move |_| of_value && !name.contains(char::is_whitespace));
    let whole = Some(kind).filter(move |_| !of_value);
    first.into_iter().chain(whole).chain(listed)
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::findings::found::{Found, Scope};

    #[test]
    fn a_treatment_and_a_scope_name_what_they_are_about() {
        for (treatment, names) in [
            ("mask=a@1.service", &["a@1.service"][..]),
            ("cmdline+=quiet", &["quiet"]),
            ("cmdline-=rootdelay=5", &["rootdelay"]),
            (
                "cmdline+=initcall_blacklist=a_init,b_init",
                &["initcall_blacklist", "a_init", "b_init"],
            ),
            ("config=CONFIG_A=n", &["CONFIG_A"]),
            ("env=bootdelay=0", &["bootdelay"]),
            ("journald=volatile", &["journald"]),
        ] {
            let found = Found::new().treatment(treatment);
            assert_eq!(of(&found), names, "{treatment}");
        }
        let items = Scope::Items(vec!["x_init+0x0/0x10 [x]".to_owned(), "y".to_owned()]);
        let found = Found::new().names(["y", "dev"]).scope(items);
        assert_eq!(of(&found), ["y", "dev", "x_init"]);
    }
}
