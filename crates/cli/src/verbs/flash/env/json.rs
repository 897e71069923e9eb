//! `firstlight.flash.env/1`.

use super::{Changed, Look};
use crate::verbs::flash::text as utf8;
use image::boot::environment::{Change, Copy, Difference, Environment, Proposals};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    image: &'a str,
    bytes: u64,
    environments: Vec<JsonEnvironment>,
    barebox: Vec<JsonBarebox>,
    search_ended_at: Option<u64>,
    differences: Option<Vec<JsonDifference>>,
    change: Option<JsonChange<'a>>,
}

#[derive(Serialize)]
struct JsonEnvironment {
    offset: u64,
    size: u64,
    endian: Option<String>,
    redundant: bool,
    flags: Option<&'static str>,
    flags_are_a_guess: bool,
    copies: Vec<JsonCopy>,
    used: usize,
    room: usize,
    variables: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables_hex: BTreeMap<String, String>,
    proposals: Vec<JsonProposal>,
    notes: Vec<String>,
}

#[derive(Serialize)]
struct JsonCopy {
    offset: u64,
    size: u64,
    crc32: String,
    valid: bool,
    flags: Option<u8>,
    active: bool,
}

#[derive(Serialize)]
struct JsonProposal {
    name: String,
    value: Option<String>,
    why: String,
    cost: String,
    saves_ns: Option<u64>,
}

#[derive(Serialize)]
struct JsonBarebox {
    offset: u64,
    size: u64,
    valid: bool,
    use_built_in: bool,
    files: Vec<JsonFile>,
}

#[derive(Serialize)]
struct JsonFile {
    name: String,
    size: u64,
}

#[derive(Serialize)]
struct JsonDifference {
    name: String,
    before: Option<String>,
    after: Option<String>,
}

#[derive(Serialize)]
struct JsonChange<'a> {
    out: Option<&'a str>,
    description: &'a [String],
    edits: Vec<JsonEdit>,
}

#[derive(Serialize)]
struct JsonEdit {
    offset: u64,
    bytes: usize,
}

pub fn text(look: &Look, changed: Option<&Changed>, differences: Option<&[Difference]>) -> String {
    let environments = look.found.environments.iter().zip(&look.proposals);
    let lossy = |b: &Vec<u8>| String::from_utf8_lossy(b).into_owned();
    views::json::text(&Json {
        schema: "firstlight.flash.env/1",
        image: &look.image,
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
        change: changed.map(|c| JsonChange {
            out: c.out.as_deref(),
            description: &c.patch.description,
            edits: c
                .patch
                .edits
                .iter()
                .map(|e| JsonEdit {
                    offset: e.offset,
                    bytes: e.after.len(),
                })
                .collect(),
        }),
    })
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
                value: match &p.change {
                    Change::Set(_, value) => Some(String::from_utf8_lossy(value).into_owned()),
                    Change::Unset(_) => None,
                },
                why: p.why.clone(),
                cost: p.cost.clone(),
                saves_ns: p.saves_ns,
            })
            .collect(),
        notes: proposals.notes.clone(),
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

fn barebox(found: &image::boot::barebox::Barebox) -> JsonBarebox {
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
