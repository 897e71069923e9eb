//! Which variant booted: evidence from the board itself.

use super::adapter::{Adapter, Deployment};
use super::error::BoardError;
use super::file::Proof;
use crate::serial::engine::{Action, Engine, Event, Rule};

/// The kernel parameter that carries a trial's nonce. No program reads it.
pub const NONCE: &str = "firstlight.nonce";

/// What proves which variant booted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// How: `nonce`, `console` or `command`.
    pub by: &'static str,
    /// What had to be seen.
    pub expected: String,
    /// Whether it was.
    pub seen: bool,
    /// What the proof command printed; empty if none was run.
    pub evidence: Vec<u8>,
}

/// Whether the boot whose console is `console` is that of `what`. A proof command is
/// run, so the board must be up.
///
/// # Errors
/// If the proof command fails.
pub fn prove(
    proof: &Proof,
    what: &Deployment,
    console: &[u8],
    adapter: &mut dyn Adapter,
) -> Result<Proven, BoardError> {
    Ok(match proof {
        Proof::Nonce => Proven {
            by: "nonce",
            seen: contains(console, what.nonce.as_bytes()),
            expected: what.nonce.clone(),
            evidence: Vec::new(),
        },
        Proof::Console(pattern) => {
            let expected = expected(pattern, what);
            Proven {
                by: "console",
                seen: matches(console, &expected)?,
                expected,
                evidence: Vec::new(),
            }
        }
        Proof::Command {
            run,
            pattern,
            limit,
        } => {
            let evidence = adapter.evidence("proof.command", run, *limit, what)?;
            let (seen, expected) = match pattern {
                Some(pattern) => {
                    let expected = expected(pattern, what);
                    (matches(&evidence, &expected)?, expected)
                }
                None => (
                    contains(&evidence, what.nonce.as_bytes()),
                    what.nonce.clone(),
                ),
            };
            Proven {
                by: "command",
                expected,
                seen,
                evidence,
            }
        }
    })
}

/// The pattern of one trial.
fn expected(pattern: &str, what: &Deployment) -> String {
    let literal = |text: &str| {
        let mut escaped = String::new();
        for c in text.chars() {
            // Names are letters, digits, `-`, `_` and `.`; nonces have an `=` too.
            if matches!(c, '.' | '-') {
                escaped.push('\\');
            }
            escaped.push(c);
        }
        escaped
    };
    pattern
        .replace("{variant}", &literal(&what.variant))
        .replace("{nonce}", &literal(&what.nonce))
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    !part.is_empty() && memchr::memmem::find(bytes, part).is_some()
}

fn matches(console: &[u8], pattern: &str) -> Result<bool, BoardError> {
    let mut engine = Engine::new(vec![Rule::new(Action::End, pattern)?]);
    let mut events = Vec::new();
    engine.bytes(0, console, &mut events);
    engine.finish(&mut events);
    Ok(events.iter().any(|e| matches!(e, Event::Fit(_))))
}
