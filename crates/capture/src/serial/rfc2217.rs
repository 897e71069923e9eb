//! Serial ports over the network: Telnet (RFC 854) with the COM port control
//! option (RFC 2217), as ser2net, labgrid's exporter and terminal servers speak it.

use super::port::{Flow, Parity, Settings};

const IAC: u8 = 255;
const DONT: u8 = 254;
const DO: u8 = 253;
const WONT: u8 = 252;
const WILL: u8 = 251;
const SB: u8 = 250;
const SE: u8 = 240;

/// Bytes are not changed (RFC 856).
const BINARY: u8 = 0;
/// The other side echoes; a console does.
const ECHO: u8 = 1;
/// No turns are taken (RFC 858).
const SUPPRESS_GO_AHEAD: u8 = 3;
/// RFC 2217.
const COM_PORT: u8 = 44;

const SET_BAUDRATE: u8 = 1;
const SET_DATASIZE: u8 = 2;
const SET_PARITY: u8 = 3;
const SET_STOPSIZE: u8 = 4;
const SET_CONTROL: u8 = 5;
/// What a server adds to the number of a command that it answers.
const ANSWER: u8 = 100;

/// The longest answer that is kept; RFC 2217 has none above a signature.
const LONGEST: usize = 256;

/// One end of a connection: data apart from what Telnet says.
#[derive(Debug)]
pub struct Telnet {
    settings: Settings,
    state: State,
    answer: Vec<u8>,
    /// The server takes settings.
    agreed: bool,
    /// The rate that the server says the port has.
    baud: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Data,
    /// Behind IAC.
    Command,
    /// Behind DO, DONT, WILL or WONT.
    Option(u8),
    /// Between SB and SE.
    Within,
    /// Behind IAC in there.
    WithinCommand,
}

