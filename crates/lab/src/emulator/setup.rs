//! How a machine is switched on, in a form that another host can follow: the words of
//! the emulator's command line with names in place of paths, and the files behind them,
//! by their contents.

use super::{PowerOn, Words, make_out_file, words};
use crate::error::{LabError, io_error};
use crate::files::HashedFile;
use crate::pace::Pace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The file that takes the payload.
pub const OUT: &str = "out";
/// The kernel.
pub const KERNEL: &str = "kernel";
/// The initramfs.
pub const INITRAMFS: &str = "initramfs";
/// The image of the root filesystem.
pub const ROOT: &str = "root";
/// The contents of a board's flash memory.
pub const FLASH: &str = "flash";

/// A word of the emulator's command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    /// The path of a file.
    Path {
        file: String,
    },
    /// An option with the path of a file in it.
    Option {
        before: String,
        option: String,
        after: String,
    },
}

/// The words of the emulator's command line, with names in place of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Template(Vec<Word>);

impl Template {
    /// The words of `text`, which blanks separate.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let words = text.split_whitespace();
        Self(words.map(|w| Word::Text(w.to_owned())).collect())
    }

    /// Adds an option and its value.
    pub fn pair(&mut self, key: &str, value: impl Into<String>) {
        self.0.push(Word::Text(key.to_owned()));
        self.0.push(Word::Text(value.into()));
    }

    /// Adds an option whose value is the path of the file `name`.
    pub fn file(&mut self, key: &str, name: &str) {
        self.0.push(Word::Text(key.to_owned()));
        let file = name.to_owned();
        self.0.push(Word::Path { file });
    }

    /// Adds an option whose value has the path of the file `name` in it.
    fn option(&mut self, key: &str, (before, name, after): (String, &str, String)) {
        self.0.push(Word::Text(key.to_owned()));
        let option = name.to_owned();
        self.0.push(Word::Option {
            before,
            option,
            after,
        });
    }

    /// Adds memory that is the file `name`, and the device that the guest sees it as.
    /// A guest's writes go to the file only if `shared`.
    pub fn memory(&mut self, name: &str, shared: bool, bytes: u64, device: &str) {
        let share = match shared {
            true => "share=on",
            false => "share=off,readonly=off",
        };
        let before = format!("memory-backend-file,id={name},{share},mem-path=");
        self.option("-object", (before, name, format!(",size={bytes}")));
        self.pair("-device", format!("{device},memdev={name},id=dev-{name}"));
    }

    /// The machine's own memory is the file `name`, of `bytes` bytes.
    pub fn machine_memory(&mut self, name: &str, bytes: u64) {
        let before = "memory-backend-file,id=ram,share=on,mem-path=".to_owned();
        self.option("-object", (before, name, format!(",size={bytes}")));
        self.pair("-machine", "memory-backend=ram");
    }

    /// A bank of the board's flash memory is the file `name`; `unit` is its number, if
    /// the board has several.
    pub fn flash(&mut self, name: &str, unit: Option<u8>, writable: bool) {
        let [before, after] = words::flash(unit, writable);
        self.option("-drive", (before, name, after));
    }

    /// The processor begins with the program in the file `name`, which lies at `address`.
    pub fn begin_with(&mut self, name: &str, address: u32) {
        let after = format!(",addr={address:#x},force-raw=on,cpu-num=0");
        self.option("-device", ("loader,file=".to_owned(), name, after));
    }

    /// The file `name` lies in memory at reset: an ELF file where its segments say, and
    /// any other bytes at the address `at`.
    pub fn in_memory(&mut self, name: &str, at: Option<u64>) {
        let after = at.map(|at| format!(",addr={at:#x},force-raw=on"));
        let before = "loader,file=".to_owned();
        self.option("-device", (before, name, after.unwrap_or_default()));
    }

    /// The words with the paths that `files` gives.
    fn with(&self, files: &BTreeMap<&str, PathBuf>) -> Result<Words, LabError> {
        let path = |name: &String| {
            files.get(name.as_str()).ok_or_else(|| LabError::Plan {
                name: "the trial".into(),
                why: format!("its command line names the file `{name}`, but no such file follows"),
            })
        };
        let mut words = Words::default();
        for word in &self.0 {
            words.word(match word {
                Word::Text(text) => OsString::from(text),
                Word::Path { file } => path(file)?.into(),
                Word::Option {
                    before,
                    option,
                    after,
                } => format!("{before}{}{after}", words::option(path(option)?)).into(),
            });
        }
        Ok(words)
    }
}

/// What is behind a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// An input, read where it lies.
    Input(HashedFile),
    /// A copy of an input, which the guest may write to.
    Copy(HashedFile),
    /// A file that is put together for this boot.
    Made(Made),
    /// A file of so many bytes that holds nothing yet.
    Empty(u64),
}

/// A file that is put together from inputs and bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Its length.
    bytes: u64,
    /// What every byte is where no piece lies.
    fill: u8,
    pieces: Vec<Piece>,
}

