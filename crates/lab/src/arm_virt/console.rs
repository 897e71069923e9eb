//! What U-Boot says on the console, and which stage each line begins.

use crate::boot::{Evidence, HostMark};
use crate::emulator::stages::{Line, Stages};
use record::{Phase, mark};

/// The stages of U-Boot, by how the line starts that it writes first. Where a
/// stage's line is written before its work is done, the stage is that work.
const STAGES: &[(&str, &str)] = &[
    ("U-Boot ", "U-Boot"),
    // Memory works. It moves itself there and goes on from there.
    ("DRAM:", "relocation"),
    ("Core:", "devices"),
    ("Flash:", "flash"),
    ("Loading Environment", "environment"),
    ("In:", "console"),
    ("Net:", "network"),
    ("Hit any key", "boot delay"),
    ("NAND read:", "nand read"),
    ("## Booting kernel", "bootm"),
    ("## Loading kernel", "bootm"),
    ("   Verifying Checksum", "checksum"),
    ("   Verifying Hash", "checksum"),
    ("## Loading init Ramdisk", "ramdisk"),
    ("## Flattened Device Tree", "device tree"),
    ("   Uncompressing Kernel", "kernel copy"),
    ("   Loading Kernel Image", "kernel copy"),
    ("   XIP Kernel Image", "kernel copy"),
    ("   Loading Ramdisk to", "ramdisk copy"),
    ("   Loading Device Tree to", "fdt copy"),
    ("Starting kernel ...", "handover"),
];

/// Lines behind which U-Boot runs the commands of `bootcmd`, the last of them that there is:
/// the countdown writes its line's end when it is over.
const BEFORE_SCRIPT: [&str; 2] = ["Net:", "Hit any key"];

/// What the commands of `bootcmd` do up to the first stage that has a line.
const SCRIPT: &str = "boot script";

/// So many lines of the commands begin stages of their own.
const MOST_OF_SCRIPT: usize = 32;

/// The first line of a bootstage report, U-Boot's own list of its stages
/// (`common/bootstage.c`), and the one that ends the part with instants.
const REPORT: &str = "Timer summary in microseconds";
const REPORT_END: &str = "Accumulated time:";

/// The marks of U-Boot's stages. Each line stands for one stage, and the first of
/// a name counts: the second checksum, say, is the RAM disk's, and a part of its
/// stage.
#[must_use]
pub fn marks(lines: &[Line]) -> Vec<HostMark> {
    let mut marks: Vec<HostMark> = Vec::new();
    for line in lines {
        let known = STAGES.iter().find(|s| line.text.starts_with(s.0));
        if let Some((_, name)) = known
            && !marks.iter().any(|m| m.name == *name)
        {
            marks.push(HostMark::begins(name, line.at_ns, Phase::Loader));
        }
    }
    marks.extend(script(lines));
    marks.extend(bootstages(lines));
    marks.sort_by_key(|m| m.at_ns);
    marks
}

/// The commands of `bootcmd`, from the end of the line before them up to the first line of a
/// known stage. What they write themselves begins a stage of its own, unless it has figures:
/// such a line reports what is done, and its name would differ from boot to boot.
fn script(lines: &[Line]) -> Vec<HostMark> {
    let is_before = |l: &Line| BEFORE_SCRIPT.iter().any(|b| l.text.starts_with(b));
    let Some(at) = lines.iter().rposition(is_before) else {
        return Vec::new();
    };
    let Some(ended) = lines.get(at).and_then(|l| l.ended_ns) else {
        return Vec::new();
    };
    let is_known = |l: &Line| STAGES.iter().any(|s| l.text.starts_with(s.0));
    let own = lines.iter().skip(at + 1).take_while(|l| !is_known(l));
    let own = own.filter(|l| !l.text.contains(|c: char| c.is_ascii_digit()));
    let named = own.take(MOST_OF_SCRIPT).map(|l| {
        let name = format!("{SCRIPT}: {}", l.text.trim());
        HostMark::begins(&name, l.at_ns, Phase::Loader)
    });
    let first = HostMark::begins(SCRIPT, ended, Phase::Loader);
    [first].into_iter().chain(named).collect()
}

/// When a kernel image is entered, and the kernel in it.
pub fn kernel_marks(stages: &Stages, unpacks_itself: bool) -> Vec<HostMark> {
    let entered = |at_ns| HostMark::begins(mark::KERNEL_ENTRY, at_ns, Phase::Kernel);
    match &stages.passed_ns[..] {
        [] => Vec::new(),
        [image, ..] if !unpacks_itself => vec![entered(*image)],
        [image, kernel @ ..] => {
            let (name, phase) = (mark::DECOMPRESSION_START, Phase::Decompression);
            let mut marks = vec![HostMark::begins(name, *image, phase)];
            // Without one, the image does not say where it unpacks itself to:
            // the kernel begins somewhere in this phase.
            marks.extend(kernel.first().map(|at_ns| entered(*at_ns)));
            marks
        }
    }
}

