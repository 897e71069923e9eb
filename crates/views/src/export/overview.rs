//! One picture of a boot as SVG: load on top as a bootchart has it, and below
//! it bars as a bootgraph has them.

use super::label::{escaped, shortened, step};
use super::rows::{first_time, last_time};
use analysis::{Counter, Slice, TrackGroup, TrackKind, Tracks};
use record::{Nanos, Unit};
use std::fmt::Write;

/// The picture's width, and that of its names at the left, in pixels.
const WIDTH: f64 = 1280.0;
const LEFT: f64 = 230.0;
const RIGHT: f64 = 20.0;

/// The height of a bar with its gap, and of a chart, in pixels.
const ROW: f64 = 15.0;
const CHART: f64 = 70.0;

/// How many bars a group shows: the longest.
const MOST_BARS: usize = 60;

/// A bar is shown from this share of the whole on.
const SHORTEST: i64 = 1_000;

/// The colors of Okabe and Ito, which are distinct with every common color vision.
const fn color(kind: TrackKind) -> &'static str {
    match kind {
        TrackKind::Phase => "#999999",
        TrackKind::Initcall => "#e69f00",
        TrackKind::Probe => "#d55e00",
        TrackKind::Unit => "#0072b2",
        TrackKind::Process => "#56b4e9",
        TrackKind::File => "#cc79a7",
        TrackKind::Request => "#009e73",
        TrackKind::Stage => "#f0e442",
    }
}

/// The picture. `title` stands on top.
#[must_use]
pub fn svg(tracks: &Tracks<'_>, title: &str) -> String {
    let mut picture = Picture {
        body: String::new(),
        y: 54.0,
        start: first_time(tracks).min(Nanos::ZERO),
        end: last_time(tracks),
    };
    for group in tracks.groups.iter().filter(|g| g.kind == TrackKind::Phase) {
        picture.group(group);
    }
    picture.charts(&tracks.counters);
    for group in tracks.groups.iter().filter(|g| g.kind != TrackKind::Phase) {
        picture.group(group);
    }
    picture.finish(title, tracks.zero)
}

struct Picture {
    body: String,
    /// Where the next row goes.
    y: f64,
    start: Nanos,
    end: Nanos,
}

