//! Every view of a made-up boot, to look at while working on a view:
//!
//! ```text
//! cargo run -p firstlight-views --example demo_page -- page /tmp/page.html
//! cargo run -p firstlight-views --example demo_page -- show 120
//! ```
//!
//! Other words: `blame`, `diff`, `lab`, `doctor` (terminal); the number is the
//! width. `real` instead of `page` makes a page of one boot in real time.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a tool for those who work on views"
)]

use analysis::{BlameKind, Experiment, Options, Trial};
use firstlight_views::terminal::{self, Style};
use firstlight_views::{Check, html};
use record::{
    ClockKind, DependencyKind, Doubt, Nanos, NoteKind, Origin, Phase, Record, Recorder, Severity,
    SourceId, SpanKind, mark,
};

const OVERLAP: NoteKind = NoteKind {
    name: "overlapping_initcalls",
    severity: Severity::Doubt,
    advice: "the kernel keeps one start time for all initcalls, so its own number is wrong where \
             two overlap; the stamps' number is used",
};
const LOST: NoteKind = NoteKind {
    name: "lost_initcall_start",
    severity: Severity::DataLoss,
    advice: "the kernel's log buffer was too small; boot with log_buf_len=4M",
};
const PLAIN_LINE: NoteKind = NoteKind {
    name: "line_without_stamp",
    severity: Severity::Info,
    advice: "lines of firmware or of programs; they are kept as text",
};

const WORDS: [&str; 24] = [
    "acpi", "pci", "usb", "net", "inet", "tcp", "scsi", "ata", "nvme", "mmc", "i2c", "spi", "gpio",
    "clk", "rtc", "thermal", "cpufreq", "dma", "iommu", "virtio", "random", "tty", "fb", "input",
];

/// Figures that look like chance and are always the same.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> i64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        i64::try_from((self.0 >> 33) % below).unwrap()
    }
}

struct Boot {
    rec: Recorder,
    clock: record::ClockId,
    source: SourceId,
    offset: u64,
    dice: Dice,
}

impl Boot {
    fn origin(&mut self) -> Origin {
        self.offset += 71;
        self.rec.took(self.source);
        Origin {
            source: self.source,
            offset: self.offset,
        }
    }

    fn mark(&mut self, at: i64, name: &str, begins: Option<Phase>) {
        let origin = self.origin();
        self.rec.mark(self.clock, name, at, begins, origin);
    }

    fn span(&mut self, kind: SpanKind, name: &str, start: i64, end: i64, doubt: Option<Doubt>) {
        let origin = self.origin();
        let name = self.rec.name(name);
        let reported = match (kind, doubt) {
            (SpanKind::Initcall, Some(_)) => Some((end - start) / 7),
            (SpanKind::Initcall, None) => Some(end - start - 300),
            _ => None,
        };
        let outcome = (kind != SpanKind::Unit).then_some(0);
        let span = self.rec.span_of(self.clock, kind, name, origin);
        let span = span.start(Some(start)).end(Some(end)).reported(reported);
        self.rec.span(span.outcome(outcome).doubt(doubt));
    }

    fn put_off(&mut self, device: &str, at: i64) {
        let origin = self.origin();
        let name = self.rec.name(device);
        let span = self.rec.span_of(self.clock, SpanKind::Probe, name, origin);
        let span = span.start(Some(at)).end(Some(at + 90_000));
        self.rec.span(span.outcome(Some(-517)));
    }
}

const MS: i64 = 1_000_000;

