//! What an event says in words, as the kernel prints it (`print fmt` of its
//! format) and as the plug-ins of `trace-cmd report` do.

use super::super::known::{BlockEvent, Key, Known, Values};
use super::super::symbols::hex;
use crate::text::{number, without_indent};
use memchr::{memchr, memmem};

/// A value as the text has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Value<'a> {
    #[default]
    None,
    Number(u64),
    Text(&'a [u8]),
}

/// The fields of an event.
#[derive(Clone, Debug)]
pub(super) struct Printed<'a> {
    values: [Value<'a>; Key::COUNT],
}

impl Values for Printed<'_> {
    fn number(&self, key: Key) -> Option<u64> {
        match self.values.get(key as usize) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn text(&self, key: Key) -> Option<&[u8]> {
        match self.values.get(key as usize) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }
}

impl<'a> Printed<'a> {
    /// Reads what stands behind the name of an event.
    pub(super) fn of(known: Known, body: &'a [u8]) -> Self {
        let mut printed = Self {
            values: [Value::None; Key::COUNT],
        };
        let body = body.trim_ascii();
        match known {
            Known::Switch if memmem::find(body, b"prev_pid=").is_none() => {
                printed.short_switch(body);
            }
            Known::Wakeup | Known::WakeupNew | Known::Waking
                if memmem::find(body, b" pid=").is_none() =>
            {
                if let Some((comm, pid, _)) = short_task(body) {
                    printed.set(Key::Comm, Value::Text(comm));
                    printed.set(Key::Pid, Value::Number(pid));
                }
            }
            Known::CacheAdd | Known::CacheFault | Known::CacheGet | Known::CacheMap
                if body.starts_with(b"dev") =>
            {
                printed.cache(body);
            }
            Known::Block(event) if !body.starts_with(b"dev=") => {
                printed.block(event, body);
            }
            Known::Console => {
                let text = body.strip_prefix(b"msg=").unwrap_or(body);
                printed.set(Key::Message, Value::Text(text));
            }
            Known::ModuleLoad if !body.starts_with(b"taints=") => {
                let end = memchr(b' ', body).unwrap_or(body.len());
                let name = body.get(..end).unwrap_or_default();
                printed.set(Key::Name, Value::Text(name));
            }
            Known::Function if !body.starts_with(b"ip=") => {
                printed.function(body);
            }
            Known::RawEnter | Known::RawExit if body.starts_with(b"NR ") => {
                let id = body.get(3..).and_then(number);
                if let Some((id, _)) = id {
                    printed.set(Key::Number, Value::Number(id));
                }
            }
            Known::CallExit => {
                let value = body.strip_prefix(b"->").unwrap_or(body).trim_ascii();
                match value_of(value) {
                    number @ Value::Number(_) => printed.set(Key::Returned, number),
                    _ => printed.pairs(body),
                }
            }
            Known::CallEnter => printed.arguments(body),
            _ => printed.pairs(body),
        }
        printed
    }

    fn set(&mut self, key: Key, value: Value<'a>) {
        if let Some(place) = self.values.get_mut(key as usize) {
            *place = value;
        }
    }

    fn set_number(&mut self, key: Key, value: Option<u64>) {
        if let Some(value) = value {
            self.set(key, Value::Number(value));
        }
    }

    /// `key=value key=value`, where values may hold blanks.
    fn pairs(&mut self, body: &'a [u8]) {
        let mut rest = body;
        while let Some((key, value)) = pair_start(rest) {
            let end = next_pair(value);
            let (value, after) = value.split_at(end);
            if let Some(key) = Key::named(key) {
                let value = without_arrow(value);
                let value = match key {
                    Key::Comm
                    | Key::PrevComm
                    | Key::NextComm
                    | Key::ChildComm
                    | Key::NewComm
                    | Key::Filename
                    | Key::Level
                    | Key::Letters
                    | Key::Name
                    | Key::Message => Value::Text(value),
                    _ => value_of(value),
                };
                self.set(key, value);
            }
            rest = without_indent(after);
        }
    }

