//! A shared library of a root tree, linked anew with only what the tree uses: mklibs' work.
//!
//! A library cannot be cut: calls within it name no symbol. It is linked again from the
//! object files that it was made of, compiled to lie anywhere, in an archive that its
//! maker gives (Debian: `libstdc++_pic.a`). The compiler's linker takes the parts that the
//! kept symbols lead to. What comes out is used only if it gives each of these symbols in
//! the same version, and needs nothing that the library did not need.

use super::content::Content;
use super::error::FileError;
use super::library::is_in_library_folder;
use super::plan::Change;
use super::programs::{NOT_USERS, is_tree, linker_folders, walk};
use super::symbols::{Symbols, Unread, read};
use super::tree::{Target, What, join, split};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A symbol that is kept, and the versions that are asked for; empty: whatever is default.
type Kept = BTreeMap<String, BTreeSet<String>>;

/// Debian's and others' names of compilers, by `e_machine`, 64 bits and little-endian.
/// Numbers: System V ABI, "Machine".
const COMPILERS: [((u16, bool, bool), &str); 8] = [
    ((62, true, true), "x86_64-linux-gnu"),
    ((3, false, true), "i686-linux-gnu"),
    ((183, true, true), "aarch64-linux-gnu"),
    ((243, true, true), "riscv64-linux-gnu"),
    ((21, true, true), "powerpc64le-linux-gnu"),
    ((22, true, false), "s390x-linux-gnu"),
    ((258, true, true), "loongarch64-linux-gnu"),
    ((8, false, true), "mipsel-linux-gnu"),
];
const ARM: u16 = 40;
/// `EF_ARM_ABI_FLOAT_HARD`.
const HARD_FLOAT: u32 = 0x400;

/// What linking the library at `path` anew changes, and what there is to say about it.
pub(super) fn library_cut(
    target: &Target,
    path: &str,
    archive: Option<&str>,
) -> Result<(Vec<Change>, Option<String>), FileError> {
    is_tree(target)?;
    let (real, found) = target.look(path)?;
    let Some(found) = found else {
        return Err(target.wrong(format!("{path} does not exist")));
    };
    let bytes = match &found.content {
        Content::Link(to) => {
            return Err(target.wrong(format!("{path} is a link to {to}; name the library itself")));
        }
        Content::File(bytes) if is_in_library_folder(&real) => bytes,
        _ => return Err(target.wrong(format!("{path} is not a library in a linker's folder"))),
    };
    // Undoing could not give it its other names again.
    target.read(&real)?;
    let own = read(bytes).map_err(|e| target.wrong(unread(path, e)))?;
    let Some(soname) = own.soname.clone() else {
        return Err(target.wrong(format!(
            "{path} is not a shared library with a name (DT_SONAME)"
        )));
    };
    let given = given(&own);
    let kept = kept(target, (&real, &own), &given)?;
    if kept.is_empty() {
        return Err(target.wrong(format!(
            "no file of the tree uses a symbol of {path}; `library-=` removes a library that no \
             file names"
        )));
    }
    let compiler = compiler(&own).ok_or_else(|| {
        target.wrong(format!(
            "no compiler is known for the machine of {path}; set CROSS_COMPILE to the beginning of \
             its name, such as /opt/toolchain/bin/arm-linux-"
        ))
    })?;
    let archive = match archive {
        Some(archive) => PathBuf::from(archive),
        None => of_compiler(target, &compiler, &soname)?,
    };
    let new = linked(target, (&compiler, &archive), (&own, &soname, &kept))?;
    check(target, path, (&own, &read(&new)), &kept)?;
    let sizes = (bytes.len(), new.len());
    let said = format!(
        "{path} gives {} of {} symbols, all that the tree names: {} bytes before, {} after",
        kept.len(),
        given.len(),
        sizes.0,
        sizes.1
    );
    if sizes.1 >= sizes.0 {
        return Ok((Vec::new(), Some(format!("{said}; it stays as it is"))));
    }
    let change = Change {
        path: found.path,
        before: found.content,
        metadata: Some(found.metadata),
        after: Content::File(new),
    };
    Ok((vec![change], Some(said)))
}

fn unread(path: &str, why: Unread) -> String {
    match why {
        Unread::Other => format!("{path} is not a program or shared library"),
        Unread::NoSections => format!(
            "{path} has no section headers, so its symbols are not known; apply `library-cut=` \
             before `strip-headers=`"
        ),
        Unread::Odd => format!("{path} is damaged: its symbols cannot be read"),
    }
}

