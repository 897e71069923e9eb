#!/usr/bin/env python3
"""Makes the images that measure.py boots, in the folder that `build` fills."""

import glob
import hashlib
import json
import os
import struct
import subprocess
import sys
import zlib

OUT = os.path.abspath(sys.argv[1])
DATE = 1767225600  # 2026-01-01
# A board of 32-bit ARM: 2 ns an instruction, as the lab has it. A small one of RISC-V: 8 ns.
ARM_SHIFT, RISCV_SHIFT = 1, 3
# Where memory of the board `virt` of RISC-V holds what is booted, for want of a flash
# that is large enough: far behind the kernel and what runs before it.
STORED = 0x90000000
# The environment of U-Boot's `qemu_arm`: at the start of the second bank of flash.
ENVIRONMENT_BYTES = 0x40000
KERNEL_AT = 0x80000
BANK = 64 << 20
# The board with an SD card: where its processor looks for SPL, and what card.config says.
CARD_BYTES = 64 << 20
CARD_LOADER_AT = 8 << 10
CARD_TREE_AT, CARD_TREE_BYTES = 0x800 * 512, 0x80 * 512
CARD_KERNEL_AT, CARD_KERNEL_BYTES = 0x1000 * 512, 0x2A00 * 512
CARD_KERNEL_LOAD = 0x42000000
CARD_SERIAL = 0x01C28000
CARD_APPEND = "earlycon=uart8250,mmio32,%#x console=ttyS0" % CARD_SERIAL


def path(name):
    return os.path.join(OUT, name)


def read(name):
    return open(path(name), "rb").read()


def write(name, data):
    open(path(name), "wb").write(data)


def legacy(kernel, load):
    """The kernel with U-Boot's header of 64 bytes."""
    header = [0x27051956, 0, DATE, len(kernel), load, load, zlib.crc32(kernel)]
    header = struct.pack(">7I4B32s", *header, 5, 2, 2, 0, b"Linux")
    checked = struct.pack(">I", zlib.crc32(header))
    return header[:4] + checked + header[8:] + kernel


def tree_for_card():
    """Debian's device tree of the board, with what U-Boot would add: SPL adds nothing."""
    (tree,) = glob.glob(path("linux-armhf/usr/lib/linux-image-*/sun8i-h3-orangepi-pc.dtb"))
    write("card.dtb", open(tree, "rb").read())
    for kind, node, name, *values in [
        ("s", "/chosen", "bootargs", CARD_APPEND),
        ("s", "/memory@40000000", "device_type", "memory"),
        ("x", "/memory@40000000", "reg", "40000000", "40000000"),
    ]:
        words = ["fdtput", "-p", "-t", kind, path("card.dtb"), node, name]
        subprocess.run(words + values, check=True)
    return read("card.dtb")


def card(loader, tree, kernel):
    """An SD card, with everything outside any partition."""
    data = bytearray(CARD_BYTES)
    end = 0
    for at, part in [(CARD_LOADER_AT, loader), (CARD_TREE_AT, tree), (CARD_KERNEL_AT, kernel)]:
        if at < end or at + len(part) > len(data):
            raise RuntimeError("a part of the card is too long")
        data[at : at + len(part)] = part
        end = at + len(part)
    if len(tree) > CARD_TREE_BYTES or len(kernel) > CARD_KERNEL_BYTES:
        raise RuntimeError("U-Boot would not read all: card.config")
    return bytes(data)


def flash(kernel, variables):
    """The second bank of flash: the environment, and the kernel."""
    data = b"".join(("%s=%s\0" % pair).encode() for pair in sorted(variables.items())) + b"\0"
    data += bytes(ENVIRONMENT_BYTES - 4 - len(data))
    bank = bytearray(b"\xff" * BANK)
    bank[:ENVIRONMENT_BYTES] = struct.pack("<I", zlib.crc32(data)) + data
    bank[KERNEL_AT : KERNEL_AT + len(kernel)] = kernel
    return bytes(bank)


FIT = """/dts-v1/;
/ {
    description = "OpenSBI and Linux";
    #address-cells = <2>;
    images {
        linux {
            description = "Linux"; type = "standalone"; os = "Linux"; arch = "riscv";
            compression = "none"; load = <0x0 0x80200000>;
            data = /incbin/("Image");
        };
        opensbi {
            description = "OpenSBI"; type = "firmware"; os = "opensbi"; arch = "riscv";
            compression = "none"; load = <0x0 0x80100000>; entry = <0x0 0x80100000>;
            data = /incbin/("fw_dynamic.bin");
        };
    };
    configurations {
        default = "conf-1";
        conf-1 { description = "all"; firmware = "opensbi"; loadables = "linux"; };
    };
};
"""