    /// `comm:pid [prio] S ==> comm:pid [prio]`, as trace-cmd has it.
    fn short_switch(&mut self, body: &'a [u8]) {
        let Some(at) = memmem::find(body, b" ==> ") else {
            return;
        };
        let (prev, next) = body.split_at(at);
        if let (Some(prev), Some(next)) = (
            short_task(prev),
            short_task(next.get(5..).unwrap_or_default()),
        ) {
            self.set(Key::PrevComm, Value::Text(prev.0));
            self.set(Key::PrevPid, Value::Number(prev.1));
            self.set(Key::PrevState, Value::Text(prev.2));
            self.set(Key::NextComm, Value::Text(next.0));
            self.set(Key::NextPid, Value::Number(next.1));
        }
    }

    /// `dev 254:0 ino 1b4 pfn=0x1092 ofs=4096 order=0`, since 6.10 also
    /// `dev=254:0 ino=1b4 ofs=0-4095`. The inode is hexadecimal.
    fn cache(&mut self, body: &'a [u8]) {
        let mut words = body
            .split(|b| matches!(b, b' ' | b'='))
            .filter(|w| !w.is_empty());
        while let Some(word) = words.next() {
            let Some(value) = words.next() else {
                return;
            };
            match word {
                b"dev" => self.set_number(Key::Device, device(value, b':')),
                b"ino" => self.set_number(Key::Inode, hex(value)),
                b"ofs" => {
                    let (from, rest) = number(value).unwrap_or((0, b""));
                    self.set(Key::Offset, Value::Number(from));
                    let last = rest.strip_prefix(b"-").and_then(number);
                    self.set_number(Key::LastOffset, last.map(|l| l.0));
                }
                b"order" => self.set_number(Key::PageOrder, number(value).map(|n| n.0)),
                _ => {}
            }
        }
    }

    /// `254,0 RA 4096 () 2048 + 8 be,0,4 [modprobe]` and its variants.
    fn block(&mut self, event: BlockEvent, body: &'a [u8]) {
        let mut words = body.split(|b| *b == b' ').filter(|w| !w.is_empty());
        let Some(disk) = words.next().and_then(|w| device(w, b',')) else {
            return;
        };
        let Some(letters) = words.next() else {
            return;
        };
        let mut numbers = [0; 2];
        let mut count = 0;
        let mut sectors = None;
        while let Some(word) = words.next() {
            match word {
                b"+" => {
                    sectors = words.next().and_then(number).map(|n| n.0);
                    break;
                }
                b"/" if event == BlockEvent::Split => {
                    let at = words.next().and_then(number).map(|n| n.0);
                    self.set_number(Key::NewSector, at);
                    break;
                }
                // A passed-through command, in parentheses.
                _ if word.starts_with(b"(") || word.ends_with(b")") => {}
                _ => {
                    if let (Some((value, [])), Some(place)) = (number(word), numbers.get_mut(count))
                    {
                        *place = value;
                        count += 1;
                    }
                }
            }
        }
        let (bytes, sector) = match (count, numbers) {
            (1, [sector, _]) => (None, sector),
            (2, [bytes, sector]) => (Some(bytes), sector),
            _ => return,
        };
        self.set(Key::Device, Value::Number(disk));
        self.set(Key::Letters, Value::Text(letters));
        self.set(Key::Sector, Value::Number(sector));
        self.set_number(Key::Bytes, bytes);
        self.set_number(Key::Sectors, sectors);
        let rest: Vec<&[u8]> = words.collect();
        match event {
            BlockEvent::Remap => {
                // `<- (8,1) 2048`
                let old = rest
                    .iter()
                    .find_map(|w| device(w.strip_prefix(b"(")?.strip_suffix(b")")?, b','));
                self.set_number(Key::OldDevice, old);
            }
            BlockEvent::Complete | BlockEvent::BioComplete => {
                let error = rest
                    .last()
                    .and_then(|w| w.strip_prefix(b"[")?.strip_suffix(b"]"));
                let error = error.and_then(|e| match e.strip_prefix(b"-") {
                    Some(digits) => Some(number(digits)?.0.wrapping_neg()),
                    None => Some(number(e)?.0),
                });
                self.set_number(Key::Error, error);
            }
            _ => {}
        }
    }

