//! What a kernel's configuration is made from, and what is made of it.

/// Whether the kernel's build, its configuration, `make` or the compiler take this
/// variable of the environment as something to build otherwise.
pub(super) fn changes_a_kernel(name: &str) -> bool {
    const NAMES: [&str; 26] = [
        "ARCH",
        "SUBARCH",
        "CROSS_COMPILE",
        "CC",
        "LD",
        "LLVM",
        "LLVM_IAS",
        "HOSTCC",
        "HOSTCFLAGS",
        "HOSTLDFLAGS",
        "KCFLAGS",
        "KAFLAGS",
        "KCPPFLAGS",
        "KRUSTFLAGS",
        "LOCALVERSION",
        "O",
        "M",
        "W",
        "CONFIG_",
        "MAKEFILES",
        "MAKEFLAGS",
        "MFLAGS",
        "MAKELEVEL",
        "CPATH",
        "C_INCLUDE_PATH",
        "GCC_EXEC_PREFIX",
    ];
    const BEGINNINGS: [&str; 3] = ["KBUILD_", "KCONFIG_", "INSTALL_"];
    NAMES.contains(&name) || BEGINNINGS.iter().any(|b| name.starts_with(b))
}

/// Whether a kernel of this configuration can load modules.
pub(super) fn has_modules(config: &str) -> bool {
    config.lines().any(|l| l == "CONFIG_MODULES=y")
}

/// The first line of a fragment that a whole configuration does not have, and what
/// that has instead.
pub(super) fn first_lost<'a>(fragment: &'a str, config: &str) -> Option<(&'a str, String)> {
    let set = |key: &str| config.lines().find(|l| l.starts_with(&format!("{key}=")));
    last_of_each(fragment).into_iter().find_map(|line| {
        // Both are how one says no; a whole configuration has only the first.
        let comment = line.strip_prefix("# ");
        let off = comment.and_then(|l| l.strip_suffix(" is not set"));
        let lost = match off.or_else(|| line.strip_suffix("=n")) {
            Some(key) => set(key).map(str::to_owned),
            None if config.lines().any(|l| l == line) => None,
            None => Some("not so".to_owned()),
        };
        Some((line, lost?))
    })
}

/// The lines of a fragment that set something: of those about one symbol, the last.
fn last_of_each(fragment: &str) -> Vec<&str> {
    fn key(line: &str) -> Option<&str> {
        let line = line.strip_prefix("# ").unwrap_or(line);
        let end = line.find(['=', ' '])?;
        line.get(..end).filter(|k| k.starts_with("CONFIG_"))
    }
    let lines: Vec<&str> = fragment.lines().filter(|l| key(l).is_some()).collect();
    let later = |i: usize, k| lines.iter().skip(i + 1).any(|l| key(l) == k);
    let last = lines.iter().enumerate().filter(|(i, l)| !later(*i, key(l)));
    last.map(|(_, l)| *l).collect()
}

#[cfg(test)]
mod tests {
    use super::{changes_a_kernel, first_lost, has_modules, last_of_each};

    #[test]
    fn what_the_caller_sets_does_not_change_a_kernel() {
        for name in [
            "CROSS_COMPILE",
            "KCONFIG_ALLCONFIG",
            "KBUILD_CFLAGS",
            "MAKEFLAGS",
        ] {
            assert!(changes_a_kernel(name), "{name}");
        }
        for name in ["PATH", "HOME", "TMPDIR", "LANG"] {
            assert!(!changes_a_kernel(name), "{name}");
        }
    }

    #[test]
    fn what_was_asked_for_is_there() {
        let config = "CONFIG_MODULES=y\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=m\n";
        for kept in [
            "CONFIG_A=y",
            "# CONFIG_B is not set",
            "CONFIG_B=n",
            "CONFIG_C=n",
        ] {
            assert_eq!(first_lost(kept, config), None, "{kept}");
        }
        for (lost, instead) in [
            ("CONFIG_A=n", "CONFIG_A=y"),
            ("# CONFIG_D is not set", "CONFIG_D=m"),
            ("CONFIG_D=y", "not so"),
            ("CONFIG_C=y", "not so"),
        ] {
            assert_eq!(first_lost(lost, config), Some((lost, instead.to_owned())));
        }
        assert!(has_modules(config) && !has_modules("# CONFIG_MODULES is not set\n"));
    }

    #[test]
    fn the_last_line_about_a_symbol_counts() {
        let fragment =
            "# A comment.\nCONFIG_A=y\nCONFIG_B=m\n# CONFIG_A is not set\n\nCONFIG_AB=\"\"\n";
        assert_eq!(
            last_of_each(fragment),
            ["CONFIG_B=m", "# CONFIG_A is not set", "CONFIG_AB=\"\""]
        );
    }
}
