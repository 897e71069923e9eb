//! A client of QEMU's debugger stub: the few packets that the lab needs.
//!
//! The protocol is GDB's "remote serial protocol": `$data#cc`, where `cc` is the
//! sum of the data's bytes modulo 256 as two hexadecimal digits; each side
//! answers a good packet with `+`.

use super::clock::of_word;
use crate::error::LabError;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// A connection to a stopped machine.
#[derive(Debug)]
pub struct Gdb<S: Read + Write> {
    stream: BufReader<S>,
    processor: &'static Processor,
}

/// What the lab has to know of a kind of processor: how QEMU lists its registers,
/// and how its counter is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Processor {
    /// Bytes of a register.
    width: usize,
    /// Which register is the instruction pointer.
    pointer: usize,
    /// The flag that says that instructions are in another form: the byte of the
    /// registers' list that has it, its mask, and the instruction in that form.
    other_form: Option<(usize, u8, &'static [u8])>,
    /// The instruction that reads the counter.
    read_counter: &'static [u8],
    /// Into which registers: the lower and the upper 32 bits; or one with all.
    counter: (usize, Option<usize>),
    /// Nanoseconds of virtual time from one tick of the counter to the next.
    tick_ns: u64,
    /// The processor has no counter, but its board has one: the address of its
    /// register, and how often it counts in a second of virtual time.
    board_counter: Option<(u64, u64)>,
}

/// x86-64: 16 general registers of 8 bytes, then RIP. `rdtsc` reads into EDX and
/// EAX.
pub const X86_64: Processor = Processor {
    width: 8,
    pointer: 16,
    other_form: None,
    read_counter: &[0x0f, 0x31],
    counter: (0, Some(3)),
    tick_ns: 1,
    board_counter: None,
};

/// What the generic timer of QEMU's ARM processors takes for a tick: 62.5 MHz
/// (GTIMER_SCALE of `target/arm/internals.h`).
const ARM_TICK_NS: u64 = 16;

/// 32-bit ARM: 16 registers of 4 bytes, the last of them the instruction pointer,
/// then the status with its Thumb flag (bit 5). `mrrc p15, 1, r0, r1, c14` reads
/// CNTVCT.
pub const ARM: Processor = Processor {
    width: 4,
    pointer: 15,
    other_form: Some((64, 1 << 5, &[0x51, 0xec, 0x1e, 0x0f])),
    read_counter: &[0x1e, 0x0f, 0x51, 0xec],
    counter: (0, Some(1)),
    tick_ns: ARM_TICK_NS,
    board_counter: None,
};

/// The processor of versatilepb, which has no counter. The board's counts at 24 MHz
/// from reset (`SYS_24MHZ` of `hw/misc/arm_sysctl.c`).
pub const ARM9: Processor = Processor {
    board_counter: Some((0x1000_005c, 24_000_000)),
    tick_ns: 42,
    ..ARM
};

/// 64-bit ARM: 31 registers of 8 bytes, the stack pointer, the instruction
/// pointer. `mrs x0, cntvct_el0`.
pub const AARCH64: Processor = Processor {
    width: 8,
    pointer: 32,
    other_form: None,
    read_counter: &[0x40, 0xe0, 0x3b, 0xd5],
    counter: (0, None),
    tick_ns: ARM_TICK_NS,
    board_counter: None,
};

/// The size that is given with a breakpoint at an instruction. QEMU's emulation
/// looks at the address only.
const BREAKPOINT_BYTES: u32 = 1;

/// How many bytes from an address are watched: a register of a device.
const WATCHPOINT_BYTES: u32 = 4;

/// A packet longer than this is not one of QEMU's.
const LONGEST: usize = 64 * 1024;