/// A piece of such a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Piece {
    /// Where it begins.
    at: u64,
    #[serde(flatten)]
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// So many bytes of an input, from one of its bytes on.
    Part {
        input: HashedFile,
        skip: u64,
        take: u64,
    },
    /// Bytes as hexadecimal digits.
    Hex(String),
    /// So many zeros, where the filling is another byte.
    Zeros(u64),
}

/// An input of which a made file has a part.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The input.
    pub input: &'a HashedFile,
    /// The part's bytes, which are the input's from `skip` on.
    pub part: &'a [u8],
    /// How many bytes of the input come before the part.
    pub skip: u64,
}

/// The length of the pieces that are looked at for whether they hold only one byte.
const BLOCK: usize = 1024;

impl Made {
    /// The file of these `bytes`, most of which are `fill`; the inputs in it are
    /// recognized where they lie.
    #[must_use]
    pub fn of(bytes: &[u8], fill: u8, known: &[(usize, Known<'_>)]) -> Self {
        let mut made = Self {
            bytes: bytes.len() as u64,
            fill,
            pieces: Vec::new(),
        };
        let mut known: Vec<_> = known.to_vec();
        known.sort_by_key(|k| k.0);
        let mut done = 0;
        for (at, known) in known {
            let end = at.saturating_add(known.part.len());
            if at < done || bytes.get(at..end) != Some(known.part) {
                continue;
            }
            made.plain(done, bytes.get(done..at).unwrap_or_default());
            made.pieces.push(Piece {
                at: at as u64,
                content: Content::Part {
                    input: known.input.clone(),
                    skip: known.skip,
                    take: known.part.len() as u64,
                },
            });
            done = end;
        }
        made.plain(done, bytes.get(done..).unwrap_or_default());
        made
    }

    /// Adds the bytes from `at` on that are not only filling.
    fn plain(&mut self, at: usize, bytes: &[u8]) {
        let all = |byte: u8, block: &[u8]| [byte; BLOCK].get(..block.len()) == Some(block);
        for (i, block) in bytes.chunks(BLOCK).enumerate() {
            let at = (at + i * BLOCK) as u64;
            let content = match block {
                _ if all(self.fill, block) => continue,
                _ if all(0, block) => {
                    let bytes = block.len() as u64;
                    if let Some(Piece {
                        at: begin,
                        content: Content::Zeros(before),
                    }) = self.pieces.last_mut()
                        && *begin + *before == at
                    {
                        *before += bytes;
                        continue;
                    }
                    Content::Zeros(bytes)
                }
                _ => Content::Hex(crate::hex::hex(block)),
            };
            self.pieces.push(Piece { at, content });
        }
    }

    /// Writes it to `path`.
    fn write(&self, path: &Path) -> Result<(), LabError> {
        let failed = || io_error(path, "cannot be written");
        let mut file = File::create(path).map_err(failed())?;
        file.set_len(self.bytes).map_err(failed())?;
        let mut at = 0;
        // The filling between the pieces, and then each piece.
        for piece in &self.pieces {
            self.filling(&mut file, at, piece.at).map_err(failed())?;
            file.seek(SeekFrom::Start(piece.at)).map_err(failed())?;
            let written = match &piece.content {
                Content::Hex(digits) => {
                    let bytes = unhex(digits).ok_or_else(|| LabError::Plan {
                        name: "the trial".into(),
                        why: "a piece of a file is not made of hexadecimal digits".into(),
                    })?;
                    file.write_all(&bytes).map_err(failed())?;
                    bytes.len() as u64
                }
                // A hole.
                Content::Zeros(bytes) => *bytes,
                Content::Part { input, skip, take } => {
                    let from = &input.path;
                    let mut input = File::open(from).map_err(io_error(from, "cannot be read"))?;
                    input
                        .seek(SeekFrom::Start(*skip))
                        .map_err(io_error(from, "cannot be read"))?;
                    std::io::copy(&mut input.take(*take), &mut file).map_err(failed())?
                }
            };
            at = piece.at.saturating_add(written);
        }
        self.filling(&mut file, at, self.bytes).map_err(failed())
    }

    fn filling(&self, file: &mut File, from: u64, to: u64) -> std::io::Result<()> {
        // A hole is zeros already.
        if self.fill == 0 || from >= to {
            return Ok(());
        }
        file.seek(SeekFrom::Start(from))?;
        let mut filling = std::io::repeat(self.fill).take(to - from);
        std::io::copy(&mut filling, file).map(|_| ())
    }
}

/// The bytes that hexadecimal digits stand for.
fn unhex(digits: &str) -> Option<Vec<u8>> {
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let value = |digit: u8| char::from(digit).to_digit(16).map(|d| d as u8);
    let pairs = digits.chunks(2);
    pairs
        .map(|pair| Some(value(*pair.first()?)? << 4 | value(*pair.get(1)?)?))
        .collect()
}

/// How a machine is switched on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// The emulator's command line, all but clock, console and debugger.
    pub words: Template,
    /// How its time passes.
    pub pace: Pace,
    /// The files that the words name.
    pub files: BTreeMap<String, Source>,
}

impl Setup {
    /// A machine of these words, without files.
    #[must_use]
    pub fn new(words: Template, pace: Pace) -> Self {
        let files = BTreeMap::new();
        Self { words, pace, files }
    }

