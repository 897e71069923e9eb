//! What a device tree says about a boot.

use super::fdt::{Fdt, Node};

/// What matters for a boot in a device tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceTree {
    /// Its length, bytes.
    pub size: u32,
    /// How many nodes.
    pub nodes: usize,
    /// The machine's name.
    pub model: Option<String>,
    /// What the machine is like, the closest first.
    pub compatible: Vec<String>,
    /// Whether it only changes another tree.
    pub is_overlay: bool,
    /// The kernel's command line, `/chosen/bootargs`.
    pub bootargs: Option<String>,
    /// The console, `/chosen/stdout-path`.
    pub stdout: Option<String>,
    /// Where the initramfs lies: first byte, and the one behind the last.
    pub initrd: Option<(u64, u64)>,
    /// What U-Boot is told in `/config`: it comes before the environment.
    pub config: Vec<(String, String)>,
    /// The stages that U-Boot measured, in the order of the tree.
    pub bootstage: Vec<Stage>,
}

/// One measured stage, of `/bootstage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Microseconds: when it was reached, or how long it took in all.
    pub us: u64,
    /// Whether the time is a sum, and not a moment.
    pub is_accumulated: bool,
}

/// What a tree says.
#[must_use]
pub fn device_tree(tree: &Fdt) -> DeviceTree {
    let root = tree.root();
    let chosen = tree.at("/chosen");
    let in_chosen = |name: &str| chosen.and_then(|c| c.text(name));
    let number = |name: &str| chosen.and_then(|c| c.number(name));
    let config = tree.at("/config");
    let config = config.into_iter().flat_map(|c| c.properties());
    let stages = tree.at("/bootstage");
    let initrd = number("linux,initrd-start").zip(number("linux,initrd-end"));
    DeviceTree {
        size: tree.size,
        nodes: tree.len(),
        model: root.text("model"),
        compatible: root
            .property("compatible")
            .map(|p| p.texts())
            .unwrap_or_default(),
        is_overlay: root.children().any(|c| c.child("__overlay__").is_some()),
        bootargs: in_chosen("bootargs"),
        stdout: in_chosen("stdout-path").or(in_chosen("linux,stdout-path")),
        initrd,
        config: config.map(|p| (p.name.clone(), shown(p))).collect(),
        bootstage: stages
            .into_iter()
            .flat_map(|s| s.children())
            .filter_map(stage)
            .collect(),
    }
}

/// `/config/bootdelay`, in seconds: below zero as in the environment.
#[must_use]
pub fn bootdelay(tree: &Fdt) -> Option<i64> {
    let number = tree.at("/config")?.number("bootdelay")?;
    let cell = u32::try_from(number).ok()?;
    Some(i64::from(cell.cast_signed()))
}

fn stage(node: Node<'_>) -> Option<Stage> {
    let (us, is_accumulated) = match (node.number("mark"), node.number("accum")) {
        (Some(mark), _) => (mark, false),
        (None, accumulated) => (accumulated?, true),
    };
    Some(Stage {
        name: node.text("name").unwrap_or_else(|| node.name().to_owned()),
        us,
        is_accumulated,
    })
}

/// A value of `/config`: text if it is text, a number if it is one cell.
fn shown(property: &super::fdt::Property) -> String {
    let Some(value) = property.value() else {
        return format!("{} bytes", property.length);
    };
    let printable = |t: &[u8]| !t.is_empty() && t.iter().all(|b| (b' '..0x7f).contains(b));
    match value.strip_suffix(&[0]) {
        Some(text) if printable(text) => String::from_utf8_lossy(text).into_owned(),
        _ if value.is_empty() => "true".to_owned(),
        _ => match property.number() {
            // One cell: a negative number, such as a delay of -2, is written so.
            Some(n) if value.len() == 4 => {
                let cell = u32::try_from(n).unwrap_or(u32::MAX);
                cell.cast_signed().to_string()
            }
            Some(n) => n.to_string(),
            None => value.iter().map(|b| format!("{b:02x}")).collect(),
        },
    }
}
