//! Files of a root that udev, modprobe and systemd read: what a device's queue is, and which
//! modules wait until the boot is over.

use super::content::Content;
use super::error::FileError;
use super::tree::Target;

/// Where the kernel's modules are.
const MODULES: [&str; 2] = ["usr/lib/modules", "lib/modules"];

/// The rule that sets `attribute` of a device's queue to `value`: its path, with the word
/// `what` in it, and its text.
pub(super) fn queue_rule(
    device: &str,
    what: &str,
    (attribute, value): (&str, &str),
) -> (String, String) {
    let name = device.replace('*', "any");
    let rule = format!(
        "# Written by firstlight.\n\
         ACTION!=\"remove\", SUBSYSTEM==\"block\", KERNEL==\"{device}\", \
         ATTR{{queue/{attribute}}}=\"{value}\"\n"
    );
    let path = format!("etc/udev/rules.d/60-firstlight-{what}-{name}.rules");
    (path, rule)
}

/// The files that keep modules from loading by their aliases, and load them at the end:
/// explicit loading does not heed a blacklist.
pub(super) fn modules(names: &[String]) -> [(String, Content); 3] {
    let unit = format!("firstlight-late-{}.service", names.join("-"));
    let blacklist: String = names.iter().map(|n| format!("blacklist {n}\n")).collect();
    let text = format!(
        "# Written by firstlight: these modules load after the boot.\n\
         [Unit]\n\
         Description=Late kernel modules\n\
         DefaultDependencies=no\n\
         After=multi-user.target\n\
         Before=shutdown.target\n\
         Conflicts=shutdown.target\n\
         \n\
         [Service]\n\
         Type=oneshot\n\
         RemainAfterExit=yes\n\
         ExecStart=/sbin/modprobe -a {}\n\
         Nice=10\n\
         IOSchedulingClass=idle\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        names.join(" ")
    );
    [
        (
            format!("etc/modprobe.d/firstlight-late-{}.conf", names.join("-")),
            Content::File(format!("# Written by firstlight.\n{blacklist}").into()),
        ),
        (
            format!("etc/systemd/system/{unit}"),
            Content::File(text.into()),
        ),
        (
            format!("etc/systemd/system/multi-user.target.wants/{unit}"),
            Content::Link(format!("../{unit}")),
        ),
    ]
}

/// Refuses names that no kernel of the tree has as modules. A tree without kernels says
/// nothing.
pub(super) fn known(target: &Target, names: &[String]) -> Result<(), FileError> {
    let mut lists = Vec::new();
    for folder in MODULES {
        for kernel in target.names(folder) {
            let list = target.read(&format!("{folder}/{kernel}/modules.dep"))?;
            if let Some(Content::File(bytes)) = list.map(|f| f.content) {
                lists.push(String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    // The kernel takes both characters for one.
    let plain = |name: &str| name.replace('-', "_");
    let has = |list: &String, name: &str| {
        list.lines().any(|line| {
            let file = line.split(':').next().unwrap_or_default();
            let file = file.rsplit('/').next().unwrap_or_default();
            let module = file.split_once(".ko").map(|m| plain(m.0));
            module.as_deref() == Some(&plain(name))
        })
    };
    let missing = names
        .iter()
        .find(|n| !lists.is_empty() && !lists.iter().any(|list| has(list, n)));
    match missing {
        None => Ok(()),
        Some(name) => Err(target.wrong(format!(
            "no kernel in this tree has a module {name} (looked in modules.dep); it may be built in"
        ))),
    }
}
