//! The trend page of a history: one static file without a script, readable on a phone.
//!
//! Pictures stretch with the window, so they hold lines only; text stands around them.

use crate::words::{self, counted, percent, signed};
use analysis::{Differing, History, HistoryChange, HistoryVerdict, Series};
use record::Nanos;
use std::fmt::Write;

/// The user units of a picture.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 200.0;

/// The most points that are drawn each with a name: more make the page slow.
const NAMED: usize = 1_000;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--line:#d0d7de;--bad:#b3261e;--good:#2b7d3a;--dot:#3b6ea5;--back:#fff}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--line:#3d444d;--bad:#ff8a80;--good:#7ed492;--dot:#8db8e8;--back:#0d1117}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:75rem;font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--back)}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
p{max-width:45rem}.dim{color:var(--dim)}.bad{color:var(--bad)}.good{color:var(--good)}
figure{margin:.5rem 0}
svg{display:block;width:100%;height:12rem;border:1px solid var(--line);background:transparent}
details svg{height:6rem}
.ends{display:flex;justify-content:space-between;gap:1rem;color:var(--dim);font-size:.85rem;overflow-wrap:anywhere}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{padding:.3rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child,.text{text-align:left;white-space:normal;overflow-wrap:break-word;min-width:7rem}
h1,p,td:first-child,li{overflow-wrap:anywhere}
details{border-bottom:1px solid var(--line);padding:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}
code{overflow-wrap:anywhere}
";

/// The page; `input` names the history, and `notes` are problems of it.
#[must_use]
pub fn page(h: &History, input: &str, notes: &[String]) -> String {
    let title = format!("Boot time history: {}", escaped(input));
    // Writing into a string does not fail.
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title}</title>\n<style>{STYLE}</style></head>\n<body>\n<h1>{title}</h1>\n"
    );
    verdict(&mut text, h);
    let is_judged = |s: &&Series| h.resolution.iter().any(|r| r.item == s.label());
    for series in h.series.iter().filter(is_judged) {
        let _ = writeln!(text, "<h2>{}</h2>", escaped(series.label()));
        figure(&mut text, h, series);
    }
    changes(&mut text, h);
    marks(&mut text, h);
    groups(&mut text, h);
    for d in &h.drifts {
        let _ = writeln!(
            text,
            "<h2>Drift of {}</h2>\n<p>{} from {} to {}, without a step: no single entry explains \
             it.</p>",
            escaped(&d.item),
            signed(d.change),
            label(h, d.entries.0),
            label(h, d.entries.1)
        );
    }
    let others: Vec<&Series> = h.series.iter().filter(|s| !is_judged(s)).collect();
    if !others.is_empty() {
        text.push_str("<h2>Phases and items</h2>\n");
        if h.items.1 < h.items.0 {
            let _ = writeln!(
                text,
                "<p class=\"dim\">{} of {} were searched for change points.</p>",
                h.items.1,
                counted(h.items.0, "item")
            );
        }
    }
    for series in others {
        let last = series
            .points
            .last()
            .map_or(String::new(), |p| p.1.to_string());
        let of_this = |c: &&HistoryChange| c.item == series.label() && c.kind == series.kind;
        let changed = match h.changes.iter().filter(of_this).count() {
            0 => String::new(),
            n => format!(", {}", counted(n, "change point")),
        };
        let _ = writeln!(
            text,
            "<details><summary>{} <span class=\"dim\">{}, {last}{changed}</span></summary>",
            escaped(series.label()),
            series.kind.as_str()
        );
        figure(&mut text, h, series);
        text.push_str("</details>\n");
    }
    if !notes.is_empty() {
        text.push_str("<h2>Data quality</h2>\n<ul>\n");
        for note in notes {
            let _ = writeln!(text, "<li>{}</li>", escaped(note));
        }
        text.push_str("</ul>\n");
    }
    text.push_str("</body></html>\n");
    text
}

