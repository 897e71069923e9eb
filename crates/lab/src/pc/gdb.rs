//! A client of QEMU's debugger stub: the few packets that the lab needs.
//!
//! The protocol is GDB's "remote serial protocol": `$data#cc`, where `cc` is the
//! sum of the data's bytes modulo 256 as two hexadecimal digits; each side
//! answers a good packet with `+`.

use crate::error::LabError;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection to a stopped machine.
#[derive(Debug)]
pub struct Gdb<S: Read + Write> {
    stream: BufReader<S>,
}

/// The registers that the lab looks at, of QEMU's x86-64 layout: 16 general
/// ones of 8 bytes, then the instruction pointer.
const RAX: usize = 0;
const RDX: usize = 3;
const RIP: usize = 16;

/// `rdtsc`: reads the time stamp counter into EDX and EAX.
const RDTSC: [u8; 2] = [0x0f, 0x31];

/// A packet longer than this is not one of QEMU's.
const LONGEST: usize = 64 * 1024;

impl Gdb<UnixStream> {
    /// Connects to the socket at `path`, which QEMU is about to make. No answer
    /// may take longer than `limit`.
    ///
    /// # Errors
    /// If no connection comes about.
    pub fn connect(path: &Path, limit: Duration) -> Result<Self, LabError> {
        let begin = Instant::now();
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(e) if begin.elapsed() > limit => return Err(broken(&e)),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        stream
            .set_read_timeout(Some(limit))
            .map_err(|e| broken(&e))?;
        let mut gdb = Self::new(stream);
        // Until its register description was asked for, QEMU lets nobody write
        // a single register.
        gdb.ask("qXfer:features:read:target.xml:0,ffb")?;
        Ok(gdb)
    }
}

impl<S: Read + Write> Gdb<S> {
    fn new(stream: S) -> Self {
        Self {
            stream: BufReader::new(stream),
        }
    }

    /// Runs until the machine is about to execute the instruction at `address`.
    ///
    /// # Errors
    /// If the connection breaks, or the machine ends or stops elsewhere.
    pub fn run_to(&mut self, address: u64) -> Result<(), LabError> {
        self.good(&format!("Z1,{address:x},1"))?;
        self.resume()?;
        self.stopped()?;
        let at = self.instruction_pointer()?;
        self.good(&format!("z1,{address:x},1"))?;
        if at == address {
            return Ok(());
        }
        Err(odd(&format!("a stop at {at:#x}, not at {address:#x}")))
    }

    /// Lets the machine run. [`Self::stop`] or [`Self::stopped`] must follow.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn resume(&mut self) -> Result<(), LabError> {
        self.send("c")
    }

    /// Stops the running machine wherever it is.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn stop(&mut self) -> Result<(), LabError> {
        let stream = self.stream.get_mut();
        stream.write_all(&[0x03]).map_err(|e| broken(&e))?;
        self.stopped()
    }

    fn stopped(&mut self) -> Result<(), LabError> {
        match self.receive()? {
            stop if stop.starts_with('T') || stop.starts_with('S') => Ok(()),
            other => Err(odd(&format!("`{other}` where a stop was due"))),
        }
    }

    /// The address of the next instruction.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn instruction_pointer(&mut self) -> Result<u64, LabError> {
        self.register(RIP)
    }

    /// Executes one `rdtsc` in place of the next instruction; gives the time
    /// stamp counter. The machine cannot be used any more as it was.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn time_stamp_counter(&mut self) -> Result<u64, LabError> {
        let at = self.instruction_pointer()?;
        let [a, b] = RDTSC;
        self.good(&format!("M{at:x},2:{a:02x}{b:02x}"))?;
        self.send("s")?;
        self.stopped()?;
        let (high, low) = (self.register(RDX)?, self.register(RAX)?);
        Ok(high << 32 | low & u64::from(u32::MAX))
    }

    /// What QEMU's monitor answers to `command`.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn monitor(&mut self, command: &str) -> Result<String, LabError> {
        let hex: String = command.bytes().map(|b| format!("{b:02x}")).collect();
        self.send(&format!("qRcmd,{hex}"))?;
        let mut said = Vec::new();
        loop {
            let packet = self.receive()?;
            match packet.strip_prefix('O') {
                Some("K") => break,
                Some(hex) => said.extend(bytes_of(hex)?),
                None => return Err(odd(&format!("`{packet}` to a monitor command"))),
            }
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn register(&mut self, index: usize) -> Result<u64, LabError> {
        let all = bytes_of(&self.ask("g")?)?;
        let value = all.get(index * 8..index * 8 + 8);
        let value = value.and_then(|v| v.try_into().ok());
        value
            .map(u64::from_le_bytes)
            .ok_or_else(|| odd("too few registers"))
    }

    fn good(&mut self, packet: &str) -> Result<(), LabError> {
        match self.ask(packet)?.as_str() {
            "OK" => Ok(()),
            other => Err(odd(&format!("`{other}` to `{packet}`"))),
        }
    }

    fn ask(&mut self, packet: &str) -> Result<String, LabError> {
        self.send(packet)?;
        self.receive()
    }

    fn send(&mut self, packet: &str) -> Result<(), LabError> {
        let framed = format!("${packet}#{:02x}", checksum(packet.as_bytes()));
        let stream = self.stream.get_mut();
        stream.write_all(framed.as_bytes()).map_err(|e| broken(&e))
    }

    fn receive(&mut self) -> Result<String, LabError> {
        loop {
            match self.byte()? {
                b'$' => break,
                b'+' => {}
                b'-' => return Err(odd("a packet of ours came damaged to QEMU")),
                other => return Err(odd(&format!("byte {other:#04x} between packets"))),
            }
        }
        let mut packet = Vec::new();
        loop {
            match self.byte()? {
                b'#' => break,
                byte if packet.len() < LONGEST => packet.push(byte),
                _ => return Err(odd("a packet without an end")),
            }
        }
        let sum = [self.byte()?, self.byte()?];
        let expected = format!("{:02x}", checksum(&packet));
        if !expected.as_bytes().eq_ignore_ascii_case(&sum) {
            return Err(odd("a packet with a wrong checksum"));
        }
        let stream = self.stream.get_mut();
        stream.write_all(b"+").map_err(|e| broken(&e))?;
        String::from_utf8(packet).map_err(|_| odd("a packet that is no text"))
    }

    fn byte(&mut self) -> Result<u8, LabError> {
        let mut byte = [0];
        match self.stream.read_exact(&mut byte) {
            Ok(()) => Ok(byte[0]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(odd("no answer in time"))
            }
            Err(e) => Err(broken(&e)),
        }
    }
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, b| sum.wrapping_add(*b))
}