    /// `vfs_open <-path_openat`, trace-cmd with two dashes or without a caller.
    fn function(&mut self, body: &'a [u8]) {
        let (function, caller) = match memmem::find(body, b"<-") {
            Some(at) => {
                let (function, caller) = body.split_at(at);
                let caller = caller.get(2..).unwrap_or_default();
                (
                    function.trim_ascii(),
                    caller.strip_prefix(b"-").unwrap_or(caller),
                )
            }
            None => (body, &b""[..]),
        };
        if !function.is_empty() {
            self.set(Key::Address, Value::Text(function));
        }
        let caller = caller.trim_ascii();
        if !caller.is_empty() {
            self.set(Key::CallerAddress, Value::Text(caller));
        }
    }

    /// `dfd: ffffff9c, filename: 7ffc "/etc/passwd", flags: 0`, and of a probe
    /// `(do_filp_open+0x0/0x110) filename="/etc/passwd"`.
    fn arguments(&mut self, body: &'a [u8]) {
        const PROBED: &[u8] = b"filename=\"";
        if let Some(at) = memmem::find(body, PROBED) {
            let text = body.get(at + PROBED.len()..).unwrap_or_default();
            let text = text.strip_suffix(b"\"").unwrap_or(text);
            return self.set(Key::Filename, Value::Text(text));
        }
        let body = body.strip_suffix(b")").unwrap_or(body);
        for (name, key) in [
            (&b"filename: "[..], Key::Filename),
            (b"error_code: ", Key::ErrorCode),
        ] {
            let Some(at) = memmem::find(body, name) else {
                continue;
            };
            let value = body.get(at + name.len()..).unwrap_or_default();
            if key == Key::ErrorCode {
                let end = memchr(b',', value).unwrap_or(value.len());
                let value = value.get(..end).unwrap_or_default().trim_ascii();
                self.set_number(key, hex(value.strip_prefix(b"0x").unwrap_or(value)));
                continue;
            }
            // Since 6.19 the text itself stands behind the address.
            let text = memchr(b'"', value).and_then(|open| {
                let before = value.get(..open)?;
                if before.contains(&b',') {
                    return None;
                }
                let text = value.get(open + 1..)?;
                text.get(..memchr(b'"', text)?)
            });
            if let Some(text) = text {
                self.set(key, Value::Text(text));
            }
        }
    }
}

/// `comm:pid [prio] rest`: the name, the id, the first word of the rest.
fn short_task(text: &[u8]) -> Option<(&[u8], u64, &[u8])> {
    let open = text.iter().rposition(|b| *b == b'[')?;
    let head = text.get(..open)?.trim_ascii();
    let colon = head.iter().rposition(|b| *b == b':')?;
    let (pid, []) = number(head.get(colon + 1..)?)? else {
        return None;
    };
    let close = memchr(b']', text.get(open..)?)?;
    let rest = text.get(open + close + 1..)?.trim_ascii();
    let end = memchr(b' ', rest).unwrap_or(rest.len());
    Some((head.get(..colon)?, pid, rest.get(..end)?))
}

/// A device in the kernel's own form: the major above 20 bits of the minor.
fn device(text: &[u8], between: u8) -> Option<u64> {
    let (major, rest) = number(text)?;
    let [separator, minor @ ..] = rest else {
        return None;
    };
    let (minor, []) = number(minor)? else {
        return None;
    };
    let whole = *separator == between && major < 1 << 12 && minor < 1 << 20;
    whole.then_some(major << 20 | minor)
}

/// A number, decimal (also negative) or behind `0x`, or else a text.
fn value_of(text: &[u8]) -> Value<'_> {
    if let Some(value) = text.strip_prefix(b"0x").and_then(hex) {
        return Value::Number(value);
    }
    let (sign, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    match number(digits) {
        Some((value, [])) if sign => Value::Number(value.wrapping_neg()),
        Some((value, [])) => Value::Number(value),
        _ => Value::Text(text),
    }
}

/// The key that `text` begins with, and what follows its `=`.
fn pair_start(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"==> ").unwrap_or(text);
    let name = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let end = text.iter().position(|b| !name(b))?;
    match text.split_at(end) {
        (key, [b'=', value @ ..]) if end > 0 => Some((key, value)),
        _ => {
            // A word that is no pair.
            let next = next_pair(text);
            let rest = text.get(next + 1..)?;
            pair_start(rest)
        }
    }
}