/// The stages of a bootstage report, if a U-Boot that makes one was told to
/// (`bootstage report` in `bootcmd`). Its clock is the processor's counter, which
/// runs from reset.
fn bootstages(lines: &[Line]) -> Vec<HostMark> {
    let report = lines.iter().skip_while(|l| !l.text.starts_with(REPORT));
    let rows = report.skip(1).take_while(|l| l.text != REPORT_END);
    let marks = rows.filter_map(|line| {
        // Mark, elapsed, name: the numbers with commas.
        let mut words = line.text.split_whitespace();
        let mut number = || words.next()?.replace(',', "").parse::<u64>().ok();
        let (at_us, _elapsed) = (number()?, number()?);
        let name = words.collect::<Vec<_>>().join(" ");
        // All begins with the reset, which has its mark.
        (at_us > 0 && !name.is_empty())
            .then(|| HostMark::begins(&name, at_us.saturating_mul(1_000), Phase::Loader))
    });
    marks.collect()
}

/// The lines with their times, as evidence.
#[must_use]
pub fn evidence(lines: &[Line]) -> Evidence {
    Evidence {
        name: "console of the loader, in virtual time since reset".into(),
        file: "loader.txt".into(),
        format: "loader-console",
        bytes: text(lines),
    }
}

/// Seconds of virtual time since reset, and what was written.
fn text(lines: &[Line]) -> Vec<u8> {
    let mut text = format!("{}\n", agent::capture::LOADER_CONSOLE);
    for line in lines {
        let (s, ns) = (line.at_ns / 1_000_000_000, line.at_ns % 1_000_000_000);
        text.push_str(&format!("[{s:>5}.{ns:09}] {}\n", line.text));
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{marks, text};
    use crate::emulator::stages::Line;

    fn lines(texts: &[&str]) -> Vec<Line> {
        let line = |(i, text): (usize, &&str)| Line {
            at_ns: 1_000_000_000 + i as u64,
            ended_ns: None,
            text: (*text).to_owned(),
        };
        texts.iter().enumerate().map(line).collect()
    }

    #[test]
    fn each_stage_begins_with_its_first_line() {
        let lines = lines(&[
            "U-Boot 2023.01+dfsg-2+deb12u3 (Jun 22 2026 - 08:38:07 +0000)",
            "DRAM:  1 GiB",
            "   Verifying Checksum ... OK",
            "## Loading init Ramdisk from Legacy Image at 04800000 ...",
            "   Verifying Checksum ... OK",
            "Starting kernel ...",
        ]);
        let marks = marks(&lines);
        let found: Vec<_> = marks
            .iter()
            .map(|m| (m.name.as_str(), m.at_ns - 1_000_000_000))
            .collect();
        let expected = [
            ("U-Boot", 0),
            ("relocation", 1),
            ("checksum", 2),
            ("ramdisk", 3),
            ("handover", 5),
        ];
        assert_eq!(found, expected);
        let text = String::from_utf8(text(&lines)).unwrap();
        let second = text.lines().nth(2).unwrap();
        assert_eq!(second, "[    1.000000001] DRAM:  1 GiB");
    }

    #[test]
    fn the_script_has_stages_of_its_own() {
        let mut lines = lines(&[
            "DRAM:  1 GiB",
            "Net:   No ethernet found.",
            "Hit any key to stop autoboot:  0",
            "Waiting for power",
            "crc32 for 04080000 ... 0587ffff ==> 12345678",
            "## Booting kernel from Legacy Image at 04080000 ...",
            "Working FDT set to 40000000",
        ]);
        // The countdown ends its line when it is over.
        lines[2].ended_ns = Some(2_000_000_000);
        for line in lines.iter_mut().skip(3) {
            line.at_ns += 1_000_000_000;
        }
        let found: Vec<_> = marks(&lines)
            .into_iter()
            .map(|m| (m.name, m.at_ns - 1_000_000_000))
            .collect();
        let expected = [
            ("relocation", 0),
            ("network", 1),
            ("boot delay", 2),
            ("boot script", 1_000_000_000),
            ("boot script: Waiting for power", 1_000_000_003),
            ("bootm", 1_000_000_005),
        ];
        let expected = expected.map(|(name, at)| (name.to_owned(), at));
        assert_eq!(found, expected);
        // Measured by an earlier version: nobody knows when the line ended.
        lines[2].ended_ns = None;
        assert!(
            !marks(&lines)
                .iter()
                .any(|m| m.name.starts_with("boot script"))
        );
    }

    #[test]
    fn a_bootstage_report_is_read() {
        // From U-Boot 2023.01 for qemu-x86, at 1 GIPS.
        let lines = lines(&[
            "Timer summary in microseconds (8 records):",
            "       Mark    Elapsed  Stage",
            "          0          0  reset",
            "      4,113      4,113  board_init_f",
            "      9,840      5,727  board_init_r",
            "     10,289        449  main_loop",
            "",
            "Accumulated time:",
            "                    55  dm_r",
        ]);
        let found: Vec<_> = marks(&lines)
            .into_iter()
            .map(|m| (m.name, m.at_ns))
            .collect();
        assert_eq!(
            found,
            [
                ("board_init_f".to_owned(), 4_113_000),
                ("board_init_r".to_owned(), 9_840_000),
                ("main_loop".to_owned(), 10_289_000),
            ]
        );
    }
}
