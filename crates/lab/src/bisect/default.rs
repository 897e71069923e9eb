//! What is booted if the user names no experiment.

use crate::error::LabError;
use crate::experiment::Experiment;
use std::path::Path;

/// A small ARM board with Debian's kernel, whose boot ends in the initramfs: a machine with a
/// device tree.
///
/// # Errors
/// The experiment cannot be read.
pub fn arm_base() -> Result<Experiment, LabError> {
    let lines = [
        "firstlight_experiment = 1",
        "[base]",
        "machine = \"arm-virt\"",
        "arch = \"armhf\"",
        "memory_mb = 512",
        "storage = \"none\"",
        "kernel = \"debian\"",
        "root = \"none\"",
        "first_light = \"init\"",
        "cmdline = [\"console=ttyAMA0\", \"panic=-1\", \"quiet\", \"cryptomgr.notests\"]",
        "treatments = [\"kernel=uncompressed\"]",
        "limit_wall_s = 600",
    ];
    Experiment::parse("bisect.toml", &lines.join("\n"))
}

/// A small PC with Debian's kernel. Without a `root` its boot ends in the initramfs; a root
/// tree becomes a part of the initramfs, and `until` ends its boot.
///
/// # Errors
/// The path of the root is not valid UTF-8, or `until` is no first light.
pub fn base(root: Option<&Path>, until: Option<&str>) -> Result<Experiment, LabError> {
    let mut lines = vec![
        "firstlight_experiment = 1".to_owned(),
        "[base]".to_owned(),
        "machine = \"pc\"".to_owned(),
        "memory_mb = 512".to_owned(),
        "storage = \"none\"".to_owned(),
        "kernel = \"debian\"".to_owned(),
        "cmdline = [\"console=ttyS0\", \"nokaslr\", \"panic=-1\", \"tsc=reliable\", \"quiet\"]"
            .to_owned(),
        "limit_wall_s = 600".to_owned(),
    ];
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    match root {
        None => lines.push("root = \"none\"\nfirst_light = \"init\"".to_owned()),
        Some(root) => {
            let root = root.to_str().ok_or_else(|| LabError::Tree {
                path: root.to_owned(),
                why: "the path is not valid UTF-8".to_owned(),
            })?;
            let light = until.unwrap_or("kmsg:firstlight-mark done");
            lines.push(format!(
                "root = {{ tree = {}, filesystem = \"initramfs\" }}\nfirst_light = {}",
                quoted(root),
                quoted(light)
            ));
        }
    }
    Experiment::parse("bisect.toml", &lines.join("\n"))
}
