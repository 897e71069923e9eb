//! The kernel's own tracing: what `trace-cmd` records, and what the files
//! `trace` and `trace_pipe` print.
//!
//! # One meaning, two forms
//!
//! `known` names the events and fields that something is made of. `dat` finds
//! them in the bytes of a ring buffer, by the formats that the file carries;
//! `text` finds them in printed lines. Both hand each event to the one
//! `Interpreter`, which knows what it means: `tasks` (lives, states, wakes),
//! `calls` (functions, system calls), `initcalls`, block requests, the page
//! cache. An event of any other name is counted by its name.
//!
//! # What comes of it
//!
//! | events | record |
//! |---|---|
//! | `sched_switch`, `sched_wak*`, `sched_process_{fork,exec,exit}`, `task_rename` | processes, slices, wakes; the first programs of process 1 are marks |
//! | `block_*` | requests |
//! | `mm_filemap_{add_to_page_cache,fault,get_pages,map_pages}` | accesses by device, inode and bytes |
//! | `initcall_{start,finish}`, `initcall_level` | spans, marks |
//! | `module_load` | the name of the initcall that follows |
//! | `console` | messages |
//! | `function`, `funcgraph_*`, `sys_enter*`, `sys_exit*` | calls |
//!
//! A sleeping task has no slice: where nothing is recorded between two slices
//! of a task, it slept.

mod calls;
mod clocks;
mod dat;
mod initcalls;
mod interpret;
mod known;
mod moment;
mod names;
mod notes;
mod symbols;
mod tasks;
mod text;
mod unused;

pub use dat::{TraceDat, is_compressed};
pub use text::Ftrace;
