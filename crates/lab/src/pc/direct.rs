//! A kernel that is entered directly: no firmware runs before it, and it finds what a
//! hypervisor leaves in memory (the PVH protocol). So does a micro-VM's monitor start a kernel.
//!
//! QEMU puts the kernel's segments and the initramfs into memory before reset. The processor
//! executes 16 instructions of a ROM of our own (`direct.S`) and is in the kernel. There are
//! no ACPI tables, since firmware would have brought them. So the payload goes to memory
//! above the kernel's, which the agent reaches through `/dev/mem`.
//!
//! One table describes the machine: that of Intel's MultiProcessor Specification 1.4, in the
//! first KiB of memory. A kernel looks there first. Without it, the kernel searches the area
//! of the firmware in steps of 16 bytes, which takes 3 ms.
//!
//! Sources: Xen's `arch-x86/hvm/start_info.h` for the structures, Linux's
//! `arch/x86/platform/pvh` for what is read of them.

use super::machine::{MACHINE, OUT_BYTES};
use crate::emulator::setup::{INITRAMFS, KERNEL, Made, OUT, Setup, Source, Template};
use crate::error::LabError;
use crate::files::{HashedFile, read};
use crate::pace::Pace;
use bootimage::kernel::elf;

/// The names of files that only this form has.
const ROM: &str = "rom";
const START: &str = "start";
const PROCESSORS: &str = "processors";

/// A ROM has whole pieces of so many bytes.
const ROM_BYTES: usize = 64 << 10;

/// Where the start information lies in memory. `direct.S` has it too.
const START_AT: u64 = 0x6000;

/// Where the table of processors lies, and its configuration part.
const PROCESSORS_AT: u64 = 0x200;
const CONFIGURATION: u8 = 0x10;

/// The parts of the start information, from its beginning.
const MODULE: u64 = 0x40;
const MEMORY: u64 = 0x60;
const CMDLINE: u64 = 0x100;

/// Where the low memory ends that a PC's firmware leaves to a system, and where the
/// memory above the area of devices begins.
const LOW_END: u64 = 0x9_fc00;
const HIGH_BEGIN: u64 = 0x10_0000;

/// q35 moves what is above this limit behind the area of devices at 4 GiB.
const MOST_BYTES: u64 = 2 << 30;

/// `direct.S`: the last bytes of the ROM.
const PROGRAM: [&[u8]; 4] = [
    &[
        0xfa, // cli
        0x2e, 0x66, 0x0f, 0x01, 0x16, 0x98, 0xff, // lgdtl %cs:gdt_pointer
        0x0f, 0x20, 0xc0, // movl %cr0, %eax
        0x0c, 0x01, // orb $1, %al
        0x0f, 0x22, 0xc0, // movl %eax, %cr0
        0x66, 0xea, 0x18, 0xff, 0xff, 0xff, 0x08, 0x00, // ljmpl $8, protected
        0xb8, 0x10, 0x00, 0x00, 0x00, // movl $16, %eax
        0x8e, 0xd8, 0x8e, 0xc0, 0x8e, 0xd0, // movl %eax, %ds; %es; %ss
        0xc7, 0x05, 0xf0, 0x00, 0xe0, 0xfe, 0x0f, 0x01, 0x00, 0x00, // movl $0x10f, APIC+0xf0
        0xc7, 0x05, 0x50, 0x03, 0xe0, 0xfe, 0x00, 0x07, 0x00, 0x00, // movl $0x700, APIC+0x350
        0xc7, 0x05, 0x60, 0x03, 0xe0, 0xfe, 0x00, 0x04, 0x00, 0x00, // movl $0x400, APIC+0x360
        0xbb, 0x00, 0x60, 0x00, 0x00, // movl $START_INFO, %ebx
        0xa1, 0xe0, 0xff, 0xff, 0xff, // movl entry, %eax
        0xff, 0xe0, // jmp *%eax
    ],
    // gdt: nothing, code, data; gdt_pointer
    &[
        0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0x9b, 0xcf, 0, 0xff, 0xff, 0, 0, 0, 0x93,
        0xcf, 0, 23, 0, 0x80, 0xff, 0xff, 0xff,
    ],
    // entry, which is filled in
    &[],
    // jmp start
    &[0xe9, 0x0d, 0xff],
];

/// Where these parts begin, counted from the end of the ROM.
const PARTS_AT: [usize; 4] = [0x100, 0x80, ENTRY_AT, 0x10];
const ENTRY_AT: usize = 0x20;

