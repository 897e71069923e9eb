//! Work on the lines of a large input, done ahead on another thread.

use crate::text::line_end;
use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// How large a block is, in bytes: some hundred lines, so that what is made of
/// them stays in a processor's cache until it is used.
const BLOCK: usize = 64 * 1024;

/// How many blocks of each thread may be done and not yet taken: what is made
/// of a block takes several times its memory.
const MOST_AHEAD: usize = 8;

/// Smaller inputs are not worth a thread.
const SMALL: usize = 8 * BLOCK;

/// Some whole lines of an input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    /// Where it begins in the input.
    pub offset: u64,
    /// Its lines.
    pub bytes: &'a [u8],
}

/// Cuts an input into blocks, numbered from 0.
struct Blocks<'a> {
    next: usize,
    offset: usize,
    rest: &'a [u8],
}

impl<'a> Iterator for Blocks<'a> {
    type Item = (usize, Block<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let end = line_end(self.rest, BLOCK);
        let (bytes, rest) = self.rest.split_at(end);
        let block = Block {
            offset: self.offset as u64,
            bytes,
        };
        let number = self.next;
        self.next += 1;
        self.offset += end;
        self.rest = rest;
        Some((number, block))
    }
}

/// Has `work` done on each block of `bytes`, on this thread and another one,
/// and gives what it made to `take` on this thread, in the order of the input:
/// what comes of it is the same as without the other.
///
/// `work` adds to a list, which is empty at first; lists are used again. One
/// other thread is enough where taking is about as much as working: a third
/// one would wait.
pub(crate) fn in_order<'a, T: Send>(
    bytes: &'a [u8],
    work: impl Fn(Block<'a>, &mut Vec<T>) + Sync,
    mut take: impl FnMut(&[T]),
) {
    let blocks = Mutex::new(Blocks {
        next: 0,
        offset: 0,
        rest: bytes,
    });
    let spare = Mutex::new(Vec::new());
    let do_one = || {
        let (number, block) = lock(&blocks).next()?;
        let mut list: Vec<T> = lock(&spare).pop().unwrap_or_default();
        work(block, &mut list);
        Some((number, list))
    };
    let parallel =
        bytes.len() > SMALL && thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    thread::scope(|scope| {
        let (done, others) = sync_channel(MOST_AHEAD);
        let work_ahead = move || while do_one().is_some_and(|list| done.send(list).is_ok()) {};
        // Without the other thread, or if there can be none, the channel is
        // closed from now on, and this one does it all.
        if parallel {
            thread::Builder::new().spawn_scoped(scope, work_ahead).ok();
        } else {
            drop(work_ahead);
        }
        // Blocks that were done before their turn.
        let mut early = BTreeMap::new();
        for number in 0.. {
            let mut list = loop {
                if let Some(list) = early.remove(&number) {
                    break list;
                }
                // Nothing to take: this thread works on a block, too, unless
                // there are none left, or many that wait for the other thread.
                let mine = || (early.len() < MOST_AHEAD).then(do_one).flatten();
                let other = others.try_recv().ok();
                let Some((n, list)) = other.or_else(mine).or_else(|| others.recv().ok()) else {
                    return;
                };
                early.insert(n, list);
            };
            take(&list);
            list.clear();
            lock(&spare).push(list);
        }
    });
}

/// No thread panics while it holds one of these locks; if one did, what they
/// guard would still be whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, in_order};
    use crate::text::{lines, lines_from};

    #[test]
    fn lines_come_in_order_and_whole() {
        let mut text = Vec::new();
        for i in 0..200_000_u64 {
            text.extend_from_slice(format!("{:1$}\n", i, (i % 50) as usize).as_bytes());
        }
        // Longer than a block, and a last line without an end.
        text.extend_from_slice(&vec![b'x'; 3 * BLOCK]);
        text.extend_from_slice(b"\nend");
        let mut found = Vec::new();
        in_order(
            &text,
            |block, list| list.extend(lines_from(block.bytes, block.offset)),
            |list| found.extend_from_slice(list),
        );
        assert!(found.into_iter().eq(lines(&text)));
    }

    #[test]
    fn nothing_gives_nothing() {
        in_order(b"", |_, _: &mut Vec<()>| {}, |_| unreachable!());
    }
}
