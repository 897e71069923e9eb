//! Trees of files that are the same everywhere: what images are filled with.

use crate::error::{LabError, io_error};
use crate::tools::Tool;
use crate::treated::treat_folder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};
use treat::FileTreatment;

/// What a tree holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tree {
    /// How many files of text it has, sixty-four a folder.
    #[serde(default)]
    pub files: u32,
    /// How large they are together, in KiB.
    #[serde(default)]
    pub kib: u32,
    /// Whether it can be a root: busybox, an init, and folders to mount things on.
    #[serde(default)]
    pub root: bool,
    /// Text files of a root by their places in it, `etc/inittab`. What begins with
    /// `#!` is a program.
    #[serde(default)]
    pub texts: BTreeMap<String, String>,
    /// Places in a root that are links to its busybox: `sbin/getty`.
    #[serde(default)]
    pub applets: Vec<String>,
    /// Debian's packages whose files are put into a root, with all that they depend on.
    #[serde(default)]
    pub packages: Vec<String>,
    /// What is done to a root when it is filled, in this order, as `firstlight treat`
    /// does it to a folder.
    #[serde(default)]
    pub treatments: Vec<String>,
}

/// How many files lie in a folder.
const FILES_A_FOLDER: u32 = 64;

/// The words of the text. Chosen by chance, they compress as source code does:
/// gzip makes a third of it.
const WORDS: &str = "static int struct return the buffer kernel device inode page count lock for \
    while if else void unsigned long const char offset length block super mount data read write \
    error check list next entry flags mode bits size table hash node tree root leaf queue wait";

/// The init of a tree that can be a root: it says that it runs.
const INIT: &str = "#!/bin/busybox sh\n\
    echo '<1>firstlight-mark done' >/dev/kmsg\n\
    echo '<1>firstlight-mark end' >/dev/kmsg\n\
    exec /bin/busybox reboot -f\n";

/// Folders of a tree that can be a root.
const FOLDERS: [&str; 8] = ["bin", "sbin", "dev", "proc", "sys", "run", "tmp", "mnt"];

/// Where a root has its busybox.
const BUSYBOX: &str = "bin/busybox";

impl Tree {
    /// Whether texts and applets lie where they can.
    ///
    /// # Errors
    /// A clause: what is wrong.
    pub fn check(&self) -> Result<(), String> {
        let more = self.packages.iter().chain(&self.treatments);
        if !self.root
            && let Some(first) = self.texts.keys().chain(&self.applets).chain(more).next()
        {
            return Err(format!("`{first}` needs a tree with `root = true`; add it"));
        }
        if let Some(wrong) = self.packages.iter().find(|p| !is_package(p)) {
            return Err(format!("`{wrong}` is no name of a Debian package"));
        }
        for treatment in &self.treatments {
            FileTreatment::parse(treatment).map_err(|e| e.to_string())?;
        }
        let mut places = self.texts.keys().chain(&self.applets);
        let plain = |c: Component<'_>| matches!(c, Component::Normal(_));
        let wrong = |place: &&String| {
            place.is_empty() || *place == BUSYBOX || !Path::new(place).components().all(plain)
        };
        let twice = self.applets.iter().find(|a| self.texts.contains_key(*a));
        match places.find(wrong).or(twice) {
            Some(place) => Err(format!(
                "invalid or repeated path `{place}`; write each path once, such as `etc/inittab`"
            )),
            None => Ok(()),
        }
    }

    /// Makes it in the empty folder `folder`, with `busybox` and the Debian packages in the
    /// files `packages` if it is a root.
    ///
    /// # Errors
    /// If it cannot be written, or a treatment cannot be applied.
    pub fn make(
        &self,
        folder: &Path,
        busybox: &[u8],
        packages: &[PathBuf],
    ) -> Result<(), LabError> {
        let failed = || io_error(folder, "cannot be filled");
        for package in packages {
            Tool::new("dpkg-deb", "dpkg", "unpack a package")
                .args(["-x".as_ref(), package.as_os_str(), folder.as_os_str()])
                .run()?;
        }
        let mut words = Text::default();
        let each = (u64::from(self.kib) << 10) / u64::from(self.files.max(1));
        for i in 0..self.files {
            let below = folder.join(format!("d{:03}", i / FILES_A_FOLDER));
            fs::create_dir_all(&below).map_err(failed())?;
            let path = below.join(format!("f{i:05}.txt"));
            fs::write(path, words.take(each as usize)).map_err(failed())?;
        }
        if self.root {
            for name in FOLDERS {
                fs::create_dir_all(folder.join(name)).map_err(failed())?;
            }
            let own = self.texts.iter().map(|(n, t)| (n.as_str(), t.as_bytes()));
            let mut files: BTreeMap<&str, &[u8]> = own.collect();
            files.insert(BUSYBOX, busybox);
            let has_init = self.applets.iter().any(|a| a == "sbin/init");
            if !has_init {
                files.entry("sbin/init").or_insert(INIT.as_bytes());
            }
            let place = |name: &str| -> Result<PathBuf, LabError> {
                let path = folder.join(name);
                fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed())?;
                Ok(path)
            };
            for (name, content) in files {
                let path = place(name)?;
                fs::write(&path, content).map_err(failed())?;
                let program = name == BUSYBOX || content.starts_with(b"#!");
                let mode = fs::Permissions::from_mode(if program { 0o755 } else { 0o644 });
                fs::set_permissions(&path, mode).map_err(failed())?;
            }
            for name in &self.applets {
                // Relative, so that it leads to this busybox before the boot too.
                let up = "../".repeat(Path::new(name).components().count() - 1);
                symlink(format!("{up}{BUSYBOX}"), place(name)?).map_err(failed())?;
            }
        }
        let treatments = self.treatments.iter().map(|t| FileTreatment::parse(t));
        let treatments = treatments.collect::<Result<Vec<_>, _>>();
        treat_folder(
            folder,
            &treatments.map_err(|e| LabError::Bug { why: e.to_string() })?,
        )
    }
}