fn verdict(text: &mut String, h: &History) {
    let said = match &h.verdict {
        HistoryVerdict::Fine => {
            let is_loss = |c: &&HistoryChange| c.is_judged && c.change > Nanos::ZERO;
            let why = match h.changes.iter().rfind(is_loss) {
                None => "No change point is a regression.",
                Some(c) if c.accepted.is_some() => "The last regression was accepted.",
                Some(_) => "The last change point is no regression, or one that is allowed.",
            };
            format!("<span class=\"good\">Fine.</span> {why}")
        }
        HistoryVerdict::CannotTell(why) => format!("Cannot tell: {}.", escaped(why)),
        HistoryVerdict::Regressed(at) => h.changes.get(*at).map_or(String::new(), |c| {
            format!(
                "<span class=\"bad\">Slower.</span> {} changed by {} {} at {}.",
                escaped(&c.item),
                signed(c.change),
                part(c),
                escaped(&c.label)
            )
        }),
    };
    let _ = writeln!(text, "<p>{said}</p>");
    let entries = counted(h.labels.len(), "entry");
    let clock = h.clock.map_or("", words::clock);
    let _ = writeln!(text, "<p class=\"dim\">{entries}. {clock}</p>");
    for r in &h.resolution {
        let visible = r.visible.map_or_else(
            || "No step is visible with so few entries.".to_owned(),
            |v| format!("A step of {v} is visible within 10 entries."),
        );
        let _ = writeln!(
            text,
            "<p class=\"dim\">{}: median {}, scatter {}. {visible}</p>",
            escaped(&r.item),
            r.level,
            r.scatter,
        );
    }
}

fn part(c: &HistoryChange) -> String {
    match percent(c.change, c.medians.0) {
        part if part.is_empty() => part,
        part => format!("({part})"),
    }
}

fn label(h: &History, at: usize) -> String {
    escaped(h.labels.get(at).map_or("", String::as_str))
}

/// Points, levels, and a line at each change.
fn figure(text: &mut String, h: &History, series: &Series) {
    let times = || series.points.iter().map(|p| p.1);
    let (Some(least), Some(most)) = (times().min(), times().max()) else {
        return;
    };
    let last = h.labels.len().saturating_sub(1).max(1) as f64;
    let range = (most - least).get().max(1) as f64;
    let x = |entry: usize| 10.0 + entry as f64 / last * (WIDTH - 20.0);
    let y = |time: Nanos| HEIGHT - 10.0 - (time - least).get() as f64 / range * (HEIGHT - 20.0);
    let _ = write!(
        text,
        "<figure><div class=\"ends\"><span>{most}</span></div>\n\
         <svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{} over {}\">\n",
        escaped(series.label()),
        counted(series.points.len(), "entry")
    );
    let of_this = |c: &&HistoryChange| c.item == series.label() && c.kind == series.kind;
    for c in h.changes.iter().filter(of_this) {
        let at = x(c.index);
        let color = if c.change > Nanos::ZERO {
            "bad"
        } else {
            "good"
        };
        let _ = writeln!(
            text,
            "<path d=\"M{at:.1} 0V{HEIGHT}\" stroke=\"var(--{color})\" stroke-width=\"1.5\" \
             vector-effect=\"non-scaling-stroke\"><title>{}: {}</title></path>",
            escaped(&c.label),
            signed(c.change)
        );
    }
    for (entry, mark) in &h.marks {
        let _ = writeln!(
            text,
            "<path d=\"M{:.1} 0V{HEIGHT}\" stroke=\"var(--dim)\" stroke-dasharray=\"4\" \
             vector-effect=\"non-scaling-stroke\"><title>{}: {}</title></path>",
            x(*entry),
            label(h, *entry),
            escaped(mark)
        );
    }
    if series.points.len() <= NAMED {
        for (entry, time) in &series.points {
            let (at, height) = (x(*entry), y(*time));
            let _ = writeln!(
                text,
                "<path d=\"M{at:.1} {height:.1}h.01\" stroke=\"var(--dot)\" stroke-width=\"5\" \
                 stroke-linecap=\"round\" vector-effect=\"non-scaling-stroke\"><title>{}: \
                 {time}</title></path>",
                label(h, *entry)
            );
        }
    } else {
        let mut dots = String::new();
        for (entry, time) in &series.points {
            let _ = write!(dots, "M{:.1} {:.1}h.01", x(*entry), y(*time));
        }
        let _ = writeln!(
            text,
            "<path d=\"{dots}\" fill=\"none\" stroke=\"var(--dot)\" stroke-width=\"2\" \
             stroke-linecap=\"round\" vector-effect=\"non-scaling-stroke\"/>"
        );
    }
    for level in &series.levels {
        let height = y(level.median);
        let _ = writeln!(
            text,
            "<path d=\"M{:.1} {height:.1}H{:.1}\" stroke=\"var(--ink)\" stroke-width=\"2\" \
             vector-effect=\"non-scaling-stroke\"/>",
            x(level.from),
            x(level.to)
        );
    }
    let end = h.labels.len().saturating_sub(1);
    let _ = writeln!(
        text,
        "</svg><div class=\"ends\"><span>{least}</span></div>\n\
         <div class=\"ends\"><span>{}</span><span>{}</span></div></figure>",
        label(h, 0),
        label(h, end)
    );
}

