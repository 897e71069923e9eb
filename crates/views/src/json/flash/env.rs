//! `firstlight.flash.env/1`.

use crate::words::utf8;
use bootimage::Patch;
use bootimage::environment::{Change, Copy, Difference, Environment, Look, Proposals};
use serde::Serialize;
use std::collections::BTreeMap;

/// U-Boot and barebox environments of an image, and their changes. Sizes are in bytes.
#[derive(schemars::JsonSchema, Serialize)]
pub struct Env<'a> {
    /// Name and version of this format.
    #[schemars(extend("const" = <Self as crate::json::Document>::SCHEMA))]
    schema: &'static str,
    /// Path of the image.
    #[schemars(length(min = 1))]
    image: &'a str,
    /// Size of the image.
    bytes: u64,
    /// U-Boot environments.
    environments: Vec<JsonEnvironment>,
    /// barebox environments.
    barebox: Vec<JsonBarebox>,
    /// Byte offset where the search stopped early; null if it searched the whole image.
    search_ended_at: Option<u64>,
    /// Differences between two environments; null without `--diff`.
    differences: Option<Vec<JsonDifference>>,
    /// Change; null without `--set` and `--unset`.
    change: Option<JsonChange<'a>>,
}

impl crate::json::Document for Env<'_> {
    const SCHEMA: &'static str = "firstlight.flash.env/1";
    const TITLE: &'static str = "Output of `firstlight flash env --json`";
}

/// A U-Boot environment.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Environment")]
struct JsonEnvironment {
    /// Byte offset in the image.
    offset: u64,
    /// Size of one copy.
    size: u64,
    /// Byte order; null if unknown.
    #[schemars(extend("enum" = ["little", "big"]))]
    endian: Option<String>,
    /// Whether the environment has two copies.
    redundant: bool,
    /// Meaning of the flags byte of a redundant environment; null if there is none.
    #[schemars(extend("enum" = ["boolean", "serial"]))]
    flags: Option<&'static str>,
    /// Whether that meaning is uncertain.
    flags_are_a_guess: bool,
    /// Copies of the environment.
    copies: Vec<JsonCopy>,
    /// Bytes used.
    used: usize,
    /// Bytes available.
    room: usize,
    /// Values by name.
    #[schemars(extend("additionalProperties" = {"type": "string", "minLength": 1}))]
    variables: BTreeMap<String, String>,
    /// Values that are not UTF-8, as hexadecimal digits. Missing if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend(
        "additionalProperties" = {"type": "string", "pattern": "^([0-9a-f]{2})+$"}
    ))]
    variables_hex: BTreeMap<String, String>,
    /// Proposed changes that make the boot faster.
    proposals: Vec<JsonProposal>,
    /// Notes.
    #[schemars(inner(length(min = 1)))]
    notes: Vec<String>,
}

/// A copy of an environment.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Copy")]
struct JsonCopy {
    /// Byte offset in the image.
    offset: u64,
    /// Size.
    size: u64,
    /// Stored CRC-32 checksum.
    #[schemars(regex(pattern = "^[0-9a-f]{8}$"))]
    crc32: String,
    /// Whether the checksum matches.
    valid: bool,
    /// Flags byte; null if the environment is not redundant.
    flags: Option<u8>,
    /// Whether U-Boot uses this copy.
    active: bool,
}

/// A proposed change.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Proposal")]
struct JsonProposal {
    /// Name of the variable.
    #[schemars(length(min = 1))]
    name: String,
    /// New value; null to remove the variable.
    #[schemars(length(min = 1))]
    value: Option<String>,
    /// New values of variables that must be set with this one. Missing if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    with: BTreeMap<String, Option<String>>,
    /// Why the change makes the boot faster.
    #[schemars(length(min = 1))]
    why: String,
    /// Cost of the change: what you lose or risk.
    #[schemars(length(min = 1))]
    cost: String,
    /// Expected saving; null if unknown.
    saves_ns: Option<u64>,
}

/// A barebox environment.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Barebox")]
struct JsonBarebox {
    /// Byte offset in the image.
    offset: u64,
    /// Size.
    size: u64,
    /// Whether the checksum matches.
    valid: bool,
    /// Whether barebox uses its built-in environment instead.
    use_built_in: bool,
    /// Files of the environment.
    files: Vec<JsonFile>,
}

/// A file of a barebox environment.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "File")]
struct JsonFile {
    /// Name.
    name: String,
    /// Size.
    size: u64,
}

/// A variable that differs.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Difference")]
struct JsonDifference {
    /// Name of the variable.
    #[schemars(length(min = 1))]
    name: String,
    /// Old value; null if the variable is new.
    before: Option<String>,
    /// New value; null if the variable is removed.
    after: Option<String>,
}