impl Picture {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a picture has a few thousand pixels"
    )]
    fn x(&self, t: Nanos) -> f64 {
        let whole = (self.end - self.start).get().max(1) as f64;
        LEFT + (t - self.start).get() as f64 / whole * (WIDTH - LEFT - RIGHT)
    }

    /// Writing to memory does not fail.
    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.body.write_fmt(text).ok();
    }

    fn heading(&mut self, text: &str) {
        self.y += 8.0;
        let y = self.y + 12.0;
        self.put(format_args!(
            "<text x=\"12\" y=\"{y:.0}\" class=\"h\">{}</text>\n",
            escaped(text)
        ));
        self.y += ROW + 3.0;
    }

    fn group(&mut self, group: &TrackGroup<'_>) {
        let least = Nanos((self.end - self.start).get() / SHORTEST);
        let life_only = group.kind == TrackKind::Process;
        let mut bars: Vec<&Slice<'_>> = group
            .tracks
            .iter()
            .flat_map(|t| t.slices.iter().take(if life_only { 1 } else { usize::MAX }))
            .filter(|s| s.end - s.start >= least)
            .collect();
        let all = bars.len();
        if all > MOST_BARS {
            bars.sort_by_key(|s| std::cmp::Reverse(s.end - s.start));
            bars.truncate(MOST_BARS);
        }
        bars.sort_by_key(|s| (s.start, std::cmp::Reverse(s.end)));
        if bars.is_empty() {
            return;
        }
        let shown = bars.len();
        match all > shown {
            true => self.heading(&format!("{} (the {shown} longest of {all})", group.name)),
            false => self.heading(&group.name),
        }
        for bar in bars {
            let (x0, x1) = (self.x(bar.start), self.x(bar.end));
            let (y, width) = (self.y, (x1 - x0).max(1.0));
            let duration = bar.end - bar.start;
            let name = escaped(&bar.name);
            let text_y = y + 11.0;
            self.put(format_args!(
                "<g><title>{name}: {duration}, starts at {}</title>\
                 <text x=\"{:.0}\" y=\"{text_y:.1}\" class=\"n\">{}</text>\
                 <rect x=\"{x0:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.0}\" fill=\"{}\"/>",
                bar.start,
                LEFT - 8.0,
                escaped(&shortened(&bar.name, 34)),
                y + 1.5,
                ROW - 3.0,
                color(group.kind),
            ));
            // The duration stands behind the bar, or before it at the edge.
            let (x, anchor) = match x1 < WIDTH - RIGHT - 70.0 {
                true => (x1 + 4.0, "start"),
                false => (x0 - 4.0, "end"),
            };
            self.put(format_args!(
                "<text x=\"{x:.1}\" y=\"{text_y:.1}\" class=\"d\" text-anchor=\"{anchor}\">{duration}</text></g>\n"
            ));
            self.y += ROW;
        }
    }

    /// A chart for each unit of the whole machine's counters.
    fn charts(&mut self, counters: &[Counter<'_>]) {
        for (unit, heading) in [
            (Unit::Permille, "load (top: 100 %)"),
            (Unit::BytesPerSecond, "throughput"),
            (Unit::Bytes, "bytes"),
        ] {
            let of_unit = counters.iter().filter(|c| c.unit == unit);
            let shown: Vec<&Counter<'_>> = of_unit.take(LINES.len()).collect();
            let samples = shown.iter().flat_map(|c| c.samples);
            let most = samples.map(|s| s.value).max().unwrap_or(0);
            if most <= 0 {
                continue;
            }
            let top = if unit == Unit::Permille { 1_000 } else { most };
            self.heading(heading);
            let (y0, right) = (self.y, WIDTH - LEFT - RIGHT);
            self.put(format_args!(
                "<rect x=\"{LEFT}\" y=\"{y0:.0}\" width=\"{right}\" height=\"{CHART}\" class=\"c\"/>\n"
            ));
            for (counter, (line, dash)) in shown.iter().zip(LINES) {
                self.line(counter, top, line, dash);
            }
            for (i, (counter, (line, _))) in (0_u8..).zip(shown.iter().zip(LINES)) {
                let y = y0 + 11.0 + f64::from(i) * 13.0;
                let name = escaped(&shortened(&counter.name, 34));
                let x = LEFT - 8.0;
                self.put(format_args!(
                    "<text x=\"{x}\" y=\"{y:.0}\" class=\"n\" style=\"fill:{line}\">{name}</text>\n"
                ));
            }
            self.y += CHART + 4.0;
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a picture has a few thousand pixels"
    )]
    fn line(&mut self, counter: &Counter<'_>, top: i64, color: &str, dash: &str) {
        let bottom = self.y + CHART;
        let mut points = String::new();
        for sample in counter.samples {
            let share = (sample.value as f64 / top as f64).clamp(0.0, 1.0);
            let (x, y) = (self.x(sample.at), bottom - share * CHART);
            write!(points, "{x:.1},{y:.1} ").ok();
        }
        let name = escaped(&counter.name);
        self.put(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.3\" \
             stroke-dasharray=\"{dash}\"><title>{name}</title></polyline>\n"
        ));
    }

    fn finish(self, title: &str, zero: &str) -> String {
        let height = self.y + 20.0;
        let mut axis = String::new();
        let step = step(self.end - self.start);
        let mut t = Nanos(self.start.get().div_euclid(step) * step);
        while t <= self.end {
            if t >= self.start {
                let x = self.x(t);
                writeln!(
                    axis,
                    "<line x1=\"{x:.1}\" y1=\"46\" x2=\"{x:.1}\" y2=\"{height:.0}\" class=\"g\"/>\
                     <text x=\"{x:.1}\" y=\"42\" class=\"t\">{t}</text>"
                )
                .ok();
            }
            t = t + Nanos(step);
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\">\n<style>text{{font:11px sans-serif;\
             fill:#222}}.h{{font-weight:bold;font-size:12px}}.n{{text-anchor:end}}.d,.t{{fill:#555}}\
             .t{{text-anchor:middle}}.g{{stroke:#ddd}}.c{{fill:#f4f4f4}}</style>\n\
             <title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"12\" y=\"20\" style=\"font-size:15px;font-weight:bold\">{0}</text>\n\
             <text x=\"{1:.0}\" y=\"20\" text-anchor=\"end\" class=\"d\">time 0: {2}</text>\n{axis}{3}</svg>\n",
            escaped(title),
            WIDTH - RIGHT,
            escaped(zero),
            self.body,
        )
    }
}

/// The lines of a chart: color, and dashes for those who see no color.
const LINES: [(&str, &str); 5] = [
    ("#0072b2", ""),
    ("#d55e00", "5 2"),
    ("#009e73", "2 2"),
    ("#cc79a7", "7 2 2 2"),
    ("#777777", "1 3"),
];
