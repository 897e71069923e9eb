//! `firstlight export`: a boot for other viewers and for data tools.

use crate::args::{Export, ExportFormat};
use crate::beside;
use crate::input;
use crate::out::Out;
use analysis::{Phases, Tracks};
use anyhow::{Result, bail};
use record::Record;
use std::io::{BufWriter, IsTerminal, Write};

pub fn run(args: &Export, out: &mut Out) -> Result<()> {
    let record = input::boot(&args.inputs.inputs, &args.inputs.reading)?;
    let phases = analysis::phases_with(&record, &args.inputs.reading.options());
    let tracks = analysis::tracks(&record, &phases);
    let titles = args.inputs.inputs.iter().map(|p| p.display().to_string());
    let title = titles.collect::<Vec<_>>().join(", ");
    let Some(path) = &args.out else {
        let binary = matches!(args.to, ExportFormat::Perfetto | ExportFormat::Parquet);
        if binary && std::io::stdout().is_terminal() {
            bail!("this format is no text for a terminal; name a file with -o FILE");
        }
        if out.json {
            bail!("--json says where the export went; name a file with -o FILE");
        }
        let mut bytes = Vec::new();
        write(args.to, &record, &phases, &tracks, &title, &mut bytes)?;
        return out.bytes(&bytes);
    };
    beside::write(path, |file| {
        let mut file = BufWriter::new(file);
        write(args.to, &record, &phases, &tracks, &title, &mut file)?;
        Ok(file.flush()?)
    })?;
    if out.json {
        let done = serde_json::json!({
            "schema": "firstlight.export/1", "format": args.to.as_str(), "file": path
        });
        return out.text(&views::json::text(&done));
    }
    out.text(&format!("{}\n", path.display()))
}

fn write(
    format: ExportFormat,
    record: &Record,
    phases: &Phases,
    tracks: &Tracks<'_>,
    title: &str,
    mut out: impl Write + Send,
) -> Result<()> {
    use views::export;
    match format {
        ExportFormat::Perfetto => out.write_all(&export::perfetto(record, tracks))?,
        ExportFormat::Chrome => export::chrome(record, tracks, out)?,
        ExportFormat::Csv => export::csv(record, tracks, out)?,
        ExportFormat::Parquet => export::parquet(record, tracks, out)?,
        ExportFormat::Svg => out.write_all(export::svg(tracks, title).as_bytes())?,
        ExportFormat::Bootgraph => {
            out.write_all(export::bootgraph(record, tracks, phases, title).as_bytes())?;
        }
        ExportFormat::Bootchart => {
            out.write_all(export::bootchart(record, tracks, phases, title).as_bytes())?;
        }
        ExportFormat::Folded => export::folded(record, out)?,
    }
    Ok(())
}
