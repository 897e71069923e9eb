//! Names: each is kept once, with the directory that it is in.

use std::cell::OnceCell;

/// No path is longer, so that directories within directories cannot eat all
/// memory. The kernel ends at 4096.
const LONGEST_PATH: usize = 65_536;
/// So many symbolic links are followed on one path, as the kernel does.
const MOST_LINKS: u32 = 40;

/// A name in a directory.
#[derive(Clone, Copy, Debug)]
struct Name {
    inode: u32,
    parent: u32,
    /// Where its bytes begin in the text; its length is there, too.
    text: u32,
}

/// All names of a filesystem.
#[derive(Debug, Default)]
pub(super) struct Names {
    root: u32,
    /// By inode once [`Names::finish`] was called; of one inode in the order
    /// in which they were found.
    names: Vec<Name>,
    /// A length in one byte, then the name; or in four, then a target.
    text: Vec<u8>,
    /// Targets of symbolic links: inode, place in the text.
    targets: Vec<(u32, u32)>,
    /// The places of names in `names`, by parent and bytes.
    by_parent: OnceCell<Vec<u32>>,
}

impl Names {
    pub(super) fn new(root: u32) -> Self {
        Self {
            root,
            ..Self::default()
        }
    }

    /// Adds a name. One that is no file name is left out: `false`.
    pub(super) fn add(&mut self, parent: u32, name: &[u8], inode: u32) -> bool {
        let Ok(length) = u8::try_from(name.len()) else {
            return false;
        };
        let is_safe =
            !matches!(name, b"" | b"." | b"..") && !name.iter().any(|b| matches!(b, b'/' | 0));
        let Ok(text) = u32::try_from(self.text.len()) else {
            return false;
        };
        if !is_safe {
            return false;
        }
        self.text.push(length);
        self.text.extend_from_slice(name);
        self.names.push(Name {
            inode,
            parent,
            text,
        });
        true
    }

    /// Adds the target of a symbolic link.
    pub(super) fn add_target(&mut self, inode: u32, target: &[u8]) {
        let length = u32::try_from(target.len());
        if let (Ok(length), Ok(text)) = (length, u32::try_from(self.text.len())) {
            self.text.extend_from_slice(&length.to_le_bytes());
            self.text.extend_from_slice(target);
            self.targets.push((inode, text));
        }
    }

    /// No more names come.
    pub(super) fn finish(&mut self) {
        // Stable: of one inode, the name that was found first stays first.
        self.names.sort_by_key(|n| n.inode);
        self.targets.sort_unstable();
        self.names.shrink_to_fit();
        self.text.shrink_to_fit();
    }

    fn bytes(&self, name: &Name) -> &[u8] {
        let rest = self.text.get(name.text as usize..).unwrap_or_default();
        let (length, rest) = rest.split_first().unwrap_or((&0, &[]));
        rest.get(..usize::from(*length)).unwrap_or_default()
    }

    fn first(&self, inode: u32) -> Option<&Name> {
        let at = self.names.partition_point(|n| n.inode < inode);
        self.names.get(at).filter(|n| n.inode == inode)
    }

