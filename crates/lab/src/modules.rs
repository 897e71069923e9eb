//! Kernel modules: which files a module needs, in the order of loading.

use crate::error::{LabError, io_error};
use crate::files::read;
use rawimage::compression::{LIMIT, unpack};
use rawimage::{Compression, Part};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What depmod found out about a kernel's modules.
#[derive(Debug)]
pub struct Modules {
    tree: PathBuf,
    /// From the module's name to its file and those it needs, as `modules.dep`
    /// names them.
    needs: BTreeMap<String, Vec<String>>,
    /// Names of modules that are part of the kernel image.
    built_in: Vec<String>,
}

impl Modules {
    /// Reads `modules.dep` and `modules.builtin` of a module tree, a folder such
    /// as `/lib/modules/6.1.0-56-amd64`.
    ///
    /// # Errors
    /// If they cannot be read.
    pub fn read(tree: &Path) -> Result<Self, LabError> {
        let text = |name: &str| {
            let path = tree.join(name);
            let why = "cannot be read; create it with `depmod` (package kmod)";
            fs::read_to_string(&path).map_err(io_error(&path, why))
        };
        Ok(Self::parse(
            tree,
            &text("modules.dep")?,
            &text("modules.builtin")?,
        ))
    }

    fn parse(tree: &Path, dep: &str, builtin: &str) -> Self {
        let mut needs = BTreeMap::new();
        for line in dep.lines() {
            let Some((file, others)) = line.split_once(':') else {
                continue;
            };
            let files = std::iter::once(file).chain(others.split_whitespace());
            needs.insert(name(file), files.map(str::to_owned).collect());
        }
        Self {
            tree: tree.to_owned(),
            needs,
            built_in: builtin.lines().map(name).collect(),
        }
    }

    /// The files to load for `wanted`, each once, what is needed first. Modules
    /// that are built into the kernel need no file.
    ///
    /// # Errors
    /// If a module is neither a file nor built in.
    pub fn order(&self, wanted: &[&str]) -> Result<Vec<PathBuf>, LabError> {
        let mut order: Vec<&String> = Vec::new();
        for module in wanted {
            let module = name(module);
            let Some(files) = self.needs.get(&module) else {
                if self.built_in.contains(&module) {
                    continue;
                }
                return Err(LabError::NoModule {
                    module,
                    tree: self.tree.clone(),
                });
            };
            // `modules.dep` lists, from left to right, what is needed ever more
            // deeply: modprobe loads from the right.
            for file in files.iter().rev() {
                if !order.contains(&file) {
                    order.push(file);
                }
            }
        }
        Ok(order.iter().map(|f| self.tree.join(f)).collect())
    }
}

/// A module without the signature behind it, if it has one: the content, then
/// signer, key and signature, whose lengths stand in twelve bytes before the last words
/// (`include/linux/module_signature.h`).
pub fn without_signature(module: &[u8]) -> &[u8] {
    const MAGIC: &[u8] = b"~Module signature appended~\n";
    let cut = || {
        let (rest, about) = module.strip_suffix(MAGIC)?.split_last_chunk::<12>()?;
        let [.., signer, key, _, _, _, a, b, c, d] = *about;
        let signature = u32::from_be_bytes([a, b, c, d]) as usize;
        let bytes = signature.checked_add(usize::from(signer) + usize::from(key))?;
        rest.get(..rest.len().checked_sub(bytes)?)
    };
    cut().unwrap_or(module)
}

/// The bytes of a module, decompressed: what loads it in a trial reads plain ones only, and
/// some systems, such as Debian 13, compress theirs.
///
/// # Errors
/// If it cannot be read, or is damaged.
pub fn load(path: &Path) -> Result<Vec<u8>, LabError> {
    let module = read(path)?;
    if path.extension().is_some_and(|e| e == "ko") {
        return Ok(module);
    }
    let wrong = |why: String| LabError::Kernel {
        path: path.to_owned(),
        why: format!("cannot decompress the module: {why}"),
    };
    let found = Compression::detect(&module)
        .ok_or_else(|| wrong("its compression is not recognized".to_owned()))?;
    let bytes = &module[..];
    let part = Part::whole(&bytes).map_err(|e| wrong(e.to_string()))?;
    unpack(found, &part, LIMIT).map_err(|e| wrong(e.to_string()))
}

