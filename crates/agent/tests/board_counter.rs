//! A counter of the board, in a file that stands for physical memory. It is set
//! once in a process, so nothing else is tested here.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::sys::{counter, counter_hz, use_board_counter};
use std::io::Write;

#[test]
fn the_boards_counter_is_read_with_its_own_speed() {
    let mut memory = vec![0; 8192];
    memory[4100..4104].copy_from_slice(&0x1234_5678_u32.to_ne_bytes());
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&memory).unwrap();
    let memory = file;

    let error = use_board_counter(&memory, 4098, 1000).unwrap_err();
    assert_eq!(error.to_string(), "the address is not a multiple of 4");
    assert_ne!(counter_hz(), Some(1000));

    use_board_counter(&memory, 4100, 1000).unwrap();
    // How often it has started again depends on how long this machine runs.
    assert_eq!(counter().unwrap() & 0xffff_ffff, 0x1234_5678);
    assert_eq!(counter_hz(), Some(1000));
}