impl Gdb<UnixStream> {
    /// Connects to the socket at `path`, which QEMU is about to make. No answer
    /// may take longer than `limit`.
    ///
    /// # Errors
    /// If no connection comes about.
    pub fn connect(
        path: &Path,
        limit: Duration,
        processor: &'static Processor,
    ) -> Result<Self, LabError> {
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
        let mut gdb = Self::new(stream, processor);
        // Until its register description was asked for, QEMU lets nobody write
        // a single register.
        gdb.ask("qXfer:features:read:target.xml:0,ffb")?;
        Ok(gdb)
    }
}

impl<S: Read + Write> Gdb<S> {
    fn new(stream: S, processor: &'static Processor) -> Self {
        Self {
            stream: BufReader::new(stream),
            processor,
        }
    }

    /// Runs until the machine is about to execute the instruction at `address`.
    /// Each time that it is about to write to `watched` on its way, `met` is
    /// called.
    ///
    /// # Errors
    /// If the connection breaks, the machine ends or stops elsewhere, or `met`
    /// fails.
    pub fn run_to(
        &mut self,
        address: u64,
        watched: Option<u64>,
        met: &mut dyn FnMut(&mut Self) -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let breakpoint = format!("1,{address:x},{BREAKPOINT_BYTES}");
        let watchpoint = watched.map(|w| format!("2,{w:x},{WATCHPOINT_BYTES}"));
        self.good(&format!("Z{breakpoint}"))?;
        loop {
            if let Some(w) = &watchpoint {
                self.good(&format!("Z{w}"))?;
            }
            self.resume()?;
            let stop = self.stopped()?;
            if let Some(w) = &watchpoint {
                self.good(&format!("z{w}"))?;
            }
            if !stop.contains("watch") {
                break;
            }
            met(self)?;
            // The write itself; the watchpoint would stop before it for ever.
            self.send("s")?;
            self.stopped()?;
        }
        let at = self.instruction_pointer()?;
        self.good(&format!("z{breakpoint}"))?;
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
        self.stopped().map(|_| ())
    }

    /// Waits for a stop; gives its packet.
    fn stopped(&mut self) -> Result<String, LabError> {
        match self.receive()? {
            stop if stop.starts_with('T') || stop.starts_with('S') => Ok(stop),
            other => Err(odd(&format!("expected a stop, found `{other}`"))),
        }
    }

