//! Shared libraries that are linked anew with what a tree uses: by the compiler of this host,
//! run by its dynamic linker. Skipped where there is no compiler.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

use firstlight_treat::FileTreatment;
use firstlight_treat::files::{Applied, FileError, Journal, Target};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LIBRARY: &str = "
    int shared_number = 7;
    int used(void) { return 1; }
    int renamed_new(void) { return 2; }
    int looked_up(void) { return 3; }
    static const char filling[200000] = {1};
    const char *unused(int i) { return filling + i; }
";

fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<String> {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    let done = done.ok()?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{program} {arguments:?}: {said}");
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

/// A compiler that cut libraries are linked with on this host.
fn has_compiler() -> bool {
    let gcc = format!("{}-linux-gnu-gcc", std::env::consts::ARCH);
    let is_there = Command::new(gcc).arg("--version").output().is_ok();
    if !is_there {
        eprintln!("skipped: no compiler");
    }
    is_there
}

/// A root with a library, its object files beside it, and `app`, made of this source.
fn root(folder: &Path, app: &str) -> PathBuf {
    let root = folder.join("root");
    for below in ["usr/lib", "usr/bin"] {
        fs::create_dir_all(root.join(below)).unwrap();
    }
    fs::write(folder.join("x.c"), LIBRARY).unwrap();
    fs::write(folder.join("app.c"), app).unwrap();
    fs::write(
        folder.join("x.map"),
        "X_1 { global: used; shared_number; };\nX_2 { global: renamed_new; looked_up; unused; };\n",
    )
    .unwrap();
    let gcc = |arguments: &str| {
        let arguments: Vec<&str> = arguments.split(' ').collect();
        run("gcc", &arguments, folder).unwrap()
    };
    gcc("-O1 -fPIC -ffunction-sections -fdata-sections -c x.c");
    run("ar", &["rc", "libx_pic.a", "x.o"], folder).unwrap();
    gcc(
        "-shared -nostdlib -Wl,-soname,libx.so.1 -Wl,--version-script,x.map -o root/usr/lib/libx.so.1 x.o",
    );
    gcc("-O1 -o root/usr/bin/app app.c root/usr/lib/libx.so.1 -ldl");
    root
}

fn treatment(folder: &Path) -> String {
    let archive = folder.join("libx_pic.a");
    format!("library-cut=usr/lib/libx.so.1,{}", archive.display())
}

fn apply(root: &Path, text: &str) -> Result<(Vec<String>, Applied), FileError> {
    let target = Target::open(root)?;
    let treatment = FileTreatment::parse(text)?;
    let said = treatment.plan(&target)?.sentences;
    let mut journal = Journal::open(&target, &mut go_on)?;
    Ok((said, journal.apply(&treatment, None, &mut go_on)?.1))
}

fn go_on(_: &str) -> std::io::Result<()> {
    Ok(())
}

/// What the root's program answers with the root's library.
fn answer(root: &Path) -> Option<i32> {
    let app = root.join("usr/bin/app");
    let lib = root.join("usr/lib");
    let done = Command::new(app)
        .env("LD_LIBRARY_PATH", lib)
        .output()
        .unwrap();
    done.status.code()
}

#[test]
fn a_library_keeps_what_programs_need_copy_and_look_up() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // A variable that the program copies, a function, and one that it finds by its name.
    let app = "#include <dlfcn.h>\n#include <stddef.h>\nextern int shared_number; int used(void);\n\
        int main(void) { int (*f)(void) = (int (*)(void)) dlsym(NULL, \"looked_up\");\n\
        return f ? used() + shared_number * 10 + f() * 100 - 300 + 50 : 99; }";
    let root = root(folder.path(), app);
    let library = root.join("usr/lib/libx.so.1");
    let before = fs::read(&library).unwrap();
    assert_eq!(answer(&root), Some(121));
    let text = treatment(folder.path());
    let (said, done) = apply(&root, &text).unwrap();
    assert!(matches!(done, Applied::Changed { .. }));
    let after = fs::read(&library).unwrap();
    assert!(after.len() * 4 < before.len(), "{} bytes", after.len());
    assert!(
        said.iter().any(|s| s.contains("gives 3 of 5 symbols")),
        "{said:?}"
    );
    assert_eq!(answer(&root), Some(121));
    // Again, there is nothing to do.
    assert_eq!(apply(&root, &text).unwrap().1, Applied::Already);
    assert!(fs::read(&library).unwrap() == after);
    let target = Target::open(&root).unwrap();
    let mut journal = Journal::open(&target, &mut go_on).unwrap();
    journal.undo(None, &mut go_on).unwrap();
    assert!(fs::read(&library).unwrap() == before);
}

#[test]
fn what_the_archive_does_not_give_is_refused() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let app =
        "int used(void); int renamed_new(void); int main(void) { return used() + renamed_new(); }";
    let root = root(folder.path(), app);
    let before = fs::read(root.join("usr/lib/libx.so.1")).unwrap();
    // An archive of another library, which has only one of the two.
    fs::write(folder.path().join("x.c"), "int used(void) { return 1; }").unwrap();
    run("gcc", &["-fPIC", "-c", "x.c"], folder.path()).unwrap();
    fs::remove_file(folder.path().join("libx_pic.a")).unwrap();
    run("ar", &["rc", "libx_pic.a", "x.o"], folder.path()).unwrap();
    let why = apply(&root, &treatment(folder.path()))
        .unwrap_err()
        .to_string();
    assert!(why.contains("does not give renamed_new"), "{why}");
    assert!(fs::read(root.join("usr/lib/libx.so.1")).unwrap() == before);
    // None at all, and no library.
    let missing = apply(&root, "library-cut=usr/lib/libx.so.1").unwrap_err();
    assert!(missing.to_string().contains("libx_pic.a"), "{missing}");
    let other = apply(&root, "library-cut=usr/bin/app").unwrap_err();
    assert!(other.to_string().contains("not a library"), "{other}");
}

#[test]
fn a_program_whose_symbols_cannot_be_read_is_a_reason_to_refuse() {
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = root(
        folder.path(),
        "int used(void); int main(void) { return used(); }",
    );
    apply(&root, "strip-headers=usr/bin/app").unwrap();
    let why = apply(&root, &treatment(folder.path()))
        .unwrap_err()
        .to_string();
    assert!(why.contains("before `strip-headers=`"), "{why}");
}
