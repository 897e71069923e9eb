// Two boots, or the variants of an experiment, side by side.

import { board, truth } from "./board";
import type { Boot, Data, Diff, DiffItem, Lab } from "./data";
import { button, el, refill, section } from "./dom";
import { dots } from "./dots";
import { count, plural, signed, step, tick, ticks, time, verdictOf } from "./format";
import { here, remember } from "./link";
import { type Pen, fitted } from "./pen";
import { drawn } from "./stage";
import { meter, table } from "./table";
import { FONT, on, theme } from "./theme";
import { colorOf, phaseColor } from "./timeline/draw";
import { copyTools } from "./tools";
import { waterfall } from "./waterfall";

export function compare(data: Data, boots: Boot[]): HTMLElement {
  const { comparison, lab } = data;
  const run = data.board ? board(data.board) : null;
  return el("div", {},
    data.truth ? truth(data.truth) : null,
    run?.variants ?? null,
    lab ? variants(lab) : null,
    comparison && boots[1] ? waterfall(comparison, boots as [Boot, Boot]) : null,
    comparison && boots[1] ? aligned(boots as [Boot, Boot]) : null,
    comparison && boots[1] ? items(comparison, boots) : null,
    lab ? trials(lab) : null,
    run?.boots ?? null);
}

/** Both boots to one scale, with the same mark at the same place. */
function aligned(boots: [Boot, Boot]): HTMLElement {
  const marks = boots[0].show.milestones.filter((m) => boots[1].show.milestones.some((n) => n.name === m.name)).map((m) => m.name);
  let mark = here().settings["mark"] ?? "";
  if (!marks.includes(mark)) mark = "";
  const zero = (b: Boot) => (mark ? (b.show.milestones.find((m) => m.name === mark)?.at_ns ?? 0) : 0);
  const HEIGHT = 250;
  const draw = (pen: Pen, width: number, h: number) => {
    const t = theme();
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, width, h);
    const label = 120;
    const from = Math.min(...boots.map((b) => Math.min(0, b.show.phases[0]?.start_ns ?? 0) - zero(b)));
    const to = Math.max(...boots.map((b) => b.end - zero(b))) * 1.02;
    const x = (b: Boot, at: number) => label + ((at - zero(b) - from) / (to - from)) * (width - label - 10);
    const by = step(to - from, (width - label) / 100);
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    for (const at of ticks(from, to, by)) {
      const px = label + ((at - from) / (to - from)) * (width - label - 10);
      pen.strokeStyle = t.line;
      pen.beginPath();
      pen.moveTo(px, 0);
      pen.lineTo(px, h - 20);
      pen.stroke();
      pen.fillStyle = t.quiet;
      const text = tick(at, by);
      if (px + pen.measureText(text).width / 2 < width) pen.fillText(text, px, h - 9);
    }
    boots.forEach((boot, n) => {
      const top = 6 + n * ((h - 26) / 2);
      const room = (h - 26) / 2 - 8;
      pen.textAlign = "left";
      pen.fillStyle = t.ink;
      pen.font = `600 12px ${FONT}`;
      pen.fillText(fitted(pen, boot.title, label - 12), 4, top + 10);
      pen.font = `11px ${FONT}`;
      pen.fillStyle = t.quiet;
      pen.fillText(time(boot.end), 4, top + 26);
      pen.save();
      pen.beginPath();
      pen.rect(label, 0, width - label, h - 20);
      pen.clip();
      for (const p of boot.show.phases) {
        const [a, b] = [x(boot, p.start_ns), x(boot, p.end_ns)];
        pen.fillStyle = t[phaseColor(p.name)];
        pen.fillRect(a, top, Math.max(b - a - 1, 1), 20);
        pen.fillStyle = on(phaseColor(p.name));
        if (b - a > 40) pen.fillText(fitted(pen, p.name, b - a - 10), a + 5, top + 10.5);
      }
      // Below them the longest things, in as many lines as there is room for.
      const line = 13;
      const free: number[] = [];
      const lines = Math.floor((room - 26) / line);
      const long: { group: Boot["groups"][number]; i: number }[] = [];
      for (const group of boot.groups) {
        if (!["initcall", "probe", "unit", "stage"].includes(group.kind)) continue;
        for (let i = 0; i < group.count; i++) if (group.end[i]! - group.start[i]! > (to - from) * 0.012) long.push({ group, i });
      }
      long.sort((a, b) => a.group.start[a.i]! - b.group.start[b.i]!);
      for (const { group, i } of long) {
        const [a, b] = [x(boot, group.start[i]!), x(boot, group.end[i]!)];
        const k = free.findIndex((f) => f <= a);
        const at = k >= 0 ? k : free.length;
        if (at >= lines) continue;
        free[at] = b;
        pen.fillStyle = t[colorOf(group, i)];
        pen.fillRect(a, top + 24 + at * line, Math.max(b - a - 1, 1), line - 2);
        pen.globalAlpha = 1;
        pen.fillStyle = on(colorOf(group, i));
        pen.font = `10px ${FONT}`;
        if (b - a > 34) pen.fillText(fitted(pen, group.nameOf(i), b - a - 8), a + 4, top + 24 + at * line + 6);
        pen.font = `11px ${FONT}`;
      }
      if (boot.show.first_light) {
        pen.fillStyle = t.ink;
        pen.fillRect(x(boot, boot.show.first_light.at_ns) - 1, top - 3, 2.5, room);
      }
      pen.restore();
    });
  };
  const stage = drawn(HEIGHT, draw, `Both boots on one scale. ${boots.map((b) => `${b.title}: ${time(b.end)}`).join("; ")}`);
  const select = el("select", { "aria-label": "Align at" }, el("option", { value: "" }, `time zero (${boots[0].show.zero})`), marks.map((m) => el("option", { value: m, selected: m === mark }, m))) as HTMLSelectElement;
  select.addEventListener("change", () => {
    mark = select.value;
    remember({ mark });
    stage.again?.();
  });
  return section("Side by side", null, el("div.tools", {}, el("label.quiet", {}, "align at ", select), copyTools(() => ({ name: "side-by-side", width: 1200, height: HEIGHT, draw }))), stage);
}

