#!/usr/bin/env python3
"""Checks what `firstlight show` says of the time before the kernel clock.

For each pair of a kernel and a board:

1. One boot in QEMU, whose clock counts instructions. Its initramfs runs
   `firstlight-agent clocks` and prints `dmesg`: a stock log with one reading.
   `firstlight show --json` is asked when the kernel log starts.
2. Other boots of the same inputs, stopped by QEMU's debugger stub at the function
   in which the kernel's clock starts, and at the kernel's first instruction. QEMU
   says how many instructions it has executed by then (`info replay`): the truth.
   Nothing of the first boot, no clock of the guest and nothing of Firstlight is in it.

Usage: measure.py PAIRS.json OUT.json   (see RESULTS.md for the files that it needs)
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CMDLINES = {
    "x86_64": "console=ttyS0 nokaslr panic=-1 rdinit=/init loglevel=4",
    "aarch64": "console=ttyAMA0 nokaslr panic=-1 rdinit=/init loglevel=4",
    "arm": "console=ttyAMA0 panic=-1 rdinit=/init loglevel=4",
}
# In these functions the kernel's clock starts: on ARM the one that is given the
# counter (kernel/time/sched_clock.c), on x86 the last call before it is switched on
# (tsc_enable_sched_clock in arch/x86/kernel/tsc.c).
CLOCK = {
    "x86_64": "tsc_store_and_check_tsc_adjust",
    "aarch64": "sched_clock_register",
    "arm": "sched_clock_register",
}
# Instructions that read the counter, the registers that they fill, and the
# nanoseconds of a tick.
READ = {
    "x86_64": (bytes([0x0F, 0x31]), 8, 16, (0, 3), 1),
    "aarch64": (bytes([0x40, 0xE0, 0x3B, 0xD5]), 8, 32, (0, None), 16),
    "arm": (bytes([0x1E, 0x0F, 0x51, 0xEC]), 4, 15, (0, 1), 16),
}
THUMB = bytes([0x51, 0xEC, 0x1E, 0x0F])
INIT = """#!/busybox sh
/busybox mount -t proc p /proc
/busybox mount -t devtmpfs d /dev
/busybox mount -t sysfs s /sys
/agent clocks
echo =====LOG
/busybox dmesg
echo =====SYMBOLS
/busybox grep -E ' (%s|start_kernel|time_init|tsc_init|tsc_early_init)$' /proc/kallsyms
echo =====END
/busybox poweroff -f
"""


def cpio(files):
    out = bytearray()
    inode = 0
    for name, mode, data in files + [("TRAILER!!!", 0, b"")]:
        inode += 1
        raw = name.encode() + b"\0"
        fields = [inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(raw), 0]
        out += b"070701" + b"".join(b"%08x" % f for f in fields) + raw
        out += b"\0" * (-len(out) % 4)
        out += data
        out += b"\0" * (-len(out) % 4)
    return bytes(out)


def initramfs(pair, folder):
    read = lambda path: open(path, "rb").read()
    init = (INIT % "|".join(set(CLOCK.values()))).encode()
    folders = [(d, 0o40755, b"") for d in ("proc", "dev", "sys")]
    files = [
        ("init", 0o100755, init),
        ("busybox", 0o100755, read(pair["busybox"])),
        ("agent", 0o100755, read(pair["agent"])),
    ]
    path = os.path.join(folder, "initramfs")
    open(path, "wb").write(cpio(folders + files))
    return path


def command(pair, initrd):
    words = [pair["qemu"], "-smp", "1", "-nodefaults", "-no-user-config", "-display", "none"]
    words += ["-no-reboot", "-monitor", "none", "-rtc", "base=2026-01-01,clock=vm"]
    words += pair["machine"] + ["-m", str(pair["memory_mb"]), "-kernel", pair["kernel"]]
    words += ["-initrd", initrd, "-append", CMDLINES[pair["arch"]] + pair.get("more", "")]
    return words


def first_boot(pair, words, folder):
    """The log with its reading, and the addresses of symbols."""
    console = os.path.join(folder, "console")
    words = words + ["-accel", "tcg", "-icount", "shift=%d,sleep=off" % pair["shift"]]
    words += ["-serial", "file:" + console]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.time() + pair.get("limit_s", 300)
    text = ""
    while time.time() < end and child.poll() is None and "=====END" not in text:
        time.sleep(0.5)
        text = open(console, "rb").read().decode("latin-1") if os.path.exists(console) else ""
    child.kill()
    child.wait()
    text = open(console, "rb").read().decode("latin-1").replace("\r", "")
    if "=====END" not in text:
        raise RuntimeError("the boot did not end: " + text[-300:])
    log, rest = text.split("=====LOG\n", 1)[1].split("=====SYMBOLS\n", 1)
    symbols = {}
    for line in rest.splitlines():
        found = re.match(r"([0-9a-f]+) \w (\w+)$", line)
        if found:
            symbols[found[2]] = int(found[1], 16)
    return log, symbols


class Gdb:
    """A boot that waits for a debugger, and counts its instructions."""

    def __init__(self, pair, words, folder, name):
        path = os.path.join(folder, name)
        self.arch = pair["arch"]
        words = words + ["-accel", "tcg", "-S", "-icount"]
        words += ["shift=%d,sleep=off,rr=record,rrfile=%s.rr" % (pair["shift"], path)]
        words += ["-serial", "file:%s.console" % path]
        words += ["-chardev", "socket,id=gdb,path=%s,server=on,wait=off" % path]
        words += ["-gdb", "chardev:gdb"]
        self.child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.socket = socket.socket(socket.AF_UNIX)
        for _ in range(400):
            try:
                self.socket.connect(path)
                break
            except OSError:
                time.sleep(0.02)
        self.socket.settimeout(pair.get("limit_s", 300))
        self.buffer = b""
        self.ask("qXfer:features:read:target.xml:0,ffb")

    def byte(self):
        if not self.buffer:
            self.buffer = self.socket.recv(65536)
            if not self.buffer:
                raise RuntimeError("QEMU has ended")
        byte, self.buffer = self.buffer[:1], self.buffer[1:]
        return byte

    def send(self, text):
        data = text.encode()
        self.socket.sendall(b"$" + data + b"#%02x" % (sum(data) % 256))

    def receive(self):
        while self.byte() != b"$":
            pass
        data = b""
        while (byte := self.byte()) != b"#":
            data += byte
        self.byte(), self.byte()
        self.socket.sendall(b"+")
        return data.decode("latin-1")

    def ask(self, text):
        self.send(text)
        return self.receive()

    def monitor(self, text):
        self.send("qRcmd," + text.encode().hex())
        said = ""
        while (packet := self.receive()) != "OK":
            said += bytes.fromhex(packet[1:]).decode("latin-1")
        return said

    def executed(self):
        return int(re.search(r"instruction count = (\d+)", self.monitor("info replay"))[1])

    def register(self, index):
        _, width, *_ = READ[self.arch]
        data = bytes.fromhex(self.ask("g"))
        return int.from_bytes(data[index * width : (index + 1) * width], "little")

    def run_to_any(self, addresses):
        for address in addresses:
            self.ask("Z1,%x,1" % address)
        self.send("c")
        self.receive()
        for address in addresses:
            self.ask("z1,%x,1" % address)
        return self.register(READ[self.arch][2])

    def counter_ns(self):
        code, width, pointer, (low, high), tick = READ[self.arch]
        if self.arch == "arm" and bytes.fromhex(self.ask("g"))[64] & 0x20:
            code = THUMB
        self.ask("M%x,%x:%s" % (self.register(pointer), len(code), code.hex()))
        self.ask("s")
        value = self.register(low)
        if high is not None:
            value = (self.register(high) << 32) | (value & 0xFFFFFFFF)
        return value * tick

    def close(self):
        self.child.kill()
        self.child.wait()


def truth(pair, words, symbols, folder):
    """When the kernel was entered, and when its clock started: nanoseconds from reset."""
    entries = [int(e, 16) for e in pair["entries"]]
    clock = symbols[CLOCK[pair["arch"]]]
    gdb = Gdb(pair, words, folder, "stop")
    passed = {}
    while True:
        at = gdb.run_to_any([clock] + [e for e in entries if e not in passed])
        passed[at] = gdb.executed()
        if at == clock:
            break
    gdb.close()
    # How long the machine was idle until then. A stop that a breakpoint makes moves
    # the virtual clock; one that is asked for from outside does not.
    gdb = Gdb(pair, words, folder, "idle")
    pause = 0.05
    while True:
        gdb.send("c")
        time.sleep(pause)
        gdb.socket.sendall(b"\x03")
        gdb.receive()
        count = gdb.executed()
        if count > passed[clock]:
            idle = gdb.counter_ns() - ((count + 1) << pair["shift"])
            if -READ[pair["arch"]][4] <= idle < 3_600_000_000_000:
                break
            # An interrupt came before the planted instruction, and the register has
            # something else. The machine cannot go on: stop another boot.
            gdb.close()
            gdb = Gdb(pair, words, folder, "idle%d" % count)
            pause += 0.03
            continue
        pause = min(1.0, max(0.01, pause * (passed[clock] - count) / max(count, 1)))
    gdb.close()
    idle = max(0, idle) if idle >= READ[pair["arch"]][4] else 0
    at = lambda count: (count << pair["shift"]) + idle
    # The last of the entries is the kernel proper: the first may be its decompressor.
    met = [passed[e] for e in entries if e in passed]
    return {"entry_ns": at(met[-1]) if met else None, "clock_ns": at(passed[clock]), "idle_ns": idle}


def said(log, folder, firstlight):
    """What `firstlight show` says of the log."""
    path = os.path.join(folder, "dmesg.txt")
    open(path, "w").write(log)
    out = subprocess.run([firstlight, "show", "--json", path], capture_output=True, check=True)
    show = json.loads(out.stdout)
    return show["kernel_clock"], [n for n in show["notes"] if n["kind"].startswith("counter_")]


def main():
    pairs = json.load(open(sys.argv[1]))
    out = sys.argv[2]
    done = json.load(open(out)) if os.path.exists(out) else []
    for pair in pairs["pairs"]:
        pair = {**pairs["common"].get(pair["arch"], {}), **pair}
        if any(d["name"] == pair["name"] for d in done):
            continue
        folder = tempfile.mkdtemp(prefix="clk")
        try:
            words = command(pair, initramfs(pair, folder))
            log, symbols = first_boot(pair, words, folder)
            known, notes = said(log, folder, pairs["firstlight"])
            result = {"name": pair["name"], "said": known, "notes": notes}
            open(os.path.join(pairs["logs"], pair["name"].replace(" ", "_") + ".log"), "w").write(log)
            result.update(truth(pair, words, symbols, folder))
        except Exception as why:  # The other pairs are measured all the same.
            result = {"name": pair["name"], "failed": repr(why)[:400]}
        finally:
            shutil.rmtree(folder)
        done.append(result)
        json.dump(done, open(out, "w"), indent=1)
        print(json.dumps(result), flush=True)


main()
