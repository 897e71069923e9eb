#![no_main]

use agent::frame::{Answer, Content, FrameWriter, Measure, Reassembly};
use std::io::Write;

/// The most that is taken, so that the fuzzer's memory is bounded.
const LIMIT: u64 = 1 << 20;

// What a port delivered: lines of any kind. Whatever they are, the bytes that
// come out are whole by their CRC; and of bytes that are sent, what is lost is
// got back by asking.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut received = Reassembly::new(LIMIT);
    for line in bytes.split(|b| *b == b'\n') {
        received.line(line);
        let _ = Answer::parse(line, Content { crc: 0, length: 0 });
    }
    let _ = received.answer();
    let _ = received.progress();
    received.finish().ok();

    // The bytes again as a content, of which every line fails that the bytes
    // themselves name.
    let mut measure = Measure::default();
    measure.write_all(bytes).ok();
    let content = measure.content();
    let sent = |wanted| {
        let mut writer = FrameWriter::new(Vec::new(), content, wanted);
        writer.write_all(bytes).ok();
        writer.finish().unwrap_or_default()
    };
    let mut received = Reassembly::new(LIMIT);
    for (i, line) in sent(None).split(|b| *b == b'\n').enumerate() {
        let lost = bytes
            .get(i % bytes.len().max(1))
            .is_some_and(|b| b & 1 == 1);
        if !lost {
            received.line(line);
        }
    }
    while let Some(answer) = received.answer() {
        match Answer::parse(answer.as_bytes(), content) {
            Some(Answer::Again(wanted)) => {
                for line in sent(Some(wanted)).split(|b| *b == b'\n') {
                    received.line(line);
                }
            }
            _ => break,
        }
    }
    if received.progress().is_some() {
        assert_eq!(received.finish().as_deref(), Ok(bytes));
    }
});
