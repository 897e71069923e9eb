@ The loader of the machine `arm9`: does one step after the other.
@
@ The steps lie right behind it, six words each: what to do, and what with. All
@ that is decided, and every text, comes from the host (loader.rs). It waits by loops
@ of two instructions, which nobody who watches can make longer.
@
@     arm-linux-gnueabi-gcc -c -march=armv5te -o loader.o loader.S
@     arm-linux-gnueabi-objcopy -O binary loader.o loader.bin

        .syntax unified
        .arm
        .text

        adr     r4, steps
next:   ldmia   r4!, {r0, r1, r2, r3, r5, r6}
        add     pc, pc, r0, lsl #2
        nop
        b       enter
        b       print
        b       wait
        b       read
        b       sum
        b       copy

@ Enters what lies at r1.
enter:  bx      r1

@ Writes r2 bytes at r1 to the register r5, and waits r3 loops behind each.
print:  ldrb    r0, [r1], #1
        str     r0, [r5]
        mov     r0, r3
1:      subs    r0, r0, #1
        bne     1b
        subs    r2, r2, #1
        bne     print
        b       next

@ Waits r1 loops; for ever, if it is none.
wait:   cmp     r1, #0
        beq     wait
1:      subs    r1, r1, #1
        bne     1b
        b       next

@ Reads r3 pages of 2 KiB from r1 to r2: r5 loops before each, r6 behind it.
read:   mov     r0, r5
1:      subs    r0, r0, #1
        bne     1b
        mov     r0, #128
2:      ldmia   r1!, {r7, r8, r9, r10}
        stmia   r2!, {r7, r8, r9, r10}
        subs    r0, r0, #1
        bne     2b
        mov     r0, r6
3:      subs    r0, r0, #1
        bne     3b
        subs    r3, r3, #1
        bne     read
        b       next

@ The CRC-32 of r2 bytes, a multiple of four, at r1, with the table at r5. If it is
@ r3, the next two steps are passed over.
sum:    mvn     r0, #0
1:      ldr     r7, [r1], #4
        eor     r0, r0, r7
        .rept   4
        and     r7, r0, #255
        ldr     r7, [r5, r7, lsl #2]
        eor     r0, r7, r0, lsr #8
        .endr
        subs    r2, r2, #4
        bne     1b
        mvn     r0, r0
        cmp     r0, r3
        addeq   r4, r4, #48
        b       next

@ Copies r3 pairs of words from r1 to r2.
copy:   ldr     r0, [r1], #4
        str     r0, [r2], #4
        ldr     r0, [r1], #4
        str     r0, [r2], #4
        subs    r3, r3, #1
        bne     copy
        b       next

        .align  2
steps:
