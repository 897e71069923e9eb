//! The board: what it has, and what its loader does if nobody says otherwise.

/// How fast the processor is if nobody says otherwise: an instruction takes 2 to
/// the power of this many nanoseconds. 125 MIPS is the class of an ARM926 at 155 MHz.
pub const CPU_SHIFT: u8 = 3;

/// The board's memory, in MiB: what a kernel can have, and what it has if nobody
/// says otherwise. The board holds 256 MiB with the payload's memory.
pub const MEMORY_MB: (std::ops::RangeInclusive<u32>, u32) = (32..=224, 128);

/// The partitions: name, first byte, length in bytes. What lies before them would be
/// the loader and its environment.
pub(super) const PARTITIONS: [(&str, u32, u32); 2] =
    [("kernel", 2 << 20, 6 << 20), ("ramdisk", 8 << 20, 8 << 20)];

/// What the loader does if nobody says otherwise: each partition as a whole.
pub(super) const BOOTCMD: &str = "nand read ${kernel_addr} kernel; nand read ${ramdisk_addr} ramdisk; \
                       bootm ${kernel_addr} ${ramdisk_addr}";

/// `bootcmd` reads of each partition only as much as its image has.
#[must_use]
pub fn sized(bootcmd: Option<&str>) -> Option<String> {
    let before = bootcmd.unwrap_or(BOOTCMD);
    let sized = |command: &str| {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["nand", "read", _, name] if PARTITIONS.iter().any(|p| p.0 == name) => {
                format!("{} ${{{name}_size}}", words.join(" "))
            }
            _ => words.join(" "),
        }
    };
    let after: Vec<String> = before.split(';').map(sized).collect();
    let after = after.join("; ");
    (after != before).then_some(after)
}

/// `bootcmd` reads that and no more, and the kernel to where it need not be moved from.
#[must_use]
pub fn in_place(bootcmd: Option<&str>) -> Option<String> {
    let before = sized(bootcmd).unwrap_or_else(|| bootcmd.unwrap_or(BOOTCMD).to_owned());
    let after = before.replace("${kernel_addr}", "${kernel_in_place}");
    (after != before).then_some(after)
}
