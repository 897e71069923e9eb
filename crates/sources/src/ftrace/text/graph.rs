//! Lines of the tracer `function_graph` (`kernel/trace/trace_functions_graph.c`).

use super::super::interpret::GraphCall;
use crate::text::{number, seconds, without_indent};
use memchr::{memchr, memmem};

/// A line of a function graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GraphLine<'a> {
    /// When, in nanoseconds, if the trace was printed with absolute times.
    pub at: Option<i64>,
    /// On which processor, if the trace was printed with it.
    pub cpu: Option<u32>,
    /// Name and id of the task, if the trace was printed with it.
    pub task: Option<(&'a [u8], u32)>,
    pub what: Graph<'a>,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Graph<'a> {
    /// `f() {`, `f();` or `}`.
    Call(GraphCall<'a>),
    /// Another event, in a comment.
    Event(&'a [u8]),
    /// The processor goes from one task to another.
    Switch { next: (&'a [u8], u32) },
    /// Rules between tasks, and arrows around interrupts.
    Mark,
}

/// Takes a line apart. `None` if it is no line of a function graph.
pub(super) fn graph(line: &[u8]) -> Option<GraphLine<'_>> {
    let trimmed = line.trim_ascii();
    if trimmed.len() > 8 && trimmed.iter().all(|b| *b == b'-') {
        return Some(GraphLine {
            at: None,
            cpu: None,
            task: None,
            what: Graph::Mark,
        });
    }
    let (mut at, mut cpu, mut task) = (None, None, None);
    let mut rest = line;
    // Columns end with a bar; the first that can be a duration is that.
    for _ in 0..6 {
        let end = memchr(b'|', rest).unwrap_or(rest.len());
        let (column, behind) = rest.split_at(end);
        let mut column = column.trim_ascii();
        if cpu.is_none()
            && let Some((found, [b')', tail @ ..])) = number(column)
        {
            cpu = Some(u32::try_from(found).ok()?);
            column = tail.trim_ascii();
        }
        let done = |what| {
            Some(GraphLine {
                at,
                cpu,
                task,
                what,
            })
        };
        if let Some(next) = switch(column).filter(|_| cpu.is_some()) {
            return done(Graph::Switch { next });
        }
        if column.starts_with(b"==========>") || column.starts_with(b"<==========") {
            return done(Graph::Mark);
        }
        let [b'|', behind @ ..] = behind else {
            return None;
        };
        if let Some(took) = duration(column) {
            return done(body(behind, took)?);
        }
        match seconds(column) {
            Some((ns, _, b"")) if at.is_none() => at = Some(ns),
            _ => task = task.or(comm_and_pid(column)),
        }
        rest = behind;
    }
    None
}

/// A call as `trace-cmd report` prints it behind `funcgraph_entry:` and
/// `funcgraph_exit:`: duration, bar, and the function.
pub(super) fn call(text: &[u8]) -> Option<GraphCall<'_>> {
    let (column, rest) = text.split_at(memchr(b'|', text)?);
    match body(rest.get(1..)?, duration(column.trim_ascii())?)? {
        Graph::Call(call) => Some(call),
        _ => None,
    }
}

/// `+ 14.722 us`, `! 123.4 us`, or nothing. The outer is whether the column can
/// be one, the inner the time.
#[expect(clippy::option_option, reason = "no duration is a column, too")]
fn duration(column: &[u8]) -> Option<Option<i64>> {
    let text = match column {
        [b'$' | b'@' | b'*' | b'#' | b'!' | b'+', rest @ ..] => without_indent(rest),
        rest => rest,
    };
    if text.is_empty() {
        return Some(None);
    }
    // Long durations lose digits behind the point, and at last the point.
    let (us, rest) = match seconds(text) {
        Some((micros, _, rest)) => (micros / 1_000_000, rest),
        None => {
            let (whole, rest) = number(text)?;
            let rest = rest.strip_prefix(b".").unwrap_or(rest);
            (i64::try_from(whole).ok()?.checked_mul(1_000)?, rest)
        }
    };
    // Microseconds were read as seconds.
    let unit = rest.trim_ascii();
    (unit == b"us").then_some(Some(us))
}

/// What stands behind the bar of the duration.
fn body(text: &[u8], took: Option<i64>) -> Option<Graph<'_>> {
    let words = without_indent(text);
    // Two blanks for each level, after two.
    let depth = text.len().checked_sub(words.len())?.saturating_sub(2) / 2;
    let depth = u32::try_from(depth).ok()?;
    let words = words.trim_ascii_end();
    match words {
        [b'/', b'*', inside @ ..] => {
            let inside = inside.strip_suffix(b"*/").unwrap_or(inside);
            Some(Graph::Event(inside.trim_ascii()))
        }
        [b'}', rest @ ..] => Some(Graph::Call(GraphCall::Leave {
            function: comment(rest),
            depth,
            took: took?,
        })),
        _ => {
            let function = words.get(..memchr(b'(', words)?)?.trim_ascii_end();
            if function.is_empty() {
                return None;
            }
            // What it returned, or who called it, may stand in a comment.
            let end = memmem::find(words, b"/*").unwrap_or(words.len());
            let call = words.get(..end)?.trim_ascii_end();
            match call.last()? {
                b'{' => Some(Graph::Call(GraphCall::Enter { function, depth })),
                b';' => Some(Graph::Call(GraphCall::Leaf {
                    function,
                    depth,
                    took: took?,
                })),
                _ => None,
            }
        }
    }
}

/// `/* function */`, or `/* function ret=0x0 */` and other things that are no
/// name.
fn comment(text: &[u8]) -> Option<&[u8]> {
    let text = text.trim_ascii().strip_prefix(b"/*")?.strip_suffix(b"*/")?;
    let text = text.trim_ascii();
    let end = memmem::find(text, b" ret=").unwrap_or(text.len());
    let name = text.get(..end)?;
    let first = name.first()?;
    (first.is_ascii_alphabetic() || *first == b'_')
        .then_some(name)
        .filter(|n| !n.starts_with(b"ret="))
}

/// `   bash-123    =>   <idle>-0`: the task that runs then.
fn switch(column: &[u8]) -> Option<(&[u8], u32)> {
    let at = memmem::find(column, b" => ")?;
    comm_and_pid(column.get(at + 4..)?.trim_ascii())
}

/// `bash-123`
fn comm_and_pid(text: &[u8]) -> Option<(&[u8], u32)> {
    let at = text.iter().rposition(|b| *b == b'-')?;
    let (pid, []) = number(text.get(at + 1..)?)? else {
        return None;
    };
    Some((text.get(..at)?, u32::try_from(pid).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{Graph, GraphCall, GraphLine, call, graph};

    fn line<'a>(cpu: u32, what: Graph<'a>) -> Option<GraphLine<'a>> {
        Some(GraphLine {
            at: None,
            cpu: Some(cpu),
            task: None,
            what,
        })
    }

    #[test]
    fn every_column_may_be_there() {
        let leaf = Graph::Call(GraphCall::Leaf {
            function: b"mutex_unlock",
            depth: 0,
            took: 14_722,
        });
        assert_eq!(
            graph(b" 1) + 14.722 us   |  mutex_unlock();"),
            line(1, leaf)
        );
        let proc = graph(b" 1)    ls-690    | + 14.722 us   |  mutex_unlock();").unwrap();
        assert_eq!((proc.task, proc.what), (Some((&b"ls"[..], 690)), leaf));
        let latency = graph(b" 1)  ...1. | + 14.722 us   |  mutex_unlock();");
        assert_eq!(latency, line(1, leaf));
        let all = b"  252.784671 |   1)    ls-690    |  d..1. | + 14.722 us   |  mutex_unlock();";
        let all = graph(all).unwrap();
        assert_eq!(all.at, Some(252_784_671_000));
        assert_eq!(
            (all.cpu, all.task, all.what),
            (Some(1), Some((&b"ls"[..], 690)), leaf)
        );
    }

    #[test]
    fn bodies_in_all_forms() {
        let enter = |function, depth| Graph::Call(GraphCall::Enter { function, depth });
        let leave = |function, depth, took| {
            Graph::Call(GraphCall::Leave {
                function,
                depth,
                took,
            })
        };
        for (text, wanted) in [
            (
                " 0)               |    __x64_sys_dup2() {",
                enter(b"__x64_sys_dup2", 1),
            ),
            (" 0)               |  f [mod]() {", enter(b"f [mod]", 0)),
            (
                " 0)               |  f(fd=3, x=0x1) { /* <-do_it */",
                enter(b"f", 0),
            ),
            (
                " 1) * 37520.85 us |        } /* do_filp_open */",
                leave(Some(b"do_filp_open"), 3, 37_520_850),
            ),
            (" 1)   2.834 us    |  }", leave(None, 0, 2_834)),
            (" 1) $ 1234567 us  |  }", leave(None, 0, 1_234_567_000)),
            (
                " 1) @ 123456.7 us |  } /* f ret=0x0 */",
                leave(Some(b"f"), 0, 123_456_700),
            ),
            (
                " 1)   2.834 us    |  } /* ret=0x0 */",
                leave(None, 0, 2_834),
            ),
            (" 1)   2.834 us    |  } /* = 0x0 */", leave(None, 0, 2_834)),
            (
                " 1)               |      /* softirq_raise: vec=9 [action=RCU] */",
                Graph::Event(b"softirq_raise: vec=9 [action=RCU]"),
            ),
            (" 1)   ==========> |", Graph::Mark),
            (" 1)   <========== |", Graph::Mark),
            (
                " 1)   rcu_pre-15   =>     ls-685    ",
                Graph::Switch { next: (b"ls", 685) },
            ),
        ] {
            let found = graph(text.as_bytes());
            assert_eq!(found.map(|g| g.what), Some(wanted), "{text}");
        }
        let rule = graph(b" ------------------------------------------");
        assert_eq!(rule.map(|g| g.what), Some(Graph::Mark));
        for text in [
            "",
            " 1)",
            " 1) 2.8 us | f",
            " 1) x | f();",
            " 1)  2.8 us |  f(",
            "text",
            "|||||||",
        ] {
            assert_eq!(graph(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn trace_cmd_prints_calls_as_events() {
        let found = call(b"      ! 107.569 us |  mutex_unlock();");
        let leaf = GraphCall::Leaf {
            function: b"mutex_unlock",
            depth: 0,
            took: 107_569,
        };
        assert_eq!(found, Some(leaf));
        let found = call(b"                   |    down_read() {");
        let enter = GraphCall::Enter {
            function: b"down_read",
            depth: 1,
        };
        assert_eq!(found, Some(enter));
    }
}
