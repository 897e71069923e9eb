#!/usr/bin/env python3
"""Writes PAIRS.json for measure.py: kernels of Debian on boards of QEMU.

Usage: pairs.py FOLDER FIRSTLIGHT >PAIRS.json

FOLDER holds `boot/vmlinuz-*` of the packages that KERNELS names, `busybox-ARCH` of
busybox-static, `agent-ARCH` (firstlight-agent built for the architecture), `OVMF.fd`,
and an empty folder `logs`.
"""

import json
import os
import sys

folder, firstlight = sys.argv[1:3]
at = lambda name: os.path.join(folder, name)

KERNELS = {
    "x86_64": ["6.1.0-56-amd64", "5.10.0-32-cloud-amd64", "6.1.0-50-cloud-amd64",
               "6.1.0-50-rt-amd64", "6.12.95+deb12-cloud-amd64"],
    "aarch64": ["6.1.0-56-arm64", "5.10.0-32-cloud-arm64", "6.1.0-50-cloud-arm64",
                "6.12.95+deb12-cloud-arm64"],
    "arm": ["6.1.0-50-armmp", "5.10.0-32-armmp", "6.1.0-50-armmp-lpae", "6.12.95+deb12-armmp"],
}
VIRT = "virt,dtb-randomness=off,highmem=off"
BOARDS = {
    "x86_64": [("q35", ["-M", "q35,hpet=off"], {}), ("i440fx", ["-M", "pc"], {"memory_mb": 1024})],
    "aarch64": [
        ("virt-a57", ["-M", VIRT, "-cpu", "cortex-a57"], {}),
        ("virt-a53-gicv3", ["-M", "virt,gic-version=3,dtb-randomness=off", "-cpu", "cortex-a53"],
         {"memory_mb": 1024, "shift": 2}),
    ],
    "arm": [
        ("virt-a15", ["-M", VIRT, "-cpu", "cortex-a15"], {}),
        ("virt-a7", ["-M", VIRT, "-cpu", "cortex-a7"], {"memory_mb": 256, "shift": 3}),
    ],
}
# Where a kernel is entered: its image first, the kernel proper last.
ENTRIES = {
    "x86_64": ["100000", "1000000"],
    "aarch64": ["40200000", "40080000"],
    "arm": ["40208000", "40008000", "40308000"],
}
common = {
    arch: {
        "qemu": "qemu-system-" + arch,
        "memory_mb": 512,
        "shift": 0 if arch == "x86_64" else 1,
        "busybox": at("busybox-" + arch),
        "agent": at("agent-" + arch),
        "entries": ENTRIES[arch],
    }
    for arch in KERNELS
}
pairs = []
for arch, kernels in KERNELS.items():
    for board, machine, more in BOARDS[arch]:
        for kernel in kernels:
            pair = {"name": kernel + " on " + board, "arch": arch, "machine": machine, **more}
            pairs.append({**pair, "kernel": at("boot/vmlinuz-" + kernel)})
for kernel in ("6.1.0-56-amd64", "6.12.95+deb12-cloud-amd64"):
    # UEFI puts the kernel elsewhere.
    pair = {"name": kernel + " on q35-uefi", "arch": "x86_64", "entries": [], "limit_s": 600}
    pair["machine"] = ["-M", "q35,hpet=off", "-bios", at("OVMF.fd")]
    pairs.append({**pair, "kernel": at("boot/vmlinuz-" + kernel)})
json.dump({"firstlight": firstlight, "logs": at("logs"), "common": common, "pairs": pairs},
          sys.stdout, indent=1)