/// A boot from reset to a login prompt; `treated` is the one with the findings
/// of the other one applied.
fn boot(kind: ClockKind, treated: bool) -> Record {
    let mut rec = Recorder::new();
    let source = rec.source("console.log", "kernel-log");
    let clock_name = if kind == ClockKind::Virtual {
        "counter"
    } else {
        "printk"
    };
    let clock = rec.clock(clock_name, kind, 1);
    let mut b = Boot {
        rec,
        clock,
        source,
        offset: 0,
        dice: Dice(7),
    };
    let origin = b.origin();
    let cmdline = if treated {
        "console=ttyS0,115200 quiet cryptomgr.notests initcall_debug root=/dev/nbd0 rootwait"
    } else {
        "console=ttyS0,115200 initcall_debug root=/dev/nbd0 rootwait"
    };
    b.rec.fact("kernel.cmdline", cmdline, origin);
    b.rec.fact(
        "kernel.version",
        "6.1.0-56-amd64 #1 SMP Debian 6.1.192-1",
        origin,
    );
    b.rec
        .fact("machine", "pc: q35, 1 GIPS, storage sd-card", origin);

    b.mark(0, mark::POWER_ON, Some(Phase::Firmware));
    b.mark(96 * MS, "SeaBIOS", Some(Phase::Firmware));
    b.mark(312 * MS, "linuxboot option ROM", Some(Phase::Loader));
    b.mark(
        655 * MS,
        mark::DECOMPRESSION_START,
        Some(Phase::Decompression),
    );
    let kernel = 2_385 * MS;
    b.mark(kernel, mark::KERNEL_ENTRY, Some(Phase::Kernel));
    b.mark(kernel + 2 * MS, mark::KERNEL_START, Some(Phase::Kernel));
    b.mark(kernel + 90 * MS, mark::CLOCKSOURCE_SWITCH, None);
    b.mark(kernel + 130 * MS, mark::CONSOLE_ENABLED, None);
    let mut at = kernel + 20 * MS;
    for i in 0..700_usize {
        let word = WORDS[usize::try_from(b.dice.next(24)).unwrap()];
        let (name, long) = match i {
            402 => (
                "crypto_algapi_init".to_owned(),
                if treated { 40_000 } else { 736 * MS },
            ),
            430 => ("load_system_certificate_list".to_owned(), 134 * MS),
            300 => ("init_kprobe_trace".to_owned(), 61 * MS),
            120 => ("pci_subsys_init".to_owned(), 38 * MS),
            390 => ("serial8250_init".to_owned(), 52 * MS),
            _ => {
                let tail = b.dice.next(100);
                let long = if tail > 96 {
                    9_000_000
                } else if tail > 80 {
                    600_000
                } else {
                    40_000
                };
                (
                    format!("{word}_{}_init", b.dice.next(90)),
                    2_000 + b.dice.next(long),
                )
            }
        };
        let doubt = match i {
            0..60 => Some(Doubt::JiffyClock),
            390 => Some(Doubt::Console),
            _ => None,
        };
        b.span(SpanKind::Initcall, &name, at, at + long, doubt);
        if i % 9 == 4 {
            let device = format!("0000:00:{:02x}.0", i % 32);
            b.span(
                SpanKind::Probe,
                &device,
                at + long / 4,
                at + long - long / 9,
                None,
            );
        }
        if i % 47 == 11 {
            b.put_off(&format!("regulator-vdd-{}", i % 5), at + long);
        }
        at += long + b.dice.next(30_000);
        if i % 4 == 0 {
            let origin = b.origin();
            let text = format!("{word} {i}: registered, and a few more words to say so");
            b.rec.message(clock, Some(at), Some(6), &text, origin);
        }
    }
    b.mark(at + 4 * MS, mark::MEMORY_FREED, None);
    let init = at + 6 * MS;
    b.mark(init, mark::INIT_STARTED, None);
    b.mark(init, mark::INITRD_START, Some(Phase::Initrd));
    for i in 0..14_i64 {
        let start = init + i * 11 * MS;
        b.span(
            SpanKind::Initcall,
            &format!("mod{i}_init [mod{i}]"),
            start,
            start + 18 * MS,
            Some(Doubt::Overlap),
        );
    }
    let root = init + 230 * MS;
    b.mark(root, mark::ROOT_MOUNTED, None);
    let user = root + 41 * MS;
    b.mark(user, mark::USERSPACE_START, Some(Phase::Userspace));
    b.mark(user + 120 * MS, mark::SYSTEMD_STARTED, None);

    let units = b.rec.source("systemd-show.txt", "systemd-show");
    (b.source, b.offset) = (units, 0);
    let end = userspace(&mut b, user + 300 * MS, treated);
    b.mark(end + 2 * MS, mark::STARTUP_FINISHED, None);
    b.mark(end + 9 * MS, mark::FIRST_LIGHT, None);

    let first = Origin {
        source,
        offset: 1_311,
    };
    for _ in 0..14 {
        b.rec.note(first, &OVERLAP, || {
            "mod0_init [mod0] and mod1_init [mod1]".to_owned()
        });
    }
    for _ in 0..23 {
        b.rec.skipped(Origin { source, offset: 0 }, &PLAIN_LINE);
    }
    if !treated {
        b.rec.skipped(
            Origin {
                source,
                offset: 142,
            },
            &LOST,
        );
    }
    b.rec.finish()
}

