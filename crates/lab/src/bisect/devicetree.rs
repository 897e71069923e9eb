//! The differences of two device trees.
//!
//! Nodes are compared by their paths. A compiler numbers nodes that others refer to (phandles)
//! as it likes, so the second tree's numbers are first made those of the first.

use bootimage::branches::{Branch, Branches};
use std::collections::{BTreeMap, BTreeSet};

/// Where a node is: the names from the root on.
type Path = Vec<String>;

/// The properties that hold a node's own number.
const NUMBERS: [&str; 2] = ["phandle", "linux,phandle"];

/// Properties that are lists of nodes only, by Linux' bindings.
const LISTS: [&str; 17] = [
    "interrupt-parent",
    "next-level-cache",
    "l2-cache",
    "memory-region",
    "remote-endpoint",
    "cpu",
    "cpus",
    "cpu-idle-states",
    "operating-points-v2",
    "phy-handle",
    "nvmem",
    "trip",
    "ports",
    "wakeup-parent",
    "panel",
    "backlight",
    "ddc-i2c-bus",
];

/// Properties that name a node and then as many cells as its property of that name says
/// (`of_phandle_iterator_next`, `drivers/of/base.c`, and Linux' bindings).
const WITH_CELLS: [(&str, &str); 24] = [
    ("clocks", "#clock-cells"),
    ("assigned-clocks", "#clock-cells"),
    ("assigned-clock-parents", "#clock-cells"),
    ("resets", "#reset-cells"),
    ("dmas", "#dma-cells"),
    ("phys", "#phy-cells"),
    ("pwms", "#pwm-cells"),
    ("power-domains", "#power-domain-cells"),
    ("mboxes", "#mbox-cells"),
    ("iommus", "#iommu-cells"),
    ("msi-parent", "#msi-cells"),
    ("interrupts-extended", "#interrupt-cells"),
    ("io-channels", "#io-channel-cells"),
    ("io-backends", "#io-backend-cells"),
    ("thermal-sensors", "#thermal-sensor-cells"),
    ("cooling-device", "#cooling-cells"),
    ("interconnects", "#interconnect-cells"),
    ("hwlocks", "#hwlock-cells"),
    ("nvmem-cells", "#nvmem-cell-cells"),
    ("sound-dai", "#sound-dai-cells"),
    ("mux-controls", "#mux-control-cells"),
    ("gpios", "#gpio-cells"),
    ("access-controllers", "#access-controller-cells"),
    ("trigger-sources", "#trigger-source-cells"),
];

/// The longest value that is shown, in characters.
const SHOWN: usize = 48;

/// A difference.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Where, and from what to what.
    pub name: String,
    path: Path,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// A property of a node that both trees have: its name, and its value in the second tree
    /// with the property before it there.
    Property(String, Option<(Vec<u8>, Option<String>)>),
    /// A node with all that is in it: its name, and the second tree's with the node before it
    /// there.
    Node(String, Option<(Branch, Option<String>)>),
}

/// What differs between two trees: properties of nodes that both have, and whole nodes that one
/// has.
pub fn differences(first: &Branches, second: &Branches) -> Vec<Changed> {
    let mut second = second.clone();
    renumber(&first.root, &mut second.root);
    let mut all = Vec::new();
    compare((&first.root, &second.root), &mut Vec::new(), &mut all);
    all
}

fn compare((first, second): (&Branch, &Branch), path: &mut Path, all: &mut Vec<Changed>) {
    let at = format!("/{}", path.join("/"));
    let mut add = |name: String, what: What| {
        let path = path.clone();
        all.push(Changed { name, path, what });
    };
    for (name, before) in &first.properties {
        if second.property(name).is_none() {
            let shown = format!("{at} {name}: {} -> absent", value(before));
            add(shown, What::Property(name.clone(), None));
        }
    }
    let mut last: Option<&String> = None;
    for (name, after) in &second.properties {
        let before = first.property(name);
        if before != Some(after) {
            let before = before.map_or_else(|| "absent".to_owned(), value);
            let shown = format!("{at} {name}: {before} -> {}", value(after));
            let new = (after.clone(), last.cloned());
            add(shown, What::Property(name.clone(), Some(new)));
        }
        last = Some(name);
    }
    let below = |name: &str| format!("{}/{name}", at.trim_end_matches('/'));
    for child in &first.children {
        if second.child(&child.name).is_none() {
            let shown = format!("{} -> absent", below(&child.name));
            add(shown, What::Node(child.name.clone(), None));
        }
    }
    let mut last: Option<&String> = None;
    for child in &second.children {
        if first.child(&child.name).is_none() {
            let shown = format!("absent -> {}", below(&child.name));
            let new = (child.clone(), last.cloned());
            add(shown, What::Node(child.name.clone(), Some(new)));
        }
        last = Some(&child.name);
    }
    for child in &first.children {
        if let Some(other) = second.child(&child.name) {
            path.push(child.name.clone());
            compare((child, other), path, all);
            path.pop();
        }
    }
}