/// How such a kernel is switched on. `entry`: its PVH entry.
///
/// # Errors
/// If a file cannot be read, or does not fit into memory.
pub fn setup(
    (kernel, entry): (&HashedFile, u64),
    initramfs: &HashedFile,
    cmdline: &str,
    memory_mb: u32,
    pace: Pace,
) -> Result<Setup, LabError> {
    let wrong = |why: String| LabError::Kernel {
        path: kernel.path.clone(),
        why,
    };
    let own = payload_at(memory_mb);
    let all = own + OUT_BYTES;
    if all > MOST_BYTES {
        return Err(wrong(format!(
            "`kernel=direct` takes at most {} MiB of memory; write a smaller `memory_mb`",
            (MOST_BYTES - OUT_BYTES) >> 20
        )));
    }
    let end = elf::memory_end(&read(&kernel.path)?).ok_or_else(|| {
        wrong("`kernel=direct` needs an ELF kernel with segments; use an x86-64 kernel".into())
    })?;
    // The kernel maps its memory in pieces of 2 MiB.
    let initramfs_at = end.next_multiple_of(2 << 20);
    if initramfs_at.saturating_add(initramfs.bytes) > own {
        return Err(wrong(format!(
            "`memory_mb = {memory_mb}` is too small: kernel and initramfs end at {} MiB",
            (initramfs_at + initramfs.bytes).div_ceil(1 << 20)
        )));
    }
    let mut words = Template::of(MACHINE);
    words.pair("-m", format!("{}M", all >> 20));
    words.machine_memory(OUT, all);
    words.file("-bios", ROM);
    words.in_memory(KERNEL, None);
    words.in_memory(INITRAMFS, Some(initramfs_at));
    words.in_memory(START, Some(START_AT));
    words.in_memory(PROCESSORS, Some(PROCESSORS_AT));
    let start = start_info((initramfs_at, initramfs.bytes), cmdline, own);
    let mut setup = Setup::new(words, pace);
    setup.put(OUT, Source::Empty(all));
    setup.put(KERNEL, Source::Input(kernel.clone()));
    setup.put(INITRAMFS, Source::Input(initramfs.clone()));
    setup.put(ROM, Source::Made(Made::of(&rom(entry), 0, &[])));
    setup.put(START, Source::Made(Made::of(&start, 0, &[])));
    let table = Made::of(&processors(), 0, &[]);
    setup.put(PROCESSORS, Source::Made(table));
    Ok(setup)
}

/// Where the payload begins in the machine's memory: behind the kernel's.
pub fn payload_at(memory_mb: u32) -> u64 {
    u64::from(memory_mb) << 20
}

/// The ROM, which jumps to `entry`.
fn rom(entry: u64) -> Vec<u8> {
    let entry = u32::try_from(entry).unwrap_or(0).to_le_bytes();
    let mut rom = vec![0; ROM_BYTES];
    for (at, part) in PARTS_AT.into_iter().zip(PROGRAM) {
        let part = if at == ENTRY_AT { &entry } else { part };
        let from = ROM_BYTES - at;
        if let Some(place) = rom.get_mut(from..from + part.len()) {
            place.copy_from_slice(part);
        }
    }
    rom
}

/// `struct hvm_start_info` and what it points to. `initramfs`: where it lies and its
/// length; `memory`: the bytes of memory that the kernel has.
fn start_info(initramfs: (u64, u64), cmdline: &str, memory: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let word = |bytes: &mut Vec<u8>, n: u32| bytes.extend(n.to_le_bytes());
    let long = |bytes: &mut Vec<u8>, n: u64| bytes.extend(n.to_le_bytes());
    // Magic number, version, flags, number of modules.
    for n in [0x336e_c578, 1, 0, 1] {
        word(&mut bytes, n);
    }
    // Modules, command line, ACPI's root (there is none), memory map.
    for n in [START_AT + MODULE, START_AT + CMDLINE, 0, START_AT + MEMORY] {
        long(&mut bytes, n);
    }
    // The number of pieces of memory, and nothing.
    for n in [2, 0] {
        word(&mut bytes, n);
    }
    bytes.resize(MODULE as usize, 0);
    for n in [initramfs.0, initramfs.1, 0, 0] {
        long(&mut bytes, n);
    }
    bytes.resize(MEMORY as usize, 0);
    for (begin, end) in [(0, LOW_END), (HIGH_BEGIN, memory)] {
        long(&mut bytes, begin);
        long(&mut bytes, end - begin);
        // Memory that can be used, and nothing.
        word(&mut bytes, 1);
        word(&mut bytes, 0);
    }
    bytes.resize(CMDLINE as usize, 0);
    bytes.extend(cmdline.as_bytes());
    bytes.push(0);
    bytes
}

