#!/usr/bin/env python3
"""Boots each loader twice in QEMU and tells when it wrote each line, in virtual time.

The virtual clock counts instructions (`-icount`), and QEMU records the boot (`rr=record`):
its log holds how many instructions had been executed when each byte of the console was
written. So the time of a byte is exact, and neither a clock of the guest nor Firstlight
is in it. Emulated flash, memory and SD card answer at once: a byte read costs the
instructions of the copy alone.

QEMU does not record a machine with more than one processor. There the plugin `count.c`
counts, and the log is the text of the plugin and of `-trace serial_write`.

Usage: measure.py FOLDER [OUT.json]     FOLDER is what `build` has made.
"""

import hashlib
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time

# QEMU 7.2, replay/replay-internal.h: the version of its log, and its events.
VERSION = 0xE0200C
INSTRUCTION, INTERRUPT, EXCEPTION = 0, 1, 2
SHUTDOWN = range(10, 22)
CHAR_WRITE, RANDOM = 22, 27
CLOCK = range(28, 30)
CHECKPOINT = range(30, 39)
END = 39

# The first byte of Linux on the console.
LINUX = re.compile(rb"\[    0\.000000\] (?:Linux version|Booting Linux)")
# What a loader says, and the stage that begins there.
STAGES = [
    (rb"U-Boot SPL 2", "SPL"),
    (rb"Trying to boot from", "SPL reads"),
    (rb"U-Boot 2", "U-Boot"),
    (rb"barebox 2", "barebox"),
    (rb"Booting kernel from|Moving Image from", "boot command"),
    (rb"Starting kernel \.\.\.", "handover"),
]


def counts(log):
    """The instructions that had been executed at each byte of the console."""
    data = open(log, "rb").read()
    (version,) = struct.unpack_from(">I", data)
    if version != VERSION:
        raise RuntimeError("the log is not of QEMU 7.2: version %#x" % version)
    at, executed, found = 12, 0, []
    while at < len(data):
        event = data[at]
        at += 1
        if event == INSTRUCTION:
            executed += struct.unpack_from(">I", data, at)[0]
            at += 4
        elif event == CHAR_WRITE:
            _, written = struct.unpack_from(">II", data, at)
            found += [executed] * written
            at += 8
        elif event == RANDOM:
            at += 8 + struct.unpack_from(">I", data, at + 4)[0]
        elif event in CLOCK:
            at += 8
        elif event == END:
            break
        elif event not in (INTERRUPT, EXCEPTION) and event not in SHUTDOWN and event not in CHECKPOINT:
            # Input of a device: the boot would not be exact.
            raise RuntimeError("event %d at byte %d of the log" % (event, at - 1))
    return found


def stores(log):
    """The same by the plugin, for a serial port of the 16550 family, and the bytes."""
    found, written, divisor, byte = [], bytearray(), False, None
    for line in open(log):
        store = re.match(r"serial_write write addr 0x(\w+) val 0x(\w+)", line)
        if store:
            register, value = (int(part, 16) for part in store.groups())
            if register == 3:
                divisor = bool(value & 0x80)
            byte = value if register == 0 and not divisor else None
        elif line.startswith("executed ") and byte is not None:
            found.append(int(line.split()[1]))
            written.append(byte)
            byte = None
    return found, bytes(written)