/// The names that a library gives, without those of its versions.
fn given(own: &Symbols) -> HashSet<&str> {
    let versions: HashSet<&str> = own.all.iter().flat_map(|s| s.version.as_deref()).collect();
    let given = own.all.iter().filter(|s| s.is_given);
    let given = given.map(|s| s.name.as_str());
    given.filter(|name| !versions.contains(name)).collect()
}

/// What of a library the other files of the tree use: the symbols that programs and
/// libraries need, those that they have themselves under the same name (a program's copy
/// of a variable, a replaced function), and those whose names stand in any file, which a
/// program may look for while it runs (`dlsym`).
fn kept(
    target: &Target,
    (library, own): (&str, &Symbols),
    given: &HashSet<&str>,
) -> Result<Kept, FileError> {
    let versions: HashSet<&str> = own.all.iter().flat_map(|s| s.version.as_deref()).collect();
    let mut kept = Kept::new();
    walk(target, "", &NOT_USERS, &mut |path, what| {
        let (Some(path), What::File(_)) = (path, what) else {
            return Ok(());
        };
        if path == library {
            return Ok(());
        }
        let (_, found) = target.look(path)?;
        let Some(Content::File(bytes)) = found.map(|f| f.content) else {
            return Ok(());
        };
        match read(&bytes) {
            Ok(symbols) => {
                for symbol in symbols.all {
                    if given.contains(symbol.name.as_str()) {
                        let of = kept.entry(symbol.name).or_default();
                        of.extend(symbol.version.filter(|v| versions.contains(v.as_str())));
                    }
                }
            }
            Err(Unread::Other) => {}
            Err(why) => return Err(target.wrong(unread(path, why))),
        }
        let part = |b: &u8| b.is_ascii_alphanumeric() || b"_.$".contains(b);
        for word in bytes.split(|b| !part(b)) {
            if let Some(name) = std::str::from_utf8(word).ok().and_then(|w| given.get(w)) {
                kept.entry((*name).to_owned()).or_default();
            }
        }
        Ok(())
    })?;
    Ok(kept)
}

/// The compiler for a library's machine.
fn compiler(own: &Symbols) -> Option<String> {
    if let Ok(prefix) = std::env::var("CROSS_COMPILE")
        && !prefix.is_empty()
    {
        return Some(format!("{prefix}gcc"));
    }
    let (machine, wide, little, flags) = own.machine;
    if machine == ARM && little {
        let hard = if flags & HARD_FLOAT == 0 { "" } else { "hf" };
        return Some(format!("arm-linux-gnueabi{hard}-gcc"));
    }
    let known = COMPILERS.iter().find(|c| c.0 == (machine, wide, little));
    known.map(|(_, name)| format!("{name}-gcc"))
}

/// The archive that lies beside the compiler: `libstdc++.so.6` has `libstdc++_pic.a`.
fn of_compiler(target: &Target, compiler: &str, soname: &str) -> Result<PathBuf, FileError> {
    let name = soname.split(".so").next().unwrap_or(soname);
    let name = format!("{name}_pic.a");
    let said = run(
        target,
        Command::new(compiler).arg(format!("-print-file-name={name}")),
    )?;
    let path = PathBuf::from(String::from_utf8_lossy(&said).trim());
    match path.is_absolute() && path.is_file() {
        true => Ok(path),
        false => Err(target.wrong(format!(
            "{compiler} has no {name}; install it (Debian: libstdc++-12-pic), or name an archive of \
             the library's object files, compiled with -fPIC: `library-cut=PATH,ARCHIVE`"
        ))),
    }
}

/// The library, linked from `archive` with what is kept.
fn linked(
    target: &Target,
    (compiler, archive): (&str, &Path),
    (own, soname, kept): (&Symbols, &str, &Kept),
) -> Result<Vec<u8>, FileError> {
    let folder = tempfile::tempdir().map_err(|e| failed(target, "a temporary folder", &e))?;
    let place = |name: &str| folder.path().join(name);
    let put = |name: &str, bytes: &[u8]| {
        std::fs::write(place(name), bytes).map_err(|e| failed(target, name, &e))
    };
    put("versions.map", script(own, kept).as_bytes())?;
    let mut command = Command::new(compiler);
    command
        .args(["-shared", "-nodefaultlibs", "-s", "-Wl,--gc-sections"])
        .args(["-Wl,--build-id=none", "-Wl,-z,relro", "-Wl,--eh-frame-hdr"])
        .arg(match own.has_old_hash {
            true => "-Wl,--hash-style=both",
            false => "-Wl,--hash-style=gnu",
        })
        .args(["-Xlinker", "-soname", "-Xlinker", soname])
        .args(["-Xlinker", "--version-script", "-Xlinker"])
        .arg(place("versions.map"));
    // Too many for a command line.
    let mut names = String::new();
    for name in kept.keys() {
        let _ = writeln!(names, "-u{name}");
    }
    put("names", names.as_bytes())?;
    command
        .arg("-Xlinker")
        .arg(format!("@{}", place("names").display()))
        .arg(archive);
    // The libraries that it needs are taken from the tree, not from this host.
    for (number, needed) in own.needed.iter().enumerate() {
        let name = format!("{number}.so");
        let Some(bytes) = library_named(target, needed)? else {
            return Err(target.wrong(format!("{soname} needs {needed}, which is not in the tree")));
        };
        put(&name, &bytes)?;
        command.arg(place(&name));
    }
    command.args(["-lgcc", "-Wl,--no-undefined"]);
    command.arg("-o").arg(place("new"));
    run(target, &mut command)?;
    std::fs::read(place("new")).map_err(|e| failed(target, "the linked library", &e))
}

