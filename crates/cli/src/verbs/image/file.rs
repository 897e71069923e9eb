//! What is known of a file that `image info` names.

use super::mount::Mounts;
use bootimage::cpio::Entry;
use inspect::whole::Item;
/// One file, and what it is.
pub struct File {
    pub name: String,
    pub bytes: u64,
    pub items: Vec<Item>,
    /// The entries of archives, with the number of their segment, if they are
    /// wanted.
    pub entries: Option<Vec<(usize, Entry)>>,
    /// What mounting costs.
    pub mounts: Mounts,
}
