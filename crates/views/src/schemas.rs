//! The list of all documents that views write.

use crate::json::{self, SchemaFile, schema_file};
use crate::{FindingsProof, Mounts, Resolution, html};

/// The JSON Schemas of all documents of this crate, as they are in `schemas/`.
#[must_use]
pub fn schema_files() -> Vec<SchemaFile> {
    let mut files = vec![
        schema_file::<json::Advise>(),
        schema_file::<json::Blame>(),
        schema_file::<json::Boots>(),
        schema_file::<json::Calls>(),
        schema_file::<json::Capture>(),
        schema_file::<json::Classics>(),
        schema_file::<json::ClassicsResult>(),
        schema_file::<json::Cold>(),
        schema_file::<json::Deferrals>(),
        schema_file::<json::Diff>(),
        schema_file::<json::Doctor>(),
        schema_file::<json::Formats<'_>>(),
        schema_file::<json::Export>(),
        schema_file::<json::Functions>(),
        schema_file::<json::Gaps>(),
        schema_file::<json::Gate>(),
        schema_file::<json::History>(),
        schema_file::<json::HistoryAdd>(),
        schema_file::<json::HistoryAnnotate>(),
        schema_file::<json::HistoryShow>(),
        schema_file::<json::Io>(),
        schema_file::<json::Lab>(),
        schema_file::<json::Path>(),
        schema_file::<json::Plan>(),
        schema_file::<json::PrefetchImport>(),
        schema_file::<json::PrefetchInstall>(),
        schema_file::<json::PrefetchMerge>(),
        schema_file::<json::PrefetchPlan>(),
        schema_file::<json::PrefetchRecord>(),
        schema_file::<json::PrefetchReplay>(),
        schema_file::<json::PrefetchSimulation>(),
        schema_file::<json::Report>(),
        schema_file::<json::Serve>(),
        schema_file::<json::Show>(),
        schema_file::<json::Subsystems>(),
        schema_file::<json::TreatApply>(),
        schema_file::<json::TreatList>(),
        schema_file::<json::TreatPlan>(),
        schema_file::<json::TreatUndo>(),
        schema_file::<FindingsProof>(),
        schema_file::<Mounts>(),
        schema_file::<Resolution>(),
        schema_file::<json::Tune>(),
        schema_file::<json::TunePlan>(),
    ];
    files.extend(html::schema_files());
    files
}