/// The first tree with some of the differences, in their order.
pub fn applied<'a>(first: &Branches, differences: impl Iterator<Item = &'a Changed>) -> Branches {
    let mut tree = first.clone();
    for changed in differences {
        // Both trees have the node.
        let Some(node) = tree.root.at_mut(&changed.path) else {
            continue;
        };
        match &changed.what {
            What::Property(name, None) => node.properties.retain(|p| p.0 != *name),
            What::Property(name, Some((value, before))) => {
                match node.properties.iter_mut().find(|p| p.0 == *name) {
                    Some(property) => property.1.clone_from(value),
                    None => {
                        let mut names = node.properties.iter().map(|p| &p.0);
                        let at = place(&mut names, before.as_ref());
                        node.properties.insert(at, (name.clone(), value.clone()));
                    }
                }
            }
            What::Node(name, None) => node.children.retain(|c| c.name != *name),
            What::Node(_, Some((new, before))) => {
                let at = place(&mut node.children.iter().map(|c| &c.name), before.as_ref());
                node.children.insert(at, new.clone());
            }
        }
    }
    tree
}

/// The place behind `before`; the end if it is not there, and the beginning if there is none.
fn place<'a>(names: &mut impl Iterator<Item = &'a String>, before: Option<&String>) -> usize {
    let Some(before) = before else { return 0 };
    let mut count = 0;
    for name in names {
        count += 1;
        if name == before {
            return count;
        }
    }
    count
}

/// A value for the reader: text, cells, or how long it is.
fn value(value: &[u8]) -> String {
    let printable = |t: &[u8]| !t.is_empty() && t.iter().all(|b| (b' '..0x7f).contains(b));
    let text = match value.strip_suffix(&[0]) {
        _ if value.is_empty() => "set".to_owned(),
        Some(text) if text.split(|b| *b == 0).all(printable) => {
            let parts = text.split(|b| *b == 0);
            let quoted = parts.map(|p| format!("\"{}\"", String::from_utf8_lossy(p)));
            quoted.collect::<Vec<_>>().join(", ")
        }
        _ if value.len().is_multiple_of(4) => {
            let cells = cells(value).into_iter().map(|c| format!("{c:#x}"));
            format!("<{}>", cells.collect::<Vec<_>>().join(" "))
        }
        _ => format!("{} bytes", value.len()),
    };
    match text.char_indices().nth(SHOWN) {
        None => text,
        Some((end, _)) => format!("{}... ({} bytes)", &text[..end], value.len()),
    }
}

fn cells(value: &[u8]) -> Vec<u32> {
    let (cells, _) = value.as_chunks::<4>();
    cells.iter().map(|c| u32::from_be_bytes(*c)).collect()
}

fn bytes(cells: &[u32]) -> Vec<u8> {
    cells.iter().flat_map(|c| c.to_be_bytes()).collect()
}

/// A node's number, if it has one.
fn number(node: &Branch) -> Option<u32> {
    let value = NUMBERS.iter().find_map(|name| node.property(name))?;
    Some(u32::from_be_bytes(value.try_into().ok()?))
}

fn numbered(node: &Branch, path: &mut Path, all: &mut BTreeMap<Path, u32>) {
    if let Some(n) = number(node) {
        all.insert(path.clone(), n);
    }
    for child in &node.children {
        path.push(child.name.clone());
        numbered(child, path, all);
        path.pop();
    }
}

/// What a number means in a tree: how many cells follow it, by the property that says so.
type Cells = BTreeMap<u32, BTreeMap<String, usize>>;

fn counts(node: &Branch, all: &mut Cells) {
    if let Some(n) = number(node) {
        let counts = node.properties.iter().filter_map(|(name, value)| {
            let count = cells(value).first().copied()?;
            let is_count = name.starts_with('#') && name.ends_with("-cells");
            is_count.then(|| (name.clone(), count as usize))
        });
        all.insert(n, counts.collect());
    }
    for child in &node.children {
        counts(child, all);
    }
}

