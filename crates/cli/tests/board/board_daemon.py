"""A board for the tests: power, a console and a card, with faults on demand.

The folder that it is given holds everything: the named pipes `ctl` and `ack` (commands and
their answers), the socket `console`, and `card/boot/cmdline.txt`, which it boots from. A
boot replays a console in compressed real time. With a program `boots-from` in the folder, the
command line is what that prints. Its length is scaled by a seeded normal
scatter and by every word `plant=PART` of the command line; with the word `breaks` it hangs.

Commands: on, off, fault KIND COUNT, repair, quit. Faults, each for COUNT boots:
hang, panic (then it boots a fallback), loop, garbage, wrong (boots another command line),
silent (boots, and its console says nothing), slow (power-on takes long), broken (power-on
fails), dead (nothing until repair).

With --machine PROGRAM nothing is replayed: power-on starts the program, whose output is the
console, and power-off kills it. Of the faults, panic, loop and wrong do nothing then; hang
stops the program where its kernel starts.
"""

import argparse
import ctypes
import http.server
import os
import random
import select
import signal
import socket
import subprocess
import threading
import time

# PR_SET_PDEATHSIG of Linux's prctl.h: a machine ends with its daemon, however that ends.
SET_PARENT_DEATH_SIGNAL = 1

# What a boot prints, and at which part of its length.
LINES = [
    (0.00, "U-Boot SPL 2026.01 (Jan 05 2026 - 10:11:12 +0000)"),
    (0.02, "Trying to boot from MMC1"),
    (0.05, "U-Boot 2026.01 (Jan 05 2026 - 10:11:12 +0000)"),
    (0.08, "DRAM:  512 MiB"),
    (0.20, "Starting kernel ..."),
    (0.30, "[    0.000000] Linux version 6.12.9 (test@board) #1 SMP"),
    (0.31, "[    0.000000] Kernel command line: {cmdline}"),
    (0.60, "[    0.812345] EXT4-fs (mmcblk0p2): mounted filesystem"),
    (0.62, "[    0.830000] Run /sbin/init as init process"),
    (1.00, "board login: "),
]


