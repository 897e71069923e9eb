//! A process that says its number between its birth and its program.
#![allow(unsafe_code)]

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Lets the child of `command` write its own process id to `to`, and then "1" to
/// `then`, before it starts its program: so a trace begins with the program's
/// first instruction, and holds nothing else.
pub fn announce(command: &mut Command, mut to: File, mut then: File) {
    let announce = move || -> io::Result<()> {
        // No allocation between fork and exec.
        let mut digits = [0u8; 10];
        let mut at = digits.len();
        let mut n = std::process::id();
        loop {
            at -= 1;
            if let Some(digit) = digits.get_mut(at) {
                *digit = b'0' + (n % 10) as u8;
            }
            n /= 10;
            if n == 0 || at == 0 {
                break;
            }
        }
        to.write_all(digits.get(at..).unwrap_or_default())?;
        then.write_all(b"1")
    };
    // SAFETY: the closure only makes system calls on files that were open before
    // the fork; it takes no lock and allocates nothing.
    unsafe {
        command.pre_exec(announce);
    }
}
