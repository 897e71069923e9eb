//! The scripts in variables, as U-Boot's shell splits them.
//!
//! Source: U-Boot's `common/cli_hush.c` and `doc/usage/cmdline.rst`.

use super::data::Data;
use std::collections::BTreeSet;

/// How a statement follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    /// In any case: it is the first, or follows `;` or a line's end.
    Then,
    /// If the one before worked.
    And,
    /// If the one before did not work.
    Or,
}

impl Join {
    const fn text(self) -> &'static str {
        match self {
            Self::Then => "; ",
            Self::And => " && ",
            Self::Or => " || ",
        }
    }
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) join: Join,
    pub(super) text: String,
}

impl Statement {
    /// Its words, without quotes. What stands for a variable stays.
    pub(super) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut quote = None;
        let mut some = false;
        let mut chars = self.text.chars();
        while let Some(c) = chars.next() {
            match (c, quote) {
                ('\\', None | Some('"')) => word.extend(chars.next()),
                ('\'' | '"', None) => (quote, some) = (Some(c), true),
                (c, Some(q)) if c == q => quote = None,
                (' ' | '\t', None) => {
                    if some || !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                    some = false;
                }
                (c, _) => word.push(c),
            }
        }
        if some || !word.is_empty() {
            words.push(word);
        }
        words
    }

    /// Whether it begins a condition or a loop, or belongs to one.
    fn is_control(&self) -> bool {
        const WORDS: [&str; 13] = [
            "if", "then", "elif", "else", "fi", "for", "in", "do", "done", "while", "until",
            "case", "esac",
        ];
        self.words()
            .first()
            .is_some_and(|w| WORDS.contains(&w.as_str()))
    }
}

/// Splits a script; `None` if a quote does not end.
pub(super) fn split(script: &str) -> Option<Vec<Statement>> {
    let mut statements = Vec::new();
    let mut text = String::new();
    let mut join = Join::Then;
    let mut quote = None;
    let mut chars = script.chars().peekable();
    let mut end = |text: &mut String, join: &mut Join, next: Join| {
        let trimmed = text.trim();
        if !trimmed.is_empty() {
            statements.push(Statement {
                join: *join,
                text: trimmed.to_owned(),
            });
        }
        text.clear();
        *join = next;
    };
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                text.push(c);
                text.extend(chars.next());
            }
            ('\'' | '"', None) => {
                quote = Some(c);
                text.push(c);
            }
            (c, Some(q)) if c == q => {
                quote = None;
                text.push(c);
            }
            (';' | '\n', None) => end(&mut text, &mut join, Join::Then),
            ('&', None) if chars.peek() == Some(&'&') => {
                chars.next();
                end(&mut text, &mut join, Join::And);
            }
            ('|', None) if chars.peek() == Some(&'|') => {
                chars.next();
                end(&mut text, &mut join, Join::Or);
            }
            (c, _) => text.push(c),
        }
    }
    end(&mut text, &mut join, Join::Then);
    quote.is_none().then_some(statements)
}

/// What a script sets a variable to, if it does.
pub(super) fn sets(script: &[u8], variable: &str) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(script);
    let statements = split(&text).unwrap_or_default();
    statements.iter().rev().find_map(|statement| {
        let words = statement.words();
        let at = words.iter().position(|w| w == variable)?;
        let command = words.get(..at)?.last()?;
        let sets = matches!(command.as_str(), "setenv" | "set" | "-f");
        let value = words.get(at + 1)?;
        sets.then(|| value.clone().into_bytes())
    })
}

/// Scripts that run scripts: no deeper.
const DEEPEST: usize = 16;
/// And no more statements in all.
const MOST: usize = 512;

/// A statement that is reached, and the variable that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    pub(super) variable: String,
    pub(super) statement: Statement,
}

/// All statements that a variable's script can come to, in order.
pub(super) fn reached(data: &Data, variable: &str) -> Vec<Reached> {
    let mut all = Vec::new();
    walk(data, variable, &mut Vec::new(), &mut all);
    all
}

