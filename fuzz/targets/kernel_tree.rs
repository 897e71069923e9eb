#![no_main]

//! A kernel's source tree: initcalls, what builds them, how long they wait.

use std::collections::BTreeSet;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut files = fuzz::files(bytes);
    for name in ["Kconfig", "Makefile"] {
        if !files.iter().any(|(n, _)| n == name) {
            files.push((name.to_owned(), Vec::new()));
        }
    }
    let folder = fuzz::folder(&files);
    let functions: BTreeSet<String> = ["ide_init", "x_init", "x_fb_init"]
        .map(str::to_owned)
        .into();
    let Ok(found) = inspect::kernel_tree::read(folder.path(), &functions) else {
        return;
    };
    for driver in found {
        assert!(functions.contains(&driver.function));
        assert!(folder.path().join(&driver.place.source).is_file());
        // Only an option can make a module, and only one that is declared as such.
        assert!(driver.option.is_some() || driver.module.is_none() && !driver.is_tristate);
    }
});