fn changes(text: &mut String, h: &History) {
    if h.changes.is_empty() {
        return;
    }
    text.push_str(
        "<h2>Change points</h2>\n<div class=\"wide\"><table>\n<tr><th>entry</th><th \
         class=\"text\">time</th><th>before</th><th>after</th><th>change</th><th>95 % \
         interval</th><th>p</th><th class=\"text\"></th></tr>\n",
    );
    for c in h.changes.iter().rev() {
        let color = match c.change > Nanos::ZERO {
            true => "bad",
            false => "good",
        };
        let why = c
            .accepted
            .as_ref()
            .map(|why| format!("accepted: {}", escaped(why)));
        let there = c.environment.iter().map(|e| escaped(e));
        let remarks: Vec<String> = why.into_iter().chain(there).collect();
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td \
             class=\"{color}\">{} {}</td><td>{} to {}</td><td>{}</td><td \
             class=\"text\">{}</td></tr>",
            escaped(&c.label),
            escaped(&c.item),
            c.medians.0,
            c.medians.1,
            signed(c.change),
            part(c),
            signed(c.interval.0),
            signed(c.interval.1),
            chance(c.p),
            remarks.join("; ")
        );
    }
    text.push_str("</table></div>\n");
    for c in h.changes.iter().rev().filter(|c| !c.items.is_empty()) {
        let _ = writeln!(
            text,
            "<details><summary>Items that changed with {} at {}</summary>",
            escaped(&c.item),
            escaped(&c.label)
        );
        items(text, &c.items, ["before", "after"]);
        text.push_str("</details>\n");
    }
}

/// Releases and remarks, which are dashed lines in the pictures.
fn marks(text: &mut String, h: &History) {
    if h.marks.is_empty() {
        return;
    }
    text.push_str("<h2>Releases and remarks</h2>\n<ul>\n");
    for (entry, mark) in h.marks.iter().rev() {
        let _ = writeln!(text, "<li>{}: {}</li>", label(h, *entry), escaped(mark));
    }
    text.push_str("</ul>\n");
}

fn groups(text: &mut String, h: &History) {
    for g in &h.groups {
        let _ = writeln!(
            text,
            "<h2>Two groups of boots in {}</h2>\n<p>{} around {} and {} around {}. The slower \
             group begins at {}.</p>",
            escaped(&g.item),
            counted(g.counts.0, "boot"),
            g.medians.0,
            g.counts.1,
            g.medians.1,
            g.from
        );
        for field in &g.environment {
            let _ = writeln!(text, "<p>Differs with {}.</p>", escaped(field));
        }
        if !g.items.is_empty() {
            items(text, &g.items, ["faster", "slower"]);
        }
    }
}

fn items(text: &mut String, items: &[Differing], heads: [&str; 2]) {
    let _ = writeln!(
        text,
        "<div class=\"wide\"><table><tr><th>item</th><th class=\"text\">kind</th><th>{}</th>\
         <th>{}</th><th>change</th></tr>",
        heads[0], heads[1]
    );
    let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.to_string());
    for d in items {
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escaped(&d.name),
            d.kind.as_str(),
            time(d.before),
            time(d.after),
            signed(d.delta())
        );
    }
    text.push_str("</table></div>\n");
}

fn chance(p: f64) -> String {
    match p < 0.001 {
        true => "&lt; 0.001".to_owned(),
        false => format!("{p:.3}"),
    }
}

/// Text in an element or an attribute.
fn escaped(text: &str) -> String {
    let text = crate::terminal::layout::clean(text);
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