/// A change of an environment.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Change")]
struct JsonChange<'a> {
    /// Path of the new image; null if nothing was written.
    #[schemars(length(min = 1))]
    out: Option<&'a str>,
    /// Description, in sentences.
    #[schemars(inner(length(min = 1)))]
    description: &'a [String],
    /// Changed parts of the image.
    edits: Vec<JsonEdit>,
}

/// A changed part of the image.
#[derive(schemars::JsonSchema, Serialize)]
#[schemars(rename = "Edit")]
struct JsonEdit {
    /// Byte offset.
    offset: u64,
    /// Number of bytes.
    bytes: usize,
}

impl<'a> Env<'a> {
    /// The document of what was seen and changed in `image`; `out` is the file that was
    /// written.
    #[must_use]
    pub fn of(
        image: &'a str,
        look: &Look,
        changed: Option<(&'a Patch, Option<&'a str>)>,
        differences: Option<&[Difference]>,
    ) -> Self {
        let environments = look.found.environments.iter().zip(&look.proposals);
        let lossy = |b: &Vec<u8>| String::from_utf8_lossy(b).into_owned();
        Self {
            schema: <Env<'_> as crate::json::Document>::SCHEMA,
            image,
            bytes: look.bytes,
            environments: environments.map(|(e, p)| environment(e, p)).collect(),
            barebox: look.barebox.iter().map(barebox).collect(),
            search_ended_at: look.found.gave_up,
            differences: differences.map(|all| {
                let one = |d: &Difference| JsonDifference {
                    name: lossy(&d.name),
                    before: d.before.as_ref().map(lossy),
                    after: d.after.as_ref().map(lossy),
                };
                all.iter().map(one).collect()
            }),
            change: changed.map(|(patch, out)| JsonChange {
                out,
                description: &patch.description,
                edits: patch
                    .edits
                    .iter()
                    .map(|e| JsonEdit {
                        offset: e.offset,
                        bytes: e.after.len(),
                    })
                    .collect(),
            }),
        }
    }
}

fn environment(e: &Environment, proposals: &Proposals) -> JsonEnvironment {
    let active = e.active();
    let data = e.data();
    let mut variables = BTreeMap::new();
    let mut variables_hex = BTreeMap::new();
    for variable in data.map(|d| d.variables()).unwrap_or_default() {
        let (name, _) = utf8(&variable.name);
        let (value, hex) = utf8(&variable.value);
        variables_hex.extend(hex.map(|hex| (name.clone(), hex)));
        variables.insert(name, value);
    }
    JsonEnvironment {
        offset: active.map_or(0, |c| c.offset),
        size: active.map_or(0, |c| c.size),
        endian: active.and_then(|c| c.endian).map(|e| e.to_string()),
        redundant: active.is_some_and(|c| c.header.flags().is_some()),
        flags: e.scheme.map(|s| s.name()),
        flags_are_a_guess: e.scheme_is_a_guess,
        copies: e
            .copies
            .iter()
            .enumerate()
            .map(|(i, c)| copy(c, i == e.active))
            .collect(),
        used: data.map_or(0, |d| d.used()),
        room: data.map_or(0, |d| d.bytes().len()),
        variables,
        variables_hex,
        proposals: proposals
            .proposals
            .iter()
            .map(|p| JsonProposal {
                name: String::from_utf8_lossy(p.change.name()).into_owned(),
                value: value(&p.change),
                with: p
                    .with
                    .iter()
                    .map(|c| (String::from_utf8_lossy(c.name()).into_owned(), value(c)))
                    .collect(),
                why: p.why.clone(),
                cost: p.cost.clone(),
                saves_ns: p.saves_ns,
            })
            .collect(),
        notes: proposals.notes.clone(),
    }
}

fn value(change: &Change) -> Option<String> {
    match change {
        Change::Set(_, value) => Some(String::from_utf8_lossy(value).into_owned()),
        Change::Unset(_) => None,
    }
}

fn copy(copy: &Copy, active: bool) -> JsonCopy {
    JsonCopy {
        offset: copy.offset,
        size: copy.size,
        crc32: format!("{:08x}", copy.crc),
        valid: copy.is_whole(),
        flags: copy.header.flags(),
        active,
    }
}

fn barebox(found: &bootimage::barebox::Barebox) -> JsonBarebox {
    let file = |(name, size): &(String, u64)| JsonFile {
        name: name.clone(),
        size: *size,
    };
    JsonBarebox {
        offset: found.offset,
        size: found.size,
        valid: found.is_whole,
        use_built_in: found.use_built_in,
        files: found.files.iter().map(file).collect(),
    }
}