/// Fields beside those of [`Key`] in the texts of known events: a name of a
/// task may hold an equals sign, too, so any other word does not end it.
const OTHER_FIELDS: [&[u8]; 12] = [
    b"prio",
    b"prev_prio",
    b"next_prio",
    b"target_cpu",
    b"success",
    b"group_dead",
    b"oldcomm",
    b"oom_score_adj",
    b"clone_flags",
    b"pfn",
    b"page",
    b"retval",
];

/// Where ` key=` begins, or the end.
fn next_pair(value: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = value.get(from..).and_then(|v| memchr(b' ', v)) {
        let space = from + at;
        let word = value.get(space + 1..).unwrap_or_default();
        let name = word
            .iter()
            .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
            .count();
        let key = word.get(..name).unwrap_or_default();
        let is_field = Key::named(key).is_some() || OTHER_FIELDS.contains(&key);
        if is_field && word.get(name) == Some(&b'=') {
            return space;
        }
        from = space + 1;
    }
    value.len()
}

/// `S ==>` without the arrow.
fn without_arrow(value: &[u8]) -> &[u8] {
    let value = value.strip_suffix(b"==>").unwrap_or(value);
    value.trim_ascii_end()
}

#[cfg(test)]
mod tests {
    use super::{BlockEvent, Key, Known, Printed, Values};

    fn check(known: Known, body: &str, numbers: &[(Key, i64)], texts: &[(Key, &str)]) {
        let printed = Printed::of(known, body.as_bytes());
        for &(key, value) in numbers {
            assert_eq!(printed.signed(key), Some(value), "{body}: {key:?}");
        }
        for &(key, value) in texts {
            let found = printed.text(key).map(String::from_utf8_lossy);
            assert_eq!(found.as_deref(), Some(value), "{body}: {key:?}");
        }
        let count = printed.values.iter().filter(|v| **v != Default::default());
        assert_eq!(count.count(), numbers.len() + texts.len(), "{body}");
    }

    #[test]
    fn scheduler_events_in_all_forms() {
        use Key::{
            ChildComm, ChildPid, Comm, NextComm, NextPid, Pid, PrevComm, PrevPid, PrevState,
        };
        check(
            Known::Switch,
            "prev_comm=a b=c prev_pid=1 prev_prio=120 prev_state=R+ ==> next_comm=k/1:0 next_pid=21 next_prio=120",
            &[(PrevPid, 1), (NextPid, 21)],
            &[(PrevComm, "a b=c"), (PrevState, "R+"), (NextComm, "k/1:0")],
        );
        check(
            Known::Switch,
            "trace-cmd:545 [120] R ==> rcu_preempt:15 [120]",
            &[(PrevPid, 545), (NextPid, 15)],
            &[
                (PrevComm, "trace-cmd"),
                (PrevState, "R"),
                (NextComm, "rcu_preempt"),
            ],
        );
        check(
            Known::Wakeup,
            "rcu_preempt:15 [120] CPU:001",
            &[(Pid, 15)],
            &[(Comm, "rcu_preempt")],
        );
        check(
            Known::Waking,
            "comm=kworker/1:0 pid=22 prio=120 target_cpu=001",
            &[(Pid, 22)],
            &[(Comm, "kworker/1:0")],
        );
        check(
            Known::Fork,
            "comm=sh pid=1 child_comm=sh child_pid=86",
            &[(Pid, 1), (ChildPid, 86)],
            &[(Comm, "sh"), (ChildComm, "sh")],
        );
        check(
            Known::Exec,
            "filename=/usr/bin/a b pid=7 old_pid=7",
            &[(Pid, 7), (Key::OldPid, 7)],
            &[(Key::Filename, "/usr/bin/a b")],
        );
    }

    #[test]
    fn cache_events_in_all_forms() {
        let disk = 254 << 20;
        check(
            Known::CacheAdd,
            "dev 254:0 ino 1b4 pfn=0x10925f ofs=4096 order=2",
            &[
                (Key::Device, disk),
                (Key::Inode, 0x1b4),
                (Key::Offset, 4096),
                (Key::PageOrder, 2),
            ],
            &[],
        );
        check(
            Known::CacheGet,
            "dev=254:0 ino=1b4 ofs=0-8191",
            &[
                (Key::Device, disk),
                (Key::Inode, 0x1b4),
                (Key::Offset, 0),
                (Key::LastOffset, 8191),
            ],
            &[],
        );
        check(
            Known::CacheAdd,
            "pfn=0x10925f i_ino=0x1b4 index=0x3 s_dev=0xfe00000 order=0",
            &[
                (Key::Device, disk),
                (Key::Inode, 0x1b4),
                (Key::Index, 3),
                (Key::PageOrder, 0),
            ],
            &[],
        );
    }