/// Makes the numbers of `second`'s nodes those of `first`'s, wherever a property is known to
/// hold one.
fn renumber(first: &Branch, second: &mut Branch) {
    let (mut old, mut new) = (BTreeMap::new(), BTreeMap::new());
    numbered(first, &mut Vec::new(), &mut old);
    numbered(second, &mut Vec::new(), &mut new);
    let mut taken: BTreeSet<u32> = old.values().copied().collect();
    let mut map: BTreeMap<u32, u32> = BTreeMap::new();
    for (path, n) in &new {
        if let Some(own) = old.get(path) {
            map.insert(*n, *own);
        }
    }
    // The largest number says nothing: a damaged tree may have any.
    let mut next: u32 = 1;
    for (path, n) in &new {
        // Two nodes of one number are a damaged tree's.
        if old.contains_key(path) || map.contains_key(n) {
            continue;
        }
        let mut free = *n;
        while taken.contains(&free) {
            (free, next) = (next, next.wrapping_add(1));
        }
        taken.insert(free);
        map.insert(*n, free);
    }
    if map.iter().all(|(from, to)| from == to) {
        return;
    }
    let mut of = Cells::new();
    counts(second, &mut of);
    renumber_node(second, &map, &of);
}

fn renumber_node(node: &mut Branch, map: &BTreeMap<u32, u32>, of: &Cells) {
    let count = |node: &Branch, name: &str| {
        let cells = node.property(name).map(cells);
        cells.and_then(|c| c.first().copied()).map(|n| n as usize)
    };
    let own =
        count(node, "#address-cells").unwrap_or(2) + count(node, "#interrupt-cells").unwrap_or(1);
    for (name, value) in &mut node.properties {
        if !value.len().is_multiple_of(4) {
            continue;
        }
        let mut all = cells(value);
        let mut step = Step {
            map,
            of,
            all: &mut all,
        };
        match form(name) {
            Some(Form::List) => step.every(0, |_| 0),
            Some(Form::Cells(said)) => {
                step.every(0, |counts| counts.get(said).copied().unwrap_or(0));
            }
            Some(Form::InterruptMap) => step.every(own, |counts| {
                let get = |name: &str| counts.get(name).copied().unwrap_or(0);
                get("#address-cells") + get("#interrupt-cells")
            }),
            None => continue,
        }
        *value = bytes(&all);
    }
    for child in &mut node.children {
        renumber_node(child, map, of);
    }
}

/// How a property names nodes.
enum Form {
    List,
    Cells(&'static str),
    InterruptMap,
}

fn form(name: &str) -> Option<Form> {
    let pin_state = name.strip_prefix("pinctrl-");
    let is_pin_state = pin_state.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    if NUMBERS.contains(&name) || LISTS.contains(&name) || name.ends_with("-supply") || is_pin_state
    {
        return Some(Form::List);
    }
    if name == "interrupt-map" {
        return Some(Form::InterruptMap);
    }
    if name.ends_with("-gpios") || name.ends_with("-gpio") {
        return Some(Form::Cells("#gpio-cells"));
    }
    let found = WITH_CELLS.iter().find(|(own, _)| *own == name);
    found.map(|(_, said)| Form::Cells(said))
}

/// The cells of a property, in which numbers are replaced.
struct Step<'a> {
    map: &'a BTreeMap<u32, u32>,
    of: &'a Cells,
    all: &'a mut Vec<u32>,
}

