//! The words of `findings::images`.

use std::fmt::Display;

pub(in crate::findings) const CONSOLE: &str = "The boot loader prints on a serial console";

pub(in crate::findings) const CHECKS: &str = "The boot loader checks the images it boots";

pub(in crate::findings) const TARGETS: &str = "The boot loader tries one boot target after another";

pub(in crate::findings) const SCRIPTS: &str = "The boot loader's script runs other scripts";

pub(in crate::findings) const SUMMARIES_IGNORED: &str = "The kernel ignores the summaries of JFFS2";

pub(in crate::findings) const NO_SUMMARY_OPTION: &str = "# CONFIG_JFFS2_SUMMARY is not set";

pub(in crate::findings) fn surplus(bytes: impl Display) -> String {
    format!("The boot loader reads {bytes} bytes more than the image has")
}

pub(in crate::findings) fn ignored_why(bare: u64, used_blocks: impl Display) -> String {
    let then = match bare {
        0 => "The image has its summaries already.".to_owned(),
        bare => format!(
            "{bare} of {used_blocks} erase blocks have no summary either: apply \
             `jffs2=summaries` to the image as well. One without the other saves nothing."
        ),
    };
    format!(
        "Without CONFIG_JFFS2_SUMMARY the kernel reads every node of every erase block when it \
         mounts JFFS2. Build it with that option. {then}"
    )
}

pub(in crate::findings) fn kernel_why(
    packed: impl Display,
    rate: impl Display,
    unpacked: impl Display,
    costs: impl Display,
    now: impl Display,
    would: impl Display,
    to: impl Display,
) -> String {
    format!(
        "Loading {packed} bytes at {rate} MB/s and decompressing them to {unpacked} bytes takes \
         {costs} with {now}. By the same model it takes {would} with {to}."
    )
}

pub(in crate::findings) fn kernel_image(
    compression: impl Display,
    packed: impl Display,
    unpacked: impl Display,
) -> String {
    format!("a kernel compressed with {compression}: {packed} bytes, decompressed {unpacked}")
}

pub(in crate::findings) fn kernel(
    now: impl Display,
    to: impl Display,
    saved: impl Display,
) -> String {
    format!("The kernel is compressed with {now}; {to} starts {saved} sooner")
}

#[expect(
    clippy::too_many_arguments,
    reason = "one for each figure of the sentence"
)]
pub(in crate::findings) fn initramfs_why(
    packed: impl Display,
    entries: impl Display,
    rate: impl Display,
    unpacked: impl Display,
    costs: impl Display,
    now: impl Display,
    would: impl Display,
    to: impl Display,
) -> String {
    format!(
        "Loading {packed} bytes ({entries} entries) at {rate} MB/s and decompressing them to \
         {unpacked} bytes takes {costs} with {now}. By the same model it takes {would} with \
         {to}."
    )
}

pub(in crate::findings) fn initramfs_image(
    compression: impl Display,
    packed: impl Display,
) -> String {
    format!("an initramfs compressed with {compression}: {packed} bytes")
}

pub(in crate::findings) fn initramfs(now: impl Display, to: impl Display) -> String {
    format!("The initramfs is compressed with {now}; {to} decompresses sooner")
}

pub(in crate::findings) fn fit_hashes(names: impl Display) -> String {
    format!("The FIT image is hashed with {names}")
}

pub(in crate::findings) fn unsigned(count: impl Display) -> String {
    format!("{count} hashes, no signature")
}

pub(in crate::findings) fn environment(name: impl Display, value: impl Display) -> String {
    format!("environment: set `{name}` to `{value}`")
}

pub(in crate::findings) fn jffs2_why(bare: impl Display, used_blocks: impl Display) -> String {
    format!(
        "{bare} of {used_blocks} erase blocks have no summary, so JFFS2 reads all their nodes \
         when it mounts. Add summaries with `firstlight flash summarize`."
    )
}

pub(in crate::findings) fn summaries(
    summarized: impl Display,
    used_blocks: impl Display,
) -> String {
    format!("{summarized} of {used_blocks} blocks end in a summary")
}

pub(in crate::findings) fn ubi_static_why(bytes: impl Display) -> String {
    format!(
        "UBI reads and checksums a static volume of {bytes} bytes in full when it is opened. \
         Set the skip-check flag with `firstlight flash ubi skip-check`."
    )
}

pub(in crate::findings) fn mounted_in(took: impl Display) -> String {
    format!(" This boot took {took} to mount it.")
}

pub(in crate::findings) fn opened_in(took: impl Display) -> String {
    format!(" This boot took {took} to open it.")
}

pub(in crate::findings) fn static_bytes(bytes: impl Display) -> String {
    format!("{bytes} bytes in static volumes without the skip-check flag")
}

pub(in crate::findings) fn ubi_fastmap_why(blocks: impl Display) -> String {
    format!(
        "UBI reads the headers of all {blocks} erase blocks when it attaches. With \
         CONFIG_MTD_UBI_FASTMAP and `ubi.fm_autoconvert=1` it writes a map on detach and reads \
         that instead. A device attached with `ubi.mtd=` also needs 1 in the fifth field, on \
         kernels that support it (6.1.192 does)."
    )
}

pub(in crate::findings) fn no_fastmap(blocks: impl Display) -> String {
    format!("{blocks} erase blocks, no fastmap")
}
