# What the processor executes from reset to the kernel, where there is no firmware: the
# last 256 bytes of a ROM of 64 KiB that ends at 4 GiB. It enters protected mode and jumps
# to the kernel's PVH entry, with the address of the start information in EBX. The lab
# puts the entry's address where `entry` is.
#
#     as --32 direct.S -o direct.o && objcopy -O binary -j .text direct.o direct.bin

    .set ROM, 0xffffff00
    .set START_INFO, 0x6000
    .set APIC, 0xfee00000

    .code16
start:
    cli
    # Offsets in the segment of the reset, whose base is 0xffff0000.
    lgdtl %cs:gdt_pointer - start + 0xff00
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $8, $ROM + protected - start

    .code32
protected:
    movl $16, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    # The interrupts of the 8259 reach the processor through its local APIC, as firmware
    # leaves it: on, LINT0 for the 8259, LINT1 for what cannot be masked.
    movl $0x10f, APIC + 0xf0
    movl $0x700, APIC + 0x350
    movl $0x400, APIC + 0x360
    movl $START_INFO, %ebx
    movl ROM + 0xe0, %eax
    jmp *%eax

    .org 0x80
gdt:
    .quad 0
    .quad 0x00cf9b000000ffff
    .quad 0x00cf93000000ffff
gdt_pointer:
    .word 23
    .long ROM + gdt - start

    .org 0xe0
entry:
    .long 0

    # The first instruction after reset.
    .org 0xf0
    .code16
    .byte 0xe9
    .word start - . - 2
    .org 0x100