    /// Adds the file `name`.
    pub fn put(&mut self, name: &str, source: Source) {
        self.files.insert(name.to_owned(), source);
    }

    /// The inputs, of which some may be there twice.
    pub fn inputs_mut(&mut self) -> impl Iterator<Item = &mut HashedFile> {
        self.files.values_mut().flat_map(|source| match source {
            Source::Input(file) | Source::Copy(file) => vec![file],
            Source::Made(made) => {
                let parts = made.pieces.iter_mut().map(|p| &mut p.content);
                parts
                    .filter_map(|content| match content {
                        Content::Part { input, .. } => Some(input),
                        Content::Hex(_) | Content::Zeros(_) => None,
                    })
                    .collect()
            }
            Source::Empty(_) => Vec::new(),
        })
    }

    /// Everything that decides what the machine does until the kernel reads the contents
    /// of initramfs and root: of those only the length.
    #[must_use]
    pub fn early(&self) -> Self {
        let mut early = self.clone();
        for name in [INITRAMFS, ROOT, FLASH] {
            if let Some(Source::Input(file) | Source::Copy(file)) = early.files.get_mut(name) {
                file.sha256.clear();
            }
        }
        early
    }

    /// Puts the boot's own files into the folder `work`, and gives the machine.
    ///
    /// # Errors
    /// If one cannot be read or written.
    pub fn place(&self, work: &Path) -> Result<PowerOn, LabError> {
        let mut paths = BTreeMap::new();
        for (name, source) in &self.files {
            let own = work.join(name);
            let path = match source {
                Source::Input(file) => file.path.clone(),
                Source::Copy(file) => {
                    // What the guest writes is the trial's own.
                    fs::copy(&file.path, &own).map_err(io_error(&own, "cannot be written"))?;
                    own
                }
                Source::Made(made) => {
                    made.write(&own)?;
                    own
                }
                Source::Empty(bytes) => {
                    make_out_file(&own, *bytes)?;
                    own
                }
            };
            paths.insert(name.as_str(), path);
        }
        Ok(PowerOn {
            words: self.words.with(&paths)?,
            pace: self.pace,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Known, Made, Setup, Source, Template};
    use crate::files::HashedFile;
    use crate::pace::Pace;

    #[test]
    fn a_made_file_is_what_it_was_made_of() {
        let folder = tempfile::tempdir().unwrap();
        let kernel: Vec<u8> = (0..5000_u32).map(|i| (i % 251) as u8).collect();
        let input = HashedFile::write(folder.path(), "kernel", &kernel).unwrap();
        for fill in [0, 0xff] {
            let mut bytes = vec![fill; 100_000];
            bytes[..7].copy_from_slice(b"environ");
            bytes[3000..3000 + 4936].copy_from_slice(&kernel[64..]);
            bytes[99_990] = 7;
            bytes[50_000..60_000].fill(0);
            let known = Known {
                input: &input,
                part: &kernel[64..],
                skip: 64,
            };
            let made = Made::of(&bytes, fill, &[(3000, known)]);
            let known_pieces = made.pieces.iter();
            let parts = known_pieces.filter(|p| matches!(p.content, super::Content::Part { .. }));
            assert_eq!(parts.count(), 1, "{made:?}");
            assert!(made.pieces.len() < 8, "{made:?}");
            let path = folder.path().join("made");
            made.write(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            // What does not lie there is not believed.
            let wrong = Made::of(&bytes, fill, &[(3001, known)]);
            wrong.write(&path).unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
        }
    }

    #[test]
    fn names_become_paths_and_commas_in_options_are_doubled() {
        let folder = tempfile::tempdir().unwrap();
        let odd = HashedFile::write(folder.path(), "odd,name", b"x").unwrap();
        let mut words = Template::of("-M  q35");
        words.file("-kernel", "root");
        words.memory("root", false, 1, "nvdimm");
        words.memory("out", true, 8, "nvdimm");
        let mut setup = Setup::new(words, Pace::Counted(0));
        setup.put("root", Source::Input(odd.clone()));
        assert!(setup.place(folder.path()).is_err(), "`out` is missing");
        setup.put("out", Source::Empty(8));
        let placed = setup.place(folder.path()).unwrap();
        let words: Vec<_> = placed.words.finish();
        let words: Vec<_> = words.iter().map(|w| w.to_string_lossy()).collect();
        let doubled = odd.path.display().to_string().replace(',', ",,");
        assert_eq!(words[3], odd.path.display().to_string());
        assert_eq!(
            words[5],
            format!("memory-backend-file,id=root,share=off,readonly=off,mem-path={doubled},size=1")
        );
        assert_eq!(words[7], "nvdimm,memdev=root,id=dev-root");
        assert_eq!(folder.path().join("out").metadata().unwrap().len(), 8);
        // The written form says nothing of this host.
        let text = serde_json::to_string(&setup).unwrap();
        assert!(!text.contains("odd"), "{text}");
        let read: Setup = serde_json::from_str(&text).unwrap();
        assert_eq!(read.words, setup.words);
    }
}