def boot(case, folder):
    """One boot, until Linux has written its first line: the console, and its counts."""
    console = os.path.join(folder, "console")
    log = os.path.join(folder, "log")
    words = case["qemu"] + ["-smp", str(case.get("processors", 1))]
    words += ["-nodefaults", "-display", "none", "-monitor", "none"]
    words += ["-no-reboot", "-seed", "1", "-rtc", "base=2026-01-01,clock=vm"]
    words += ["-serial", "file:" + console]
    clock = "shift=%d,sleep=off" % case["shift"]
    if "plugin" in case:
        words += ["-icount", clock, "-plugin", case["plugin"], "-d", "plugin"]
        words += ["-trace", "serial_write", "-D", log]
    else:
        words += ["-icount", clock + ",rr=record,rrfile=" + log]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.time() + case.get("limit_s", 400)
    text = b""
    while time.time() < end and child.poll() is None:
        time.sleep(0.3)
        text = open(console, "rb").read() if os.path.exists(console) else b""
        found = LINUX.search(text)
        if found and b"\n" in text[found.start() :]:
            break
    child.terminate()
    error = child.communicate()[1].decode("latin-1")
    text = open(console, "rb").read()
    found = LINUX.search(text)
    if not found:
        raise RuntimeError("Linux was not reached: %r %s" % (text[-300:], error))
    if "plugin" in case:
        times, written = stores(log)
        if not written.startswith(text):
            raise RuntimeError("the console and the stores to its port differ")
    else:
        times = counts(log)
    if len(times) < len(text):
        raise RuntimeError("%d bytes on the console, %d in the log" % (len(text), len(times)))
    # What comes after the first line depends on when QEMU was ended.
    stop = text.index(b"\n", found.start())
    return text[:stop], times[:stop], found.start()


def ms(instructions, case):
    return round((instructions << case["shift"]) / 1e6, 3)


def measure(case):
    boots = []
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="loader-") as folder:
            boots.append(boot(case, folder))
    if boots[0] != boots[1]:
        raise RuntimeError("two boots of %s differ" % case["name"])
    text, times, linux = boots[0]
    stages = []
    for pattern, name in STAGES:
        found = re.search(rb"(?:^|\n)[\r ]*(?:## )?(%s)" % pattern, text)
        if found:
            stages.append({"name": name, "at_ms": ms(times[found.start(1)], case)})
    lines, at = [], 0
    for line in text.split(b"\n"):
        plain = line.strip(b"\r ")
        if plain:
            skip = line.index(plain)
            lines.append([ms(times[at + skip], case), plain.decode("latin-1")])
        at += len(line) + 1
    return {
        "name": case["name"],
        "what": case["what"],
        "ns_per_instruction": 1 << case["shift"],
        "stages": stages,
        "first_byte_of_linux_ms": ms(times[linux], case),
        "console_bytes_before_linux": linux,
        "two_boots_identical": True,
        "digest": hashlib.sha256(text + struct.pack(">%dQ" % len(times), *times)).hexdigest(),
        "lines": lines,
    }


def cases(folder):
    """What is booted; `build` has made the files, and `cases.json` says which."""
    for case in json.load(open(os.path.join(folder, "cases.json"))):
        case["qemu"] = [word.replace("@", os.path.join(folder, "")) for word in case["qemu"]]
        if "plugin" in case:
            case["plugin"] = case["plugin"].replace("@", os.path.join(folder, ""))
        yield case


def main():
    folder = os.path.abspath(sys.argv[1])
    out = sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, "results.json")
    only = sys.argv[3:]
    old = json.load(open(out)) if os.path.exists(out) else {"boots": []}
    results = {b["name"]: b for b in old["boots"]}
    order = []
    for case in cases(folder):
        order.append(case["name"])
        if only and case["name"] not in only:
            continue
        try:
            results[case["name"]] = result = measure(case)
        except RuntimeError as error:
            print("%-28s %s" % (case["name"], error))
            continue
        # A log as grabserial writes it, for `firstlight show` and `firstlight advise`.
        os.makedirs(os.path.join(folder, "logs"), exist_ok=True)
        with open(os.path.join(folder, "logs", case["name"] + ".txt"), "w") as log:
            before = 0.0
            for at, line in result["lines"]:
                log.write("[%.6f %.6f] %s\n" % (at / 1e3, (at - before) / 1e3, line))
                before = at
        print("%-28s %10.3f ms" % (case["name"], result["first_byte_of_linux_ms"]))
    files = json.load(open(os.path.join(folder, "files.json")))
    kept = [results[name] for name in order if name in results]
    with open(out, "w") as file:
        json.dump({"files": files, "boots": kept}, file, indent=1)
        file.write("\n")


main()
