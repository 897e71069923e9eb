//! Request lists: lines of `start+len`, and traces of block devices.

use crate::args::Reading;
use crate::input;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// So much of a list decides what it is.
const HEAD: usize = 4096;

/// What a list counts in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The word for it: `sectors`, `bytes`, or `blocks of 4096 bytes`.
    pub bytes: u64,
}

impl Unit {
    /// Sectors of 512 bytes, as in every trace of the kernel.
    pub const SECTORS: Self = Self { bytes: 512 };

    /// Reads `bytes`, `sectors`, or the size of a block.
    pub fn parse(text: &str) -> Result<Self, String> {
        let bytes = match text {
            "bytes" | "byte" => 1,
            "sectors" | "sector" => 512,
            size => crate::size::parse(size)
                .map_err(|_| "expected bytes, sectors, or a size such as 4K".to_owned())?,
        };
        match bytes {
            0 => Err("expected a unit of at least one byte".to_owned()),
            bytes => Ok(Self { bytes }),
        }
    }

    /// The word for it.
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
    pub start: u64,
    pub len: u64,
    /// What a trace says was done.
    pub operation: Option<&'static str>,
}

/// A list, and what it counts in.
pub struct Requests {
    pub list: Vec<Request>,
    pub unit: Unit,
    /// What of it could not be taken, a sentence each.
    pub notes: Vec<String>,
}

/// How to read a list.
pub struct Options<'a> {
    pub unit: Option<Unit>,
    /// Only this device of a trace: `8:0`.
    pub device: Option<&'a str>,
}

pub fn read(paths: &[PathBuf], options: &Options<'_>) -> Result<Requests> {
    let [first, ..] = paths else {
        bail!("expected a list of requests");
    };
    let mut head = Vec::new();
    let shown = first.display();
    let file = File::open(first).with_context(|| format!("{shown}: cannot be opened"))?;
    file.take(HEAD as u64)
        .read_to_end(&mut head)
        .with_context(|| format!("{shown}: cannot be read"))?;
    if is_plain(&head) {
        return plain(paths, options.unit.unwrap_or(Unit::SECTORS));
    }
    trace(paths, options)
}

/// Whether the first line that says something is `start+len`.
fn is_plain(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.lines().map(str::trim);
    match lines.find(|l| !l.is_empty() && !l.starts_with('#')) {
        Some(line) => request(line).is_some(),
        None => !head.contains(&0),
    }
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

fn plain(paths: &[PathBuf], unit: Unit) -> Result<Requests> {
    let mut list = Vec::new();
    for path in paths {
        let shown = path.display();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{shown}: cannot be read"))?;
        for (line, number) in text.lines().zip(1..) {
            let said = line.trim();
            if said.is_empty() || said.starts_with('#') {
                continue;
            }
            let Some(request) = request(said) else {
                let said: String = said.chars().take(60).collect();
                bail!("{shown}: line {number}: expected `start+len`, found `{said}`");
            };
            let end = request.start.checked_add(request.len);
            if end.and_then(|e| e.checked_mul(unit.bytes)).is_none() {
                bail!("{shown}: line {number}: the request ends behind every image");
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

/// The requests of a trace, by the first time that is known of them.
fn trace(paths: &[PathBuf], options: &Options<'_>) -> Result<Requests> {
    let unit = options.unit.unwrap_or(Unit::SECTORS);
    if unit != Unit::SECTORS {
        bail!("--unit is for lines of `start+len`; traces count in sectors of 512 bytes");
    }
    let record = input::boot(paths, &Reading::default())?;
    let all = record.requests();
    let mut devices: Vec<String> = all.iter().map(|r| r.device.to_string()).collect();
    devices.sort_unstable();
    devices.dedup();
    if all.is_empty() {
        let shown = name(paths);
        bail!(
            "{shown}: no requests of a block device; expected lines of `start+len`, blktrace, text \
             of blkparse, or a kernel trace with block events"
        );
    }
    if let (None, [_, _, ..]) = (options.device, devices.as_slice()) {
        let all = devices.join(", ");
        bail!(
            "{}: holds several devices; choose one with --device: {all}",
            name(paths)
        );
    }
    let mut notes = Vec::new();
    let (mut list, mut empty) = (Vec::new(), 0_u64);
    for r in all {
        if options.device.is_some_and(|d| d != r.device.to_string()) {
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
    if let (true, Some(device)) = (list.is_empty(), options.device) {
        let all = devices.join(", ");
        bail!(
            "{}: no requests of device {device}; there are {all}",
            name(paths)
        );
    }
    match empty {
        0 => {}
        1 => notes.push("1 request carries no data; it is left out".to_owned()),
        n => notes.push(format!("{n} requests carry no data; they are left out")),
    }
    Ok(Requests { list, unit, notes })
}

fn name(paths: &[PathBuf]) -> String {
    paths
        .first()
        .map_or_else(String::new, |p| Path::display(p).to_string())
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

    #[test]
    fn units_have_words() {
        assert_eq!(Unit::parse("bytes").unwrap().bytes, 1);
        assert_eq!(Unit::parse("sectors").unwrap(), Unit::SECTORS);
        assert_eq!(Unit::parse("4K").unwrap().word(), "blocks of 4096 bytes");
        assert!(Unit::parse("0").is_err());
        assert!(Unit::parse("many").is_err());
    }
}
