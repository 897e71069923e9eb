// The first screen: how long, where it went, what to do.

import type { Boot, Data, Finding, Note } from "./data";
import { phaseStrips } from "./bars";
import { PATH_COLORS } from "./blame";
import { type Child_, button, el, prose, refill, section } from "./dom";
import { count, plural, signed, step, tick, ticks, time, verdictOf, words } from "./format";
import { levers } from "./levers";
import { go } from "./link";
import { on, onTheme } from "./theme";
import { phaseColor } from "./timeline/draw";
import { meter } from "./table";
import { copyTools } from "./tools";

export function overview(data: Data, boots: Boot[]): HTMLElement {
  const first = boots[0]!;
  const lost = boots.flatMap((b) => b.show.notes.filter((n) => n.severity === "data_loss").map((n) => ({ boot: b, note: n })));
  return el("div", {},
    hero(data, boots),
    lost.length ? el("section.loss", { "aria-label": "Incomplete input" }, el("h2", {}, "Incomplete input"),
      el("p.about", {}, "The numbers below cover only what remains."), el("ul.plain", {}, lost.map(({ boot, note }) => noteItem(boot, note, boots.length > 1)))) : null,
    phases(boots),
    el("div.columns", {}, el("div", {}, findings(first, boots.length > 1), doubtful(boots)), el("div", {}, longest(first, boots.length > 1), path(first), levers(first))),
    about(first));
}

/** A time in two parts: all but its last unit, and that unit. */
function figure(text: string): [string, string] {
  const at = text.lastIndexOf(" ");
  return [text.slice(0, at), text.slice(at + 1)];
}

function hero(data: Data, boots: Boot[]): HTMLElement {
  const figures = boots.map((boot) => {
    const light = boot.show.first_light;
    const [number, unit] = figure(time(light ? light.at_ns : boot.show.last_ns));
    return el("figure", {},
      boots.length > 1 ? el("b.who", {}, boot.title) : null,
      el(`span.big${light ? "" : ".quiet"}`, {}, number, el("span.unit", {}, ` ${unit}`), boot.isVirtual ? el("span.unit.warn", {}, " virtual") : null),
      el("figcaption", {}, light ? ["to first light (", el("code", {}, light.mark), ") after ", el("code", {}, boot.show.zero)]
        : ["to the last event, after ", el("code", {}, boot.show.zero), ". No input says when the boot ended. To say what ends it, pass ", el("code", {}, "--first-light TEXT")]));
  });
  const delta = data.comparison?.first_light.delta_ns;
  if (delta !== null && delta !== undefined) {
    const verdict = data.lab?.comparison.find((c) => c.variant === data.best?.title);
    const measured = data.board?.run.comparison.find((c) => c.variant === data.best?.title);
    const tone = delta < 0 ? "good" : delta > 0 ? "bad" : "quiet";
    const says = verdict ? (verdict.unperturbed ? "one boot each, spread unknown" : `${verdictOf(verdict.verdict)}; neutral perturbations move it by ${time(verdict.spread_ns)}`) : measured ? `two boots near their medians; over ${plural(measured.boots, "boot")} each: ${verdictOf(measured.verdict)}, ${measured.interval_ns.map(signed).join(" to ")}` : "one boot each, spread unknown";
    const a = data.comparison?.first_light.a?.at_ns ?? 0;
    figures.push(el("figure", {}, el("b.who", {}, "change"), el(`span.big.${tone}`, {}, figure(signed(delta))[0], el("span.unit", {}, ` ${figure(signed(delta))[1]}`)),
      el("figcaption", {}, a ? `${delta > 0 ? "+" : ""}${((delta / a) * 100).toFixed(Math.abs(delta / a) < 0.1 ? 1 : 0)} %, ` : "", says)));
  }
  const first = boots[0]!;
  const says = first.raw.clock_says;
  return el(`div.hero${first.isVirtual ? ".virtual" : ""}`, {}, el("div.figures", {}, figures),
    says ? el(`p.badge${first.isVirtual ? "" : ".real"}`, {}, says) : null);
}

