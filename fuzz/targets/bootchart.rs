#![no_main]

use record::Recorder;
use sources::bootchart::Bootchart;
use sources::{Input, Source};

/// The files of a bootchart; those that are binary, too.
const NAMES: [&str; 10] = [
    "header",
    "proc_stat.log",
    "proc_diskstats.log",
    "proc_ps.log",
    "proc_meminfo.log",
    "taskstats.log",
    "kernel_pacct",
    "cmdline2.log",
    "paternity.log",
    "dmesg",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    fuzz::read(&Bootchart, bytes);
    // As two files of one boot, whose names say what they are.
    let (a, b) = bytes.split_at(bytes.len() / 2);
    let named = |i: u8| NAMES[usize::from(i) % NAMES.len()];
    let (first, second) = (
        bytes.first().copied().unwrap_or(0),
        bytes.last().copied().unwrap_or(1),
    );
    let inputs = [(named(first), a), (named(second), b)].map(|(name, bytes)| Input { name, bytes });
    let mut recorder = Recorder::new();
    Bootchart.read_all(&inputs, &mut recorder);
    for s in recorder.finish().sources() {
        assert_eq!(s.units, s.events + s.noted, "{}", s.format);
    }
});