fn walk(data: &Data, variable: &str, above: &mut Vec<String>, all: &mut Vec<Reached>) {
    let known = above.iter().any(|a| a == variable);
    let Some(script) = data.text(variable) else {
        return;
    };
    if known || above.len() >= DEEPEST {
        return;
    }
    above.push(variable.to_owned());
    for statement in split(&script).unwrap_or_default() {
        if all.len() >= MOST {
            break;
        }
        let words = statement.words();
        all.push(Reached {
            variable: variable.to_owned(),
            statement,
        });
        // `if run x; then` and `else run y` run scripts too.
        for name in run(&words) {
            walk(data, &expanded(data, name).0, above, all);
        }
    }
    above.pop();
}

/// The words behind `run`: names of scripts, or variables that hold them.
fn run(words: &[String]) -> &[String] {
    let runs = words.iter().position(|w| w == "run");
    let names = runs.and_then(|at| words.get(at.saturating_add(1)..));
    names.unwrap_or_default()
}

/// What a command changes of the environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Assigned<'a> {
    Nothing,
    /// This variable, and no other.
    Variable(&'a str),
    /// More, or what the command alone does not tell.
    Unknown,
}

impl<'a> Assigned<'a> {
    fn by(words: &'a [String]) -> Self {
        let mut words = words.iter().map(String::as_str);
        let variable = match (words.next(), words.next()) {
            (Some("setenv"), name) => name,
            (Some("env"), Some("set")) => words.next(),
            (Some("env" | "editenv" | "askenv" | "source"), _) => return Self::Unknown,
            _ => return Self::Nothing,
        };
        match variable {
            // `setenv -f` has its name behind it.
            Some(name) if !name.starts_with('-') => Self::Variable(name),
            _ => Self::Unknown,
        }
    }
}

/// The script of a variable with the scripts that it runs in their place, if
/// that means the same; and how many `run`s it saves. `None` if nothing can be
/// put in place of anything.
pub(super) fn flattened(data: &Data, variable: &str) -> Option<(String, usize)> {
    let (statements, saved) = flat(data, variable)?;
    (saved > 0).then(|| (text(&statements), saved))
}

/// A script without what it sets first, if that is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Preset {
    /// Variables and their values, to be set once.
    pub(super) variables: Vec<(String, String)>,
    /// What is left to be run.
    pub(super) script: String,
}

/// The script of a variable, with those that it runs, without the variables that it sets
/// first. `None` if there are none, or if one of their values is not known beforehand.
pub(super) fn preset(data: &Data, variable: &str) -> Option<Preset> {
    let (mut statements, _) = flat(data, variable)?;
    let mut variables: Vec<(String, String)> = Vec::new();
    let mut sets = 0;
    for statement in &statements {
        let words = statement.words();
        let Assigned::Variable(name) = Assigned::by(&words) else {
            break;
        };
        // Behind `||` it is not always run, and quotes hold what is not to be put in.
        let is_plain = statement.join != Join::Or && !statement.text.contains(['\'', '"', '\\']);
        let at = words.iter().position(|w| w == name)?;
        let value = words.get(at + 1..).filter(|v| !v.is_empty() && is_plain)?;
        let known = |name: &str| {
            let own = variables.iter().find(|(n, _)| n == name);
            own.map(|(_, v)| v.clone()).or_else(|| data.text(name))
        };
        let value = put_in(&value.join(" "), known)?;
        variables.retain(|(n, _)| n != name);
        variables.push((name.to_owned(), value));
        sets += 1;
    }
    let mut rest = statements.split_off(sets);
    let first = rest.first_mut()?;
    if sets == 0 || first.join == Join::Or {
        return None;
    }
    first.join = Join::Then;
    let script = text(&rest);
    Some(Preset { variables, script })
}

/// A text with `${name}` and `$name` put in. `None` if one is not known, or holds a `$`.
fn put_in(text: &str, known: impl Fn(&str) -> Option<String>) -> Option<String> {
    let mut parts = text.split('$');
    let mut whole = parts.next()?.to_owned();
    for part in parts {
        let (name, rest) = match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}')?,
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()))
            }
        };
        let value = known(name).filter(|v| !v.contains('$'))?;
        whole.push_str(&value);
        whole.push_str(rest);
    }
    Some(whole)
}