export function phases(boots: Boot[]): HTMLElement | null {
  if (!boots.some((b) => b.show.phases.length)) return null;
  const from = Math.min(0, ...boots.map((b) => b.show.phases[0]?.start_ns ?? 0));
  const to = Math.max(...boots.map((b) => Math.max(b.end, b.show.phases.at(-1)?.end_ns ?? 0)), from + 1);
  const share = (ns: number) => `${((ns - from) / (to - from)) * 100}%`;
  const strips = boots.map((boot, n) => {
    const strip = el("div.strip");
    for (const p of boot.show.phases) {
      const part = el("button.part", { type: "button", title: `${p.name}: ${time(p.end_ns - p.start_ns)}, from ${p.start_mark} to ${p.end_mark}`, onclick: () => go(n ? "timeline2" : "timeline", { t: `${p.start_ns}~${p.end_ns}` }) },
        el("span.label", {}, p.name), el("span.length", {}, ` ${time(p.end_ns - p.start_ns)}`));
      part.style.left = share(p.start_ns);
      part.style.width = `${((p.end_ns - p.start_ns) / (to - from)) * 100}%`;
      part.style.background = `var(--${phaseColor(p.name)})`;
      const color = () => { part.style.color = on(phaseColor(p.name)); };
      color();
      onTheme(color);
      if ((p.end_ns - p.start_ns) / (to - from) < 0.02) part.classList.add("thin");
      strip.append(part);
    }
    const light = boot.show.first_light;
    if (light) {
      const end = el("span.end", { title: `first light: ${light.mark}, ${time(light.at_ns)}` });
      end.style.left = share(light.at_ns);
      strip.append(end);
    }
    return [boots.length > 1 ? el("div.who", { title: boot.title }, boot.title) : null, strip];
  });
  const by = step(to - from, 9);
  const axis = el("div.axis", { "aria-hidden": "true" });
  for (const at of ticks(from, to, by)) {
    if (at > to - (to - from) * 0.02 && at < to) continue;
    const label = el("span", {}, tick(at, by));
    label.style.left = share(at);
    if (at - from > (to - from) * 0.96) label.classList.add("last");
    axis.append(label);
  }
  const first = boots[0]!;
  const total = first.end - (first.show.phases[0]?.start_ns ?? 0);
  const rows = first.show.phases.flatMap((p) => {
    const length = p.end_ns - p.start_ns;
    const other = boots[1]?.show.phases.find((q) => q.name === p.name);
    const change = other ? other.end_ns - other.start_ns - length : null;
    const swatch = el("span.swatch");
    swatch.style.background = `var(--${phaseColor(p.name)})`;
    return [
      el("tr", {}, el("th", { scope: "row" }, swatch, p.name), el("td.num", {}, time(length)), el("td.num.quiet", {}, total > 0 ? `${((length / total) * 100).toFixed(1)} %` : ""),
        boots[1] ? el(`td.num.${change === null || change === 0 ? "quiet" : change < 0 ? "good" : "bad"}`, {}, change === null ? (other ? "" : `${signed(-length)}, gone`) : change === 0 ? "same" : signed(change)) : null,
        el("td.marks.quiet", {}, el("code", {}, p.start_mark), " \u2192 ", el("code", {}, p.end_mark))),
      ...p.stages.map((s) => el("tr.stage", {}, el("td.sub", {}, s.name), el("td.num", {}, time(s.end_ns - s.start_ns)), el("td"), boots[1] ? el("td") : null, el("td"))),
    ];
  });
  for (const p of boots[1]?.show.phases ?? []) {
    if (first.show.phases.some((q) => q.name === p.name)) continue;
    const swatch = el("span.swatch");
    swatch.style.background = `var(--${phaseColor(p.name)})`;
    rows.push(el("tr", {}, el("th", { scope: "row" }, swatch, p.name), el("td.num.quiet", {}, "none"), el("td"), el("td.num.bad", {}, signed(p.end_ns - p.start_ns)),
      el("td.marks.quiet", {}, el("code", {}, p.start_mark), " \u2192 ", el("code", {}, p.end_mark))));
  }
  return section("Where the time goes", null,
    el("div.tools.corner", {}, copyTools(() => phaseStrips(boots))),
    el(`div.strips${boots.length > 1 ? ".two" : ""}`, {}, strips, boots.length > 1 ? el("div") : null, axis),
    el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Phases" }, el("table.phases", {}, el("tbody", {}, rows))));
}

function findings(boot: Boot, name: boolean): HTMLElement {
  const all = boot.show.findings;
  const title = `What to change${name ? `: ${boot.title}` : ""}`;
  if (!all.length) return section(title, "No rule applies to this input. More rules apply to more inputs: a log with initcall_debug, units, a block trace.");
  return section(title, null, all.map((f) => finding(boot, f)));
}

function saving(f: Finding): string {
  if (!f.saving) return "saving unknown";
  const { low_ns: low, high_ns: high } = f.saving;
  if (low === high) return time(high);
  return low <= 0 ? `up to ${time(high)}` : `${time(low)} to ${time(high)}`;
}

/** What applies a treatment: to a root tree or a file, or in an experiment of the lab, where only that can. */
export function commandOf(treatment: string): string {
  if (treatment.startsWith("kernel=")) return `treatments = [${JSON.stringify(treatment)}]  # in an experiment`;
  const word = /^[\w.+=:,/@%-]+$/.test(treatment) ? treatment : `'${treatment.replaceAll("'", "'\\''")}'`;
  return `firstlight treat apply ${word} ROOT`;
}

function finding(boot: Boot, f: Finding): HTMLElement {
  const says = el("span.quiet", { role: "status" });
  const command = f.treatment ? commandOf(f.treatment) : null;
  const evidence = f.evidence.map((e) => {
    const line = boot.lineAt(e.source, e.offset);
    return el("li", {}, e.text, el("span.quiet", {}, ` (${e.source}, byte ${count(e.offset)})`), line && line !== e.text ? el("pre.evidence", {}, line) : null);
  });
  return el("article.finding", {},
    el("h3", {}, prose(f.title)), el(`span.saving${f.saving ? "" : ".quiet"}`, { title: "expected saving" }, saving(f)),
    el("p", {}, prose(f.why)),
    f.cost ? el("p.quiet", {}, "Cost: ", prose(f.cost)) : null,
    command ? el("p.try", {}, el("code", {}, command),
      button("Copy", () => void navigator.clipboard.writeText(command).then(() => refill(says, "Copied."), () => refill(says, "This browser does not let a local file copy.")), { "aria-label": `Copy ${command}` }), says) : null,
    evidence.length ? el("details", {}, el("summary", {}, "Evidence"), el("ul.plain", {}, evidence)) : null);
}

function longest(boot: Boot, name: boolean): HTMLElement | null {
  const all = boot.raw.blame.filter((b) => b.kind !== "phase" && b.kind !== "process").flatMap((b) => b.rows.slice(0, 8).map((r) => ({ kind: b.kind, r, wall: r[3] ?? r[4] ?? 0 })));
  all.sort((a, b) => b.wall - a.wall);
  const top = all.slice(0, 8);
  const most = top[0]?.wall ?? 1;
  if (!top.length) return null;
  return section(`What took longest${name ? `: ${boot.title}` : ""}`, null, el("table", {}, el("tbody", {}, top.map(({ kind, r, wall }) => el("tr", {}, el("td.num", {}, time(wall)),
    el("td.bar", {}, meter(wall, most, kind)), el("td.name", {}, button(r[0], () => go(boot.timeline, { q: r[0] }), { class: "link" }), el("span.quiet", {}, ` ${kind}`)))))),
    el("p.end-link", {}, button("All items", () => go("blame"), { class: "link" })));
}

function path(boot: Boot): HTMLElement | null {
  const items = boot.raw.path.items;
  if (items.length < 2) return null;
  const top = [...items].sort((a, b) => b.end_ns - b.start_ns - (a.end_ns - a.start_ns)).slice(0, 8);
  const shown = items.filter((i) => top.includes(i));
  const most = Math.max(...top.map((i) => i.end_ns - i.start_ns));
  return section("Critical path", `What delays first light: the longest of ${plural(boot.raw.path_items, "item")}, in order.`,
    el("table", {}, el("tbody", {}, shown.map((i) => el("tr", {}, el("td.num", {}, time(i.end_ns - i.start_ns)), el("td.bar", {}, meter(i.end_ns - i.start_ns, most, PATH_COLORS[i.kind] ?? "other")),
      el("td.name", {}, button(i.name, () => go(boot.timeline, { t: `${i.start_ns}~${i.end_ns}` }), { class: "link" }), el("span.quiet", {}, ` ${i.kind}`)))))),
    el("p.end-link", {}, button("Whole path", () => go("blame", { kind: "path" }), { class: "link" })));
}

export function noteItem(boot: Boot, note: Note, name: boolean): HTMLElement {
  const line = note.first ? boot.lineAt(note.first.source, note.first.offset) : null;
  return el("li.note", {}, el(`span.severity.${note.severity}`, {}, ({ data_loss: "loss", doubt: "warning", info: "info" })[note.severity]), el("div", {},
    el("b", {}, `${words(note.kind)}`), note.count > 1 ? `, ${count(note.count)} times` : "", name ? el("span.quiet", {}, ` (${boot.title})`) : null,
    el("p", {}, prose(note.advice)), note.detail ? el("p.quiet", {}, "First: ", note.detail) : null,
    note.first ? el("p.quiet", {}, `${note.first.source}, byte ${count(note.first.offset)}`) : null, line ? el("pre.evidence", {}, line) : null));
}

function doubtful(boots: Boot[]): HTMLElement | null {
  const all = boots.flatMap((b) => b.show.notes.filter((n) => n.severity === "doubt").map((n) => ({ b, n })));
  if (!all.length) return null;
  return el("section.doubtful", { "aria-label": "Data quality" }, el("h2", {}, "Data quality"), el("ul.plain", {}, all.map(({ b, n }) => noteItem(b, n, boots.length > 1))));
}

function about(boot: Boot): HTMLElement {
  const { show } = boot;
  const row = (name: string, value: Child_) => (value ? [el("dt", {}, name), el("dd", {}, value)] : []);
  const sources = show.sources.map((s) => `${s.name} (${s.format})`).join(", ");
  const storage = show.facts.filter((f) => /storage|disk|root|memory|cpu/i.test(f.key)).slice(0, 6);
  return section("Machine and input", null, el("dl.facts", {},
    row("machine", show.machine), row("kernel", show.kernel ? el("code", {}, show.kernel) : null), row("command line", show.cmdline ? el("code", {}, show.cmdline) : null),
    storage.flatMap((f) => row(words(f.key), f.value)),
    row("clock", boot.raw.clock_says ?? show.clock), row("time zero", el("code", {}, show.zero)), row("inputs", sources)));
}
