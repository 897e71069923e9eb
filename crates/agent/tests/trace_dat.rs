//! The trace rings of the running kernel, as `trace-cmd report` reads them.
#![cfg(target_os = "linux")]
// A test that cannot go on should stop, and says what it skips.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use firstlight_agent::config::Recording;
use firstlight_agent::trace::{Tracefs, write_dat};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// An instance of tracefs of this test's own, with rings of its own.
struct Instance(std::path::PathBuf);

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// Removes the instances of runs that were killed: those whose process is no more.
fn sweep(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix("firstlight-test-");
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[test]
fn trace_cmd_reads_the_rings() {
    if let Err(e) = Tracefs::find() {
        println!("skipped: the trace rings of this kernel: {e}");
        return;
    }
    if Command::new("trace-cmd").arg("--version").output().is_err() {
        println!("skipped: the trace rings of this kernel: there is no trace-cmd here");
        return;
    }
    let name = format!("firstlight-test-{}", std::process::id());
    let instances = Path::new("/sys/kernel/tracing/instances");
    sweep(instances);
    let place = instances.join(&name);
    if let Err(e) = fs::create_dir(&place) {
        println!(
            "skipped: the trace rings of this kernel: {}: {e}",
            place.display()
        );
        return;
    }
    let instance = Instance(place);
    let trace = Tracefs::find().unwrap().instance(&name);
    let said = trace.start(&Recording {
        events: vec![
            "sched:sched_process_exe*".into(),
            "sched:sched_process_exit".into(),
            "no:such_event".into(),
        ],
        buffer_kb: Some(256),
        opens: false,
        clock: Some("mono".into()),
    });
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("`no:such_event`"), "{said:?}");
    assert!(trace.is_on().unwrap());
    for _ in 0..20 {
        assert!(Command::new("true").status().unwrap().success());
    }
    trace.switch(false).unwrap();
    assert!(trace.holds_events().unwrap());

    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = folder.path().join("trace.dat");
    let mut file = File::create(&path).unwrap();
    let taken = write_dat(&trace, &mut file).unwrap();
    println!("{taken:?}");
    assert_eq!(taken.bytes, fs::metadata(&path).unwrap().len());
    assert!(taken.events >= 40 && taken.lost == 0, "{taken:?}");
    assert_eq!(taken.missing, [] as [String; 0]);
    // Taken, they are gone.
    assert!(!trace.holds_events().unwrap());
    drop(instance);

    let report = Command::new("trace-cmd")
        .args(["report", "-t", "-i"])
        .arg(&path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&report.stderr);
    assert!(report.status.success(), "{said}");
    let report = String::from_utf8_lossy(&report.stdout);
    let lines = |word: &str| report.lines().filter(|l| l.contains(word)).count() as u64;
    assert_eq!(lines("sched_process_"), taken.events, "{report}");
    assert!(
        lines("filename=") >= 20 && report.contains("/true pid="),
        "{report}"
    );
}
