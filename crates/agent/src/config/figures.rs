//! Storage figures as lines of the agent's configuration.

use super::error::ConfigError;
use super::lines::Lines;
use super::values::{number, word};
use storage::{Model, Storage};

/// The configuration lines of these figures: key and value.
pub(super) fn lines(figures: &Storage) -> Vec<(&'static str, String)> {
    let mut lines = vec![(
        "storage.model",
        match figures.model {
            Model::None => "none".into(),
            Model::Flash => "flash".into(),
            Model::Disk => "disk".into(),
        },
    )];
    for (key, value) in [
        ("storage.queue_depth", u64::from(figures.queue_depth.get())),
        ("storage.command_ns", figures.command_ns),
        ("storage.write_command_ns", figures.write_command_ns),
        ("storage.command_interval_ns", figures.command_interval_ns),
        ("storage.read_bytes_per_s", figures.read_bytes_per_s),
        ("storage.write_bytes_per_s", figures.write_bytes_per_s),
        ("storage.rotation_ns", figures.rotation_ns),
        ("storage.seek_min_ns", figures.seek_min_ns),
        ("storage.seek_max_ns", figures.seek_max_ns),
        ("storage.near_bytes", figures.near_bytes),
        ("storage.read_ahead_kb", u64::from(figures.read_ahead_kb)),
        ("storage.nr_requests", u64::from(figures.nr_requests)),
        ("storage.own_request_ns", figures.own_request_ns),
        ("storage.own_kib_ns", figures.own_kib_ns),
    ] {
        lines.push((key, value.to_string()));
    }
    lines.push(("storage.scheduler", figures.scheduler.clone()));
    lines
}

/// Figures that are not given are those of [`Storage::default`].
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Storage, ConfigError> {
    const NUMBER: &str = "a whole number";
    let d = Storage::default();
    let model = |v: &str| match v {
        "none" => Some(Model::None),
        "flash" => Some(Model::Flash),
        "disk" => Some(Model::Disk),
        _ => None,
    };
    let mut figure = |key, default| Ok(lines.take(key, NUMBER, number)?.unwrap_or(default));
    let command_ns = figure("storage.command_ns", d.command_ns)?;
    let storage = Storage {
        command_ns,
        write_command_ns: figure("storage.write_command_ns", d.write_command_ns)?,
        command_interval_ns: figure("storage.command_interval_ns", d.command_interval_ns)?,
        own_request_ns: figure("storage.own_request_ns", d.own_request_ns)?,
        own_kib_ns: figure("storage.own_kib_ns", d.own_kib_ns)?,
        read_bytes_per_s: figure("storage.read_bytes_per_s", d.read_bytes_per_s)?,
        write_bytes_per_s: figure("storage.write_bytes_per_s", d.write_bytes_per_s)?,
        rotation_ns: figure("storage.rotation_ns", d.rotation_ns)?,
        seek_min_ns: figure("storage.seek_min_ns", d.seek_min_ns)?,
        seek_max_ns: figure("storage.seek_max_ns", d.seek_max_ns)?,
        near_bytes: figure("storage.near_bytes", d.near_bytes)?,
        model: lines
            .take("storage.model", "`none`, `flash` or `disk`", model)?
            .unwrap_or(d.model),
        queue_depth: lines
            .take("storage.queue_depth", "a whole number above 0", |v| {
                v.parse().ok()
            })?
            .unwrap_or(d.queue_depth),
        read_ahead_kb: lines
            .take("storage.read_ahead_kb", NUMBER, |v| v.parse().ok())?
            .unwrap_or(d.read_ahead_kb),
        nr_requests: lines
            .take("storage.nr_requests", NUMBER, |v| v.parse().ok())?
            .unwrap_or(d.nr_requests),
        scheduler: lines
            .take("storage.scheduler", "a scheduler's name", word)?
            .unwrap_or(d.scheduler),
    };
    if storage.seek_min_ns > storage.seek_max_ns {
        return Err(ConfigError::SeekOrder {
            min: storage.seek_min_ns,
            max: storage.seek_max_ns,
        });
    }
    Ok(storage)
}
