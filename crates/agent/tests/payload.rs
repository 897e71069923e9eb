//! The payload: what is written is read, and what is not whole is refused.
#![allow(clippy::unwrap_used)] // a test that cannot go on should stop

use firstlight_agent::payload::{PayloadError, header, read_payload, write_payload};
use std::cell::RefCell;
use std::io::Cursor;

const LIMIT: u64 = 1 << 20;

fn written(tar: &[u8]) -> Vec<u8> {
    let mut memory = Cursor::new(vec![0; 4096]);
    write_payload(&mut memory, 4096, tar, |_| Ok(())).unwrap();
    memory.into_inner()
}

#[test]
fn what_is_written_is_read() {
    for tar in [&b"some bytes"[..], &[], &[7; 4080]] {
        assert_eq!(read_payload(&*written(tar), LIMIT).unwrap(), tar);
    }
}

#[test]
fn a_stop_at_any_sync_is_absent_or_torn() {
    // What the medium holds at each sync, over the remains of an old payload.
    let states = RefCell::new(Vec::new());
    let mut memory = Cursor::new(written(&[1; 100]));
    write_payload(&mut memory, 4096, &[2; 90], |m| {
        states.borrow_mut().push(m.get_ref().clone());
        Ok(())
    })
    .unwrap();
    let states = states.into_inner();
    let read: Vec<_> = states.iter().map(|s| read_payload(&s[..], LIMIT)).collect();
    assert!(matches!(read[0], Err(PayloadError::Torn { .. })));
    assert!(matches!(read[1], Err(PayloadError::Torn { .. })));
    assert_eq!(read[2].as_ref().unwrap(), &[2; 90]);
}

#[test]
fn memory_without_a_whole_payload_is_refused() {
    assert!(matches!(
        read_payload(&[][..], LIMIT),
        Err(PayloadError::Absent)
    ));
    assert!(matches!(
        read_payload(&[0; 4096][..], LIMIT),
        Err(PayloadError::Absent)
    ));
    assert!(matches!(
        read_payload(&b"FLPAY"[..], LIMIT),
        Err(PayloadError::Torn { .. })
    ));
    // Cut in its header: that nothing was promised is not known.
    assert!(matches!(
        read_payload(&header(0)[..15], LIMIT),
        Err(PayloadError::Cut {
            length: 16,
            held: 15
        })
    ));
    let whole = written(&[3; 100]);
    assert!(matches!(
        read_payload(&whole[..50], LIMIT),
        Err(PayloadError::Cut {
            length: 100,
            held: 34
        })
    ));
    assert!(matches!(
        read_payload(&header(u64::MAX)[..], LIMIT),
        Err(PayloadError::TooLarge {
            length: u64::MAX,
            limit: LIMIT
        })
    ));
}

#[test]
fn a_capture_that_does_not_fit_changes_nothing() {
    let mut memory = Cursor::new(vec![9; 32]);
    let error = write_payload(&mut memory, 32, &[1; 17], |_| Ok(())).unwrap_err();
    assert!(matches!(
        error,
        PayloadError::NoRoom {
            length: 17,
            room: 16
        }
    ));
    assert_eq!(memory.into_inner(), [9; 32]);
}
