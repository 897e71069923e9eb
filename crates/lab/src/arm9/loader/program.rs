//! The loader's steps as its program takes them.

use super::{AT, BYTE_NS, Loading, PAGE, PAGE_NS, Step, UART_DATA, wrong};
use crate::error::LabError;

/// The program, as `loader.S` says it is made.
pub(super) const PROGRAM: &[u8] = include_bytes!("../loader.bin");

/// Instructions for a page of copying: four for each 16 bytes.
const COPY_INSTRUCTIONS: u64 = 512;

impl Loading<'_> {
    /// The program with its steps, for the address [`AT`].
    ///
    /// # Errors
    /// If a variable asks for what it cannot do, in one sentence.
    pub fn program(&self) -> Result<Vec<u8>, LabError> {
        let environment = self.environment();
        let mut steps = self.steps(&environment)?;
        if environment.contains_key("silent") {
            steps.retain(|s| !matches!(s, Step::Print(_)));
        }
        let baud = environment
            .get("baudrate")
            .map_or(Ok(115_200), |b| b.parse::<u32>());
        let Some(baud) = baud.ok().filter(|b| (300..=4_000_000).contains(b)) else {
            return Err(wrong("invalid `baudrate`; write 300 to 4000000"));
        };
        let byte_ns = 10_000_000_000 / u64::from(baud);
        // A step that may fail is followed by what is done then.
        let count = |s: &Step| if matches!(s, Step::Sum { .. }) { 3 } else { 1 };
        let rows: u32 = steps.iter().map(count).sum();
        let mut data = Data {
            at: AT + PROGRAM.len() as u32 + rows * 24,
            bytes: crc_table().iter().flat_map(|w| w.to_le_bytes()).collect(),
        };
        let table = data.at;
        let mut words: Vec<[u32; 6]> = Vec::new();
        let uart = UART_DATA as u32;
        for step in &steps {
            let mut print = |text: &str| {
                let (at, bytes) = data.put(text);
                [1, at, bytes, self.loops(byte_ns), uart, 0]
            };
            match step {
                Step::Enter(at) => words.push([0, *at, 0, 0, 0, 0]),
                Step::Print(text) => words.push(print(text)),
                Step::Wait(ns) => words.push([2, self.loops(*ns), 0, 0, 0, 0]),
                Step::Read { from, to, pages } => {
                    let copied = COPY_INSTRUCTIONS * self.instruction_ns;
                    let rest = (u64::from(PAGE) * BYTE_NS).saturating_sub(copied);
                    let waits = [self.loops(PAGE_NS), self.loops(rest)];
                    words.push([3, *from, *to, *pages, waits[0], waits[1]]);
                }
                Step::Sum {
                    at,
                    bytes,
                    expected,
                } => {
                    words.push([4, *at, *bytes, *expected, table, 0]);
                    words.push(print("Bad Data CRC\nERROR: can't get kernel image!\n"));
                    words.push([2, 0, 0, 0, 0, 0]);
                }
                Step::Copy { from, to, bytes } => words.push([5, *from, *to, bytes / 8, 0, 0]),
            }
        }
        let words = words.iter().flatten().flat_map(|w| w.to_le_bytes());
        let steps = PROGRAM.iter().copied().chain(words);
        Ok(steps.chain(data.bytes).collect())
    }

    /// How many loops of two instructions take so long; at least one.
    fn loops(&self, ns: u64) -> u32 {
        u32::try_from(ns / (2 * self.instruction_ns)).map_or(u32::MAX, |n| n.max(1))
    }
}

/// What lies behind the steps.
struct Data {
    /// Where it begins.
    at: u32,
    bytes: Vec<u8>,
}

impl Data {
    /// Adds a text, with the line ends of a console; its address and length.
    fn put(&mut self, text: &str) -> (u32, u32) {
        let text = text.replace('\n', "\r\n");
        let at = self.at + self.bytes.len() as u32;
        self.bytes.extend_from_slice(text.as_bytes());
        (at, text.len() as u32)
    }
}

/// The table of CRC-32 by bytes, reflected, polynomial 0x04c11db7.
pub(super) fn crc_table() -> [u32; 256] {
    let mut table = [0; 256];
    for (row, i) in table.iter_mut().zip(0_u32..) {
        let step = |c: u32, _| match c & 1 {
            0 => c >> 1,
            _ => (c >> 1) ^ 0xedb8_8320,
        };
        *row = (0..8).fold(i, step);
    }
    table
}