def arm():
    (kernel,) = glob.glob(path("linux-armhf/boot/vmlinuz-*"))
    image = legacy(open(kernel, "rb").read(), 0x44000000)
    variables = {
        "bootargs": "earlycon=pl011,0x9000000 console=ttyAMA0",
        "bootcmd": "bootm 0x04080000 - 0x40000000",
        "bootdelay": "-2",
        # What the kernel reaches at its start.
        "bootm_size": "0x20000000",
    }
    write("arm.flash", flash(image, variables))
    write("arm-delay.flash", flash(image, dict(variables, bootdelay="1")))
    machine = "-M virt,dtb-randomness=off,highmem=off -cpu cortex-a15 -m 512".split()
    # A USB controller and a network card, as many boards have them: nothing is booted
    # from them, and no cable is in them.
    devices = ["-device", "usb-ehci", "-device", "e1000"]
    for name, what in [
        ("arm-board", "U-Boot by qemu_arm_defconfig"),
        ("arm-lean", "lean.config"),
        ("arm-built-in", "lean.config, no-environment.config: bootcmd is built in"),
    ]:
        words = ["qemu-system-arm"] + machine + ["-bios", "@%s/u-boot.bin" % name]
        drive = ["-drive", "if=pflash,unit=1,format=raw,readonly=on,file=@arm.flash"]
        yield {"name": name, "what": what, "shift": ARM_SHIFT, "qemu": words + drive}
        more = what + "; a USB controller and a network card on the board"
        words += drive + devices
        yield {"name": name + "-devices", "what": more, "shift": ARM_SHIFT, "qemu": words}
    words = ["qemu-system-arm"] + machine + ["-bios", "@arm-board/u-boot.bin"]
    words += ["-drive", "if=pflash,unit=1,format=raw,readonly=on,file=@arm-delay.flash"]
    what = "arm-board with bootdelay=1: a check of the clock"
    yield {"name": "arm-board-delay", "what": what, "shift": ARM_SHIFT, "qemu": words}
    if os.path.exists(path("arm-barebox/barebox.img")):
        # Its driver of flash is left out: the same image lies in memory.
        write("uImage", image)
        words = ["qemu-system-arm"] + machine + ["-bios", "@arm-barebox/barebox.img"]
        words += ["-device", "loader,force-raw=on,file=@uImage,addr=0x48000000"]
        what = "barebox.config: barebox, with the kernel in memory"
        yield {"name": "arm-barebox", "what": what, "shift": ARM_SHIFT, "qemu": words}
    append = variables["bootargs"]
    write("zImage", open(kernel, "rb").read())
    words = ["qemu-system-arm"] + machine + ["-kernel", "@zImage", "-append", append]
    what = "no loader: QEMU has put the kernel into memory"
    yield {"name": "arm-none", "what": what, "shift": ARM_SHIFT, "qemu": words}


