#!/usr/bin/env python3
"""Boots the board `akita` from its NAND, each time from reset, and tells when its root was
attached, mounted and when its init ran, with a fastmap and without.

All that a boot leaves for the next one is the flash: a file of 128 MiB. Time is virtual
(`-icount`), an instruction takes 4 ns. The emulated flash is ready at once; the driver waits
25 us before each page, and a byte costs the instructions that it needs to read it.

Usage: measure.py FOLDER            FOLDER is what `build` has made; writes results.json there
       measure.py FOLDER --write    writes the flash, which `build` does
"""

import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

# Pages of the flash, and the bytes of each, without its spare ones: nothing uses those.
PAGES, PAGE = 65536, 2048
# The board's counter, from reset.
COUNTER_HZ = 3_250_000
PARTS = "mtdparts=sharpsl-nand:8m(boot)ro,-(root)"
COMMON = "console=ttyS0 quiet panic=-1 devtmpfs.mount=1 " + PARTS
ROOT = " root=ubi0:rootfs rootfstype=ubifs rw "
PLAIN, FIELD, CONVERT = "ubi.mtd=root", "ubi.mtd=root,0,0,0,1", " ubi.fm_autoconvert=1"
# Each series of boots begins with the flash as it was written.
SERIES = {
    "without": [PLAIN, PLAIN],
    "with": [FIELD + CONVERT, FIELD + CONVERT, FIELD + CONVERT],
    "without fm_autoconvert afterwards": [FIELD + CONVERT, FIELD, FIELD],
}


def boot(folder, flash, words, cmdline, limit_s=900):
    """One boot from reset until it says that it has ended: its console."""
    console = os.path.join(folder, "console")
    if os.path.exists(console):
        os.remove(console)
    call = ["qemu-system-arm", "-M", "akita", "-nodefaults", "-display", "none", "-monitor", "none"]
    call += ["-no-reboot", "-rtc", "base=2026-01-01,clock=vm", "-icount", "shift=2,sleep=off"]
    call += ["-serial", "file:" + console, "-kernel", os.path.join(folder, "zImage")]
    call += ["-drive", "if=mtd,format=raw,file=" + flash, "-append", cmdline] + words
    child = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.time() + limit_s
    text = ""
    while time.time() < end and child.poll() is None and "firstlight-mark end" not in text:
        time.sleep(0.2)
        if os.path.exists(console):
            text = open(console, encoding="latin-1").read()
    # It restarts itself, which ends QEMU.
    try:
        child.wait(20)
    except subprocess.TimeoutExpired:
        child.kill()
    error = child.communicate()[1].decode("latin-1")
    text = open(console, encoding="latin-1").read()
    if "firstlight-mark end" not in text:
        raise RuntimeError("the boot did not end: %s %s" % (text[-1500:], error))
    return text


def stamp(text, pattern):
    found = re.search(r"\[ *(\d+\.\d+)\] [^\n]*" + pattern, text)
    return float(found.group(1)) * 1e3 if found else None


def read(text):
    """What a boot tells, in milliseconds from reset."""
    counter = re.search(r"\[ *(\d+\.\d+)\] firstlight-mark init (\d+)", text)
    init = int(counter.group(2)) * 1e3 / COUNTER_HZ
    kernel = init - float(counter.group(1)) * 1e3
    places = {
        "attach begins": stamp(text, "ubi0: attaching mtd"),
        "attached": stamp(text, "ubi0: attached mtd"),
        "mounted": stamp(text, "VFS: Mounted root"),
    }
    result = {name: round(at + kernel, 3) for name, at in places.items()}
    result["init"] = round(init, 3)
    result["attach alone"] = round(result["attached"] - result["attach begins"], 3)
    result["by"] = "fastmap" if "attached by fastmap" in text else "scan"
    return result


def main():
    folder = os.path.abspath(sys.argv[1])
    written = os.path.join(folder, "written.nand")
    if "--write" in sys.argv:
        with open(written, "wb") as file:
            for _ in range(PAGES // 64):
                file.write(b"\xff" * (64 * PAGE))
        for part in sorted(glob.glob(os.path.join(folder, "writer-*.cpio"))):
            boot(folder, written, ["-initrd", part], "console=ttyS0 panic=-1 rdinit=/init " + PARTS)
        return
    results = {}
    for name, boots in SERIES.items():
        flash = os.path.join(folder, "series.nand")
        shutil.copyfile(written, flash)
        results[name] = []
        for number, attach in enumerate(boots):
            if number == len(boots) - 1:
                again = os.path.join(folder, "again.nand")
                shutil.copyfile(flash, again)
            text = boot(folder, flash, [], COMMON + ROOT + attach)
            result = {"command line": attach, **read(text)}
            result["digest"] = hashlib.sha256(text.encode("latin-1")).hexdigest()
            print(name, number + 1, result)
            results[name].append(result)
        # The last one once more, from the same flash.
        if boot(folder, again, [], COMMON + ROOT + attach) != text:
            raise RuntimeError("two boots of the same flash differ: " + name)
        results[name][-1]["booted twice, the same to the byte"] = True
    with open(os.path.join(folder, "results.json"), "w") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


main()
