# The only program of the micro-VM: it brings the loopback interface up, answers HTTP on
# port 80, asks itself for a page, and makes the file `/run/http-answered` once the answer
# with the status 200 is there. `root/sbin/init` is made of it:
#
#     gcc -nostdlib -static -s -Wl,-N,-z,norelro,--build-id=none -o root/sbin/init init.S

    .set WRITE, 1
    .set CLOSE, 3
    .set IOCTL, 16
    .set SOCKET, 41
    .set CONNECT, 42
    .set ACCEPT, 43
    .set BIND, 49
    .set LISTEN, 50
    .set FORK, 57
    .set EXIT, 60
    .set CREAT, 85
    .set SIOCSIFFLAGS, 0x8914
    .set PORT, 80

    .globl _start
_start:
    # The loopback interface goes up: ioctl(socket, SIOCSIFFLAGS, {"lo", IFF_UP}).
    call tcp
    mov %eax, %ebx
    mov $IOCTL, %eax
    mov %ebx, %edi
    mov $SIOCSIFFLAGS, %esi
    lea up(%rip), %rdx
    syscall
    # bind, listen
    mov $BIND, %eax
    mov %ebx, %edi
    lea address(%rip), %rsi
    mov $16, %edx
    syscall
    mov $LISTEN, %eax
    mov %ebx, %edi
    mov $8, %esi
    syscall
    mov $FORK, %eax
    syscall
    test %eax, %eax
    jz client
server:
    mov $ACCEPT, %eax
    mov %ebx, %edi
    xor %esi, %esi
    xor %edx, %edx
    syscall
    mov %eax, %ebp
    test %eax, %eax
    js server
    xor %eax, %eax
    mov %ebp, %edi
    lea buffer(%rip), %rsi
    mov $512, %edx
    syscall
    mov $WRITE, %eax
    mov %ebp, %edi
    lea answer(%rip), %rsi
    mov $answer_end - answer, %edx
    syscall
    mov $CLOSE, %eax
    mov %ebp, %edi
    syscall
    jmp server

client:
    call tcp
    mov %eax, %ebx
    mov $CONNECT, %eax
    mov %ebx, %edi
    lea address(%rip), %rsi
    mov $16, %edx
    syscall
    mov $WRITE, %eax
    mov %ebx, %edi
    lea request(%rip), %rsi
    mov $request_end - request, %edx
    syscall
    xor %eax, %eax
    mov %ebx, %edi
    lea buffer(%rip), %rsi
    mov $512, %edx
    syscall
    # Only an answer with the status 200 counts.
    cmp $12, %rax
    jl quit
    mov buffer(%rip), %rax
    cmp expected(%rip), %rax
    jne quit
    mov buffer + 8(%rip), %eax
    cmp expected + 8(%rip), %eax
    jne quit
    mov $CREAT, %eax
    lea answered(%rip), %rdi
    mov $0644, %esi
    syscall
quit:
    mov $EXIT, %eax
    xor %edi, %edi
    syscall

tcp:
    mov $SOCKET, %eax
    mov $2, %edi
    mov $1, %esi
    xor %edx, %edx
    syscall
    ret

up:
    .ascii "lo\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    .word 1
    .fill 22
address:
    .word 2
    .byte 0, PORT, 127, 0, 0, 1
    .quad 0
request:
    .ascii "GET / HTTP/1.0\r\nHost: localhost\r\n\r\n"
request_end:
answer:
    .ascii "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nhello\n"
answer_end:
expected:
    .ascii "HTTP/1.0 200"
answered:
    .asciz "/run/http-answered"
    .bss
    .lcomm buffer, 512
