//! Initcalls that are in the kernel's log and in a trace are one thing.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use firstlight_analysis::{BlameKind, blame};
use record::{Doubt, Nanos};

const BOTH: &str = "\
source boot.log kernel-log
clock printk printk
span initcall 1ms 5ms acpi_init reported=3ms
span initcall 10ms 30ms fuse_init [fuse] reported=1ms doubt=overlap
span initcall 40ms - late_init doubt=lost_end
span initcall 60ms 61ms only_in_log reported=1ms
source trace.dat trace.dat
span initcall 2ms 4ms acpi_init outcome=0
span initcall 11ms 29ms init_module [fuse]
span initcall - 45ms late_init doubt=lost_start
span initcall 70ms 71ms only_in_trace
";

#[test]
fn each_is_counted_once_as_the_trace_saw_it() {
    let record = common::record(BOTH);
    let all = blame(&record, Some(BlameKind::Initcall), 0);
    let rows: Vec<_> = all
        .rows
        .iter()
        .map(|r| {
            let ms = |t: Option<Nanos>| t.map(|t| t.get() / 1_000_000);
            (r.name.as_str(), ms(r.wall), ms(r.reported), r.doubt)
        })
        .collect();
    assert_eq!(
        rows,
        [
            ("fuse_init [fuse]", Some(18), Some(1), Some(Doubt::Overlap)),
            ("late_init", Some(5), None, None),
            ("acpi_init", Some(2), Some(3), None),
            ("only_in_log", Some(1), Some(1), None),
            ("only_in_trace", Some(1), None, None),
        ]
    );
    assert_eq!(all.rows[2].outcome, Some(0));
    assert_eq!(all.rows[2].origin.source, "trace.dat");
    let summary = firstlight_analysis::summary(&record);
    assert_eq!(summary.kinds[0].count, 5);
}