function items(diff: Diff, boots: Boot[]): HTMLElement {
  const changed = diff.items.filter((i) => i.change !== "same");
  const kinds = [...new Set(diff.items.map((i) => i.kind))];
  let kind = "";
  const body = el("div");
  const show = () => {
    const rows = changed.filter((i) => !kind || i.kind === kind);
    const most = rows.reduce((m, i) => Math.max(m, Math.abs(i.delta_ns)), 0);
    refill(body, table<DiffItem>({
      label: "Items that changed", rows, text: (i) => i.name, shown: 60,
      columns: [
        { name: "change", numeric: true, value: (i) => i.delta_ns, cell: (i) => el(`span.${i.delta_ns < 0 ? "good" : "bad"}`, {}, signed(i.delta_ns)) },
        { name: "", value: (i) => Math.abs(i.delta_ns), cell: (i) => meter(Math.abs(i.delta_ns), most, i.delta_ns < 0 ? "good" : "bad"), className: "bar" },
        { name: boots[0]!.title, numeric: true, value: (i) => i.a_ns, cell: (i) => time(i.a_ns) },
        { name: boots[1]!.title, numeric: true, value: (i) => i.b_ns, cell: (i) => time(i.b_ns) },
        { name: "", cell: (i) => (i.presence === "both" ? "" : el("span.pill", {}, i.change)) },
        { name: "kind", cell: (i) => i.kind },
        { name: "name", cell: (i) => `${i.name}${i.nth > 1 ? ` (${i.nth}.)` : ""}`, value: (i) => i.name, className: "name" },
      ],
    }));
  };
  const buttons = ["", ...kinds].map((k) => button(k || "all", () => {
    kind = k;
    buttons.forEach((b) => b.setAttribute("aria-pressed", String((b.textContent === "all" ? "" : b.textContent) === kind)));
    show();
  }, { "aria-pressed": String(k === kind) }));
  show();
  return section("Item by item", `${count(changed.length)} of ${plural(diff.items.length, "item")} changed, the largest change first. An item that ran in parallel may not move first light.`,
    kinds.length > 1 ? el("div.tools.lanes", { role: "group", "aria-label": "Kind" }, buttons) : null, body);
}

interface Row { v: Lab["variants"][number]; c: Lab["comparison"][number] | null }