impl Step<'_> {
    /// Replaces each number that stands `before` cells into an entry; `behind` says how many
    /// cells follow it. It ends at a number of no node.
    fn every(&mut self, before: usize, behind: impl Fn(&BTreeMap<String, usize>) -> usize) {
        let mut at = before;
        while let Some(cell) = self.all.get_mut(at) {
            // An entry may be left empty.
            if *cell == 0 {
                at += 1 + before;
                continue;
            }
            let (Some(new), Some(counts)) = (self.map.get(cell), self.of.get(cell)) else {
                return;
            };
            at += 1 + behind(counts).min(64) + before;
            *cell = *new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Changed, applied, differences};
    use bisect::{Boot, Boots, Outcome, See, Settings, sets};
    use bootimage::branches::{Branch, Branches};

    fn node(name: &str, properties: &[(&str, &[u32])], children: Vec<Branch>) -> Branch {
        let value = |cells: &[u32]| cells.iter().flat_map(|c| c.to_be_bytes()).collect();
        let properties = properties.iter();
        Branch {
            name: name.to_owned(),
            properties: properties
                .map(|(n, v)| ((*n).to_owned(), value(v)))
                .collect(),
            children,
        }
    }

    fn tree(children: Vec<Branch>) -> Branches {
        let root = node("", &[("#address-cells", &[1])], children);
        Branches {
            root,
            ..Branches::default()
        }
    }

    fn names(all: &[Changed]) -> Vec<&str> {
        all.iter().map(|c| c.name.as_str()).collect()
    }

    fn board(clock: u32, gpio: u32, more: Vec<Branch>, delay: &[(&str, &[u32])]) -> Branches {
        let clocks: [u32; 2] = [clock, 7];
        let reset: [u32; 6] = [gpio, 3, 1, gpio, 4, 0];
        let mut uart: Vec<(&str, &[u32])> = vec![("clocks", &clocks), ("reset-gpios", &reset)];
        uart.extend(delay);
        let mut children = vec![
            node(
                "clock",
                &[("#clock-cells", &[1]), ("phandle", &[clock])],
                vec![],
            ),
            node(
                "gpio@1",
                &[("#gpio-cells", &[2]), ("phandle", &[gpio])],
                vec![],
            ),
            node("uart@2", &uart, vec![]),
        ];
        children.splice(1..1, more);
        tree(children)
    }

    #[test]
    fn numbers_of_nodes_are_no_difference() {
        let (first, second) = (board(1, 2, vec![], &[]), board(9, 1, vec![], &[]));
        assert!(differences(&first, &second).is_empty());
        // A new node takes a number that the first tree has.
        let new = node("pmic", &[("phandle", &[2])], vec![node("ldo", &[], vec![])]);
        let second = board(1, 3, vec![new], &[("rx-supply", &[2])]);
        let all = differences(&first, &second);
        let found = names(&all);
        assert_eq!(
            found,
            ["absent -> /pmic", "/uart@2 rx-supply: absent -> <0x3>"]
        );
        let whole = applied(&first, all.iter());
        let pmic = whole.root.child("pmic").unwrap();
        assert_eq!(pmic.property("phandle").unwrap(), [0, 0, 0, 3]);
        assert_eq!(whole.root.children[1].name, "pmic");
        assert_eq!(
            whole.root.child("gpio@1").unwrap(),
            first.root.child("gpio@1").unwrap()
        );
    }

    /// A number that no tree may have, once more in the second tree.
    #[test]
    fn odd_numbers_are_no_panic() {
        let odd = |name: &str| {
            node(
                name,
                &[("phandle", &[u32::MAX]), ("cpus", &[u32::MAX])],
                vec![],
            )
        };
        let first = tree(vec![odd("a")]);
        let second = tree(vec![odd("b"), odd("a"), odd("c")]);
        assert_eq!(
            names(&differences(&first, &second)),
            ["absent -> /b", "absent -> /c"]
        );
    }

    #[test]
    fn all_differences_make_the_second_tree() {
        let leaf = |n: u32| node("leaf", &[("reg", &[n])], vec![]);
        let first = tree(vec![
            leaf(1),
            node("old", &[], vec![leaf(2)]),
            node("kept", &[], vec![]),
        ]);
        let mut second = tree(vec![
            leaf(3),
            node("new@1", &[("a", &[1])], vec![leaf(2)]),
            node("kept", &[("b", &[2])], vec![leaf(4)]),
        ]);
        second
            .root
            .properties
            .insert(0, ("model".into(), b"a board\0".to_vec()));
        let all = differences(&first, &second);
        let wanted = [
            "/ model: absent -> \"a board\"",
            "/old -> absent",
            "absent -> /new@1",
            "/leaf reg: <0x1> -> <0x3>",
            "/kept b: absent -> <0x2>",
            "absent -> /kept/leaf",
        ];
        assert_eq!(names(&all), wanted);
        assert_eq!(applied(&first, all.iter()), second);
        assert_eq!(applied(&first, [].iter()), first);
        let bytes = second.bytes();
        assert_eq!(Branches::read(&bytes).unwrap(), second);
    }

    /// Boots by what a tree says: 1 s, and more for each planted thing in it.
    struct Board<'a> {
        first: &'a Branches,
        all: &'a [Changed],
        time: fn(&Branches) -> Option<i64>,
    }

    impl Boots for Board<'_> {
        type Error = std::convert::Infallible;

        fn boots(
            &mut self,
            sets: &[Vec<usize>],
            count: usize,
        ) -> Result<Vec<Vec<Boot>>, Self::Error> {
            let of = |set: &Vec<usize>| {
                let some = set.iter().filter_map(|i| self.all.get(*i));
                // As it would be booted: written, and read again.
                let tree = Branches::read(&applied(self.first, some).bytes()).unwrap();
                let Some(time) = (self.time)(&tree) else {
                    return vec![Boot::Unbootable("no console".to_owned())];
                };
                // The scatter of the lab: 0.05 %.
                let sum = set.iter().sum::<usize>() + 13 * set.len();
                let times = (0..count).map(|n| {
                    let scatter = (n * 611_953 + sum * 104_729) % 1_000_000;
                    Boot::Time(time + scatter as i64 - 500_000)
                });
                times.collect()
            };
            Ok(sets.iter().map(of).collect())
        }
    }

    fn found(
        first: &Branches,
        second: &Branches,
        time: fn(&Branches) -> Option<i64>,
    ) -> (Outcome, Vec<String>) {
        let all = differences(first, second);
        let mut board = Board {
            first,
            all: &all,
            time,
        };
        let settings = Settings {
            first: 2,
            most: 6,
            see: See::Part(0.005),
            error: 0.01,
        };
        let found = sets(&mut board, all.len(), &settings, &mut |_| {}).unwrap();
        let culprits = match &found.outcome {
            Outcome::Found { culprits, .. } => culprits.as_slice(),
            _ => &[],
        };
        let members = culprits.iter().flat_map(|c| &c.members);
        let mut names: Vec<String> = members.map(|i| all[*i].name.clone()).collect();
        names.sort();
        (found.outcome, names)
    }

    /// 40 nodes that change in both ways, and `more`.
    fn large(value: u32, more: Vec<Branch>) -> Branches {
        let devices = (0..40).map(|n| {
            let name = format!("device@{n}");
            match n % 4 {
                0 => node(&name, &[("reg", &[n, value])], vec![]),
                1 => node(&format!("{name}{value}"), &[("reg", &[n])], vec![]),
                2 if value == 1 => node(&name, &[("old-delay", &[n])], vec![]),
                _ => node(&name, &[("reg", &[n])], vec![]),
            }
        });
        tree(devices.chain(more).collect())
    }

    fn delay(tree: &Branches, node: &str) -> Option<i64> {
        let value = tree.root.child(node)?.property("delay-ms")?;
        Some(i64::from(u32::from_be_bytes(value.try_into().ok()?)) * 1_000_000)
    }

    #[test]
    fn the_property_that_makes_a_boot_slow_is_found_among_many() {
        let lcd = |ms: u32| vec![node("lcd", &[("delay-ms", &[ms])], vec![])];
        let (first, second) = (large(1, lcd(0)), large(2, lcd(10)));
        assert!(differences(&first, &second).len() > 30);
        let (_, names) = found(&first, &second, |t| {
            Some(1_000_000_000 + delay(t, "lcd").unwrap_or(0))
        });
        assert_eq!(names, ["/lcd delay-ms: <0x0> -> <0xa>"]);
    }

    /// A regulator is needed by the display that waits: without it the mixture does not boot.
    #[test]
    fn nodes_that_need_each_other_are_found_as_a_pair() {
        let (first, mut second) = (large(1, vec![]), large(2, vec![]));
        second
            .root
            .children
            .push(node("regulator", &[("phandle", &[5])], vec![]));
        second.root.children.insert(
            3,
            node("lcd", &[("delay-ms", &[10]), ("lcd-supply", &[5])], vec![]),
        );
        let (outcome, names) = found(&first, &second, |t| {
            match (t.root.child("lcd"), t.root.child("regulator")) {
                (Some(_), None) => None,
                _ => Some(1_000_000_000 + delay(t, "lcd").unwrap_or(0)),
            }
        });
        assert!(matches!(outcome, Outcome::Found { .. }), "{outcome:?}");
        assert_eq!(names, ["absent -> /lcd", "absent -> /regulator"]);
    }

    #[test]
    fn trees_that_boot_alike_have_no_culprit() {
        let (first, second) = (large(1, vec![]), large(2, vec![]));
        let (outcome, _) = found(&first, &second, |_| Some(1_000_000_000));
        assert_eq!(outcome, Outcome::NoDifference);
    }
}
