//! JSON Schemas, generated from the structs that are serialized.
//!
//! A schema is at least as strict as serialization: an object has no other keys
//! than its struct's, and every key is required unless the struct may skip it.

use super::document::Document;
use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::transform_subschemas;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A file in `schemas/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaFile {
    /// The file's name: `blame.calls.json`.
    pub name: String,
    /// What the file holds: a JSON Schema, draft 2020-12.
    pub text: String,
}

/// The schema file of a document.
#[must_use]
pub fn schema_file<D: Document>() -> SchemaFile {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<D>();
    schema.insert("title".to_owned(), D::TITLE.into());
    tighten(&mut schema);
    let mut schema = schema.to_value();
    refer_to_files(&mut schema);
    let mut text = String::new();
    write(&schema, Names::Keywords, 0, &mut text);
    text.push('\n');
    SchemaFile {
        name: file_of(D::SCHEMA),
        text,
    }
}

/// `firstlight.blame.calls/1` is in `blame.calls.json`.
fn file_of(schema: &str) -> String {
    let name = schema.strip_prefix("firstlight.").unwrap_or(schema);
    let name = name.split_once('/').map_or(name, |(name, _)| name);
    format!("{name}.json")
}

/// Adds what the derived schema leaves open.
fn tighten(schema: &mut Schema) {
    transform_subschemas(&mut tighten, schema);
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    if let Some(format) = keywords.get_mut("format")
        && format == "uint"
    {
        *format = "uint64".into();
    }
    let nullable = keywords.get("type").is_some_and(may_be_null);
    if let Some(Value::Array(values)) = keywords.get_mut("enum")
        && nullable
    {
        values.push(Value::Null);
    }
    let required = keywords.get("required").cloned().unwrap_or_default();
    let is_required = |key: &str| {
        let mut keys = required.as_array().into_iter().flatten();
        keys.any(|k| k == key)
    };
    // A rule such as `if` says something of one key, and not which keys there are.
    let is_object = keywords.contains_key("type");
    if let (true, Some(Value::Object(properties))) = (is_object, keywords.get_mut("properties")) {
        // A key that is skipped when it has no value is never null.
        for (key, property) in properties.iter_mut() {
            if !is_required(key) {
                without_null(property);
            }
        }
        keywords.insert("additionalProperties".to_owned(), false.into());
    }
}

fn may_be_null(types: &Value) -> bool {
    types
        .as_array()
        .is_some_and(|types| types.iter().any(|t| t == "null"))
}

fn without_null(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|t| t != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keywords.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum") {
        values.retain(|v| !v.is_null());
    }
    if let Some(Value::Array(mut schemas)) = keywords.remove("anyOf") {
        schemas.retain(|s| s["type"] != "null");
        match schemas.as_mut_slice() {
            [Value::Object(only)] => keywords.append(only),
            _ => {
                keywords.insert("anyOf".to_owned(), schemas.into());
            }
        }
    }
}

/// A document within a document is described in its own file.
fn refer_to_files(schema: &mut Value) {
    let Some(Value::Object(definitions)) = schema.as_object_mut().and_then(|s| s.remove("$defs"))
    else {
        return;
    };
    let files: BTreeMap<String, String> = definitions
        .iter()
        .filter_map(|(name, d)| {
            let document = d.pointer("/properties/schema/const")?.as_str()?;
            Some((name.clone(), file_of(document)))
        })
        .collect();
    let mut used = BTreeMap::new();
    let mut named = Vec::new();
    rename(schema, &files, &mut named);
    while let Some(name) = named.pop() {
        if let Some(definition) = definitions.get(&name)
            && !used.contains_key(&name)
        {
            let mut definition = definition.clone();
            rename(&mut definition, &files, &mut named);
            used.insert(name, definition);
        }
    }
    if !used.is_empty() {
        schema["$defs"] = used.into_iter().collect::<Map<String, Value>>().into();
    }
}

/// Turns references to `files` into file names, and collects all other names.
fn rename(value: &mut Value, files: &BTreeMap<String, String>, named: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("$ref", Value::String(to)) => {
                        let name = to.strip_prefix("#/$defs/").unwrap_or(to).to_owned();
                        match files.get(&name) {
                            Some(file) => to.clone_from(file),
                            None => named.push(name),
                        }
                    }
                    (_, value) => rename(value, files, named),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|v| rename(v, files, named)),
        _ => {}
    }
}

/// What the keys of an object are.
#[derive(Clone, Copy)]
enum Names<'a> {
    /// Words of JSON Schema.
    Keywords,
    /// Keys of the documents; the required ones have an order.
    Keys(Option<&'a Value>),
}

/// Keywords in the order in which they are written; others stand between.
const FIRST: [&str; 4] = ["$schema", "title", "description", "type"];
const LAST: [&str; 4] = ["properties", "required", "additionalProperties", "$defs"];

/// Lines are no longer than this where a value can be broken.
const WIDTH: usize = 100;

/// Writes keys in the order of the struct's fields, and short values on one line.
fn write(value: &Value, names: Names<'_>, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let short = value.to_string();
    match value {
        Value::Object(map) if !map.is_empty() => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by_key(|(key, _)| rank(key, names));
            out.push('{');
            for (i, (key, inner)) in entries.into_iter().enumerate() {
                out.push_str(if i == 0 { "\n" } else { ",\n" });
                out.push_str(&format!("{indent}  {}: ", Value::from(key.as_str())));
                let names = match (names, key.as_str()) {
                    (Names::Keywords, "properties") => Names::Keys(map.get("required")),
                    (Names::Keywords, "$defs") => Names::Keys(None),
                    _ => Names::Keywords,
                };
                write(inner, names, depth + 1, out);
            }
            out.push_str(&format!("\n{indent}}}"));
        }
        Value::Array(values)
            if values.iter().any(|v| v.is_object() || v.is_array())
                || indent.len() + short.len() > WIDTH =>
        {
            out.push('[');
            for (i, inner) in values.iter().enumerate() {
                out.push_str(if i == 0 { "\n" } else { ",\n" });
                out.push_str(&format!("{indent}  "));
                write(inner, Names::Keywords, depth + 1, out);
            }
            out.push_str(&format!("\n{indent}]"));
        }
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(Value::to_string).collect();
            out.push_str(&format!("[{}]", values.join(", ")));
        }
        _ => out.push_str(&short),
    }
}

fn rank(key: &str, names: Names<'_>) -> usize {
    let place = |all: &[&str]| all.iter().position(|k| *k == key);
    match names {
        Names::Keywords => match (place(&FIRST), place(&LAST)) {
            (Some(first), _) => first,
            (_, Some(last)) => FIRST.len() + 1 + last,
            _ => FIRST.len(),
        },
        Names::Keys(required) => required
            .and_then(Value::as_array)
            .and_then(|keys| keys.iter().position(|k| k == key))
            .unwrap_or(usize::MAX),
    }
}
