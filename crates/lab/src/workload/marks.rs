//! The marks that a workload sets in the kernel's log.

use crate::console::plain;

/// How a mark begins, and how the words of a script that gave up.
const MARK: &str = "firstlight-mark ";

/// A line of the kernel with its time, which may be a mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The mark's name; empty: it is none.
    pub name: String,
    /// The line without its time.
    pub line: String,
    /// When, in nanoseconds of the kernel's clock.
    pub at_ns: u64,
    /// The board's counter from reset, if the script read it.
    pub counter: Option<u64>,
    /// How many bytes were on the console before its line.
    pub console_bytes: u64,
}

/// The lines of the kernel on a console, in order. A mark is
/// `[    1.234567] firstlight-mark NAME`, and a counter in hexadecimal digits after
/// it.
#[must_use]
pub fn marks(console: &[u8]) -> Vec<Mark> {
    let mut bytes = 0;
    let mut found = Vec::new();
    for line in console.split_inclusive(|b| *b == b'\n') {
        if let Some(mark) = mark(&plain(line), bytes) {
            found.push(mark);
        }
        bytes += line.len() as u64;
    }
    found
}

fn mark(line: &str, console_bytes: u64) -> Option<Mark> {
    // Other words may stand before it on the line.
    let stamp = match line.find(MARK) {
        Some(at) => line.get(..at)?.rfind('[')?,
        None => 0,
    };
    let (stamp, rest) = line.get(stamp..)?.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let mut words = rest.strip_prefix(MARK).unwrap_or("").split_whitespace();
    let name = words.next().unwrap_or("").to_owned();
    let counter = words
        .next()
        .and_then(|w| u64::from_str_radix(w.strip_prefix("0x")?, 16).ok());
    let (seconds, micros) = stamp.trim().split_once('.')?;
    let seconds: u64 = seconds.parse().ok()?;
    let micros: u64 = micros.get(..6)?.parse().ok()?;
    let at_ns = seconds
        .checked_mul(1_000_000_000)?
        .checked_add(micros.checked_mul(1_000)?)?;
    Some(Mark {
        name,
        line: rest.to_owned(),
        at_ns,
        counter,
        console_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::marks;

    #[test]
    fn marks_have_time_counter_and_place() {
        let console = b"boot\r\n[    1.500001] firstlight-mark begin\r\nnoise\n\
                        [   12.000002] firstlight-mark end 0x0000ABCD\r\n[ 1.2] firstlight-mark x\n";
        let found = marks(console);
        assert_eq!(found.len(), 2);
        assert_eq!(
            (found[0].name.as_str(), found[0].at_ns),
            ("begin", 1_500_001_000)
        );
        assert_eq!(found[0].console_bytes, 6);
        assert_eq!(found[1].counter, Some(0xabcd));
        assert_eq!(found[1].at_ns, 12_000_002_000);
    }

    #[test]
    fn no_console_is_too_odd() {
        for console in [
            &b"firstlight-mark x"[..],
            b"[firstlight-mark x",
            b"[99999999999999999999.000000] firstlight-mark x",
            b"[ 18446744073709.999999] firstlight-mark x",
            b"[ 1.23456\xff] firstlight-mark x",
            b"[ 1.234567] firstlight-mark ",
        ] {
            let found = marks(console);
            assert!(found.len() <= 1, "{found:?}");
        }
    }
}
