#![no_main]

//! What a host answers over ssh, and what is planned on it. Whatever it says, the plan takes
//! back what it copies, and nothing of the answer becomes a line of a unit or a word of a
//! shell.

use capture::ssh::host::quoted;
use capture::ssh::plan::{Facts, Step, Wish, plan, unit};
use std::time::Duration;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    assert_eq!(unquoted(&quoted(&text)).as_deref(), Some(&*text));
    let Some(facts) = Facts::read(&text) else {
        return;
    };
    for restart in [true, false] {
        let wish = Wish {
            restart,
            limit: Duration::from_secs(300),
            token: "0123",
        };
        let Ok(plan) = plan(&facts, wish) else {
            continue;
        };
        let mut copied = Vec::new();
        for step in &plan.steps {
            assert!(!step.to_string().is_empty());
            match step {
                Step::Copy { folder } => copied.push(folder),
                Step::Install { target } => {
                    let lines = unit("multi-user.target").lines().count();
                    assert_eq!(unit(target).lines().count(), lines);
                    assert!(!target.contains(['%', ' ', '\\', '"', '\'']));
                }
                Step::Remove { folder, .. } => copied.retain(|c| *c != folder),
                _ => {}
            }
        }
        assert!(copied.is_empty(), "{copied:?} stays there");
        assert!(matches!(plan.steps.last(), Some(Step::Remove { .. })));
    }
});

/// What a shell makes of a word: text between single quotes stands for itself, and outside of
/// them only an escaped quote may be. `None`: it means something else.
fn unquoted(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = word;
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(r"\'") {
            text.push('\'');
            rest = behind;
            continue;
        }
        let (inside, behind) = rest.strip_prefix('\'')?.split_once('\'')?;
        text.push_str(inside);
        rest = behind;
    }
    Some(text)
}
