//! The stage `cluster`: trials on other hosts, and results in a bucket of a real server.
//!
//! Slurm and ssh are started by the tests. The server of the bucket is moto's, from PyPI,
//! in an environment of its own; what cannot be installed is skipped, and said.

use crate::root;
use crate::runner::{self, Summary};
use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The server's package.
const MOTO: &str = "moto[s3,server]>=5.2,<6";

/// Its bucket.
const BUCKET: &str = "firstlight-test";

/// How long the server may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs those of the tests that start servers and boot for minutes, and have one of
/// `filter` in their names; all if it is empty.
///
/// # Errors
/// If they cannot be started.
pub fn test(filter: &[String]) -> Result<Summary> {
    runner::build_programs()?;
    let (server, why) = match Server::start() {
        Ok(server) => (Some(server), None),
        Err(e) => (None, Some(format!("cluster: results in a bucket: {e:#}"))),
    };
    let mut command = Command::new("cargo");
    command
        .args(["test", "--locked"])
        .args(["--workspace", "--test", "cluster", "--test", "shared"])
        .args([
            "--features",
            "firstlight/s3,firstlight-lab/s3",
            "--no-fail-fast",
        ])
        .args(["--", "--ignored", "--show-output", "--test-threads=1"])
        .args(filter)
        .current_dir(root())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    if let Some(server) = &server {
        command
            .env("FIRSTLIGHT_TEST_BUCKET", format!("s3://{BUCKET}"))
            .env("AWS_ENDPOINT_URL", server.url())
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test");
    }
    let output = command.output().context("cargo could not be started")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut summary = runner::read("cluster", &text);
    if !output.status.success() {
        eprintln!("{text}");
        if summary.failed.is_empty() {
            let failed = "cluster: the tests could not be built or ended early";
            summary.failed.push(failed.to_owned());
        }
    }
    summary.skipped.extend(why);
    Ok(summary)
}

/// An S3 server on loopback with one bucket, which ends with this.
struct Server {
    program: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Self> {
        let venv = root().join("target/cluster/venv");
        let program = moto(&venv)?;
        let listener = TcpListener::bind("127.0.0.1:0").context("no port on loopback")?;
        let port = listener.local_addr()?.port();
        drop(listener);
        let program = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("moto's server could not be started")?;
        let server = Self { program, port };
        let begun = Instant::now();
        while let Err(e) = server.make_bucket() {
            if begun.elapsed() > PATIENCE {
                return Err(e.context("moto's server does not answer"));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(server)
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn make_bucket(&self) -> Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "PUT /{BUCKET} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\n\
             Connection: close\r\n\r\n",
            self.port
        )?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        let line = said.lines().next().unwrap_or_default();
        anyhow::ensure!(line.contains(" 200 "), "it refuses a bucket: {line}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The server's program, installed if need be.
fn moto(venv: &Path) -> Result<PathBuf> {
    let [python, program] = ["python", "moto_server"].map(|name| venv.join("bin").join(name));
    if !python.is_file() {
        quiet(Command::new("python3").args(["-m", "venv"]).arg(venv))
            .context("python3 has no venv (package python3-venv)")?;
    }
    if !program.is_file() {
        let words = ["-m", "pip", "install", "--quiet", MOTO];
        quiet(Command::new(&python).args(words)).context("pip cannot install moto")?;
    }
    Ok(program)
}

fn quiet(command: &mut Command) -> Result<()> {
    let status = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    anyhow::ensure!(status.success(), "{status}");
    Ok(())
}
