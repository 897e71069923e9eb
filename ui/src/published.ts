// Published results, each beside what it is here.

import { el, section } from "./dom";
import { plural, time } from "./format";
import { type Pen, fitted } from "./pen";
import { drawn } from "./stage";
import { table } from "./table";
import { FONT, theme } from "./theme";
import { copyTools } from "./tools";

export interface PublishedValue { name: string; published_ns: number | null; measured_ns: number | null; count?: { unit: string; published: number | null; measured: number | null }; published_ratio: number | null; measured_ratio: number | null }
export interface PublishedResult { id: string; title: string; source: string; machine: string; here: string; why: string; values: PublishedValue[]; failures: string[] }
export interface Published { schema: string; made_by: string; title: string; results: PublishedResult[] }

const ROW = 40;

export function published(page: Published): HTMLElement {
  const { results } = page;
  return el("main", {},
    results.length > 1 ? section(`${plural(results.length, "published result")}, reproduced`, "Ratios are relative to the first figure of their group. On another machine the figures differ, but the ratios should be similar.", table<PublishedResult>({
      label: "Published results", rows: results, text: (r) => `${r.id} ${r.title} ${r.source}`,
      columns: [
        { name: "result", cell: (r) => r.title, className: "name" },
        { name: "figures", numeric: true, value: (r) => r.values.length, cell: (r) => String(r.values.length) },
        { name: "measured here", numeric: true, value: measured, cell: (r) => String(measured(r)) },
        { name: "largest deviation", numeric: true, value: furthest, cell: (r) => { const f = furthest(r); return f === null ? "" : factor(f); }, title: "measured ratio divided by published ratio, where they differ most" },
        { name: "published by", cell: (r) => r.source, className: "name" },
      ],
    })) : null,
    results.map(one));
}

const measured = (r: PublishedResult): number => r.values.filter((v) => figure(v, "measured") !== null).length;

/** Measured ratio to published ratio, of the figure where they differ most. */
export function furthest(r: PublishedResult): number | null {
  const all = r.values.flatMap((v) => apart(v) ?? []);
  return all.length ? all.reduce((a, b) => (Math.abs(Math.log(b)) > Math.abs(Math.log(a)) ? b : a)) : null;
}

/** Measured ratio to published ratio, if there are both. */
const apart = (v: PublishedValue): number | null => {
  const { published_ratio: p, measured_ratio: m } = v;
  return p !== null && m !== null && p > 0 && m > 0 ? m / p : null;
};
/** A figure: a duration in nanoseconds, or a number in its own unit. */
const figure = (v: PublishedValue, which: "published" | "measured"): number | null => (v.count ? v.count[which] : v[`${which}_ns`]);
const or = (v: PublishedValue, which: "published" | "measured", without: string): string => {
  const f = figure(v, which);
  if (f === null) return without;
  return v.count ? `${Number(f.toFixed(3))} ${v.count.unit}` : time(f);
};
const factor = (f: number): string => `${f.toFixed(2)} x`;
const ratio = (r: number | null): string => (r === null ? "" : r.toFixed(3));

function one(r: PublishedResult): HTMLElement {
  // Alone, a figure has no ratio that says anything: then times are drawn.
  const times = r.values.every((v) => v.published_ratio === null || v.published_ratio === 1);
  const of = (v: PublishedValue) => (times ? [v.published_ns, v.measured_ns] as const : [v.published_ratio, v.measured_ratio] as const);
  // Numbers in units of their own have no place on the scale of times.
  const rows = times ? r.values.filter((v) => !v.count) : r.values;
  const most = Math.max(...rows.flatMap((v) => [of(v)[0] ?? 0, of(v)[1] ?? 0]), 1e-9);
  const height = rows.length * ROW + 8;
  const draw = (pen: Pen, width: number, h: number) => {
    const t = theme();
    const label = width < 560 ? 120 : 270;
    const scale = (width - label - 74) / most;
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, width, h);
    pen.textBaseline = "middle";
    if (!times) {
      pen.strokeStyle = t.quiet;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(label + scale, 0);
      pen.lineTo(label + scale, h - 4);
      pen.stroke();
      pen.setLineDash([]);
    }
    rows.forEach((v, i) => {
      const y = 4 + i * ROW;
      pen.textAlign = "right";
      pen.font = `12px ${FONT}`;
      pen.fillStyle = t.ink;
      pen.fillText(fitted(pen, v.name, label - 14), label - 10, y + ROW / 2 - 2);
      pen.textAlign = "left";
      pen.font = `11px ${FONT}`;
      for (const [k, value, color] of [[0, of(v)[0], t.stage], [1, of(v)[1], t.kernel]] as const) {
        const top = y + 3 + k * 15;
        if (value === null) {
          pen.fillStyle = t.quiet;
          pen.fillText(k === 0 ? "not published" : "not measured", label + 4, top + 7);
          continue;
        }
        pen.fillStyle = color;
        pen.fillRect(label, top, Math.max(value * scale, 1.5), 13);
        pen.fillStyle = t.quiet;
        pen.fillText(times ? time(value) : value.toFixed(2), label + Math.max(value * scale, 1.5) + 6, top + 7);
      }
    });
  };
  const swatch = (color: string, name: string) => {
    const s = el("span.swatch");
    s.style.background = `var(--${color})`;
    return el("span.quiet", {}, s, name);
  };
  return section(r.title, r.source,
    r.failures.length ? el("ul.plain", {}, r.failures.map((f) => el("li.bad", {}, f))) : null,
    el("div.tools", {}, swatch("stage", "published"), swatch("kernel", "measured here, in virtual time"), times ? null : el("span.quiet.gap-left", {}, "as ratios to the first figure of the group"), copyTools(() => ({ name: r.id, width: 900, height, draw }))),
    drawn(height, draw, r.values.map((v) => `${v.name}: published ${or(v, "published", "nothing")}, measured ${or(v, "measured", "nothing")}`).join("; ")),
    table<PublishedValue>({
      label: r.title, rows: r.values,
      columns: [
        { name: "figure", cell: (v) => v.name, className: "name" },
        { name: "published", numeric: true, value: (v) => figure(v, "published"), cell: (v) => or(v, "published", "") },
        { name: "measured", numeric: true, value: (v) => figure(v, "measured"), cell: (v) => (figure(v, "measured") === null ? el("span.quiet", {}, "not measured") : or(v, "measured", "")) },
        { name: "published ratio", numeric: true, value: (v) => v.published_ratio, cell: (v) => ratio(v.published_ratio) },
        { name: "measured ratio", numeric: true, value: (v) => v.measured_ratio, cell: (v) => ratio(v.measured_ratio) },
        { name: "measured / published", numeric: true, value: apart, cell: (v) => { const f = apart(v); return f === null ? "" : factor(f); }, title: "of the ratios; 1.00 x is the same effect" },
      ],
    }),
    el("dl.facts", {}, el("dt", {}, "measured on"), el("dd", {}, r.machine), el("dt", {}, "how"), el("dd", {}, r.here), el("dt", {}, "why it differs"), el("dd", {}, r.why)));
}
