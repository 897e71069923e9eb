//! Shapes of lines.

use super::{Stamp, glued, shape, unescape};

/// (line, printk stamp, level, caller, text)
type Row = (
    &'static str,
    Option<i64>,
    Option<u8>,
    Option<u64>,
    &'static str,
);

#[test]
fn printk_shapes() {
    let rows: &[Row] = &[
        ("[    0.000001] a", Some(1_000), None, None, "a"),
        (
            "[12345.000001] a",
            Some(12_345_000_001_000),
            None,
            None,
            "a",
        ),
        ("[ 0.000001] a", Some(1_000), None, None, "a"),
        ("0.000001 a", Some(1_000), None, None, "a"),
        ("0.000001 2", None, None, None, "0.000001 2"),
        ("0.001 a", None, None, None, "0.001 a"),
        ("[  1.5s] a", Some(1_500_000_000), None, None, "a"),
        ("[1.5 s] a", None, None, None, "[1.5 s] a"),
        ("[0.000001 < 0.000001 >]  a", Some(1_000), None, None, "a"),
        (
            "[    0.000001 <    0.000001>]  a",
            Some(1_000),
            None,
            None,
            " a",
        ),
        ("   805\t[    0.000001] a", Some(1_000), None, None, "a"),
        ("805:[    0.000001] a", Some(1_000), None, None, "a"),
        ("12    [    0.000001] a", Some(1_000), None, None, "a"),
        (
            "12-[    0.000001] a",
            None,
            None,
            None,
            "12-[    0.000001] a",
        ),
        ("[    0.000001][    T1] a", Some(1_000), None, Some(1), "a"),
        ("[    0.000001] [    T1] a", Some(1_000), None, Some(1), "a"),
        ("[    0.000001][    C0] a", Some(1_000), None, None, "a"),
        (
            "[    0.000001]  (0)[1:swapper/0]a",
            Some(1_000),
            None,
            Some(1),
            "a",
        ),
        (
            "[    0.000001] .(1)[12:a:b]a",
            Some(1_000),
            None,
            Some(12),
            "a",
        ),
        (
            "<6>[    0.000001]<0>.(0)[1:swapper/0]a",
            Some(1_000),
            Some(6),
            Some(1),
            "a",
        ),
        (
            "[    0.000001]  [0:      swapper/0:    1] a",
            Some(1_000),
            None,
            Some(1),
            "a",
        ),
        (
            "<6>[    0.000001] I[0:    kworker/0:1:   21] a",
            Some(1_000),
            Some(6),
            Some(21),
            "a",
        ),
        (
            "[    0.000001] [c0      1] a",
            Some(1_000),
            None,
            Some(1),
            "a",
        ),
        (
            "[    0.000001] (0) is a",
            Some(1_000),
            None,
            None,
            "(0) is a",
        ),
        ("[    0.000001] [0: a", Some(1_000), None, None, "[0: a"),
        ("21:02:00 [    0.000001] a", Some(1_000), None, None, "a"),
        (
            "1795312448.123456 [    0.000001] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        (
            "Nov 21 21:02:00 [    0.000001] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        ("[    0.000001]", Some(1_000), None, None, ""),
        ("[    0.000001]   a", Some(1_000), None, None, "  a"),
        ("<6>[    0.000001] a", Some(1_000), Some(6), None, "a"),
        ("<30>[    0.000001] a", Some(1_000), Some(6), None, "a"),
        ("<6>a", None, Some(6), None, "a"),
        (
            "kern  :info  : [    0.000001] a",
            Some(1_000),
            Some(6),
            None,
            "a",
        ),
        (
            "kern  :warn  : [    0.000001][   T12] a",
            Some(1_000),
            Some(4),
            Some(12),
            "a",
        ),
        (
            "daemon:notice: [    0.000001] a",
            Some(1_000),
            Some(5),
            None,
            "a",
        ),
        (
            "[    0.000001 <    0.000000>] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        (
            "[    0.000001                ] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        ("6,339,1,-;a", Some(1_000), Some(6), None, "a"),
        (
            "30,339,1,-,caller=T7;a;b",
            Some(1_000),
            Some(6),
            Some(7),
            "a;b",
        ),
        (
            "[2.000003 0.000001] [    0.000001] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        (
            "[2.000003 0.000001] <7>[    0.000001] a",
            Some(1_000),
            Some(7),
            None,
            "a",
        ),
        ("[2.000003 0.000001] U-Boot", None, None, None, "U-Boot"),
        ("[    2.345] [    0.000001] a", Some(1_000), None, None, "a"),
        ("[  OK  ] Started a", None, None, None, "[  OK  ] Started a"),
        ("<999>a", None, None, None, "<999>a"),
        (
            "Nov 21 21:02:00 pc kernel: [    0.000001] a",
            Some(1_000),
            None,
            None,
            "a",
        ),
        ("info: nothing", None, None, None, "info: nothing"),
    ];
    for &(line, ns, level, caller, text) in rows {
        let s = shape(line.as_bytes());
        let stamp = ns.map_or(Stamp::None, Stamp::Printk);
        assert_eq!(
            (s.stamp, s.level, s.caller),
            (stamp, level, caller),
            "{line}"
        );
        assert_eq!(s.text, text.as_bytes(), "{line}");
    }
}

#[test]
fn wall_shapes() {
    for (line, resolution, text) in [
        ("[Sat Nov 21 21:02:00 2026] a", 1_000_000_000, "a"),
        ("[Sat Nov 21 21:02:00 2026][    T1] a", 1_000_000_000, "a"),
        ("2026-11-21T21:02:00,000000+00:00 a", 1_000, "a"),
        ("2026-11-21T21:02:00+0000 pc kernel: a", 1_000_000_000, "a"),
        (
            "[Sat Nov 21 21:02:00 2026 <    0.000001>] a",
            1_000_000_000,
            "a",
        ),
        (
            "Sat 2026-11-21 21:02:00 UTC pc kernel: a",
            1_000_000_000,
            "a",
        ),
        (
            "Sat 2026-11-21 21:02:00.000000 CEST pc systemd[1]: a",
            1_000,
            "systemd[1]: a",
        ),
        ("1795294920.000000 pc kernel: a", 1_000, "a"),
        ("2026-11-21T21:02:00.000000+02:00 pc kernel: a", 1_000, "a"),
        (
            "2026-11-21T21:02:00Z pc systemd[1]: a",
            1_000_000_000,
            "systemd[1]: a",
        ),
    ] {
        let s = shape(line.as_bytes());
        let stamp = super::wall(1_795_294_920_000_000_000, resolution);
        assert_eq!((s.stamp, s.text), (stamp, text.as_bytes()), "{line}");
    }
}

#[test]
fn stamps_since_the_line_before() {
    for (line, stamp, text) in [
        ("[  +0.000001] a", Stamp::Since(1_000), "a"),
        (
            "[ +12.000001] [    T1] a",
            Stamp::Since(12_000_001_000),
            "a",
        ),
        ("[  -0.000001] a", Stamp::Since(-1_000), "a"),
        ("[<    0.000001>] a", Stamp::Since(1_000), "a"),
        ("[<   -0.000001>] a", Stamp::Since(-1_000), "a"),
        (
            "[Jan 1 00:01] a",
            Stamp::Minute(63_072_060_000_000_000),
            "a",
        ),
        (
            "[Jan11 00:00] a",
            Stamp::Minute(63_936_000_000_000_000),
            "a",
        ),
        ("[  +0.1] a", Stamp::None, "[  +0.1] a"),
        ("[Jan11 24:00] a", Stamp::None, "[Jan11 24:00] a"),
    ] {
        let s = shape(line.as_bytes());
        assert_eq!((s.stamp, s.text), (stamp, text.as_bytes()), "{line}");
    }
}

#[test]
fn a_second_stamp_in_a_line_is_found_and_a_quoted_number_is_not() {
    assert_eq!(glued(b"Starting[    1.234567] a"), Some(8));
    assert_eq!(glued(b"Starting<6>[    1.234567] a"), Some(8));
    assert_eq!(glued(b"x[12345.678901] a"), Some(1));
    assert_eq!(glued(b"x[123456.678901] a"), Some(1));
    assert_eq!(glued(b"x [1.234567] a [mod] [    1.23]"), None);
}

#[test]
fn kmsg_escapes() {
    let mut out = Vec::new();
    unescape(br"a\x20b\x5cc\xzz\", &mut out);
    assert_eq!(out, br"a b\c\xzz\");
}

#[test]
fn android_writes_a_tag_behind_the_date() {
    for line in [
        "09-21 21:02:00.500 I/init    (    1): words of it",
        "09-21 21:02:00.500   312   315 I init    : words of it",
    ] {
        let shaped = shape(line.as_bytes());
        let Stamp::Wall { ns, yearless, .. } = shaped.stamp else {
            panic!("{line}: {shaped:?}");
        };
        assert_eq!(ns % 60_000_000_000, 500_000_000, "{line}");
        assert!(yearless && shaped.by_program, "{line}");
        assert_eq!(
            super::super::units::of_init(shaped.text),
            Some(&b"words of it"[..])
        );
    }
    for line in [
        "09-21 is a day",
        "13-41 21:02:00.5 I/init (1): words",
        "09-21 21:02:00 none",
    ] {
        assert_eq!(shape(line.as_bytes()).stamp, Stamp::None, "{line}");
    }
}