def riscv():
    (kernel,) = glob.glob(path("linux-riscv64/boot/vmlinu[xz]-*"))
    image = open(kernel, "rb").read()
    write("Image", image)
    opensbi = "opensbi/usr/lib/riscv64-linux-gnu/opensbi/generic/"
    write("fw_jump.bin", read(opensbi + "fw_jump.bin"))
    write("fw_dynamic.bin", read(opensbi + "fw_dynamic.bin"))
    # The contents lie behind the tree. The one that U-Boot's build makes has them in the
    # tree, and SPL would copy all of it into its heap first.
    write("linux.its", FIT.encode())
    mkimage = path("riscv-falcon/tools/mkimage")
    words = [mkimage, "-E", "-B", "1000", "-f", "linux.its", "linux.itb"]
    subprocess.run(words, cwd=OUT, check=True, stdout=subprocess.DEVNULL)
    # The device tree of the board, with the command line that U-Boot would set.
    machine = "-M virt -m 1024 -seed 1 -display none".split()
    dump = ["-M", "dumpdtb=" + path("virt.dtb")]
    subprocess.run(
        ["qemu-system-riscv64"] + machine + dump, check=True, stderr=subprocess.DEVNULL
    )
    append = "earlycon=sbi nokaslr"
    subprocess.run(["fdtput", "-t", "s", path("virt.dtb"), "/chosen", "bootargs", append], check=True)
    machine = ["qemu-system-riscv64"] + "-M virt -m 1024 -dtb @virt.dtb".split()

    def load(file, address):
        return ["-device", "loader,force-raw=on,file=@%s,addr=%#x" % (file, address)]

    for name, what in [
        ("riscv-board", "SPL, OpenSBI, U-Boot by qemu-riscv64_spl_defconfig, Linux"),
        ("riscv-lean", "the same with lean.config"),
    ]:
        words = ["-bios", "@%s/spl/u-boot-spl.bin" % name]
        words += load(name + "/u-boot.itb", 0x80200000) + load("Image", STORED)
        yield {"name": name, "what": what, "shift": RISCV_SHIFT, "qemu": machine + words}
    words = ["-bios", "@riscv-falcon/spl/u-boot-spl.bin"] + load("linux.itb", STORED)
    what = "falcon mode: SPL, OpenSBI, Linux"
    yield {"name": "riscv-falcon", "what": what, "shift": RISCV_SHIFT, "qemu": machine + words}
    words = ["-bios", "@fw_jump.bin"] + load("Image", 0x80200000)
    what = "no loader: QEMU has put OpenSBI and the kernel into memory"
    yield {"name": "riscv-none", "what": what, "shift": RISCV_SHIFT, "qemu": machine + words}


def orangepi():
    machine = "qemu-system-arm -M orangepi-pc -m 1024".split()
    # It has no fewer processors. Linux starts the others long after its first line.
    rest = {"shift": ARM_SHIFT, "processors": 4, "plugin": "@count.so,page=%#x" % CARD_SERIAL}
    (kernel,) = glob.glob(path("linux-armhf/boot/vmlinuz-*"))
    image = legacy(open(kernel, "rb").read(), CARD_KERNEL_LOAD)
    tree = tree_for_card()
    for name, what in [
        ("card-lean", "SPL, U-Boot by orangepi_pc_defconfig with card-lean.config, Linux"),
        ("card-falcon", "falcon mode by CONFIG_SPL_OS_BOOT: SPL, Linux"),
        ("card-falcon-checksum", "the same, and SPL sums the kernel as U-Boot does"),
    ]:
        loader = read(name + "/u-boot-sunxi-with-spl.bin")
        write(name + ".card", card(loader, tree, image))
        words = ["-drive", "if=sd,format=raw,snapshot=on,file=@%s.card" % name]
        yield {"name": name, "what": what, "qemu": machine + words, **rest}
    words = ["-kernel", "@zImage", "-dtb", "@card.dtb", "-append", CARD_APPEND]
    what = "no loader: QEMU has put the kernel into memory"
    yield {"name": "card-none", "what": what, "qemu": machine + words, **rest}


def files():
    """What the results depend on."""
    names = ["zImage", "Image", "virt.dtb", "linux.itb", "card.dtb"]
    names += [os.path.relpath(p, OUT) for p in glob.glob(path("*/u-boot.bin"))]
    names += [os.path.relpath(p, OUT) for p in glob.glob(path("*/spl/u-boot-spl.bin"))]
    names += [os.path.relpath(p, OUT) for p in glob.glob(path("card-*/u-boot-sunxi-with-spl.bin"))]
    names += [os.path.relpath(p, OUT) for p in glob.glob(path("deb/*.deb"))]
    names += [os.path.relpath(p, OUT) for p in glob.glob(path("deb/*.tar.*z*"))]
    names += ["arm-barebox/barebox.img"]
    there = [name for name in names if os.path.exists(path(name))]
    version = subprocess.run(["qemu-system-riscv64", "--version"], capture_output=True, check=True)
    compilers = ["arm-linux-gnueabihf-gcc", "riscv64-linux-gnu-gcc"]
    said = [subprocess.run([c, "--version"], capture_output=True, check=True) for c in compilers]
    return {
        "tools": [s.stdout.decode().splitlines()[0] for s in [version] + said],
        "files": {
            n: {"bytes": len(read(n)), "sha256": hashlib.sha256(read(n)).hexdigest()}
            for n in sorted(there)
        },
    }


cases = list(arm()) + list(riscv()) + list(orangepi())
write("cases.json", json.dumps(cases, indent=1).encode())
write("files.json", json.dumps(files(), indent=1).encode())
