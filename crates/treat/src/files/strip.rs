//! An ELF program without what only debuggers read.
//!
//! What is loaded stays where it is, byte by byte: the file up to the end of its
//! segments is kept as it is. Of the sections behind that, the symbol table with its
//! names and the debugging data go; the others move together.
//!
//! Layout: System V Application Binary Interface, "ELF Header", "Sections" and
//! "Program Header".

use std::collections::BTreeSet;
use std::ops::Range;

/// Why a file is left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is no program and no shared library, but something else.
    Other,
    /// It is one, and is stripped already.
    Stripped,
    /// Its parts do not lie as they say, or it holds what no part names.
    Odd,
}

/// `e_type`: a program, and a shared library or one that lies anywhere.
const TYPES: [u64; 2] = [2, 3];
/// `sh_type`: symbols, and names.
const SYMBOLS: u64 = 2;
const NAMES: u64 = 3;
/// `sh_type` of what has no bytes in the file.
const NO_BITS: u64 = 8;
/// `sh_flags`: is loaded; and its `sh_info` is the number of a section.
const LOADED: u64 = 2;
const INFO_IS_LINK: u64 = 0x40;
/// `sh_type`: relocations, whose `sh_info` is the number of a section if it is not 0.
const RELOCATIONS: [u64; 2] = [4, 9];

/// Where the fields of a file lie: 32 or 64 bits, of either order.
#[derive(Clone, Copy)]
struct Layout {
    wide: bool,
    big: bool,
}

/// A field: where it begins, and its bytes.
type Field = (usize, usize);

impl Layout {
    fn of(bytes: &[u8]) -> Option<Self> {
        let head = bytes.get(..6).filter(|h| h.starts_with(b"\x7fELF"))?;
        let wide = match head.get(4)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        let big = match head.get(5)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        Some(Self { wide, big })
    }

    const fn pick(self, narrow: Field, wide: Field) -> Field {
        if self.wide { wide } else { narrow }
    }

    fn number(self, bytes: &[u8], (at, size): Field) -> Option<u64> {
        let field = bytes.get(at..at.checked_add(size)?)?;
        let join = |n: u64, b: &u8| n << 8 | u64::from(*b);
        Some(match self.big {
            true => field.iter().fold(0, join),
            false => field.iter().rev().fold(0, join),
        })
    }

    fn set(self, bytes: &mut [u8], (at, size): Field, number: u64) -> Option<()> {
        let field = bytes.get_mut(at..at.checked_add(size)?)?;
        for (i, byte) in field.iter_mut().enumerate() {
            let place = if self.big { size - 1 - i } else { i };
            *byte = (number >> (8 * place)).to_le_bytes()[0];
        }
        Some(())
    }

    // Of the file's header.
    const fn kind(self) -> Field {
        (16, 2)
    }
    const fn segments(self) -> Field {
        self.pick((28, 4), (32, 8))
    }
    const fn sections(self) -> Field {
        self.pick((32, 4), (40, 8))
    }
    const fn segment_size(self) -> Field {
        self.pick((42, 2), (54, 2))
    }
    const fn segment_count(self) -> Field {
        self.pick((44, 2), (56, 2))
    }
    const fn section_size(self) -> Field {
        self.pick((46, 2), (58, 2))
    }
    const fn section_count(self) -> Field {
        self.pick((48, 2), (60, 2))
    }
    const fn names(self) -> Field {
        self.pick((50, 2), (62, 2))
    }
}

/// A section as its header says.
#[derive(Clone, Copy)]
struct Section<'b> {
    header: &'b [u8],
    name: &'b [u8],
    kind: u64,
    flags: u64,
    at: u64,
    size: u64,
    align: u64,
    link: u64,
    info: u64,
}

const NAME: Field = (0, 4);
const KIND: Field = (4, 4);

impl Layout {
    const fn flags(self) -> Field {
        self.pick((8, 4), (8, 8))
    }
    const fn offset(self) -> Field {
        self.pick((16, 4), (24, 8))
    }
    const fn size(self) -> Field {
        self.pick((20, 4), (32, 8))
    }
    const fn link(self) -> Field {
        self.pick((24, 4), (40, 4))
    }
    const fn info(self) -> Field {
        self.pick((28, 4), (44, 4))
    }
    const fn align(self) -> Field {
        self.pick((32, 4), (48, 8))
    }

    fn section(self, header: &[u8]) -> Option<Section<'_>> {
        let field = |f| self.number(header, f);
        Some(Section {
            header,
            name: &[],
            kind: field(KIND)?,
            flags: field(self.flags())?,
            at: field(self.offset())?,
            size: field(self.size())?,
            align: field(self.align())?.max(1),
            link: field(self.link())?,
            info: field(self.info())?,
        })
    }
}