/// Which symbols the new library gives, in the versions of the old one.
fn script(own: &Symbols, kept: &Kept) -> String {
    let mut by_version: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let of_own = own.all.iter().filter(|s| s.is_given && s.is_default);
    for symbol in of_own.filter(|s| kept.contains_key(&s.name)) {
        let version = symbol.version.as_deref().unwrap_or("");
        by_version.entry(version).or_default().push(&symbol.name);
    }
    let mut text = String::new();
    let mut hidden = "local: *;";
    for (version, names) in by_version {
        let _ = writeln!(
            text,
            "{version} {{ global: {}; {hidden} }};",
            names.join("; ")
        );
        hidden = "";
    }
    text
}

/// The library of the tree that others need by this name.
fn library_named(target: &Target, name: &str) -> Result<Option<Vec<u8>>, FileError> {
    for folder in linker_folders(target)? {
        let mut path = join(&folder, name);
        // As many links as a library has: its name, and the file.
        for _ in 0..8 {
            match target.look(&path)?.1.map(|f| f.content) {
                Some(Content::File(bytes)) => return Ok(Some(bytes)),
                Some(Content::Link(to)) => {
                    path = match to.strip_prefix('/') {
                        Some(absolute) => absolute.to_owned(),
                        None => join(split(&path).0, &to),
                    };
                }
                _ => break,
            }
        }
    }
    Ok(None)
}

/// Refuses a library that does not give what is kept, or needs more than the old one.
fn check(
    target: &Target,
    path: &str,
    (own, new): (&Symbols, &Result<Symbols, Unread>),
    kept: &Kept,
) -> Result<(), FileError> {
    let refuse = |why: String| Err(target.wrong(format!("{path} cannot be linked anew: {why}")));
    let Ok(new) = new else {
        return refuse("the linker's output cannot be read".into());
    };
    if new.soname != own.soname || new.machine.0 != own.machine.0 || new.machine.1 != own.machine.1
    {
        return refuse("the compiler is one for another machine".into());
    }
    if let Some(more) = new.needed.iter().find(|n| !own.needed.contains(n)) {
        return refuse(format!("it would need {more} as well"));
    }
    let has = |name: &str, version: Option<&str>| {
        let same = |s: &&super::symbols::Symbol| s.is_given && s.name == name;
        let mut found = new.all.iter().filter(same);
        match version {
            Some(version) => found.any(|s| s.version.as_deref() == Some(version)),
            None => found.any(|s| s.is_default),
        }
    };
    for (name, versions) in kept {
        let asked = versions.iter().map(|v| Some(v.as_str()));
        let default = own
            .all
            .iter()
            .any(|s| s.is_given && s.is_default && s.name == *name);
        let asked = asked.chain(default.then_some(None));
        for version in asked {
            if !has(name, version) {
                let version = version.unwrap_or("no version");
                return refuse(format!(
                    "the archive does not give {name} ({version}); it is not of this library"
                ));
            }
        }
    }
    Ok(())
}

/// Runs a compiler, and gives what it wrote.
fn run(target: &Target, command: &mut Command) -> Result<Vec<u8>, FileError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done =
        command.env("LC_ALL", "C").output().map_err(|e| {
            match e.kind() {
        std::io::ErrorKind::NotFound => target.wrong(format!(
            "{name} is not installed; install it, or set CROSS_COMPILE to the beginning of another \
             compiler's name"
        )),
        _ => target.wrong(format!("{name} cannot be run: {e}")),
    }
        })?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let why = said.lines().map(str::trim).find(|l| !l.is_empty());
    Err(target.wrong(format!(
        "{name} failed: {}",
        why.unwrap_or("it gave no reason")
    )))
}

fn failed(target: &Target, what: &str, why: &std::io::Error) -> FileError {
    target.wrong(format!("{what} cannot be written or read: {why}"))
}
