#![no_main]

//! Unified kernel images: a command line that is put in is read back, and all other sections
//! are as they were.

use arbitrary::Arbitrary;
use bootimage::Part;
use bootimage::uki::command_line;

#[derive(Debug, Arbitrary)]
struct Section {
    name: u8,
    content: Vec<u8>,
    /// Room in memory behind what is used.
    room: u16,
    /// What is free in the file.
    free: u8,
}

#[derive(Debug, Arbitrary)]
struct Input {
    sections: Vec<Section>,
    align: u8,
    line: Vec<u8>,
    changes: Vec<(u16, u8)>,
    cut: u8,
    raw: Vec<u8>,
}

const NAMES: [&[u8]; 5] = [b".linux", b".cmdline", b".initrd", b".osrel", b".dtb"];
const HEADER: usize = 64;
const TABLE: usize = HEADER + 24 + 64;

/// A program for EFI with these sections, and where each lies in it.
fn image(input: &Input) -> (Vec<u8>, Vec<(usize, usize)>) {
    let sections = &input.sections[..input.sections.len().min(12)];
    let align = 1_usize << (input.align % 10);
    let mut bytes = vec![0; TABLE + 40 * sections.len()];
    let mut put = |at: usize, what: &[u8]| bytes[at..at + what.len()].copy_from_slice(what);
    put(0, b"MZ");
    put(0x3c, &(HEADER as u32).to_le_bytes());
    put(HEADER, b"PE\0\0");
    put(HEADER + 6, &(sections.len() as u16).to_le_bytes());
    put(HEADER + 20, &64_u16.to_le_bytes());
    put(HEADER + 24 + 36, &(align as u32).to_le_bytes());
    let mut places = Vec::new();
    let mut address = 4096;
    for (n, section) in sections.iter().enumerate() {
        bytes.resize(bytes.len().next_multiple_of(align), 0);
        let (start, size) = (
            bytes.len(),
            section.content.len() + usize::from(section.free),
        );
        bytes.extend(&section.content);
        bytes.resize(start + size, 0);
        let entry = TABLE + 40 * n;
        let mut put = |at: usize, value: usize| {
            bytes[entry + at..entry + at + 4].copy_from_slice(&(value as u32).to_le_bytes());
        };
        put(8, section.content.len());
        put(12, address);
        put(16, size);
        put(20, start);
        let name = NAMES[usize::from(section.name) % NAMES.len()];
        bytes[entry..entry + name.len()].copy_from_slice(name);
        address += section.content.len() + usize::from(section.room);
        places.push((start, section.content.len()));
    }
    (bytes, places)
}

fn line(bytes: &[u8]) -> Option<Vec<u8>> {
    let part = Part::whole(&bytes).unwrap();
    command_line(&part).ok().flatten().map(|line| line.text)
}

/// Puts a line in; the image with it.
fn replaced(bytes: &[u8], text: &[u8]) -> Option<Vec<u8>> {
    let part = Part::whole(&bytes).unwrap();
    let line = command_line(&part).ok().flatten()?;
    line.replaced(bytes, text).ok()
}

libfuzzer_sys::fuzz_target!(|input: Input| {
    let (mut bytes, places) = image(&input);
    if let Some(new) = replaced(&bytes, &input.line) {
        let end = input.line.iter().position(|b| *b == 0);
        let wanted = input.line[..end.unwrap_or(input.line.len())].trim_ascii_end();
        assert_eq!(line(&new).as_deref(), Some(wanted));
        let is_line = |s: &Section| usize::from(s.name) % NAMES.len() == 1;
        // The first one of that name is the one that counts.
        let changed = input.sections.iter().position(is_line);
        for (n, (start, length)) in places.iter().enumerate() {
            if Some(n) != changed {
                let place = *start..start + length;
                assert_eq!(new[place.clone()], bytes[place]);
            }
        }
    }
    let length = bytes.len();
    for (at, value) in &input.changes {
        bytes[usize::from(*at) % length] ^= value;
    }
    bytes.truncate(length - usize::from(input.cut).min(length));
    let _ = replaced(&bytes, &input.line);
    let _ = replaced(&input.raw, &input.line);
});
