//! The schemas of documents whose structs are here, beside what fills them.

use super::{flash, image};
use std::path::Path;
use views::json::SchemaFile;

/// The files in `schemas/` are what the structs give. `FIRSTLIGHT_BLESS=1` rewrites them.
#[test]
fn files_are_generated_from_the_structs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    let bless = std::env::var_os("FIRSTLIGHT_BLESS").is_some();
    let files: Vec<SchemaFile> = [flash::schema_files(), image::schema_files()].concat();
    for file in files {
        let path = root.join(&file.name);
        if bless {
            std::fs::write(&path, &file.text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == file.text,
            "schemas/{} differs from its struct; FIRSTLIGHT_BLESS=1 rewrites it",
            file.name
        );
    }
}
