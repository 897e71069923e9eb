#!/usr/bin/env python3
"""Lets the serial ports of a source tree of QEMU 7.2 take the time of their line.

Usage: uarts.py TREE

A byte goes to the host at once, as before. What changes is what the guest sees of the transmitter:
it is busy for the time that the guest's own divisor gives a byte, in virtual time, and its flags
and its interrupt follow. Each change stands beside the place in QEMU that it is made at.
"""

import sys
from pathlib import Path

#: File: what stands there, and what takes its place.
CHANGES: dict[str, list[tuple[str, str]]] = {}

#: The 16550: the holding register and its FIFO are empty while the last byte is being sent.
CHANGES["include/hw/char/serial.h"] = [
    (
        "    QEMUTimer *modem_status_poll;\n",
        """\
    /* When the last byte that was written has left the line, and who tells. */
    int64_t line_free_ns;
    QEMUTimer *line_timer;

    QEMUTimer *modem_status_poll;
""",
    )
]
CHANGES["hw/char/serial.c"] = [
    (
        "/* Setter for FCR.\n",
        """\
/* The transmitter, whose bytes are with the host already, has sent some of them by now. */
static void serial_line_update(void *opaque)
{
    SerialState *s = opaque;
    int64_t left = s->line_free_ns - qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    int64_t one = s->char_transmit_time;

    /* One byte is in the shift register; the holding register and its FIFO are empty. */
    if (left <= one && !(s->lsr & UART_LSR_THRE)) {
        s->lsr |= UART_LSR_THRE;
        s->thr_ipending = 1;
        serial_update_irq(s);
    }
    if (left <= 0) {
        s->lsr |= UART_LSR_TEMT;
    } else {
        timer_mod(s->line_timer, left <= one ? s->line_free_ns : s->line_free_ns - one);
    }
}

/* A byte was written: it takes its time on the line, after those before it. */
static void serial_line_take(SerialState *s)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    s->line_free_ns = MAX(s->line_free_ns, now) + s->char_transmit_time;
    s->lsr &= ~(UART_LSR_THRE | UART_LSR_TEMT);
    s->thr_ipending = 0;
    serial_update_irq(s);
    serial_line_update(s);
}

/* Setter for FCR.
""",
    ),
    (
        "                serial_xmit(s);\n            }\n",
        """\
                serial_xmit(s);
            }
            if (!(s->mcr & UART_MCR_LOOP)) {
                serial_line_take(s);
            }
""",
    ),
    (
        "    fifo8_reset(&s->recv_fifo);\n    fifo8_reset(&s->xmit_fifo);\n",
        """\
    timer_del(s->line_timer);
    s->line_free_ns = 0;
    fifo8_reset(&s->recv_fifo);
    fifo8_reset(&s->xmit_fifo);
""",
    ),
    (
        "    qemu_register_reset(serial_reset, s);\n",
        """\
    s->line_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, serial_line_update, s);
    qemu_register_reset(serial_reset, s);
""",
    ),
    (
        "    timer_free(s->fifo_timeout_timer);\n",
        """\
    timer_free(s->fifo_timeout_timer);
    timer_free(s->line_timer);
""",
    ),
]

#: The PL011: 16 bytes of FIFO, which asks for more when it is half empty.
CHANGES["include/hw/char/pl011.h"] = [
    (
        "    bool migrate_clk;\n",
        """\
    /* When the last byte that was written has left the line, and who tells. */
    int64_t line_free_ns;
    QEMUTimer *line_timer;
    bool migrate_clk;
""",
    )
]
CHANGES["hw/char/pl011.c"] = [
    ('#include "qemu/log.h"\n', '#include "qemu/log.h"\n#include "qemu/timer.h"\n'),
    (
        "#define PL011_FLAG_TXFE 0x80\n",
        "#define PL011_FLAG_TXFE 0x80\n#define PL011_FLAG_BUSY 0x08\n",
    ),
    (
        "static uint64_t pl011_read(",
        """\
/* The time of a byte on the line; none before the guest has set a rate. */
static int64_t pl011_byte_ns(const PL011State *s)
{
    /* The machine `virt` connects no clock; its device tree says 24 MHz. */
    uint64_t hz = clock_is_enabled(s->clk) ? clock_get_hz(s->clk) : 24000000;
    uint64_t divider = ((uint64_t)s->ibrd << 6) + s->fbrd;
    int64_t bits = 1 + 5 + ((s->lcr >> 5) & 3) + !!(s->lcr & 0x02) + 1 + !!(s->lcr & 0x08);

    /* A bit is 16 clocks of 1/64 of the divider. */
    return bits * (int64_t)(divider * NANOSECONDS_PER_SECOND / 4 / hz);
}

/* How many bytes have not left the line, the one in the shift register with them. */
static unsigned int pl011_on_line(const PL011State *s)
{
    int64_t left = s->line_free_ns - qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    int64_t byte = pl011_byte_ns(s);

    return left <= 0 || !byte ? 0 : DIV_ROUND_UP(left, byte);
}

static unsigned int pl011_depth(const PL011State *s)
{
    return s->lcr & 0x10 ? 16 : 1;
}

/* The transmitter's flags, whose bytes are with the host already. */
static uint32_t pl011_transmitter(const PL011State *s)
{
    unsigned int bytes = pl011_on_line(s);

    return (s->flags & ~(PL011_FLAG_TXFE | PL011_FLAG_TXFF))
        | (bytes > 1 ? 0 : PL011_FLAG_TXFE)
        | (bytes > pl011_depth(s) ? PL011_FLAG_TXFF : 0)
        | (bytes ? PL011_FLAG_BUSY : 0);
}

/* The FIFO asks for more when it is half empty, the level after a reset. */
static void pl011_line_update(void *opaque)
{
    PL011State *s = opaque;
    unsigned int level = 1 + pl011_depth(s) / 2;

    if (pl011_on_line(s) <= level) {
        s->int_level |= PL011_INT_TX;
    } else {
        s->int_level &= ~PL011_INT_TX;
        timer_mod(s->line_timer, s->line_free_ns - level * pl011_byte_ns(s));
    }
    pl011_update(s);
}

static uint64_t pl011_read(""",
    ),
    ("        r = s->flags;\n", "        r = pl011_transmitter(s);\n"),
    (
        "        s->int_level |= PL011_INT_TX;\n        pl011_update(s);\n",
        """\
        s->line_free_ns = MAX(s->line_free_ns, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL))
            + pl011_byte_ns(s);
        pl011_line_update(s);
""",
    ),
    (
        "    PL011State *s = PL011(dev);\n\n",
        """\
    PL011State *s = PL011(dev);

    s->line_timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, pl011_line_update, s);
""",
    ),
]


def main() -> None:
    """Makes the changes, or none."""
    tree = Path(sys.argv[1])
    changed = {}
    for name, changes in CHANGES.items():
        text = (tree / name).read_text()
        for there, instead in changes:
            if text.count(there) != 1:
                sys.exit(f"{name}: not the QEMU that this was written for: {there!r}")
            text = text.replace(there, instead)
        changed[name] = text
    for name, text in changed.items():
        (tree / name).write_text(text)


if __name__ == "__main__":
    main()