/// Statements as a script.
fn text(statements: &[Statement]) -> String {
    let mut text = String::new();
    for statement in statements {
        if !text.is_empty() {
            text.push_str(statement.join.text());
        }
        text.push_str(&statement.text);
    }
    text
}

/// The statements of a script with those of the scripts that it runs in their place, and how
/// many `run`s that saves. `None` if it may mean something else.
fn flat(data: &Data, variable: &str) -> Option<(Vec<Statement>, usize)> {
    let all = reached(data, variable);
    if all.len() >= MOST || all.iter().any(|r| r.statement.is_control()) {
        return None;
    }
    // A script that is changed on the way is another one when it runs, and `exit` ends
    // the script that it stands in.
    let scripts: BTreeSet<&str> = all.iter().map(|r| r.variable.as_str()).collect();
    // So is one that is run by a name which is changed.
    let choosers: BTreeSet<String> = all
        .iter()
        .flat_map(|r| run(&r.statement.words()).to_vec())
        .filter_map(|name| expanded(data, &name).1)
        .collect();
    let moves = |r: &Reached| {
        let words = r.statement.words();
        match Assigned::by(&words) {
            Assigned::Nothing => words.first().is_some_and(|w| w == "exit"),
            Assigned::Variable(name) => {
                name.contains('$') || scripts.contains(name) || choosers.contains(name)
            }
            Assigned::Unknown => true,
        }
    };
    if all.iter().any(moves) {
        return None;
    }
    let mut saved = 0;
    let statements = flatten(data, variable, 0, &mut saved)?;
    Some((statements, saved))
}

fn flatten(data: &Data, variable: &str, depth: usize, saved: &mut usize) -> Option<Vec<Statement>> {
    if depth > DEEPEST {
        return None;
    }
    let mut flat = Vec::new();
    for statement in split(&data.text(variable)?)? {
        let words = statement.words();
        let (Some("run"), [_, name]) = (words.first().map(String::as_str), &words[..]) else {
            // `run a b` stops where `a` fails: it is left as it is.
            flat.push(statement);
            continue;
        };
        let name = expanded(data, name).0;
        let mut inner = match data.text(&name) {
            Some(_) => flatten(data, &name, depth + 1, saved)?,
            None => Vec::new(),
        };
        // Behind `&&` and `||` only one command can take its place.
        let fits = statement.join == Join::Then || inner.len() == 1;
        match inner.first_mut().filter(|_| fits) {
            Some(first) => {
                first.join = statement.join;
                *saved += 1;
                flat.append(&mut inner);
            }
            None => flat.push(statement),
        }
    }
    (flat.len() < MOST).then_some(flat)
}