/// Sixty units in five layers; gives the time when the last one is active.
fn userspace(b: &mut Boot, start: i64, treated: bool) -> i64 {
    let slow = [
        ("systemd-udev-settle.service", 410),
        ("systemd-random-seed.service", 96),
        ("e2scrub_reap.service", 233),
        ("ssh.service", 187),
        ("dbus.service", 44),
    ];
    let mut layer_start = start;
    let mut before: Vec<String> = Vec::new();
    for (layer, (name, ms)) in slow.into_iter().enumerate() {
        if treated && name == "e2scrub_reap.service" {
            continue;
        }
        let mut names = Vec::new();
        for i in 0..11_i64 {
            let unit = if i == 0 {
                name.to_owned()
            } else {
                format!("unit-{layer}{i}.service")
            };
            let from = layer_start + i * 2 * MS;
            let long = if i == 0 {
                ms * MS
            } else {
                (3 + b.dice.next(60)) * MS
            };
            b.span(SpanKind::Unit, &unit, from, from + long.min(ms * MS), None);
            for earlier in &before {
                let origin = b.origin();
                b.rec
                    .dependency(&unit, earlier, DependencyKind::After, origin);
            }
            names.push(unit);
        }
        before = names;
        layer_start += (ms + 21) * MS;
    }
    let target = "multi-user.target";
    b.span(SpanKind::Unit, target, layer_start, layer_start, None);
    for earlier in &before {
        let origin = b.origin();
        b.rec
            .dependency(target, earlier, DependencyKind::After, origin);
    }
    layer_start
}

fn experiment() -> Experiment {
    let variants: [(&str, i64); 5] = [
        ("baseline", 5_212_304_118),
        ("notests", 4_476_402_111),
        ("quiet", 5_140_913_004),
        ("mask-e2scrub", 4_958_290_550),
        ("notests+quiet+mask", 4_222_455_021),
    ];
    let mut trials = Vec::new();
    for (variant, at) in variants {
        for perturbation in 0..5_u32 {
            let tick = [0, 4_000_000, -4_000_000, 120_000, 4_000_000];
            trials.push(Trial {
                variant: variant.to_owned(),
                perturbation,
                digest: format!("{:064x}", at + i64::from(perturbation)),
                first_light: Some(Nanos(at + tick[perturbation as usize])),
                capture: format!("trials/{variant}-{perturbation}/capture.tar"),
                failure: None,
            });
        }
    }
    analysis::experiment(ClockKind::Virtual, "baseline", trials).unwrap()
}

fn page(kind: ClockKind) -> String {
    let (a, b) = (boot(kind, false), boot(kind, true));
    let options = Options::default();
    let limits = analysis::ChartLimits::default();
    let side = |title: &str, r| html::Side {
        title: title.to_owned(),
        picture: analysis::picture(r, None, &options, limits),
        lines: Vec::new(),
    };
    let lab = kind == ClockKind::Virtual;
    html::page(&html::Page {
        title: "Debian 12 on pc, sd-card".to_owned(),
        baseline: side("baseline", &a),
        best: lab.then(|| side("notests+quiet+mask", &b)),
        comparison: lab.then(|| analysis::compare(&a, &b).unwrap()),
        experiment: lab.then(experiment),
        board: None,
        truth: None,
    })
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("show", String::as_str);
    let arg = args.get(1).map_or("", String::as_str);
    let style = Style {
        color: args.iter().any(|a| a == "color"),
        width: arg.parse().unwrap_or(80),
    };
    let base = || boot(ClockKind::Virtual, false);
    match what {
        "page" => std::fs::write(arg, page(ClockKind::Virtual)).unwrap(),
        "real" => std::fs::write(arg, page(ClockKind::Printk)).unwrap(),
        "blame" => print!(
            "{}",
            terminal::blame(&analysis::blame(&base(), None, 20), &style)
        ),
        "units" => {
            let units = analysis::blame(&base(), Some(BlameKind::Unit), 10);
            print!("{}", terminal::blame(&units, &style));
        }
        "diff" => {
            let c = analysis::compare(&base(), &boot(ClockKind::Virtual, true)).unwrap();
            print!("{}", terminal::diff(&c, 15, &style));
        }
        "lab" => print!("{}", terminal::lab(&experiment(), &style)),
        "doctor" => print!("{}", terminal::doctor(&checks(), &style)),
        "showreal" => {
            let boot = analysis::boot(&boot(ClockKind::Printk, false), &Options::default(), 5);
            print!("{}", terminal::show(&boot, &style));
        }
        _ => {
            let boot = analysis::boot(&base(), &Options::default(), 5);
            print!("{}", terminal::show(&boot, &style));
        }
    }
}

fn checks() -> [Check; 2] {
    [
        Check {
            name: "qemu-system-x86_64".to_owned(),
            ok: true,
            found: Some("7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)".to_owned()),
            advice: None,
        },
        Check {
            name: "mmdebstrap".to_owned(),
            ok: false,
            found: None,
            advice: Some(
                "apt install mmdebstrap: it makes the root filesystem of the demo".to_owned(),
            ),
        },
    ]
}
