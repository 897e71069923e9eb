//! Frames over a bad line: what arrives is what was sent, or it is said.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::frame::{
    Answer, Content, FRAME_BYTES, FrameError, FrameWriter, Line, Measure, Reassembly,
};
use proptest::prelude::*;
use std::io::Write;
use std::ops::Range;

fn content(bytes: &[u8]) -> Content {
    let mut measure = Measure::default();
    measure.write_all(bytes).unwrap();
    measure.content()
}

fn send(bytes: &[u8], wanted: Option<Vec<Range<u64>>>) -> Vec<u8> {
    let mut writer = FrameWriter::new(Vec::new(), content(bytes), wanted);
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

fn receive(reassembly: &mut Reassembly, sent: &[u8]) {
    for line in sent.split(|b| *b == b'\n') {
        reassembly.line(line);
    }
}

fn reassemble(sent: &[u8]) -> Result<Vec<u8>, FrameError> {
    let mut reassembly = Reassembly::new(1 << 20);
    receive(&mut reassembly, sent);
    reassembly.finish()
}

/// What a line does to what goes over it.
#[derive(Clone, Debug)]
enum Fault {
    Flip(usize, u8),
    Lose(usize),
    Insert(usize, Vec<u8>),
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        (any::<usize>(), 1u8..=255).prop_map(|(at, bits)| Fault::Flip(at, bits)),
        any::<usize>().prop_map(Fault::Lose),
        (
            any::<usize>(),
            "(\n?\\[    1.5\\] usb: new[ -~]{0,9}\n?|FLF1 |\n)"
        )
            .prop_map(|(at, text)| Fault::Insert(at, text.into_bytes())),
    ]
}

fn through(mut sent: Vec<u8>, faults: &[Fault]) -> Vec<u8> {
    for fault in faults {
        let place = |at: usize| at % sent.len().max(1);
        match fault {
            _ if sent.is_empty() => {}
            Fault::Flip(at, bits) => {
                let at = place(*at);
                sent[at] ^= bits;
            }
            Fault::Lose(at) => {
                sent.remove(place(*at));
            }
            Fault::Insert(at, text) => {
                let at = place(*at);
                sent.splice(at..at, text.iter().copied());
            }
        }
    }
    sent
}

proptest! {
    #[test]
    fn what_is_sent_arrives(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        prop_assert_eq!(reassemble(&send(&bytes, None)).unwrap(), bytes);
    }

    #[test]
    fn a_bad_line_gives_the_bytes_or_an_error(
        bytes in proptest::collection::vec(any::<u8>(), 1..3000),
        faults in proptest::collection::vec(fault(), 0..12),
    ) {
        if let Ok(arrived) = reassemble(&through(send(&bytes, None), &faults)) {
            prop_assert_eq!(arrived, bytes);
        }
    }

    #[test]
    fn what_is_asked_for_again_completes_it(
        bytes in proptest::collection::vec(any::<u8>(), 1..3000),
        faults in proptest::collection::vec(fault(), 0..12),
    ) {
        let mut reassembly = Reassembly::new(1 << 20);
        receive(&mut reassembly, &through(send(&bytes, None), &faults));
        // The line is bad once more, and then good.
        for faults in [&faults[..], &[]] {
            let Some(answer) = reassembly.answer() else { return Ok(()) };
            let wanted = match Answer::parse(answer.as_bytes(), content(&bytes)) {
                Some(Answer::Again(wanted)) => wanted,
                Some(Answer::Complete) => break,
                // A garbled header passed for another capture's.
                None => return Ok(()),
            };
            receive(&mut reassembly, &through(send(&bytes, Some(wanted)), faults));
        }
        prop_assert_eq!(reassembly.finish().unwrap(), bytes);
    }

    #[test]
    fn no_bytes_make_it_panic(lines in proptest::collection::vec("(FLF1 |FLR1 )?[0-9a-fend =+,]{0,60}", 0..9)) {
        let mut reassembly = Reassembly::new(1 << 20);
        for line in &lines {
            reassembly.line(line.as_bytes());
            let _ = Answer::parse(line.as_bytes(), Content { crc: 0, length: 9 });
        }
        let _ = reassembly.answer();
        let _ = reassembly.finish();
    }
}