/// A word with the variables in it put in, one level deep, and the name of the
/// variable if the word is nothing but one.
pub(super) fn expanded(data: &Data, word: &str) -> (String, Option<String>) {
    let whole = word
        .strip_prefix("${")
        .and_then(|w| w.strip_suffix('}'))
        .or_else(|| word.strip_prefix('$'));
    let is_name = |n: &&str| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if let Some(name) = whole.filter(is_name) {
        let value = data.text(name).unwrap_or_default();
        return (value, Some(name.to_owned()));
    }
    (word.to_owned(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Data {
        let mut bytes = text.replace('|', "\0").replace('/', "||").into_bytes();
        bytes.extend([0, 0]);
        Data::new(bytes).unwrap()
    }

    #[test]
    fn scripts_are_split_as_the_shell_does() {
        let script = "echo 'a;b' \"c && d\"; x\\;y && z||w\n if test $a; then run b; fi";
        let texts: Vec<_> = split(script).unwrap().into_iter().map(|s| s.text).collect();
        assert_eq!(
            texts,
            [
                "echo 'a;b' \"c && d\"",
                "x\\;y",
                "z",
                "w",
                "if test $a",
                "then run b",
                "fi"
            ]
        );
        let words = split(script).unwrap()[0].words();
        assert_eq!(words, ["echo", "a;b", "c && d"]);
        assert_eq!(split("echo 'a"), None);
    }

    #[test]
    fn what_a_script_sets_is_seen() {
        for (script, value) in [
            ("setenv verify no; bootm", Some("no")),
            ("x && env set verify 'n o'", Some("n o")),
            ("if a; then setenv -f verify 0; fi", Some("0")),
            ("echo verify no", None),
            ("setenv verify", None),
            ("setenv verified no", None),
        ] {
            let found = sets(script.as_bytes(), "verify");
            assert_eq!(found.as_deref(), value.map(str::as_bytes), "{script}");
        }
    }

    #[test]
    fn scripts_in_scripts_are_put_in_place_where_that_means_the_same() {
        let flat = |text: &str| flattened(&data(text), "bootcmd").map(|f| f.0);
        assert_eq!(
            flat("bootcmd=run load; bootm 1|load=run a; b && c|a=echo 1; echo 2"),
            Some("echo 1; echo 2; b && c; bootm 1".into())
        );
        assert_eq!(flat("bootcmd=x && run one|one=y"), Some("x && y".into()));
        // A variable that is not a script may be set on the way.
        assert_eq!(
            flat(
                "bootcmd=run b0|b0=run a; setenv bootargs ${bootargs} y; nboot 70007fc0 k|\
                 a=env set bootargs ${bootargs} x"
            ),
            Some(
                "env set bootargs ${bootargs} x; setenv bootargs ${bootargs} y; \
                 nboot 70007fc0 k"
                    .into()
            )
        );
        for same in [
            "bootcmd=setenv ${n} x; run a|a=y",
            "bootcmd=setenv -f a x; run a|a=y",
            "bootcmd=env default -a; run a|a=y",
            "bootcmd=run a; z|a=x; exit",
            "bootcmd=x && run two|two=y; z",
            "bootcmd=run a b|a=1|b=2",
            "bootcmd=bootm 1",
            "bootcmd=if a; then run b; fi|b=1",
            "bootcmd=setenv a x; run a|a=y",
            "bootcmd=run gone",
            "bootcmd=run bootcmd",
        ] {
            assert_eq!(flat(same), None, "{same}");
        }
    }

    #[test]
    fn what_a_script_sets_first_can_be_set_beforehand() {
        let of = |text: &str| {
            let preset = preset(&data(text), "bootcmd")?;
            let sets = preset.variables.iter().map(|(n, v)| format!("{n}={v}"));
            Some((sets.collect::<Vec<_>>().join("|"), preset.script))
        };
        let both = |sets: &str, script: &str| Some((sets.to_owned(), script.to_owned()));
        // As Michael Opdenacker's slides have it, in 2014: `args0` names the script of a kind
        // of product.
        assert_eq!(
            of(
                "bootcmd=run bootf0|bootf0=run ${args0}; setenv bootargs ${bootargs} \
                 k=nand0:kernel0; nboot 0x70007fc0 kernel0|args0=argsnand|\
                 argsnand=setenv bootargs mem=128M ${base} rw|base=console=ttyS0,57600"
            ),
            both(
                "bootargs=mem=128M console=ttyS0,57600 rw k=nand0:kernel0",
                "nboot 0x70007fc0 kernel0"
            )
        );
        assert_eq!(
            of("bootcmd=setenv a 1 && env set b $a$a && x / y"),
            both("a=1|b=11", "x || y")
        );
        for none in [
            "bootcmd=nboot 1",
            "bootcmd=setenv a ${gone}; x",
            "bootcmd=setenv a 'b'; x",
            "bootcmd=setenv a; x",
            "bootcmd=setenv a ${b}; x|b=$c",
            "bootcmd=setenv a 1 / x",
            "bootcmd=setenv a 1",
            "bootcmd=x; setenv a 1; y",
            "bootcmd=if a; then setenv a 1; fi; x",
            "bootcmd=setenv which a; run ${which}; x|which=b|a=setenv c 1|b=setenv c 2",
        ] {
            assert_eq!(of(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_reached_is_listed_once_around() {
        let d = data("bootcmd=run a; b|a=if run c; then d; fi|c=run bootcmd; e");
        let all: Vec<_> = reached(&d, "bootcmd")
            .into_iter()
            .map(|r| r.statement.text)
            .collect();
        assert_eq!(
            all,
            ["run a", "if run c", "run bootcmd", "e", "then d", "fi", "b"]
        );
    }
}
