//! The dynamic symbols of an ELF program or shared library, with their versions.
//!
//! The file is read by `object`. Versions: Linux Standard Base Core Specification, "Symbol
//! Versioning".

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader, Sym as _};
use object::{Endianness, FileKind};

/// A symbol that a file gives or takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub name: String,
    /// Its version, if it has one.
    pub version: Option<String>,
    /// Whether others can find it here.
    pub is_given: bool,
    /// Whether who names no version gets this one.
    pub is_default: bool,
}

/// What the dynamic linker reads of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Symbols {
    /// `e_machine`, whether it has 64 bits, whether it is little-endian, `e_flags`.
    pub machine: (u16, bool, bool, u32),
    /// By which name others need it.
    pub soname: Option<String>,
    /// The libraries that it needs, by their `DT_SONAME`.
    pub needed: Vec<String>,
    /// Whether it has the older of the two tables of names, `DT_HASH`.
    pub has_old_hash: bool,
    pub all: Vec<Symbol>,
}

/// Why a file's symbols are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is no ELF file.
    Other,
    /// It has a dynamic section, but no table that says where its symbols end.
    NoSections,
    /// Its parts do not lie as they say.
    Odd,
}

/// The symbols of a file. One that is linked statically has none.
pub(super) fn read(bytes: &[u8]) -> Result<Symbols, Unread> {
    match FileKind::parse(bytes) {
        Ok(FileKind::Elf32) => of::<FileHeader32<Endianness>>(bytes, false),
        Ok(FileKind::Elf64) => of::<FileHeader64<Endianness>>(bytes, true),
        _ => Err(Unread::Other),
    }
}

fn of<Elf: FileHeader<Endian = Endianness>>(bytes: &[u8], wide: bool) -> Result<Symbols, Unread> {
    let header = Elf::parse(bytes).map_err(|_| Unread::Odd)?;
    let endian = header.endian().map_err(|_| Unread::Odd)?;
    let mut symbols = Symbols {
        machine: (
            header.e_machine(endian).0,
            wide,
            endian == Endianness::Little,
            header.e_flags(endian).0,
        ),
        ..Symbols::default()
    };
    let segments = header.program_headers(endian, bytes);
    let is_dynamic = segments.is_ok_and(|all| {
        use object::read::elf::ProgramHeader as _;
        all.iter().any(|s| s.p_type(endian) == elf::PT_DYNAMIC)
    });
    if !is_dynamic {
        return Ok(symbols);
    }
    if header.e_shoff(endian).into() == 0 {
        return Err(Unread::NoSections);
    }
    let filled = fill::<Elf>(&mut symbols, header, bytes);
    filled.map(|()| symbols).map_err(|_| Unread::Odd)
}

fn fill<Elf: FileHeader<Endian = Endianness>>(
    symbols: &mut Symbols,
    header: &Elf,
    bytes: &[u8],
) -> object::read::Result<()> {
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if let Some((entries, link)) = sections.dynamic(endian, bytes)? {
        let names = sections.strings(endian, bytes, link)?;
        for entry in entries {
            match entry.d_tag(endian) {
                elf::DT_NULL => break,
                elf::DT_NEEDED => symbols.needed.push(text(entry.string(endian, names)?)),
                elf::DT_SONAME => symbols.soname = Some(text(entry.string(endian, names)?)),
                elf::DT_HASH => symbols.has_old_hash = true,
                _ => {}
            }
        }
    }
    let table = sections.symbols(endian, bytes, elf::SHT_DYNSYM)?;
    let versions = sections.versions(endian, bytes)?;
    for (index, symbol) in table.enumerate() {
        let name = text(table.symbol_name(endian, symbol)?);
        if name.is_empty() || symbol.st_bind() == elf::STB_LOCAL {
            continue;
        }
        let (mut version, mut is_default, mut is_local) = (None, true, false);
        if let Some(versions) = &versions {
            let at = versions.version_index(endian, index);
            version = versions.version(at.index())?.map(|v| text(v.name()));
            is_default = !at.is_hidden();
            is_local = at.is_local();
        }
        symbols.all.push(Symbol {
            name,
            version,
            is_given: !symbol.is_undefined(endian) && !is_local,
            is_default,
        });
    }
    Ok(())
}