impl Section<'_> {
    /// Its bytes in the file.
    fn range(&self) -> Option<Range<usize>> {
        if self.kind == NO_BITS || self.kind == 0 {
            return Some(0..0);
        }
        let end = self.at.checked_add(self.size)?;
        Some(usize::try_from(self.at).ok()?..usize::try_from(end).ok()?)
    }

    fn is_loaded(&self) -> bool {
        self.flags & LOADED != 0
    }

    fn is_for_debuggers(&self) -> bool {
        let names: [&[u8]; 3] = [b".debug_", b".zdebug_", b".stab"];
        let is_named = names.iter().any(|n| self.name.starts_with(n)) || self.name == b".gdb_index";
        !self.is_loaded() && (self.kind == SYMBOLS || is_named)
    }
}

/// `at`, or the next place that is a multiple of `align`.
fn aligned(at: usize, align: usize) -> Option<usize> {
    at.checked_next_multiple_of(align.max(1))
}

/// The file without symbols and debugging data, or why it stays as it is.
pub(super) fn strip(bytes: &[u8]) -> Result<Vec<u8>, Kept> {
    let layout = Layout::of(bytes).ok_or(Kept::Other)?;
    let kind = layout.number(bytes, layout.kind()).ok_or(Kept::Other)?;
    if !TYPES.contains(&kind) {
        return Err(Kept::Other);
    }
    let sections = sections(bytes, layout).ok_or(Kept::Odd)?;
    let goes: Vec<bool> = {
        let debuggers: Vec<bool> = sections.iter().map(Section::is_for_debuggers).collect();
        // Names that only symbols lead to.
        let linked = |wanted: bool| -> BTreeSet<u64> {
            let of = sections.iter().zip(&debuggers);
            of.filter(|(_, d)| **d == wanted)
                .map(|(s, _)| s.link)
                .collect()
        };
        let (by_debuggers, by_others) = (linked(true), linked(false));
        let names = layout.number(bytes, layout.names()).unwrap_or(0);
        let all = sections.iter().zip(&debuggers).enumerate();
        all.map(|(number, (section, debuggers))| {
            let number = number as u64;
            let is_theirs = section.kind == NAMES && number != names && number != 0;
            let only_theirs = by_debuggers.contains(&number) && !by_others.contains(&number);
            *debuggers || (is_theirs && !section.is_loaded() && only_theirs)
        })
        .collect()
    };
    if !goes.contains(&true) {
        return Err(Kept::Stripped);
    }
    let loaded = loaded(bytes, layout, &sections).ok_or(Kept::Odd)?;
    let new = write(bytes, layout, &sections, &goes, loaded).ok_or(Kept::Odd)?;
    // What is loaded is what it was, but for the header's words on sections.
    let head = if layout.wide { 64 } else { 52 };
    let same = new.get(head..loaded).is_some() && new.get(head..loaded) == bytes.get(head..loaded);
    match same && new.len() < bytes.len() {
        true => Ok(new),
        false => Err(Kept::Odd),
    }
}

/// The file up to the end of its segments, without the table of its sections: neither the
/// kernel nor the dynamic linker reads that (System V ABI, "Program Loading"). Or why it stays
/// as it is.
pub(super) fn without_sections(bytes: &[u8]) -> Result<Vec<u8>, Kept> {
    let layout = Layout::of(bytes).ok_or(Kept::Other)?;
    let kind = layout.number(bytes, layout.kind()).ok_or(Kept::Other)?;
    if !TYPES.contains(&kind) {
        return Err(Kept::Other);
    }
    let sections = sections(bytes, layout).ok_or(Kept::Odd)?;
    if sections.is_empty() {
        return Err(Kept::Stripped);
    }
    // Without a segment that is loaded it is nothing that runs.
    let segments = segments(bytes, layout).ok_or(Kept::Odd)?;
    if segments.len() <= 2 {
        return Err(Kept::Other);
    }
    let end = loaded(bytes, layout, &sections).ok_or(Kept::Odd)?;
    let mut new = bytes.get(..end).ok_or(Kept::Odd)?.to_vec();
    for field in [layout.sections(), layout.section_count(), layout.names()] {
        layout.set(&mut new, field, 0).ok_or(Kept::Odd)?;
    }
    match new.len() < bytes.len() {
        true => Ok(new),
        false => Err(Kept::Odd),
    }
}