/// The table of processors: its pointer (`_MP_`), and a configuration with the boot
/// processor and an ISA bus. There is no I/O APIC: interrupts come through the 8259.
fn processors() -> Vec<u8> {
    let at = (PROCESSORS_AT as u32 + u32::from(CONFIGURATION)).to_le_bytes();
    let mut pointer = b"_MP_".to_vec();
    pointer.extend(at);
    // One paragraph, version 1.4, sum, no default configuration.
    pointer.extend([1, 4, 0, 0, 0, 0, 0, 0]);
    summed(&mut pointer, 10);
    let mut table = b"PCMP".to_vec();
    // Length, version 1.4, sum.
    table.extend([72, 0, 4, 0]);
    table.extend(b"FIRSTLIGHT DIRECT   ");
    // No table of an OEM; two entries; the local APIC; no extension.
    table.extend([0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0xe0, 0xfe, 0, 0, 0, 0]);
    // Processor 0 with a local APIC of version 0x14: enabled, and it boots.
    table.extend([0, 0, 0x14, 3]);
    table.extend([0; 16]);
    table.extend(b"\x01\x00ISA   ");
    summed(&mut table, 7);
    pointer.extend(table);
    pointer
}

/// Puts at `at` what makes the sum of all bytes zero.
fn summed(bytes: &mut [u8], at: usize) {
    let sum = bytes.iter().fold(0_u8, |sum, b| sum.wrapping_add(*b));
    if let Some(place) = bytes.get_mut(at) {
        *place = sum.wrapping_neg();
    }
}

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a test says what it skips")]
mod tests {
    use super::{ROM_BYTES, processors, rom, start_info};
    use crate::tools::{Tool, find};

    /// The bytes of the program are those of its source.
    #[test]
    fn the_rom_is_what_its_source_says() {
        let ready = find("as").is_some() && find("objcopy").is_some();
        if !ready || !cfg!(target_arch = "x86_64") {
            eprintln!("skipped: there are no `as` and `objcopy` for x86");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("direct.S");
        let (object, binary) = (folder.path().join("o"), folder.path().join("b"));
        std::fs::write(&source, include_str!("direct.S")).unwrap();
        Tool::new("as", "binutils", "assemble the program")
            .args(["--32", "-o"])
            .args([object.as_os_str(), source.as_os_str()])
            .run()
            .unwrap();
        Tool::new("objcopy", "binutils", "cut the program out")
            .args(["-O", "binary", "-j", ".text"])
            .args([object.as_os_str(), binary.as_os_str()])
            .run()
            .unwrap();
        let mut expected = std::fs::read(&binary).unwrap();
        expected[0xe0..0xe4].copy_from_slice(&0x0123_4567_u32.to_le_bytes());
        let rom = rom(0x0123_4567);
        assert_eq!(rom.len(), ROM_BYTES);
        assert!(rom[..ROM_BYTES - 0x100].iter().all(|b| *b == 0));
        assert_eq!(rom[ROM_BYTES - 0x100..], expected);
    }

    #[test]
    fn the_tables_of_processors_sum_up_to_zero() {
        let bytes = processors();
        let (pointer, table) = bytes.split_at(16);
        let sum = |b: &[u8]| b.iter().fold(0_u8, |s, b| s.wrapping_add(*b));
        assert_eq!([sum(pointer), sum(table)], [0, 0]);
        assert_eq!(pointer[4..8], 0x210_u32.to_le_bytes());
        assert_eq!(usize::from(table[4]), table.len());
        assert_eq!(table[36..40], 0xfee0_0000_u32.to_le_bytes());
    }

    #[test]
    fn the_start_information_points_at_its_parts() {
        let bytes = start_info((0x0180_0000, 77), "console=ttyS0", 64 << 20);
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let part = |at: usize| usize::try_from(long(at) - 0x6000).unwrap();
        assert_eq!(long(0) & 0xffff_ffff, 0x336e_c578);
        assert_eq!([long(part(16)), long(part(16) + 8)], [0x0180_0000, 77]);
        assert_eq!(&bytes[part(24)..], b"console=ttyS0\0");
        assert_eq!(long(32), 0, "no ACPI");
        let memory = part(40) + 24;
        assert_eq!([long(memory), long(memory + 8)], [1 << 20, 63 << 20]);
    }
}