impl Telnet {
    /// A new connection, whose port is to have these settings.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            state: State::Data,
            answer: Vec::new(),
            agreed: false,
            baud: None,
        }
    }

    /// What is sent first.
    pub fn hello(&self) -> Vec<u8> {
        let mut hello = Vec::new();
        for (verb, option) in [
            (WILL, BINARY),
            (DO, BINARY),
            (WILL, SUPPRESS_GO_AHEAD),
            (DO, SUPPRESS_GO_AHEAD),
            (WILL, COM_PORT),
        ] {
            hello.extend([IAC, verb, option]);
        }
        hello
    }

    /// Takes what was received: `data` gets what the port sent, and the result is to
    /// be sent back.
    pub fn take(&mut self, received: &[u8], data: &mut Vec<u8>) -> Vec<u8> {
        let mut back = Vec::new();
        for byte in received {
            self.state = match (self.state, *byte) {
                (State::Data, IAC) => State::Command,
                (State::Data, byte) => {
                    data.push(byte);
                    State::Data
                }
                (State::Command, IAC) => {
                    data.push(IAC);
                    State::Data
                }
                (State::Command, verb @ (DO | DONT | WILL | WONT)) => State::Option(verb),
                (State::Command, SB) => {
                    self.answer.clear();
                    State::Within
                }
                (State::Command, _) => State::Data,
                (State::Option(verb), option) => {
                    self.agree(verb, option, &mut back);
                    State::Data
                }
                (State::Within, IAC) => State::WithinCommand,
                (State::Within, byte) => self.within(byte),
                (State::WithinCommand, IAC) => self.within(IAC),
                (State::WithinCommand, SE) => {
                    self.answered();
                    State::Data
                }
                // Something else than the end: the answer is broken off.
                (State::WithinCommand, _) => State::Data,
            };
        }
        back
    }

    /// The rate that the server says the port has, if that is not the one that was
    /// asked for.
    pub fn other_baud(&self) -> Option<u32> {
        self.baud.filter(|b| *b != self.settings.baud)
    }

    fn within(&mut self, byte: u8) -> State {
        if self.answer.len() < LONGEST {
            self.answer.push(byte);
        }
        State::Within
    }

    /// The other side wants or offers an option. What was offered in the hello is not
    /// answered again, or both sides would answer for ever.
    fn agree(&mut self, verb: u8, option: u8, back: &mut Vec<u8>) {
        match (verb, option) {
            (DO, COM_PORT) if !self.agreed => {
                self.agreed = true;
                back.extend(self.port());
            }
            (DO, BINARY | SUPPRESS_GO_AHEAD | COM_PORT)
            | (WILL, BINARY | SUPPRESS_GO_AHEAD)
            | (DONT | WONT, _) => {}
            (WILL, ECHO) => back.extend([IAC, DO, ECHO]),
            (WILL, option) => back.extend([IAC, DONT, option]),
            (_, option) => back.extend([IAC, WONT, option]),
        }
    }

    /// The settings of the port as commands.
    fn port(&self) -> Vec<u8> {
        let Settings {
            baud,
            bits,
            parity,
            stop,
            flow,
        } = self.settings;
        let parity = match parity {
            Parity::None => 1,
            Parity::Odd => 2,
            Parity::Even => 3,
            Parity::Mark => 4,
            Parity::Space => 5,
        };
        let flow = match flow {
            Flow::None => 1,
            Flow::Soft => 2,
            Flow::Hard => 3,
        };
        let mut all = Vec::new();
        for (command, value) in [
            (SET_BAUDRATE, &baud.to_be_bytes()[..]),
            (SET_DATASIZE, &[bits]),
            (SET_PARITY, &[parity]),
            (SET_STOPSIZE, &[stop]),
            (SET_CONTROL, &[flow]),
        ] {
            all.extend([IAC, SB, COM_PORT, command]);
            for byte in value {
                all.push(*byte);
                if *byte == IAC {
                    all.push(IAC);
                }
            }
            all.extend([IAC, SE]);
        }
        all
    }

    fn answered(&mut self) {
        const BAUDRATE: u8 = ANSWER + SET_BAUDRATE;
        if let [COM_PORT, BAUDRATE, a, b, c, d] = self.answer[..] {
            self.baud = Some(u32::from_be_bytes([a, b, c, d]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ANSWER, COM_PORT, DO, ECHO, IAC, SB, SE, SET_BAUDRATE, Telnet, WILL};
    use crate::serial::port::Settings;
    use proptest::prelude::*;

    fn answer(baud: u32) -> Vec<u8> {
        let mut answer = vec![IAC, SB, COM_PORT, ANSWER + SET_BAUDRATE];
        answer.extend(baud.to_be_bytes());
        answer.extend([IAC, SE]);
        answer
    }

    #[test]
    fn a_server_that_agrees_gets_the_settings_once() {
        let mut telnet = Telnet::new(Settings::default());
        let mut data = Vec::new();
        let back = telnet.take(&[IAC, DO, COM_PORT, IAC, DO, COM_PORT], &mut data);
        let baud = [IAC, SB, COM_PORT, SET_BAUDRATE, 0, 1, 0xc2, 0, IAC, SE];
        assert!(back.starts_with(&baud), "{back:?}");
        assert_eq!(back.iter().filter(|b| **b == SB).count(), 5);
        telnet.take(&answer(115_200), &mut data);
        assert_eq!((telnet.baud, telnet.other_baud()), (Some(115_200), None));
        telnet.take(&answer(9600), &mut data);
        assert_eq!(telnet.other_baud(), Some(9600));
        assert!(data.is_empty());
    }

    #[test]
    fn options_that_nobody_asked_for_are_refused() {
        let mut telnet = Telnet::new(Settings::default());
        let mut data = Vec::new();
        let back = telnet.take(
            &[b'a', IAC, WILL, 99, b'b', IAC, WILL, ECHO, b'c'],
            &mut data,
        );
        assert_eq!(back, [IAC, super::DONT, 99, IAC, DO, ECHO]);
        assert_eq!(data, b"abc");
    }

    proptest! {
        /// Any bytes of a port arrive, whatever is said between them and wherever
        /// the stream is cut.
        #[test]
        fn data_arrives_whole(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 1..8),
            baud in any::<u32>().prop_filter("255 would be doubled", |b| !b.to_be_bytes().contains(&IAC)),
            cut in 1usize..9,
        ) {
            let mut sent = Vec::new();
            for part in &parts {
                for byte in part {
                    sent.push(*byte);
                    if *byte == IAC {
                        sent.push(IAC);
                    }
                }
                sent.extend([IAC, WILL, 42]);
                sent.extend(answer(baud));
            }
            let mut telnet = Telnet::new(Settings::default());
            let mut data = Vec::new();
            for piece in sent.chunks(cut) {
                telnet.take(piece, &mut data);
            }
            prop_assert_eq!(data, parts.concat());
            prop_assert_eq!(telnet.baud, Some(baud));
        }

        #[test]
        fn no_bytes_are_too_much(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut telnet = Telnet::new(Settings::default());
            let mut data = Vec::new();
            telnet.take(&bytes, &mut data);
            prop_assert!(data.len() <= bytes.len());
        }
    }
}