    #[test]
    fn block_events_in_all_forms() {
        let disk = (254 << 20) + 1;
        let place = [(Key::Device, disk), (Key::Sector, 2048), (Key::Sectors, 8)];
        let letters = [(Key::Letters, "RA")];
        let block = |event, body, more: &[(Key, i64)]| {
            let numbers = [&place[..], more].concat();
            check(Known::Block(event), body, &numbers, &letters);
        };
        let bytes = (Key::Bytes, 4096);
        block(BlockEvent::Queue, "254,1 RA 2048 + 8 [cat]", &[]);
        block(
            BlockEvent::Issue,
            "254,1 RA 4096 () 2048 + 8 [a b]",
            &[bytes],
        );
        block(
            BlockEvent::Issue,
            "254,1 RA 4096 () 2048 + 8 be,0,4 [cat]",
            &[bytes],
        );
        block(
            BlockEvent::Complete,
            "254,1 RA () 2048 + 8 none,0,0 [-5]",
            &[(Key::Error, -5)],
        );
        block(
            BlockEvent::Remap,
            "254,1 RA 2048 + 8 <- (254,2) 0",
            &[(Key::OldDevice, (254 << 20) + 2)],
        );
        check(
            Known::Block(BlockEvent::Split),
            "254,1 RA 2048 / 2052 [cat]",
            &[
                (Key::Device, disk),
                (Key::Sector, 2048),
                (Key::NewSector, 2052),
            ],
            &letters,
        );
    }

    #[test]
    fn the_rest() {
        check(
            Known::InitcallFinish,
            "func=fuse_init+0x0/0x1b0 [fuse] ret=-19",
            &[(Key::Returned, -19)],
            &[(Key::Function, "fuse_init+0x0/0x1b0 [fuse]")],
        );
        check(
            Known::InitcallLevel,
            "level=early",
            &[],
            &[(Key::Level, "early")],
        );
        check(Known::ModuleLoad, "dummy OE", &[], &[(Key::Name, "dummy")]);
        check(
            Known::Function,
            "vfs_open <-path_openat",
            &[],
            &[
                (Key::Address, "vfs_open"),
                (Key::CallerAddress, "path_openat"),
            ],
        );
        check(
            Known::Function,
            "   vfs_open <-- path_openat",
            &[],
            &[
                (Key::Address, "vfs_open"),
                (Key::CallerAddress, "path_openat"),
            ],
        );
        check(
            Known::Function,
            "vfs_open",
            &[],
            &[(Key::Address, "vfs_open")],
        );
        check(
            Known::RawEnter,
            "NR 257 (ffffff9c, 7f)",
            &[(Key::Number, 257)],
            &[],
        );
        check(
            Known::CallExit,
            "-> 0xfffffffffffffffe",
            &[(Key::Returned, -2)],
            &[],
        );
        check(Known::CallExit, "0x3", &[(Key::Returned, 3)], &[]);
        check(
            Known::CallEnter,
            "dfd: ffffff9c, filename: 7ffc \"/etc/ld.so\", flags: 0",
            &[],
            &[(Key::Filename, "/etc/ld.so")],
        );
        check(
            Known::CallEnter,
            "dfd: ffffff9c, filename: 7ffc, flags: 0)",
            &[],
            &[],
        );
        check(
            Known::CallEnter,
            "(do_filp_open+0x0/0x110) filename=\"/lib/a b.so\"",
            &[],
            &[(Key::Filename, "/lib/a b.so")],
        );
        check(
            Known::CallExit,
            "(do_sys_openat2+0x95/0x150 <- do_filp_open) ret=-2",
            &[(Key::Returned, -2)],
            &[],
        );
        check(
            Known::CallEnter,
            "error_code: 3)",
            &[(Key::ErrorCode, 3)],
            &[],
        );
        check(Known::Switch, "torn ==>", &[], &[]);
    }
}
