#![no_main]

//! A console on the network (RFC 2217), and lines of it: however the bytes come in pieces, the
//! same comes out, and every byte is in a line.

use capture::serial::engine::{Action, Engine, Event, Rule};
use capture::serial::port::Settings;
use capture::serial::rfc2217::Telnet;

thread_local! {
    static RULES: Vec<Rule> = [
        (Action::Reset, "^U-Boot"),
        (Action::Mark("kernel".into()), "Linux version"),
        (Action::End, "login: ?$"),
    ]
    .map(|(action, pattern)| Rule::new(action, pattern).unwrap())
    .into();
}

/// What the port sent, and what is answered.
fn received(pieces: &[&[u8]]) -> (Vec<u8>, Vec<u8>, Option<u32>) {
    let mut telnet = Telnet::new(Settings::default());
    let (mut data, mut back) = (Vec::new(), Vec::new());
    for piece in pieces {
        back.extend(telnet.take(piece, &mut data));
    }
    (data, back, telnet.other_baud())
}

/// All lines, as bytes and whether each was ended.
fn lines(pieces: &[&[u8]]) -> Vec<(Vec<u8>, bool)> {
    let mut engine = Engine::new(RULES.with(Clone::clone));
    let mut events = Vec::new();
    for (piece, at) in pieces.iter().zip(1..) {
        engine.bytes(at, piece, &mut events);
        if at % 2 == 0 {
            engine.quiet(&mut events);
        }
    }
    engine.finish(&mut events);
    let lines = events.into_iter().filter_map(|event| match event {
        Event::Line(line) => {
            assert!(line.first_ns <= line.last_ns);
            Some((line.raw, line.ended))
        }
        Event::Fit(fit) => {
            assert!(fit.at_ns <= pieces.len() as u64);
            None
        }
    });
    lines.collect()
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let (first, rest) = bytes.split_first().unwrap_or((&0, &[]));
    let (a, b) = rest.split_at(usize::from(*first) % (rest.len() + 1));
    let whole = received(&[rest]);
    assert_eq!(received(&[a, b]), whole);
    // What is data goes through unchanged if a 255 is doubled.
    let doubled: Vec<u8> = rest
        .iter()
        .flat_map(|b| std::iter::repeat_n(*b, if *b == 255 { 2 } else { 1 }))
        .collect();
    assert_eq!(received(&[&doubled]).0, rest);

    let whole = lines(&[rest]);
    assert_eq!(lines(&[a, b]), whole);
    let mut all = Vec::new();
    for (raw, ended) in whole {
        all.extend(raw);
        if ended {
            all.push(b'\n');
        }
    }
    assert_eq!(all, rest);
});