/// All sections with their names.
fn sections(bytes: &[u8], layout: Layout) -> Option<Vec<Section<'_>>> {
    let field = |f| usize::try_from(layout.number(bytes, f)?).ok();
    let (table, size) = (field(layout.sections())?, field(layout.section_size())?);
    let count = field(layout.section_count())?;
    let least = if layout.wide { 64 } else { 40 };
    if table == 0 || count == 0 {
        // No sections: there is nothing that could go.
        return Some(Vec::new());
    }
    if size != least {
        return None;
    }
    let end = table.checked_add(size.checked_mul(count)?)?;
    let headers = bytes.get(table..end)?.chunks_exact(size);
    let mut all: Vec<Section<'_>> = headers.map(|h| layout.section(h)).collect::<Option<_>>()?;
    let names = bytes.get(all.get(field(layout.names())?)?.range()?)?;
    let (mut last, mut named) = (end, 0_usize);
    for section in &mut all {
        let at = usize::try_from(layout.number(section.header, NAME)?).ok()?;
        let name = names.get(at..)?;
        section.name = name.split(|b| *b == 0).next()?;
        // Names may share their ends, but are no longer than the file for that.
        named += section.name.len();
        if named > bytes.len() {
            return None;
        }
        let range = section.range()?;
        bytes.get(range.clone())?;
        last = last.max(range.end);
    }
    // What lies behind all parts is somebody's own: a program that reads itself.
    let segments = segments(bytes, layout)?;
    let last = segments.iter().map(|s| s.end).fold(last, usize::max);
    (bytes.len() <= aligned(last, 8)?).then_some(all)
}

/// The bytes of all segments.
fn segments(bytes: &[u8], layout: Layout) -> Option<Vec<Range<usize>>> {
    let field = |f| usize::try_from(layout.number(bytes, f)?).ok();
    let (table, size) = (field(layout.segments())?, field(layout.segment_size())?);
    let count = field(layout.segment_count())?;
    let end = table.checked_add(size.checked_mul(count)?)?;
    let mut all = vec![0..if layout.wide { 64 } else { 52 }, table..end];
    for header in bytes.get(table..end)?.chunks_exact(size.max(1)) {
        let at = layout.number(header, layout.pick((4, 4), (8, 8)))?;
        let length = layout.number(header, layout.pick((16, 4), (32, 8)))?;
        let at = usize::try_from(at).ok()?;
        all.push(at..at.checked_add(usize::try_from(length).ok()?)?);
    }
    all.iter().all(|r| r.end <= bytes.len()).then_some(all)
}

