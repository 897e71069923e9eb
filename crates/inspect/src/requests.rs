//! Request lists: lines of `start+len`, and the requests of a trace.

use crate::error::Error;
use record::Record;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};

/// So much of a list decides what it is.
const HEAD: u64 = 4096;

/// What a list counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Bytes in one.
    pub bytes: u64,
}

impl Unit {
    /// Sectors of 512 bytes, as in every trace of the kernel.
    pub const SECTORS: Self = Self { bytes: 512 };

    /// The word for it: `sectors`, `bytes`, or `blocks of 4096 bytes`.
    #[must_use]
    pub fn word(self) -> String {
        match self.bytes {
            1 => "bytes".to_owned(),
            512 => "sectors".to_owned(),
            n => format!("blocks of {n} bytes"),
        }
    }
}

/// One request: in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Where it begins.
    pub start: u64,
    /// How long it is.
    pub len: u64,
    /// What a trace says was done.
    pub operation: Option<&'static str>,
}

/// A list, and what it counts in.
#[derive(Clone, Debug)]
pub struct Requests {
    /// In their order.
    pub list: Vec<Request>,
    /// What they count in.
    pub unit: Unit,
    /// What of it could not be taken, a sentence each.
    pub notes: Vec<String>,
}

/// Whether a file holds lines of `start+len`: by the first line that says something. It
/// is read from its start, and then is there again; `shown` names it.
///
/// # Errors
/// It cannot be read, or is empty.
pub fn is_plain(file: &mut File, shown: &Path) -> Result<bool, Error> {
    let shown = shown.display().to_string();
    let mut head = Vec::new();
    file.take(HEAD)
        .read_to_end(&mut head)
        .and_then(|_| file.rewind())
        .map_err(|e| Error::io(&shown, "cannot be read", e))?;
    if head.is_empty() {
        let why = "the list is empty; expected lines of `start+len`, or a trace";
        return Err(Error::unusable(&shown, why));
    }
    let text = String::from_utf8_lossy(&head);
    let mut lines = text.lines().map(str::trim);
    Ok(match lines.find(|l| !l.is_empty() && !l.starts_with('#')) {
        Some(line) => request(line).is_some(),
        None => !head.contains(&0),
    })
}

/// Two numbers, with a plus, a comma or white space between them.
fn request(line: &str) -> Option<Request> {
    let mut parts = line
        .split(|c: char| c == '+' || c == ',' || c.is_whitespace())
        .filter(|p| !p.is_empty());
    let number = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    };
    let (start, len) = (number(parts.next()?)?, number(parts.next()?)?);
    parts.next().is_none().then_some(Request {
        start,
        len,
        operation: None,
    })
}

/// The requests in lists of `start+len`.
///
/// # Errors
/// A list cannot be read, or has a line that is none.
pub fn plain(files: Vec<(File, PathBuf)>, unit: Unit) -> Result<Requests, Error> {
    let mut list = Vec::new();
    for (mut file, path) in files {
        let shown = path.display().to_string();
        let mut text = String::new();
        file.read_to_string(&mut text)
            .map_err(|e| Error::io(&shown, "cannot be read", e))?;
        for (line, number) in text.lines().zip(1..) {
            let said = line.trim();
            if said.is_empty() || said.starts_with('#') {
                continue;
            }
            let Some(request) = request(said) else {
                let said: String = said.chars().take(60).collect();
                let why = format!("line {number}: expected `start+len`, found `{said}`");
                return Err(Error::unusable(&shown, why));
            };
            let end = request.start.checked_add(request.len);
            if end.and_then(|e| e.checked_mul(unit.bytes)).is_none() {
                let why = format!("line {number}: the request ends behind every image");
                return Err(Error::unusable(&shown, why));
            }
            list.push(request);
        }
    }
    Ok(Requests {
        list,
        unit,
        notes: Vec::new(),
    })
}

/// The requests of a trace, of `device` (`8:0`) if it has several, by the first time that
/// is known of them. `shown` names the trace.
///
/// # Errors
/// There are none, or of several devices.
pub fn traced(record: &Record, device: Option<&str>, shown: &str) -> Result<Requests, Error> {
    let all = record.requests();
    let mut devices: Vec<String> = all.iter().map(|r| r.device.to_string()).collect();
    devices.sort_unstable();
    devices.dedup();
    if all.is_empty() {
        let why = "no requests of a block device; expected lines of `start+len`, blktrace, text of \
                   blkparse, or a kernel trace with block events";
        return Err(Error::unusable(shown, why));
    }
    if let (None, [_, _, ..]) = (device, devices.as_slice()) {
        let all = devices.join(", ");
        let why = format!("holds several devices; choose one with --device: {all}");
        return Err(Error::unusable(shown, why));
    }
    let mut notes = Vec::new();
    let (mut list, mut empty) = (Vec::new(), 0_u64);
    for r in all {
        if device.is_some_and(|d| d != r.device.to_string()) {
            continue;
        }
        // A flush carries nothing.
        if r.bytes == 0 {
            empty += 1;
            continue;
        }
        list.push(Request {
            start: r.sector,
            len: r.bytes.div_ceil(512),
            operation: Some(r.operation.as_str()),
        });
    }
    if let (true, Some(device)) = (list.is_empty(), device) {
        let all = devices.join(", ");
        let why = format!("no requests of device {device}; there are {all}");
        return Err(Error::unusable(shown, why));
    }
    match empty {
        0 => {}
        1 => notes.push("1 request carries no data; it is left out".to_owned()),
        n => notes.push(format!("{n} requests carry no data; they are left out")),
    }
    Ok(Requests {
        list,
        unit: Unit::SECTORS,
        notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_two_numbers() {
        let some = |start, len| {
            Some(Request {
                start,
                len,
                operation: None,
            })
        };
        for line in ["8+16", "8 + 16", "8,16", "8 16", "0x8\t0x10"] {
            assert_eq!(request(line), some(8, 16), "{line}");
        }
        for line in ["8", "8+", "-8+16", "8+16+1", "a+b", "[1.5] x", "1.5 2"] {
            assert_eq!(request(line), None, "{line}");
        }
    }
}
