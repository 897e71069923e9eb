"""What a device sends: nothing by default, else one file of at most 64 KB that can be read."""

import os
import random
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import logs
import pytest
from conftest import answer

SEND = Path(__file__).parents[1] / "device/send-boot"


class _Put(BaseHTTPRequestHandler):
    received: dict[str, bytes] = {}

    def do_PUT(self) -> None:
        self.received[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(201)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _tools(folder: Path, dmesg: str, analyze: str) -> dict[str, str]:
    """An environment in which `dmesg` and `systemd-analyze` print these logs."""
    folder.mkdir()
    for name, text in {"dmesg": dmesg, "systemd-analyze": analyze}.items():
        (folder / f"{name}.out").write_text(text)
        # The second call of systemd-analyze, `blame`, adds nothing here.
        (folder / name).write_text(f'#!/bin/sh\n[ $# -gt 0 ] || cat "{folder}/{name}.out"\n')
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("noise", [0, 60_000])
def test_a_device_sends_one_small_file_that_is_a_boot(tmp_path: Path, noise: int) -> None:
    logs.boot(tmp_path / "boot", "1.9", "b1", 1)
    chance = random.Random(1)
    dmesg = (tmp_path / "boot/dmesg.txt").read_text()
    dmesg += "".join(
        f"[{9 + n / 1e6:12.6f}] noise: {chance.randbytes(16).hex()}\n" for n in range(noise)
    )
    env = _tools(tmp_path / "bin", dmesg, (tmp_path / "boot/systemd-analyze.txt").read_text())
    server = HTTPServer(("127.0.0.1", 0), _Put)
    _Put.received.clear()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        conf = tmp_path / "send.conf"
        conf.write_text(f"URL=http://127.0.0.1:{server.server_port}/boots\n")
        env["FIRSTLIGHT_SEND_CONF"] = str(conf)
        subprocess.run(["sh", SEND], env=env, check=True)
    finally:
        server.shutdown()
        server.server_close()
    ((name, sent),) = _Put.received.items()
    assert name.startswith("/boots/") and name.endswith(".tar.gz")
    assert 0 < len(sent) <= 65_536
    (tmp_path / "sent.tar.gz").write_bytes(sent)
    assert answer("ingest", tmp_path / "store", tmp_path / "sent.tar.gz")["stored"] == 1
    (row,) = answer("sql", tmp_path / "store", "select first_light_ns, item_count from boots")["rows"]
    assert row["first_light_ns"] > 0 and row["item_count"] > 30


def test_nothing_is_sent_by_default(tmp_path: Path) -> None:
    env = {**os.environ, "FIRSTLIGHT_SEND_CONF": str(tmp_path / "none"), "PATH": "/nonexistent"}
    done = subprocess.run(["/bin/sh", SEND], env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