class Board:
    def __init__(self, folder, length, scatter, seed, rate, machine):
        self.folder = folder
        self.machine = machine
        self.process = None
        self.length = length
        self.scatter = scatter
        self.random = random.Random(seed)
        self.rate = rate
        self.lock = threading.Lock()
        self.clients = []
        self.servers = []
        self.power = 0  # the number of the power-on that is current; 0: off
        self.count = 0
        self.faults = []
        self.dead = False

    def serve(self, server):
        while True:
            select.select([server], [], [])
            self.accept(server)

    def accept(self, server):
        """Takes everybody who has connected."""
        with self.lock:
            while select.select([server], [], [], 0)[0]:
                self.clients.append(server.accept()[0])

    def write(self, power, data):
        with self.lock:
            if self.power != power:
                return False
            for client in list(self.clients):
                try:
                    client.sendall(data)
                except OSError:
                    self.clients.remove(client)
            return True

    def command(self, words):
        if words[0] == "on":
            return self.on()
        if words[0] == "off":
            with self.lock:
                self.power = 0
            if self.process:
                self.process.kill()
                self.process.wait()
                self.process = None
            return "ok"
        if words[0] == "fault":
            self.faults += [words[1]] * int(words[2])
            return "ok"
        if words[0] == "repair":
            self.dead = False
            self.faults = []
            return "ok"
        return "unknown"

    def on(self):
        fault = self.faults.pop(0) if self.faults else None
        if fault is None and self.rate and self.random.random() < self.rate:
            kinds = ["hang", "panic", "loop", "garbage", "wrong", "silent", "slow", "broken"]
            fault = self.random.choice(kinds)
        if fault == "broken":
            return "the relay does not answer"
        if fault == "slow":
            time.sleep(0.3)
        if fault == "dead":
            self.dead = True
        with open(os.path.join(self.folder, "boots"), "a", encoding="utf-8") as boots:
            boots.write(f"{fault}\n")
        # Whoever connected before power-on hears the first byte.
        for server in self.servers:
            self.accept(server)
        with self.lock:
            self.count += 1
            self.power = self.count
            power = self.power
        length = self.length * (1 + self.scatter * self.random.gauss(0, 1))
        if self.machine and not self.dead:
            self.start(power, fault)
        elif not self.dead:
            threading.Thread(target=self.boot, args=(power, length, fault), daemon=True).start()
        return "ok"

    def start(self, power, fault):
        if self.process:
            return
        prctl = ctypes.CDLL(None).prctl
        # Not by a thread: the signal comes when the thread that started it ends.
        self.process = subprocess.Popen(
            [os.path.join(self.folder, self.machine)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            preexec_fn=lambda: prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL))
        console = (power, fault, self.process)
        threading.Thread(target=self.forward, args=console, daemon=True).start()

    def forward(self, power, fault, process):
        if fault == "garbage":
            self.write(power, self.noise())
        said = b""
        while data := os.read(process.stdout.fileno(), 65536):
            said += data
            if fault != "silent":
                self.write(power, data)
            if fault == "hang" and b"Starting kernel" in said:
                process.send_signal(signal.SIGSTOP)
                return

    def noise(self):
        noise = bytes(self.random.randrange(256) for _ in range(400))
        return noise.replace(b"\n", b"?") + b"\r\n"

    def cmdline(self, fault):
        if fault == "wrong":
            return "console=ttyS0 slot=b"
        reader = os.path.join(self.folder, "boots-from")
        if os.path.exists(reader):
            # What the board boots is what this program reads from its storage.
            done = subprocess.run([reader], cwd=self.folder, capture_output=True, text=True, check=False)
            return done.stdout.strip()
        path = os.path.join(self.folder, "card/boot/cmdline.txt")
        with open(path, encoding="utf-8") as card:
            return card.read().strip()

    def boot(self, power, length, fault):
        if fault == "loop":
            while self.replay(power, length * 0.3, "", until=0.3):
                pass
            return
        if fault == "silent":
            return
        if fault == "garbage":
            self.write(power, self.noise())
        cmdline = self.cmdline(fault)
        for word in cmdline.split():
            if word.startswith("plant="):
                length *= 1 + float(word[6:])
        if "breaks" in cmdline.split():
            fault = "hang"
        until = {"hang": 0.7, "panic": 0.6}.get(fault, 2.0)
        self.replay(power, length, cmdline, until)
        if fault == "panic":
            panic = "[    0.9] Kernel panic - not syncing: VFS: Unable to mount root fs"
            self.write(power, panic.encode() + b"\r\n")
            self.replay(power, length, "console=ttyS0 slot=b", 2.0)

    def replay(self, power, length, cmdline, until):
        begun = time.monotonic()
        for part, line in LINES:
            if part > until:
                break
            pause = begun + part * length - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            text = line.format(cmdline=cmdline)
            end = "" if text.endswith(": ") else "\r\n"
            if not self.write(power, (text + end).encode()):
                return False
        return True


def relay(board):
    """A web server that switches the power, as labgrid's `simplerest` asks for it."""

    class Relay(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            word = "on" if self.path.endswith("/1") else "off"
            ok = board.command([word]) == "ok"
            self.send_response(200 if ok else 500)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--length", type=float, default=0.05)
    parser.add_argument("--scatter", type=float, default=0.003)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault-rate", type=float, default=0.0)
    parser.add_argument("--network", action="store_true", help="relay and console by TCP too")
    parser.add_argument("--machine", help="a program of the folder, which is the machine")
    args = parser.parse_args()
    board = Board(args.folder, args.length, args.scatter, args.seed, args.fault_rate,
                  args.machine)
    console = socket.socket(socket.AF_UNIX)
    console.bind(os.path.join(args.folder, "console"))
    consoles = [console]
    if args.network:
        consoles.append(socket.create_server(("127.0.0.1", 0)))
        ports = f"{relay(board)} {consoles[1].getsockname()[1]}"
        with open(os.path.join(args.folder, "ports"), "w", encoding="utf-8") as file:
            file.write(ports)
    for server in consoles:
        server.listen()
        board.servers.append(server)
        threading.Thread(target=board.serve, args=(server,), daemon=True).start()
    ctl, ack = (os.path.join(args.folder, name) for name in ("ctl", "ack"))
    os.mkfifo(ctl)
    os.mkfifo(ack)
    open(os.path.join(args.folder, "ready"), "w").close()
    while True:
        with open(ctl, encoding="utf-8") as pipe:
            words = pipe.readline().split()
        if words[:1] == ["quit"]:
            return
        answer = board.command(words) if words else "empty"
        with open(ack, "w", encoding="utf-8") as pipe:
            pipe.write(answer + "\n")


if __name__ == "__main__":
    main()