fn bytes_of(hex: &str) -> Result<Vec<u8>, LabError> {
    let digit = |d: u8| {
        char::from(d)
            .to_digit(16)
            .and_then(|d| u8::try_from(d).ok())
    };
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = hex.as_bytes().chunks(2).map(pair).collect();
    bytes.ok_or_else(|| odd("a packet that is not hexadecimal"))
}

fn broken(e: &std::io::Error) -> LabError {
    LabError::Debugger(format!("it broke off: {e}"))
}

fn odd(what: &str) -> LabError {
    LabError::Debugger(format!("unexpected: {what}"))
}

#[cfg(test)]
mod tests {
    use super::{Gdb, bytes_of};
    use std::io::{Cursor, Read, Result, Write};

    /// What QEMU would say, and what it was told.
    struct Script {
        says: Cursor<Vec<u8>>,
        told: Vec<u8>,
    }

    impl Read for Script {
        fn read(&mut self, out: &mut [u8]) -> Result<usize> {
            self.says.read(out)
        }
    }

    impl Write for Script {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            self.told.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn gdb(packets: &[&str]) -> Gdb<Script> {
        let framed: String = packets
            .iter()
            .map(|p| format!("+${p}#{:02x}", super::checksum(p.as_bytes())))
            .collect();
        Gdb::new(Script {
            says: Cursor::new(framed.into_bytes()),
            told: Vec::new(),
        })
    }

    fn told(gdb: &Gdb<Script>) -> String {
        String::from_utf8(gdb.stream.get_ref().told.clone()).unwrap()
    }

    /// Registers with an instruction pointer, RAX and RDX.
    fn registers(rip: u64, rax: u64, rdx: u64) -> String {
        let mut all = [0u64; 24];
        (all[16], all[0], all[3]) = (rip, rax, rdx);
        let bytes = all.iter().flat_map(|r| r.to_le_bytes());
        bytes.map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn packets_are_framed_with_their_checksum() {
        let mut gdb = gdb(&["OK", "T05thread:01;", &registers(0x10_0000, 0, 0), "OK"]);
        gdb.run_to(0x10_0000).unwrap();
        assert_eq!(told(&gdb), "$Z1,100000,1#35+$c#63+$g#67+$z1,100000,1#55+");
    }

    #[test]
    fn the_counter_is_read_by_one_planted_instruction() {
        let mut gdb = gdb(&[
            &registers(0x10_0000, 1, 2),
            "OK",
            "T05",
            &registers(0x10_0002, 0xffff_ffff_0000_0007, 3),
            &registers(0x10_0002, 0xffff_ffff_0000_0007, 3),
        ]);
        assert_eq!(gdb.time_stamp_counter().unwrap(), 3 << 32 | 7);
        assert!(told(&gdb).contains("$M100000,2:0f31#"));
    }

    #[test]
    fn the_monitor_answers_in_pieces() {
        let mut gdb = gdb(&["O6162", "O630a", "OK"]);
        assert_eq!(gdb.monitor("info").unwrap(), "abc\n");
        assert!(told(&gdb).starts_with("$qRcmd,696e666f#"));
    }

    #[test]
    fn what_makes_no_sense_is_an_error() {
        assert!(bytes_of("0g").is_err() && bytes_of("012").is_err());
        let stop_elsewhere = ["OK", "T05", &registers(7, 0, 0), "OK"];
        let said = gdb(&stop_elsewhere).run_to(8).unwrap_err().to_string();
        assert!(said.contains("a stop at 0x7, not at 0x8"), "{said}");
        let mut ended = gdb(&["OK", "W00"]);
        let said = ended.run_to(8).unwrap_err().to_string();
        assert!(said.contains("`W00` where a stop was due"), "{said}");
        for bytes in [&b"$OK#00"[..], b"$O", b"-", b"x", b""] {
            let mut gdb = Gdb::new(Script {
                says: Cursor::new(bytes.to_vec()),
                told: Vec::new(),
            });
            assert!(gdb.good("c").is_err(), "{bytes:?}");
        }
    }
}
