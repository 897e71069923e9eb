//! The journal: what was written since the last commit. It is read and replayed
//! at each mount (`fs/ubifs/replay.c`).

use super::lebs::Lebs;
use super::master::Master;
use super::node::{Fault, Found, IN_GROUP, Scan, kind};
use super::superblock::Superblock;
use rawimage::endian::{Endian, Fields};
use std::collections::BTreeSet;
use std::fmt;
use std::io;

/// The first block of the log.
const LOG: u32 = 3;
/// The head of the garbage collector; its nodes are not grouped.
const COLLECTOR: u32 = 0;

/// A block of the main area that is part of the journal ("bud").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bud {
    /// The block.
    pub leb: u32,
    /// Where the journal's part of it begins.
    pub start: u32,
    /// Which head of the journal wrote it.
    pub head: u32,
}

/// Why the journal cannot be replayed: the kernel does not mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// The log does not begin with the start of the last commit.
    Start {
        /// The block.
        leb: u32,
    },
    /// Something in the log.
    Log {
        /// The block.
        leb: u32,
        /// What.
        fault: Fault,
    },
    /// A reference to an impossible block.
    Reference {
        /// That block.
        leb: u32,
    },
    /// Something in a block of the journal.
    Bud {
        /// The block.
        leb: u32,
        /// Where in it.
        offset: u32,
        /// What.
        fault: Fault,
    },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start { leb } => write!(
                f,
                "the log in LEB {leb} does not begin with the last commit start node"
            ),
            Self::Log { leb, fault } => {
                write!(f, "the log is damaged in LEB {leb}: {fault}")
            }
            Self::Reference { leb } => {
                write!(f, "the log refers to the nonexistent LEB {leb}")
            }
            Self::Bud { leb, offset, fault } => write!(
                f,
                "the journal is damaged in LEB {leb} at byte {offset}: {fault}"
            ),
        }
    }
}

/// The journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Blocks of the log that hold something.
    pub log_lebs: u32,
    /// Its blocks, in the order of the log.
    pub buds: Vec<Bud>,
    /// Nodes that a mount replays.
    pub nodes: u64,
    /// Bytes of these nodes.
    pub bytes: u64,
    /// Why it cannot be replayed.
    pub broken: Option<Broken>,
}

/// Takes a node of the journal: its block, its place, its bytes.
pub type WithNode<'f> = dyn FnMut(u32, &Found, &[u8]) + 'f;

impl Journal {
    /// Reads the journal, and hands each of its nodes to `with`. `recover` says
    /// that the filesystem was not unmounted: then the ends of the journal may
    /// be damaged.
    ///
    /// # Errors
    /// What reading says.
    pub fn read(
        lebs: &Lebs,
        superblock: &Superblock,
        master: &Master,
        recover: bool,
        with: &mut WithNode,
    ) -> io::Result<Self> {
        let mut journal = Self::default();
        journal.log(lebs, superblock, master, recover)?;
        if journal.broken.is_some() {
            return Ok(journal);
        }
        for (i, bud) in journal.buds.clone().into_iter().enumerate() {
            let mut later = journal.buds.iter().skip(i + 1);
            let is_last = !later.any(|b| b.head == bud.head);
            let mut scan = Scan::of(lebs, bud.leb, bud.start)?;
            if let (Some(fault), false) = (scan.broken, recover && is_last) {
                let (leb, offset) = (bud.leb, scan.end);
                journal.broken = Some(Broken::Bud { leb, offset, fault });
                return Ok(journal);
            }
            if recover && is_last && bud.head != COLLECTOR {
                // A group that was not finished does not count.
                while scan
                    .nodes
                    .last()
                    .is_some_and(|n| n.header.group == IN_GROUP)
                {
                    scan.nodes.pop();
                }
            }
            for node in &scan.nodes {
                journal.nodes += 1;
                journal.bytes += u64::from(node.header.length);
                with(bud.leb, node, scan.node(node));
            }
        }
        Ok(journal)
    }

    /// Reads the log (`replay_log_leb`).
    fn log(
        &mut self,
        lebs: &Lebs,
        superblock: &Superblock,
        master: &Master,
        recover: bool,
    ) -> io::Result<()> {
        let end = LOG.saturating_add(superblock.log_lebs);
        let mut leb = master.log;
        if !(LOG..end).contains(&leb) {
            self.broken = Some(Broken::Start { leb });
            return Ok(());
        }
        let mut commit = None;
        let mut known = BTreeSet::new();
        for _ in 0..superblock.log_lebs {
            let scan = Scan::of(lebs, leb, 0)?;
            if let (Some(fault), false) = (scan.broken, recover) {
                self.broken = Some(Broken::Log { leb, fault });
                return Ok(());
            }
            let first = scan.nodes.first();
            let started = match (commit, first) {
                (Some(sequence), Some(first)) if first.header.sequence >= sequence => sequence,
                // Older than the commit: the log has ended.
                (Some(_), _) => return Ok(()),
                (None, Some(first)) if is_start(&scan, first, master.commit) => {
                    *commit.insert(first.header.sequence)
                }
                (None, _) => {
                    self.broken = Some(Broken::Start { leb });
                    return Ok(());
                }
            };
            self.log_lebs += 1;
            for node in &scan.nodes {
                let fault = Fault::Kind {
                    found: node.header.kind,
                };
                match node.header.kind {
                    _ if node.header.sequence < started => {
                        let fault = Fault::Fields;
                        self.broken = Some(Broken::Log { leb, fault });
                        return Ok(());
                    }
                    kind::COMMIT if node.offset == 0 => {}
                    kind::REFERENCE => {
                        self.reference(superblock, scan.node(node), &mut known);
                    }
                    // A signed filesystem signs its log, too.
                    kind::AUTHENTICATION => {}
                    _ => {
                        self.broken = Some(Broken::Log { leb, fault });
                        return Ok(());
                    }
                }
            }
            if self.broken.is_some() || scan.end == 0 {
                return Ok(());
            }
            leb = if leb + 1 == end { LOG } else { leb + 1 };
        }
        Ok(())
    }

    /// A reference to a bud.
    fn reference(&mut self, superblock: &Superblock, node: &[u8], known: &mut BTreeSet<u32>) {
        let fields = (|| {
            let mut f = Fields::new(Endian::Little, node);
            f.bytes(24)?;
            Some((f.u32()?, f.u32()?, f.u32()?))
        })();
        let Some((leb, start, head)) = fields else {
            return;
        };
        let main = superblock.main_first()..superblock.most_lebs;
        if head > superblock.journal_heads.saturating_add(1)
            || !main.contains(&leb)
            || start > superblock.leb_size
            || !start.is_multiple_of(superblock.min_io.max(1))
        {
            self.broken = Some(Broken::Reference { leb });
        } else if known.insert(leb) {
            self.buds.push(Bud { leb, start, head });
        }
    }
}

/// Whether a node starts the commit with this number.
fn is_start(scan: &Scan, node: &Found, commit: u64) -> bool {
    let mut f = Fields::new(Endian::Little, scan.node(node));
    node.header.kind == kind::COMMIT && f.bytes(24).is_some() && f.u64() == Some(commit)
}
