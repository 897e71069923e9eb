#![no_main]

//! Kernel command lines, and treatments of what is booted: what is read is written as
//! something that means the same, and what is changed is taken back.

use treat::{BootSpec, CommandLine, Treatment};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    let mut spec = BootSpec::default();
    if let Ok(cmdline) = CommandLine::parse(rest) {
        let written = cmdline.words().join(" ");
        assert_eq!(CommandLine::parse(&written).as_ref(), Ok(&cmdline));
        spec.cmdline = cmdline;
    }
    if let Ok(treatment) = Treatment::parse(first) {
        let again = Treatment::parse(&treatment.to_string()).unwrap();
        assert_eq!(again.to_string(), treatment.to_string());
        assert!(!treatment.plan(&spec).is_empty());
        if let Ok((after, undo)) = treatment.apply(&spec) {
            assert_eq!(undo.apply(&after).unwrap(), spec);
        }
    }
});