    pub(super) fn path(&self, inode: u32) -> Option<Vec<u8>> {
        if inode == self.root {
            return Some(b"/".to_vec());
        }
        let mut parts = Vec::new();
        let (mut at, mut length) = (inode, 0);
        while at != self.root {
            let name = self.first(at)?;
            length += 1 + self.bytes(name).len();
            // A directory that is within itself ends here, too.
            if length > LONGEST_PATH {
                return None;
            }
            parts.push(self.bytes(name));
            at = name.parent;
        }
        let mut path = Vec::with_capacity(length);
        for part in parts.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(part);
        }
        Some(path)
    }

    /// How many names a directory has.
    pub(super) fn count(&self, directory: u32) -> usize {
        let by_parent = self.by_parent();
        let first = by_parent.partition_point(|n| self.key(*n).0 < directory);
        let behind = by_parent.partition_point(|n| self.key(*n).0 <= directory);
        behind - first
    }

    /// The parent of the name at this place, and its bytes.
    fn key(&self, place: u32) -> (u32, &[u8]) {
        let name = self.names.get(place as usize);
        name.map_or((0, &[][..]), |n| (n.parent, self.bytes(n)))
    }

    fn by_parent(&self) -> &[u32] {
        self.by_parent.get_or_init(|| {
            let count = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
            let mut all: Vec<u32> = (0..count).collect();
            all.sort_unstable_by(|a, b| self.key(*a).cmp(&self.key(*b)));
            all
        })
    }

    fn child(&self, parent: u32, name: &[u8]) -> Option<u32> {
        let by_parent = self.by_parent();
        let at = by_parent.partition_point(|n| self.key(*n) < (parent, name));
        let found = by_parent
            .get(at)
            .filter(|n| self.key(**n) == (parent, name))?;
        Some(self.names.get(*found as usize)?.inode)
    }

    fn target(&self, inode: u32) -> Option<&[u8]> {
        let at = self.targets.partition_point(|t| t.0 < inode);
        let (_, text) = self.targets.get(at).filter(|t| t.0 == inode)?;
        let rest = self.text.get(*text as usize..)?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }

    /// Follows a path from the root on; symbolic links too, in the end as well.
    pub(super) fn find(&self, path: &[u8]) -> Option<u32> {
        let parts = |p: &[u8]| -> Vec<Vec<u8>> {
            let parts = p.split(|b| *b == b'/').rev();
            parts
                .filter(|p| !p.is_empty())
                .map(<[u8]>::to_vec)
                .collect()
        };
        // What is still to be walked, the next part last; and where we are.
        let mut rest = parts(path);
        let mut here = vec![self.root];
        let (mut links, mut length) = (0, path.len());
        while let Some(part) = rest.pop() {
            match part.as_slice() {
                b"." => {}
                b".." => {
                    if here.len() > 1 {
                        here.pop();
                    }
                }
                name => {
                    let inode = self.child(*here.last()?, name)?;
                    let Some(target) = self.target(inode) else {
                        here.push(inode);
                        continue;
                    };
                    links += 1;
                    length = length.checked_add(target.len())?;
                    if links > MOST_LINKS || length > LONGEST_PATH {
                        return None;
                    }
                    if target.first() == Some(&b'/') {
                        here.truncate(1);
                    }
                    rest.extend(parts(target));
                }
            }
        }
        here.last().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_both_ways_through_links() {
        let mut names = Names::new(2);
        assert!(names.add(2, b"usr", 10));
        assert!(names.add(10, b"bin", 11));
        assert!(names.add(11, b"sh", 12));
        assert!(names.add(11, b"dash", 12));
        assert!(names.add(2, b"bin", 13));
        names.add_target(13, b"usr/bin");
        assert!(names.add(2, b"loop", 14));
        names.add_target(14, b"/loop");
        assert!(!names.add(2, b"..", 2));
        names.finish();
        assert_eq!(names.path(12).unwrap(), b"/usr/bin/sh");
        assert_eq!(names.find(b"/bin/dash"), Some(12));
        assert_eq!(names.find(b"bin/../bin/./sh"), Some(12));
        assert_eq!(names.find(b"/loop/x"), None);
        assert_eq!(names.find(b"/usr/nothing"), None);
        assert_eq!(names.find(b"/"), Some(2));
        assert_eq!([2, 11, 12].map(|n| names.count(n)), [3, 2, 0]);
    }

    #[test]
    fn a_directory_in_itself_has_no_path() {
        let mut names = Names::new(2);
        names.add(20, b"a", 21);
        names.add(21, b"b", 20);
        names.finish();
        assert_eq!(names.path(20), None);
    }
}