    /// The address of the next instruction.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn instruction_pointer(&mut self) -> Result<u64, LabError> {
        self.register(self.processor.pointer)
    }

    /// Executes one instruction in place of the next one: the one that reads the
    /// counter. Gives the counter in nanoseconds of virtual time, rounded down,
    /// and how many nanoseconds a tick has. The machine cannot be used any more
    /// as it was.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn counter_ns(&mut self) -> Result<(u64, u64), LabError> {
        let processor = self.processor;
        if let Some((register, hz)) = processor.board_counter {
            let said = self.monitor(&format!("xp /1wx {register:#x}"))?;
            let ticks = of_word(&said).ok_or_else(|| odd(&format!("register value `{said}`")))?;
            let ns = u128::from(ticks) * 1_000_000_000 / u128::from(hz);
            return Ok((u64::try_from(ns).unwrap_or(u64::MAX), processor.tick_ns));
        }
        let at = self.instruction_pointer()?;
        let mut code = processor.read_counter;
        if let Some((byte, mask, other)) = processor.other_form
            && self.registers()?.get(byte).is_some_and(|b| b & mask != 0)
        {
            code = other;
        }
        let hex: String = code.iter().map(|b| format!("{b:02x}")).collect();
        self.good(&format!("M{at:x},{:x}:{hex}", code.len()))?;
        self.send("s")?;
        self.stopped()?;
        let (low, high) = processor.counter;
        let low = self.register(low)?;
        let ticks = match high {
            Some(high) => self.register(high)? << 32 | low & u64::from(u32::MAX),
            None => low,
        };
        Ok((ticks.saturating_mul(processor.tick_ns), processor.tick_ns))
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
                Some(hex) if said.len() < LONGEST => said.extend(bytes_of(hex)?),
                Some(_) => return Err(odd("an answer of the monitor without an end")),
                None => {
                    return Err(odd(&format!("reply `{packet}` to a monitor command")));
                }
            }
        }
        Ok(String::from_utf8_lossy(&said).into_owned())
    }

    fn registers(&mut self) -> Result<Vec<u8>, LabError> {
        bytes_of(&self.ask("g")?)
    }

    fn register(&mut self, index: usize) -> Result<u64, LabError> {
        let width = self.processor.width;
        let all = self.registers()?;
        let value = all.get(index * width..(index + 1) * width);
        let value = value.ok_or_else(|| odd("too few registers"))?;
        Ok(value.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    fn good(&mut self, packet: &str) -> Result<(), LabError> {
        match self.ask(packet)?.as_str() {
            "OK" => Ok(()),
            other => Err(odd(&format!("reply `{other}` to `{packet}`"))),
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
                b'-' => return Err(odd("QEMU received a damaged packet")),
                other => return Err(odd(&format!("byte {other:#04x} between packets"))),
            }
        }
        let mut packet = Vec::new();
        loop {
            match self.byte()? {
                b'#' => break,
                byte if packet.len() < LONGEST => packet.push(byte),
                _ => return Err(odd("a packet is not terminated")),
            }
        }
        let sum = [self.byte()?, self.byte()?];
        let expected = format!("{:02x}", checksum(&packet));
        if !expected.as_bytes().eq_ignore_ascii_case(&sum) {
            return Err(odd("a packet has a wrong checksum"));
        }
        let stream = self.stream.get_mut();
        stream.write_all(b"+").map_err(|e| broken(&e))?;
        String::from_utf8(packet).map_err(|_| odd("a packet is not text"))
    }

    fn byte(&mut self) -> Result<u8, LabError> {
        let mut byte = [0];
        match self.stream.read_exact(&mut byte) {
            Ok(()) => Ok(byte[0]),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(odd("no reply in time"))
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
    bytes.ok_or_else(|| odd("a packet is not hexadecimal"))
}

fn broken(e: &std::io::Error) -> LabError {
    LabError::Debugger(format!("connection lost: {e}"))
}

fn odd(what: &str) -> LabError {
    LabError::Debugger(format!("unexpected: {what}"))
}

#[cfg(test)]
mod tests {
    use super::{AARCH64, ARM, ARM9, Gdb, LONGEST, Processor, X86_64, bytes_of};
    use proptest::prelude::*;
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
        connected(packets, &X86_64)
    }

    fn connected(packets: &[&str], processor: &'static Processor) -> Gdb<Script> {
        let framed: String = packets
            .iter()
            .map(|p| format!("+${p}#{:02x}", super::checksum(p.as_bytes())))
            .collect();
        let script = Script {
            says: Cursor::new(framed.into_bytes()),
            told: Vec::new(),
        };
        Gdb::new(script, processor)
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
        gdb.run_to(0x10_0000, None, &mut |_| panic!("nothing is watched"))
            .unwrap();
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
        assert_eq!(gdb.counter_ns().unwrap(), (3 << 32 | 7, 1));
        assert!(told(&gdb).contains("$M100000,2:0f31#"));
    }

    #[test]
    fn a_thumb_processor_is_given_a_thumb_instruction() {
        // r0 to pc, then the status.
        let registers = |r0: u32, r1: u32, status: u32| {
            let mut all = [0u32; 17];
            (all[0], all[1], all[15], all[16]) = (r0, r1, 0x40, status);
            let bytes = all.iter().flat_map(|r| r.to_le_bytes());
            bytes.map(|b| format!("{b:02x}")).collect::<String>()
        };
        for (status, code) in [(0x1d3, "1e0f51ec"), (0x1f3, "51ec1e0f")] {
            let all = registers(100, 1, status);
            let mut gdb = connected(&[&all, &all, "OK", "T05", &all, &all], &ARM);
            assert_eq!(gdb.counter_ns().unwrap(), (((1 << 32) + 100) * 16, 16));
            assert!(
                told(&gdb).contains(&format!("$M40,4:{code}#")),
                "{status:x}"
            );
        }
    }

    #[test]
    fn writes_on_the_way_are_met_and_stepped_over() {
        let at = registers(0x10_0000, 0, 0);
        let watch = "T05thread:01;watch:09000000;";
        let packets = [
            "OK", "OK", watch, "OK", "T05", "OK", watch, "OK", "T05", "OK", "T05", "OK", &at, "OK",
        ];
        let mut gdb = gdb(&packets);
        let mut met = 0;
        gdb.run_to(0x10_0000, Some(0x900_0000), &mut |_| {
            met += 1;
            Ok(())
        })
        .unwrap();
        assert_eq!(met, 2);
        assert!(told(&gdb).contains("$Z2,9000000,4#"), "{}", told(&gdb));
        assert_eq!(told(&gdb).matches("$s#").count(), 2);
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
        let said = gdb(&stop_elsewhere)
            .run_to(8, None, &mut |_| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(said.contains("a stop at 0x7, not at 0x8"), "{said}");
        let mut ended = gdb(&["OK", "W00"]);
        let said = ended
            .run_to(8, None, &mut |_| Ok(()))
            .unwrap_err()
            .to_string();
        assert!(said.contains("expected a stop, found `W00`"), "{said}");
        for bytes in [&b"$OK#00"[..], b"$O", b"-", b"x", b""] {
            let script = Script {
                says: Cursor::new(bytes.to_vec()),
                told: Vec::new(),
            };
            let mut gdb = Gdb::new(script, &X86_64);
            assert!(gdb.good("c").is_err(), "{bytes:?}");
        }
    }

    /// What a stub may say: packets that fit, that do not, and anything between them.
    fn anything() -> impl Strategy<Value = Vec<u8>> {
        let packet = prop_oneof![
            prop::sample::select(vec![
                "OK",
                "E01",
                "T05thread:01;",
                "T05watch:09000000;",
                "S05",
                "OK",
                "O303a203078",
                "O30",
                "O3",
                "Ozz",
                "",
            ])
            .prop_map(str::to_owned),
            prop::collection::vec(any::<u64>(), 0..40)
                .prop_map(|all| all.iter().map(|r| format!("{r:016x}")).collect()),
            "[ -~]{0,40}",
        ];
        let framed = packet.prop_map(|p| {
            let sum = super::checksum(p.as_bytes());
            format!("+${p}#{sum:02x}").into_bytes()
        });
        let noise = prop::collection::vec(any::<u8>(), 0..8);
        let piece = prop_oneof![9 => framed, 1 => noise];
        prop::collection::vec(piece, 0..24).prop_map(|all| all.concat())
    }

    proptest! {
        #[test]
        fn whatever_a_stub_says_is_an_answer_or_an_error(
            says in anything(),
            which in 0_usize..4,
            address in any::<u64>(),
            watched in any::<Option<u64>>(),
        ) {
            let processor = [&X86_64, &ARM, &ARM9, &AARCH64][which];
            let connected = || {
                let (says, told) = (Cursor::new(says.clone()), Vec::new());
                Gdb::new(Script { says, told }, processor)
            };
            let mut gdb = connected();
            let at = gdb.run_to(address, watched, &mut |_| Ok(()));
            prop_assert!(at.is_err() || says.windows(2).any(|w| w == b"OK"));
            let _ = connected().counter_ns();
            let _ = connected().stop();
            if let Ok(said) = connected().monitor("info") {
                // A byte that is no text becomes three.
                prop_assert!(said.len() <= 3 * says.len() / 2);
            }
        }
    }

    #[test]
    fn an_answer_without_an_end_is_an_error() {
        let piece = format!("O{}", "61".repeat(1024));
        let pieces = vec![piece.as_str(); LONGEST / 1024 + 2];
        let error = gdb(&pieces).monitor("info").unwrap_err().to_string();
        assert!(error.contains("without an end"), "{error}");
    }
}