/// Whether Debian could have a package of that name.
fn is_package(name: &str) -> bool {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"+-.".contains(&b);
    name.len() >= 2
        && name.bytes().all(legal)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// Text by a fixed sequence of chance: xorshift64 (Marsaglia, 2003).
struct Text(u64);

impl Default for Text {
    fn default() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }
}

impl Text {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn take(&mut self, length: usize) -> Vec<u8> {
        let words: Vec<&str> = WORDS.split_whitespace().collect();
        let mut text = Vec::with_capacity(length + 32);
        while text.len() < length {
            let chance = self.next();
            let word = words.get((chance >> 8) as usize % words.len().max(1));
            text.extend_from_slice(word.copied().unwrap_or("x").as_bytes());
            match chance % 16 {
                0 => text.extend_from_slice(b";\n\t"),
                1 => text.extend_from_slice(format!("({})", chance >> 52).as_bytes()),
                2 => text.extend_from_slice(b"->"),
                _ => text.push(b' '),
            }
        }
        text.truncate(length);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Tree;
    use crate::files::below;

    #[test]
    fn a_tree_is_as_large_as_asked_for_and_the_same_each_time() {
        let tree = Tree {
            files: 130,
            kib: 260,
            root: true,
            texts: [("etc/motd", "hello\n"), ("etc/init.d/rcS", "#!/bin/sh\n")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into(),
            applets: vec!["bin/sh".into(), "usr/sbin/crond".into()],
            ..Tree::default()
        };
        tree.check().unwrap();
        let make = || {
            let folder = tempfile::tempdir().unwrap();
            tree.make(folder.path(), b"busybox", &[]).unwrap();
            let mode = |name: &str| {
                let about = std::fs::metadata(folder.path().join(name)).unwrap();
                std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777
            };
            assert_eq!((mode("etc/init.d/rcS"), mode("etc/motd")), (0o755, 0o644));
            for applet in &tree.applets {
                let program = std::fs::read(folder.path().join(applet)).unwrap();
                assert_eq!(program, b"busybox");
            }
            let mut names = below(folder.path()).unwrap();
            names.sort();
            let read = |n: &String| std::fs::read(folder.path().join(n)).unwrap();
            names
                .iter()
                .map(|n| (n.clone(), read(n)))
                .collect::<Vec<_>>()
        };
        let files = make();
        let text: usize = files
            .iter()
            .filter(|f| f.0.ends_with(".txt"))
            .map(|f| f.1.len())
            .sum();
        assert_eq!((files.len(), text), (136, 260 << 10));
        assert_eq!(files, make());
    }

    #[test]
    fn a_root_is_treated_and_nothing_is_kept_beside_it() {
        let tree = Tree {
            root: true,
            texts: [
                (
                    "etc/init.d/rcS",
                    "#!/bin/sh\nfor i in /etc/init.d/S??*; do\n$i start\ndone\n",
                ),
                ("etc/init.d/S01a", "#!/bin/sh\necho merged\n"),
            ]
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .into(),
            applets: vec!["bin/sh".into()],
            treatments: vec!["start-script=one".into()],
            ..Tree::default()
        };
        tree.check().unwrap();
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("tree");
        std::fs::create_dir(&folder).unwrap();
        tree.make(&folder, b"busybox", &[]).unwrap();
        let text = std::fs::read_to_string(folder.join("etc/init.d/rcS")).unwrap();
        assert!(text.contains("echo merged"), "{text}");
        assert_eq!(std::fs::read_dir(above.path()).unwrap().count(), 1);

        // What changes nothing is a mistake.
        let twice = Tree {
            treatments: vec!["start-script=one".into(); 2],
            ..tree
        };
        let other = above.path().join("other");
        std::fs::create_dir(&other).unwrap();
        let said = twice.make(&other, b"busybox", &[]).unwrap_err().to_string();
        assert!(said.contains("already applied"), "{said}");
    }

    #[test]
    fn nothing_is_put_out_of_the_tree() {
        let of = |text: &str| toml::from_str::<Tree>(text).unwrap().check();
        for (text, found) in [
            ("root = true\napplets = [\"../sh\"]", "`../sh`"),
            ("root = true\napplets = [\"/bin/sh\"]", "`/bin/sh`"),
            ("root = true\napplets = [\"bin/busybox\"]", "`bin/busybox`"),
            ("root = true\n[texts]\n\"\" = \"x\"", "``"),
            (
                "root = true\napplets = [\"sbin/init\"]\n[texts]\n\"sbin/init\" = \"x\"",
                "`sbin/init`",
            ),
            ("applets = [\"bin/sh\"]", "a tree with `root = true`"),
            ("packages = [\"lzop\"]", "a tree with `root = true`"),
            ("root = true\npackages = [\"-o\"]", "`-o`"),
            ("root = true\ntreatments = [\"x=y\"]", "x=y"),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(found), "{text}: {said}");
        }
        of("root = true\napplets = [\"bin/sh\"]").unwrap();
        of("files = 1").unwrap();
    }
}