/// Where that ends which stays as it is.
fn loaded(bytes: &[u8], layout: Layout, sections: &[Section<'_>]) -> Option<usize> {
    let segments = segments(bytes, layout)?;
    let ends = segments.iter().map(|s| s.end);
    let of_sections = sections.iter().filter(|s| s.is_loaded());
    let of_sections: Vec<usize> = of_sections
        .map(|s| s.range().map(|r| r.end))
        .collect::<Option<_>>()?;
    ends.chain(of_sections).max()
}

/// The file with those sections that stay.
fn write(
    bytes: &[u8],
    layout: Layout,
    sections: &[Section<'_>],
    goes: &[bool],
    loaded: usize,
) -> Option<Vec<u8>> {
    let mut new = bytes.get(..loaded)?.to_vec();
    let mut numbers = Vec::new();
    let mut count = 0_u64;
    for goes in goes {
        numbers.push(count);
        count += u64::from(!goes);
    }
    let renumbered = |old: u64| -> Option<u64> {
        let old = usize::try_from(old).ok()?;
        match goes.get(old)? {
            true => Some(0),
            false => numbers.get(old).copied(),
        }
    };
    let names_old = layout.number(bytes, layout.names())?;
    let mut names = Vec::new();
    let mut headers = Vec::new();
    let all = sections.iter().zip(goes).zip(0_u64..);
    for ((section, _), number) in all.filter(|((_, goes), _)| !**goes) {
        let mut header = section.header.to_vec();
        layout.set(&mut header, NAME, names.len() as u64)?;
        names.extend_from_slice(section.name);
        names.push(0);
        if names.len() > bytes.len() {
            return None;
        }
        let range = section.range()?;
        // The names of sections are written anew, at the end.
        if range.end > loaded && !range.is_empty() && number != names_old {
            let at = aligned(new.len(), usize::try_from(section.align).ok()?)?;
            // What is no shorter is of no use, and may be without end.
            if at.checked_add(range.len())? >= bytes.len() {
                return None;
            }
            new.resize(at, 0);
            new.extend_from_slice(bytes.get(range)?);
            layout.set(&mut header, layout.offset(), at as u64)?;
        }
        layout.set(&mut header, layout.link(), renumbered(section.link)?)?;
        let is_number = section.flags & INFO_IS_LINK != 0 || RELOCATIONS.contains(&section.kind);
        if is_number {
            layout.set(&mut header, layout.info(), renumbered(section.info)?)?;
        }
        headers.push(header);
    }
    let of_names = usize::try_from(renumbered(names_old)?).ok()?;
    let header = headers.get_mut(of_names)?;
    layout.set(header, layout.offset(), new.len() as u64)?;
    layout.set(header, layout.size(), names.len() as u64)?;
    new.extend_from_slice(&names);
    new.resize(aligned(new.len(), 8)?, 0);
    let table = new.len() as u64;
    headers.iter().for_each(|h| new.extend_from_slice(h));
    layout.set(&mut new, layout.sections(), table)?;
    layout.set(&mut new, layout.section_count(), count)?;
    layout.set(&mut new, layout.names(), of_names as u64)?;
    Some(new)
}

#[cfg(test)]
mod tests {
    use super::{Kept, strip, without_sections};
    use proptest::prelude::*;
    use std::ffi::OsStr;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    use std::sync::LazyLock;

    /// A program with symbols and debugging data, as the compiler makes it.
    fn own() -> &'static [u8] {
        static PROGRAM: LazyLock<Vec<u8>> = LazyLock::new(|| {
            let folder = tempfile::tempdir().unwrap();
            let (source, program) = (folder.path().join("p.rs"), folder.path().join("p"));
            std::fs::write(&source, "fn main() { println!(\"it runs\") }").unwrap();
            let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let done = Command::new(rustc)
                .args(["--edition", "2024", "-C", "debuginfo=2", "-C", "strip=none"])
                .args([OsStr::new("-o"), program.as_os_str(), source.as_os_str()])
                .status();
            assert!(done.unwrap().success());
            std::fs::read(program).unwrap()
        });
        &PROGRAM
    }

    /// What a program prints.
    fn output(bytes: &[u8]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, bytes).unwrap();
        let rights = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, rights).unwrap();
        Command::new(&program).output().unwrap().stdout
    }

    #[test]
    fn a_program_runs_without_its_symbols() {
        let old = own();
        let new = strip(old).unwrap();
        assert!(new.len() < old.len() / 2);
        assert_eq!(strip(&new), Err(Kept::Stripped));
        assert_eq!(output(&new), b"it runs\n");
    }

    #[test]
    fn a_program_runs_without_the_table_of_its_sections() {
        let old = own();
        let stripped = strip(old).unwrap();
        let new = without_sections(&stripped).unwrap();
        assert!(new.len() < stripped.len());
        assert_eq!(new.get(64..), stripped.get(64..new.len()));
        assert_eq!(without_sections(&new), Err(Kept::Stripped));
        assert_eq!(without_sections(old), Ok(new.clone()));
        assert_eq!(strip(&new), Err(Kept::Stripped));
        assert_eq!(output(&new), b"it runs\n");
        let mut with_more = own().to_vec();
        with_more.extend_from_slice(&[7; 4_096]);
        assert_eq!(without_sections(&with_more), Err(Kept::Odd));
        assert_eq!(without_sections(b"#!/bin/sh\n"), Err(Kept::Other));
    }

    #[test]
    fn what_is_no_program_or_more_than_one_stays() {
        assert_eq!(strip(b""), Err(Kept::Other));
        assert_eq!(strip(b"#!/bin/sh\n"), Err(Kept::Other));
        let mut with_more = own().to_vec();
        with_more.extend_from_slice(&[7; 4_096]);
        assert_eq!(strip(&with_more), Err(Kept::Odd));
        let cut = own();
        assert_eq!(strip(&cut[..cut.len() - 100]), Err(Kept::Odd));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn no_header_makes_it_panic(
            at in 0_usize..64,
            value: u8,
            big: bool,
            section in (0_usize..48, 0_usize..64, any::<u8>()),
        ) {
            let mut bytes = own().to_vec();
            bytes[at] = value;
            // A byte of a section's header: alignments, places, sizes, names.
            let table = u64::from_le_bytes(own()[40..48].try_into().unwrap()) as usize;
            let place = table + section.0 * 64 + section.1;
            if let Some(byte) = bytes.get_mut(place) {
                *byte = section.2;
            }
            if big {
                bytes[5] = 2;
            }
            let _ = strip(&bytes);
            let _ = without_sections(&bytes);
        }
    }
}
