//! Functions by time: the table of `kd`, and the tree it is made of.

use record::{Call, CallId, CallTree, NameId, Nanos, Record};
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// All calls of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionRow {
    /// The function.
    pub name: String,
    /// How often it was called.
    pub count: u64,
    /// How long its calls ran, those they called included. Where it calls
    /// itself, directly or not, the time counts once.
    pub time: Nanos,
    /// The time of one call, on average of those that were seen to return.
    pub average: Nanos,
    /// How long its calls ran in the function itself.
    pub local: Nanos,
    /// The function that took longest of those it called.
    pub max_sub: Option<String>,
    /// How often it called that one.
    pub max_sub_count: u64,
    /// How many of its calls were not seen to return: their time is missing.
    pub open: u64,
}

/// What a table of functions is sorted by; names upwards, numbers downwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionOrder {
    /// By name.
    Function,
    /// By how often they were called.
    Count,
    /// By time.
    #[default]
    Time,
    /// By the time of one call.
    Average,
    /// By the time in the function itself.
    Local,
    /// By the name of the function that took longest of those it called.
    MaxSub,
    /// By how often it called that one.
    MaxSubCount,
}

/// Functions and their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Functions {
    /// The rows asked for.
    pub rows: Vec<FunctionRow>,
    /// How many functions there are in all.
    pub total_rows: usize,
    /// The sum of the time in functions themselves, over all rows.
    pub total: Nanos,
}

/// A node of the tree of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRow {
    /// How deep it stands: 0 is a task, 1 a function that nothing called.
    pub depth: usize,
    /// The function; at depth 0 the task.
    pub name: String,
    /// How often it was called on this stack.
    pub count: u64,
    /// How long, those it called included. Of a task: the sum of its calls.
    pub time: Nanos,
    /// How long in the function itself.
    pub local: Nanos,
    /// How many of the calls were not seen to return.
    pub open: u64,
}

/// The tree of calls: each row stands below the one that called it, the
/// longest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The rows asked for.
    pub rows: Vec<CallRow>,
    /// How many there are in all.
    pub total_rows: usize,
}

/// The sums of one function while they are made.
#[derive(Debug, Default)]
struct Sums {
    count: u64,
    open: u64,
    time: Nanos,
    local: Nanos,
    average: Option<Nanos>,
    /// What it called: how long and how often.
    subs: HashMap<NameId, (Nanos, u64)>,
    /// What a source states instead.
    max_sub: Option<(NameId, u64)>,
}

/// The functions of a record in this order. `top` limits the rows; 0 gives all.
#[must_use]
pub fn functions(record: &Record, order: FunctionOrder, top: usize) -> Functions {
    let tree = record.functions();
    let mut sums: HashMap<NameId, Sums> = HashMap::new();
    add_tree(tree, &mut sums);
    for stated in tree.sums() {
        let sum = sums.entry(stated.function).or_default();
        sum.count = sum.count.saturating_add(stated.count);
        match stated.time {
            Some(time) => sum.time = sum.time + time,
            None => sum.open = sum.open.saturating_add(stated.count),
        }
        sum.local = sum.local + stated.local.unwrap_or_default();
        sum.average = stated.average;
        sum.max_sub = stated.max_sub.or(sum.max_sub);
    }
    let mut rows: Vec<FunctionRow> = sums
        .into_iter()
        .map(|(name, sum)| row(record, name, sum))
        .collect();
    rows.sort_by(|a, b| compare(order, a, b));
    let total_rows = rows.len();
    let total = rows.iter().fold(Nanos::ZERO, |sum, r| sum + r.local);
    if top > 0 {
        rows.truncate(top);
    }
    Functions {
        rows,
        total_rows,
        total,
    }
}

/// Adds the calls of a tree to the sums of their functions.
fn add_tree(tree: &CallTree, sums: &mut HashMap<NameId, Sums>) {
    let subs = times_of_subs(tree);
    for (id, call) in tree.iter() {
        // The bottom is a task.
        let Some(parent) = call.parent else {
            continue;
        };
        let sum = sums.entry(call.function).or_default();
        sum.count = sum.count.saturating_add(call.count);
        sum.open = sum.open.saturating_add(call.open);
        sum.local = sum.local + local(call, subs.get(&id).copied());
        if !is_within_itself(tree, call) {
            sum.time = sum.time + call.time;
        }
        let caller = tree.get(parent).filter(|c| c.parent.is_some());
        if let Some(caller) = caller {
            let of_caller = sums.entry(caller.function).or_default();
            let sub = of_caller.subs.entry(call.function).or_default();
            *sub = (sub.0 + call.time, sub.1.saturating_add(call.count));
        }
    }
}

/// The time of what each node called, together.
fn times_of_subs(tree: &CallTree) -> BTreeMap<CallId, Nanos> {
    let mut times: BTreeMap<CallId, Nanos> = BTreeMap::new();
    for (_, call) in tree.iter() {
        if let Some(parent) = call.parent {
            let sum = times.entry(parent).or_default();
            *sum = *sum + call.time;
        }
    }
    times
}