/** Every boot of every variant as a dot: the distribution. */
function variants(lab: Lab): HTMLElement {
  const picture = dots("variants", lab.variants.map((v) => ({
    name: v.variant, isBase: v.variant === lab.baseline, median: v.median_ns, range: v.min_ns === null || v.max_ns === null ? null : [v.min_ns, v.max_ns], interval: v.median_interval_ns,
    verdict: lab.comparison.find((c) => c.variant === v.variant)?.verdict ?? null,
    lights: lab.trials.flatMap((r) => (r.variant === v.variant && r.first_light_ns !== null ? [r.first_light_ns] : [])),
  })));
  const isVirtual = lab.clock === "virtual";
  const rows: Row[] = lab.variants.map((v) => ({ v, c: lab.comparison.find((c) => c.variant === v.variant) ?? null }));
  return section("Variants", isVirtual ? "Virtual time: instructions at a stated rate. It ranks and compares exactly, but it is not board seconds. Each square is a boot, the bar their median." : "Each square is a boot, the bar their median, the field behind it the 95 % confidence interval of the median.",
    picture,
    table({
      label: "Variants", rows, sort: -1,
      columns: [
        { name: "variant", cell: ({ v }) => (v.variant === lab.baseline ? el("b", {}, v.variant) : v.variant), value: ({ v }) => v.variant, className: "name" },
        { name: "first light", numeric: true, value: ({ v }) => v.median_ns, cell: ({ v }) => time(v.median_ns) },
        { name: "change", numeric: true, value: ({ c }) => c?.delta_ns ?? null, cell: ({ c }) => (c ? el(`span.${c.verdict === "faster" ? "good" : c.verdict === "slower" ? "bad" : "quiet"}`, {}, signed(c.delta_ns)) : "") },
        { name: "verdict", cell: ({ c }) => (c ? `${verdictOf(c.verdict)}${c.unperturbed ? " (one boot)" : ""}` : "") },
        ...(isVirtual ? [] : [
          { name: "95 % interval", numeric: true, value: (r: Row) => r.c?.interval_ns?.[0] ?? null, cell: (r: Row) => (r.c?.interval_ns ? r.c.interval_ns.map(signed).join(" to ") : ""), title: "of the change" },
          { name: "p", numeric: true, value: (r: Row) => r.c?.p_value ?? null, cell: (r: Row) => (r.c?.p_value === null || !r.c ? "" : r.c.p_value < 0.001 ? "< 0.001" : r.c.p_value.toFixed(3)), title: "probability of so large a change arising by chance" },
          { name: "outliers", numeric: true, value: (r: Row) => r.v.outliers.length, cell: (r: Row) => (r.v.outliers.length ? el("span", { title: r.v.outliers.map((o) => `boot ${o.perturbation}: ${time(o.first_light_ns)}`).join(", ") }, count(r.v.outliers.length)) : "") },
        ]),
        { name: "spread", numeric: true, value: ({ c }) => c?.spread_ns ?? null, cell: ({ c }) => (c && !c.unperturbed ? time(c.spread_ns) : ""), title: "how much first light moves under neutral perturbations" },
        { name: "boots", numeric: true, value: ({ v }) => v.boots, cell: ({ v }) => count(v.boots) },
        { name: "failed", numeric: true, value: ({ v }) => v.failed, cell: ({ v }) => (v.failed ? el("span.bad", {}, count(v.failed)) : "") },
      ],
    }));
}

function trials(lab: Lab): HTMLElement {
  const failed = lab.trials.filter((t) => t.failure);
  return el("div", {},
    failed.length ? section("Failed boots", null, failed.map((t) => el("article.finding", {}, el("h3", {}, `${t.variant}, perturbation ${t.perturbation}`), el("p", {}, t.failure!.detail), el("pre.evidence", {}, t.failure!.last_lines.join("\n"))))) : null,
    lab.exact.length ? section("Booted twice", null, table({
      label: "Booted twice", rows: lab.exact,
      columns: [{ name: "variant", cell: (e) => e.variant }, { name: "result", cell: (e) => (e.same ? "identical to the byte" : el("span.bad", {}, e.difference ?? "no")) }, { name: "digest", cell: (e) => el("code", {}, e.digests[0]?.slice(0, 16) ?? "") }],
    })) : null,
    lab.recording.length ? section("Recording overhead", null, table({
      label: "Recording overhead", rows: lab.recording,
      columns: [{ name: "variant", cell: (r) => r.variant }, { name: "recorded", cell: (r) => r.asked.join(", ") }, { name: "cost", numeric: true, value: (r) => r.cost_ns, cell: (r) => (r.cost_ns === null ? "unknown" : time(r.cost_ns)) }],
    })) : null,
    section("All boots", null, table({
      label: "All boots", rows: lab.trials, text: (t) => t.variant,
      columns: [
        { name: "variant", cell: (t) => t.variant, className: "name" }, { name: "perturbation", numeric: true, value: (t) => t.perturbation, cell: (t) => String(t.perturbation) },
        { name: "first light", numeric: true, value: (t) => t.first_light_ns, cell: (t) => (t.first_light_ns === null ? el("span.bad", {}, "never") : time(t.first_light_ns)) },
        { name: "digest", cell: (t) => el("code", {}, t.digest.slice(0, 16)) }, { name: "capture", cell: (t) => t.capture, className: "name" },
      ],
    })));
}
