//! What is wrong with an image, on the screen.

use crate::terminal::layout::{Ansi, PLAIN, Screen};
use flash::problem::Problem;

/// How many problems the screen holds; JSON has them all.
const MOST: usize = 20;

/// How bad a problem looks, what it is, and what to do about it.
pub type Told = (Ansi, String, &'static str);

/// The problems of an image, if it has any.
pub fn screen<W>(screen: &mut Screen, problems: &[Problem<W>], told: impl Fn(&W) -> Told) {
    if problems.is_empty() {
        return;
    }
    let all = problems.len();
    let about = match all {
        0..=MOST => String::new(),
        _ => format!("the first {MOST} of {all}; --json has them all"),
    };
    screen.heading("Problems", &about);
    for problem in problems.iter().take(MOST) {
        let place = match (problem.block, problem.blocks) {
            (None, _) => "  image".to_owned(),
            (Some(block), 1) => format!("  block {block}"),
            (Some(block), n) => format!("  blocks {block}-{}", block.saturating_add(n - 1)),
        };
        let (ansi, what, advice) = told(&problem.what);
        screen.wrapped(&place, 20, ansi, &what);
        screen.wrapped("", 20, PLAIN, advice);
    }
}