fn numbers(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 % 251) as u8).collect()
}

#[test]
fn a_frame_is_the_line_that_is_described() {
    let sent = String::from_utf8(send(b"nothing to see", None)).unwrap();
    assert_eq!(
        sent,
        "FLF1 86e35808 14 0 bm90aGluZyB0byBzZWU= 811f2c59\r\nFLF1 86e35808 14 end 7fb17977\r\n"
    );
}

#[test]
fn every_line_is_told_apart() {
    let sent = send(&numbers(FRAME_BYTES + 1), None);
    let lines: Vec<&[u8]> = sent.split_inclusive(|b| *b == b'\n').collect();
    let mut reassembly = Reassembly::new(1000);
    assert_eq!(reassembly.progress(), None);
    assert_eq!(reassembly.line(b"[    1.0] Linux"), Line::Text);
    assert_eq!(
        reassembly.line(&[b"login: ", lines[0]].concat()),
        Line::Frame
    );
    assert_eq!(reassembly.line(&lines[1][..30]), Line::Damaged);
    assert_eq!(reassembly.progress(), Some((384, 385)));
    assert_eq!(reassembly.answer().unwrap(), "FLR1 cffc35cb 384+1\n");
    // The ends of two lines were lost.
    let glued = [&lines[1][..lines[1].len() - 2], lines[0], lines[2]].concat();
    assert_eq!(reassembly.line(&glued), Line::End);
    assert_eq!(reassembly.answer().unwrap(), "FLR1 cffc35cb ok\n");
    assert_eq!(reassembly.finish().unwrap(), numbers(385));
}

#[test]
fn what_is_missing_is_named() {
    assert_eq!(reassemble(b"login: \n").unwrap_err(), FrameError::Nothing);
    let sent = send(&numbers(1000), None);
    let lines: Vec<&[u8]> = sent.split_inclusive(|b| *b == b'\n').collect();
    let error = reassemble(&[lines[0], &lines[1][1..], &lines[2][..99]].concat());
    assert_eq!(
        error.unwrap_err().to_string(),
        "616 of 1000 bytes of the capture are missing, the first at byte 384 (1 damaged frames); send it again, or use a slower or better line"
    );
    let mut small = Reassembly::new(999);
    receive(&mut small, &sent);
    assert_eq!(
        small.finish().unwrap_err(),
        FrameError::TooLarge {
            length: 1000,
            limit: 999
        }
    );
}

#[test]
fn the_newest_whole_capture_counts() {
    let (old, new) = (send(&numbers(500), None), send(&numbers(600), None));
    assert_eq!(
        reassemble(&[old.clone(), new.clone()].concat()).unwrap(),
        numbers(600)
    );
    let half = &new[..300];
    assert_eq!(
        reassemble(&[old, half.to_vec()].concat()).unwrap(),
        numbers(500)
    );
}

#[test]
fn only_answers_about_the_capture_are_heard() {
    let this = Content { crc: 1, length: 9 };
    let parse = |line: &str| Answer::parse(line.as_bytes(), this);
    assert_eq!(parse("FLR1 00000001 ok\r\n"), Some(Answer::Complete));
    assert_eq!(
        parse("# FLR1 00000001 0+3,8+1\n"),
        Some(Answer::Again(vec![0..3, 8..9]))
    );
    for other in [
        "FLR1 00000002 ok\n",
        "FLR1 00000001\n",
        "FLR1 00000001 3\n",
        "FLR1 00000001 18446744073709551615+1\n",
        "root\n",
    ] {
        assert_eq!(parse(other), None, "{other}");
    }
}
