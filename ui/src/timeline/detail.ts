// The details of one interval, or of a range.

import type { Boot } from "../data";
import { append, button, el } from "../dom";
import { bytes, count, signed, time, words } from "../format";
import { colorOf, describeRange } from "./draw";
import { type InRange, inRange } from "./find";
import type { Actions, Picked } from "./picked";
import { waits } from "./waits";

const pair = (name: string, value: string | Node | null): Node[] => (value === null || value === "" ? [] : [el("dt", {}, name), el("dd", {}, value)]);

/** Name, times, evidence, what it waited for. */
export function detail(boot: Boot, doubts: Record<string, string>, picked: Picked, actions: Actions): HTMLElement {
  const { group, index: i } = picked;
  const [start, end] = [group.start[i]!, group.end[i]!];
  const track = group.tracks.find((t) => i >= t.first && i < t.first + t.count);
  const isState = group.kind === "process" && group.value("pid", i) === null;
  const doubt = group.textOf("doubt", i);
  const outcome = group.value("outcome", i);
  const source = group.value("source", i);
  const offset = group.value("offset", i) ?? 0;
  const line = source === null ? null : boot.lineAt(source, offset);
  const swatch = el("span.swatch");
  swatch.style.background = `var(--${colorOf(group, i)})`;
  const title = isState ? `${track?.name ?? ""}: ${group.nameOf(i)}` : group.nameOf(i);
  const facts = [
    ...pair("duration", el("b", {}, time(end - start))),
    ...pair("start", time(start)),
    ...pair("end", time(end)),
    ...pair("reported", group.value("reported", i) === null ? null : time(group.value("reported", i))),
    ...pair("doubt", doubt ? (doubts[doubt] ?? words(doubt)) : null),
    ...pair("returned", outcome === null ? null : outcome === 0 ? "0 (success)" : Math.abs(outcome) === 517 ? `${outcome} (deferred, to be retried)` : String(outcome)),
    ...pair("process", group.value("pid", i) === null ? null : `${group.value("pid", i)}${group.value("parent", i) === null ? "" : `, forked by ${group.value("parent", i)}`}`),
    ...pair("size", group.value("bytes", i) === null ? null : bytes(group.value("bytes", i))),
    ...pair("at sector", group.value("sector", i) === null ? null : count(group.value("sector", i)!)),
    ...pair("for", group.textOf("of", i)),
    ...pair("requested by", group.textOf("by", i)),
    ...pair("evidence", source === null ? null : `${boot.sourceName(source)}, byte ${count(offset)}`),
  ];
  const box = el("div.detail-box", {},
    el("div.detail-head", {}, el("span.kind", {}, swatch, isState ? "process" : group.kind), el("div.tools", {},
      button("Zoom in", () => actions.zoomTo(start - (end - start) * 0.4 - 1000, end + (end - start) * 0.4 + 1000)),
      button("Close", () => actions.pick(null, false), { "aria-label": "Close the details" }))),
    el("h3.name", {}, title), el("dl.facts", {}, facts), line ? el("pre.evidence", {}, line) : null);
  append(box, waits(boot, picked, actions));
  return box;
}

/** The blame of a range. */
export function rangeDetail(boot: Boot, range: [number, number], actions: Actions, close: () => void): HTMLElement {
  const rows = inRange(boot, range[0], range[1], 40);
  const most = rows.reduce((m, r) => Math.max(m, r.within), 1);
  const row = (r: InRange) => {
    const bar = el("i");
    bar.style.width = `${(r.within / most) * 100}%`;
    bar.style.background = `var(--${colorOf(r.group, r.index)})`;
    return el("tr", {}, el("td.num", {}, time(r.within)), el("td.meter", {}, bar), el("td", {}, r.kind),
      el("td.name", {}, button(r.name, () => actions.pick({ group: r.group, index: r.index }, false), { class: "link" }), r.count > 1 ? el("span.quiet", {}, ` ${count(r.count)} times`) : null));
  };
  return el("div.detail-box", {},
    el("div.detail-head", {}, el("span.kind", {}, "range"), el("div.tools", {},
      button("Zoom in", () => actions.zoomTo(range[0], range[1])), button("Close", close, { "aria-label": "Close the range" }))),
    el("h3", {}, describeRange(range)),
    el("p.about", {}, "What took most of this range. Items that ran in parallel each count in full."),
    rows.length ? el("table", {}, el("thead", {}, el("tr", {}, ["within", "", "kind", "name"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", {}, rows.map(row))) : el("p.quiet", {}, "Nothing was recorded here."));
}

/** What shows beside the pointer. */
export function hint(picked: Picked): Node[] {
  const { group, index } = picked;
  const reported = group.value("reported", index);
  const length = group.end[index]! - group.start[index]!;
  const size = group.value("bytes", index);
  return [
    el("b.name", {}, group.nameOf(index)),
    el("div", {}, `${time(length)}${size === null ? "" : `, ${bytes(size)}`}${reported !== null && Math.abs(reported - length) > 1e6 ? `, reported ${time(reported)} (${signed(reported - length)})` : ""}`),
    el("div.quiet", {}, `starts at ${time(group.start[index])}`),
  ];
}
