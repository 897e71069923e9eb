"""Makes a unified kernel image for the tests: PATH COMMAND-LINE. It boots nothing."""

import struct
import sys

HEADER = 1024
RAW = 512


def image(cmdline):
    """An EFI program with the sections that a unified kernel image has ("PE Format")."""
    sections = [(b".osrel", 0x1000, b"ID=test\n"), (b".cmdline", 0x2000, cmdline),
                (b".linux", 0x3000, b"MZ kernel" * 50)]
    head = bytearray(HEADER)
    head[0:2] = b"MZ"
    struct.pack_into("<I", head, 0x3C, 0x80)
    struct.pack_into("<4sHHIIIHH", head, 0x80, b"PE\0\0", 0x8664, len(sections), 0, 0, 0, 240, 0x22E)
    optional = 0x80 + 24
    struct.pack_into("<HBBIIIII", head, optional, 0x20B, 1, 0, 0, 0x600, 0, 0, 0x1000)
    struct.pack_into("<QII", head, optional + 24, 0, 0x1000, RAW)
    struct.pack_into("<II", head, optional + 56, 0x4000, HEADER)
    struct.pack_into("<H", head, optional + 68, 10)
    struct.pack_into("<I", head, optional + 108, 16)
    data = b""
    for number, (name, address, content) in enumerate(sections):
        size = -(-len(content) // RAW) * RAW
        struct.pack_into("<8sIIIIIIHHI", head, optional + 240 + 40 * number, name, len(content), address,
                         size, HEADER + len(data), 0, 0, 0, 0, 0x40000040)
        data += content + bytes(size - len(content))
    return bytes(head) + data


with open(sys.argv[1], "wb") as file:
    file.write(image(sys.argv[2].encode() + b"\n"))
