//! The words of `findings::filesystems`.

use std::fmt::Display;

pub(in crate::findings) const INDIRECT: &str =
    "The file system maps its files block by block instead of in extents";

pub(in crate::findings) fn map_blocks(kind: impl Display, blocks: impl Display) -> String {
    format!("{kind}, {blocks} mapping blocks")
}

pub(in crate::findings) fn indirect_why(
    blocks: impl Display,
    each: impl Display,
    place: impl Display,
    share: impl Display,
) -> String {
    format!(
        "{blocks} mapping blocks contain only the numbers of other blocks. Each is read before \
         the blocks it lists, by a command of its own, and cuts the read of the data in two: \
         {each} in all. {place}The boot read {share} thousandths of the used space. With extents \
         one entry covers a long run: run `tune2fs -O extent` and rewrite the files."
    )
}

pub(in crate::findings) fn unindexed_bytes(path: impl Display, bytes: impl Display) -> String {
    format!("{path}: {bytes} bytes of names without an index")
}

pub(in crate::findings) fn names(n: impl Display) -> String {
    format!("{n} names were")
}

pub(in crate::findings) fn unindexed_why(bytes: impl Display, names: impl Display) -> String {
    format!(
        "Without an index a lookup of an existing name reads and compares half of the {bytes} \
         bytes; a lookup of a missing name reads all of them. {names} looked up in it before \
         first light. With an index a lookup reads two blocks: run `tune2fs -O dir_index`, then \
         `e2fsck -fD`."
    )
}

pub(in crate::findings) fn unindexed(path: impl Display) -> String {
    format!("{path} is large and has no index")
}

pub(in crate::findings) fn first_commit(n: impl Display) -> String {
    format!("the first of {n} metadata writes and flushes")
}

pub(in crate::findings) fn with_journal(kind: impl Display) -> String {
    format!("{kind} with a journal")
}

pub(in crate::findings) fn journal_why(time: impl Display) -> String {
    format!(
        "Writes go to the journal first, and the storage flushes its cache twice for each \
         commit: {time} until first light. Remove the journal (`tune2fs -O ^has_journal`), or \
         mount the root read-only and keep written data on another file system."
    )
}

pub(in crate::findings) fn unpacked_root_why(
    place: impl Display,
    bytes: impl Display,
    rate: impl Display,
    written: impl Display,
    name: impl Display,
) -> String {
    format!(
        "{place}The boot read {bytes} bytes of it at {rate} MB/s, and wrote {written} bytes \
         until first light. Put the read-only part into squashfs or erofs with {name} \
         compression: it then arrives sooner, including decompression. Put written data on a \
         file system of its own, and mount it after first light."
    )
}

pub(in crate::findings) fn root_kind(kind: impl Display) -> String {
    format!("the root is {kind}")
}