/// The time in the function itself: as the source states it, else what is left
/// of its time. Of calls that were not seen to return it is not known.
fn local(call: &Call, subs: Option<Nanos>) -> Nanos {
    match call.local {
        Some(local) => local,
        None => (call.time - subs.unwrap_or_default()).max(Nanos::ZERO),
    }
}

/// Whether a call of the same function is below it on the stack: its time is
/// in that one's.
fn is_within_itself(tree: &CallTree, call: &Call) -> bool {
    let mut at = call.parent;
    while let Some(below) = at.and_then(|id| tree.get(id)) {
        if below.parent.is_some() && below.function == call.function {
            return true;
        }
        at = below.parent;
    }
    false
}

fn row(record: &Record, name: NameId, sum: Sums) -> FunctionRow {
    let longest = sum.subs.into_iter().max_by(|(a, x), (b, y)| {
        // Ties go to the name that comes first.
        let names = || record.name(*b).cmp(record.name(*a));
        x.cmp(y).then_with(names)
    });
    let max_sub = sum
        .max_sub
        .or(longest.map(|(name, (_, count))| (name, count)));
    let returned = i64::try_from(sum.count.saturating_sub(sum.open)).unwrap_or(i64::MAX);
    let average = Nanos(sum.time.get().checked_div(returned).unwrap_or(0));
    FunctionRow {
        name: record.name(name).to_owned(),
        count: sum.count,
        time: sum.time,
        average: sum.average.unwrap_or(average),
        local: sum.local,
        max_sub: max_sub.map(|(name, _)| record.name(name).to_owned()),
        max_sub_count: max_sub.map_or(0, |(_, count)| count),
        open: sum.open,
    }
}

fn compare(order: FunctionOrder, a: &FunctionRow, b: &FunctionRow) -> Ordering {
    let by = match order {
        FunctionOrder::Function => Ordering::Equal,
        FunctionOrder::Count => b.count.cmp(&a.count),
        FunctionOrder::Time => b.time.cmp(&a.time),
        FunctionOrder::Average => b.average.cmp(&a.average),
        FunctionOrder::Local => b.local.cmp(&a.local),
        // Functions that called none come last.
        FunctionOrder::MaxSub => {
            (a.max_sub.is_none(), &a.max_sub).cmp(&(b.max_sub.is_none(), &b.max_sub))
        }
        FunctionOrder::MaxSubCount => b.max_sub_count.cmp(&a.max_sub_count),
    };
    by.then_with(|| match order {
        FunctionOrder::Function => Ordering::Equal,
        _ => b.time.cmp(&a.time),
    })
    .then_with(|| a.name.cmp(&b.name))
}

/// The tree of calls of a record. `top` limits the rows to those of the longest
/// time, with what they stand on; 0 gives all.
#[must_use]
pub fn calls(record: &Record, top: usize) -> Calls {
    let tree = record.functions();
    let subs = times_of_subs(tree);
    // What was not seen to return ran at least as long as what it called, and
    // so did tasks. Children stand behind their parents.
    let mut times: BTreeMap<CallId, Nanos> = BTreeMap::new();
    let mut children: BTreeMap<Option<CallId>, Vec<CallId>> = BTreeMap::new();
    let nodes: Vec<(CallId, &Call)> = tree.iter().collect();
    for &(id, call) in nodes.iter().rev() {
        let time = call.time.max(times.get(&id).copied().unwrap_or_default());
        times.insert(id, time);
        if let Some(parent) = call.parent {
            let sum = times.entry(parent).or_default();
            *sum = *sum + time;
        }
        children.entry(call.parent).or_default().push(id);
    }
    let time_of = |id: &CallId| times.get(id).copied().unwrap_or_default();
    let name_of = |id: &CallId| tree.get(*id).map_or("", |c| record.name(c.function));
    for list in children.values_mut() {
        list.sort_by(|a, b| {
            let longer = time_of(b).cmp(&time_of(a));
            longer.then_with(|| name_of(a).cmp(name_of(b)))
        });
    }
    let mut sorted: Vec<Nanos> = times.values().copied().collect();
    sorted.sort_unstable_by(|a, b| b.cmp(a));
    // A parent is at least as long as its children: it is shown before them.
    let least = match top {
        0 => None,
        _ => sorted.get(top - 1).copied(),
    };
    let mut rows = Vec::new();
    let mut stack: Vec<(CallId, usize)> = Vec::new();
    let push = |of: Option<CallId>, depth, stack: &mut Vec<(CallId, usize)>| {
        let list = children.get(&of).into_iter().flatten();
        stack.extend(list.rev().map(|&id| (id, depth)));
    };
    push(None, 0, &mut stack);
    while let Some((id, depth)) = stack.pop() {
        let Some(call) = tree.get(id) else {
            continue;
        };
        let time = time_of(&id);
        let enough = top > 0 && rows.len() >= top;
        if enough || least.is_some_and(|least| time < least) {
            continue;
        }
        rows.push(CallRow {
            depth,
            name: record.name(call.function).to_owned(),
            count: call.count,
            time,
            local: match call.parent {
                Some(_) => local(call, subs.get(&id).copied()),
                None => Nanos::ZERO,
            },
            open: call.open,
        });
        push(Some(id), depth + 1, &mut stack);
    }
    Calls {
        rows,
        total_rows: nodes.len(),
    }
}