/// The name of a module's file, without folders, `.ko` and compression.
pub fn stem(file: &str) -> &str {
    let base = file.rsplit('/').next().unwrap_or(file);
    base.split(".ko").next().unwrap_or(base)
}

/// The name of a module: [`stem`] of its file, where dashes are underscores.
pub fn name(file: &str) -> String {
    stem(file).replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::{Modules, load, without_signature};
    use rawimage::Compression;
    use std::path::Path;

    #[test]
    fn a_compressed_module_is_loaded_as_the_plain_one() {
        let folder = tempfile::tempdir().unwrap();
        let plain = b"\x7fELF a module".repeat(50);
        for (name, method) in [
            ("a.ko", Compression::None),
            ("a.ko.xz", Compression::Xz),
            ("a.ko.zst", Compression::Zstd),
        ] {
            let mut packed = Vec::new();
            rawimage::compression::encode(method, &mut &plain[..], &mut packed).unwrap();
            let path = folder.path().join(name);
            std::fs::write(&path, packed).unwrap();
            assert_eq!(load(&path).unwrap(), plain, "{name}");
        }
        let damaged = folder.path().join("b.ko.xz");
        std::fs::write(&damaged, b"no stream").unwrap();
        assert!(load(&damaged).is_err());
    }

    const DEP: &str = "\
kernel/fs/ext4/ext4.ko: kernel/lib/crc16.ko kernel/fs/mbcache.ko kernel/fs/jbd2/jbd2.ko
kernel/fs/jbd2/jbd2.ko:
kernel/fs/mbcache.ko:
kernel/lib/crc16.ko:
kernel/drivers/nvdimm/nd_pmem.ko: kernel/drivers/nvdimm/nd_btt.ko kernel/drivers/nvdimm/libnvdimm.ko
kernel/drivers/nvdimm/nd_btt.ko: kernel/drivers/nvdimm/libnvdimm.ko
kernel/crypto/crc32c-generic.ko.xz:
";

    fn modules() -> Modules {
        Modules::parse(Path::new("/m"), DEP, "kernel/drivers/block/loop.ko\n")
    }

    fn order(wanted: &[&str]) -> Vec<String> {
        let files = modules().order(wanted).unwrap();
        let name = |f: &std::path::PathBuf| f.file_name().unwrap().to_str().unwrap().to_owned();
        files.iter().map(name).collect()
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        assert_eq!(
            order(&["nd_pmem", "ext4", "jbd2"]),
            [
                "libnvdimm.ko",
                "nd_btt.ko",
                "nd_pmem.ko",
                "jbd2.ko",
                "mbcache.ko",
                "crc16.ko",
                "ext4.ko"
            ]
        );
    }

    #[test]
    fn dashes_and_compression_do_not_matter_and_built_in_needs_no_file() {
        assert_eq!(order(&["crc32c_generic", "loop"]), ["crc32c-generic.ko.xz"]);
    }

    #[test]
    fn a_signature_is_cut_off_with_all_that_belongs_to_it() {
        let signed = |about: [u8; 12]| {
            let mut all = b"\x7fELF code".to_vec();
            all.extend_from_slice(b"signerkeysignature");
            all.extend_from_slice(&about);
            all.extend_from_slice(b"~Module signature appended~\n");
            all
        };
        let whole = signed([0, 4, 2, 6, 3, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(without_signature(&whole), b"\x7fELF code");
        // One that claims more than there is stays as it is.
        let wrong = signed([0, 4, 2, 6, 3, 0, 0, 0, 0xff, 0, 0, 9]);
        assert_eq!(without_signature(&wrong), wrong);
        assert_eq!(without_signature(b"\x7fELF code"), b"\x7fELF code");
    }

    #[test]
    fn a_module_that_is_not_there_is_named() {
        let said = modules().order(&["reiserfs"]).unwrap_err().to_string();
        assert!(said.contains("`reiserfs`") && said.contains("/m"), "{said}");
    }
}
