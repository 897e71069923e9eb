//! The words of `findings::cloud_init`.

use std::fmt::Display;

pub(in crate::findings) fn title(part: &str, time: impl Display) -> String {
    format!("cloud-init takes {time} for `{part}`")
}

pub(in crate::findings) fn took(stage: &str, part: &str, time: impl Display) -> String {
    format!("`{part}` of the stage {stage} took {time}")
}

/// What can be done, by the part.
pub(in crate::findings) fn why(part: &str) -> String {
    // Older versions write modules with hyphens.
    let module = part.replace('-', "_");
    let says = |words: &[&str]| words.iter().any(|w| module.contains(w));
    let what = if says(&[
        "search_",
        "data found from",
        "read from cache",
        "found local",
    ]) {
        "It looks for a data source. Name the one that there is in `datasource_list`, or build the \
         image with the data."
    } else if says(&["package_update", "apt_", "yum_", "snap", "apk_", "zypper"]) {
        "It asks package servers. Install and configure packages when the image is built."
    } else if says(&["growpart", "resizefs", "disk_setup", "mounts"]) {
        "It prepares disks at each boot. Give the image its size, or turn the module off after the \
         first boot."
    } else if says(&["runcmd", "bootcmd", "scripts_"]) {
        "It runs your own commands. Run them when the image is built, or from a unit that nothing \
         waits for."
    } else if module.ends_with("_ssh") {
        "It makes the machine's SSH host keys. One for RSA often takes seconds, how many is a \
         matter of chance; with `ssh_genkeytypes: [ed25519]` in /etc/cloud/cloud.cfg there is none."
    } else {
        "Take the module out of the lists in /etc/cloud/cloud.cfg if the product does not need it."
    };
    format!(
        "{what} Where a system is set up once, /etc/cloud/cloud-init.disabled turns all of it off \
         afterwards."
    )
}
