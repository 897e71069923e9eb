// From one boot's time to the other's: what made it faster, what slower.

import type { Boot, Diff } from "./data";
import { button, el, refill, section } from "./dom";
import { signed, time } from "./format";
import { here, remember } from "./link";
import { type Pen, fitted } from "./pen";
import { drawn } from "./stage";
import { FONT, theme } from "./theme";
import { copyTools } from "./tools";

export interface Step { label: string; delta: number; kind: "total" | "step" | "rest" }

const ends = (diff: Diff): [number, number] => {
  const { a, b } = diff.first_light;
  const sum = (f: (p: Diff["phases"][number]) => number | null) => diff.phases.reduce((s, p) => s + (f(p) ?? 0), 0);
  return [a?.at_ns ?? sum((p) => p.a_ns), b?.at_ns ?? sum((p) => p.b_ns)];
};

/** From one total to the other, by what changed; what is left is the rest. */
function between(from: number, to: number, names: [string, string], changes: Omit<Step, "kind">[]): Step[] {
  const all: Step[] = [{ label: names[0], delta: from, kind: "total" }];
  let left = to - from;
  for (const c of changes) {
    if (!c.delta) continue;
    all.push({ ...c, kind: "step" });
    left -= c.delta;
  }
  if (left) all.push({ label: "other", delta: left, kind: "rest" });
  all.push({ label: names[1], delta: to, kind: "total" });
  return all;
}

/** By phases, in their order. */
export function steps(diff: Diff, names: [string, string]): Step[] {
  return between(...ends(diff), names, diff.phases.map((p) => ({ label: p.name, delta: p.delta_ns })));
}

/** By what lies on the critical paths: their items follow each other without
 * gaps, so that what they differ by is what first light differs by. What made it
 * faster comes first, then what made it slower, each by its size. */
export function pathSteps(diff: Diff, boots: [Boot, Boot], names: [string, string], most = 8): Step[] {
  const sums = new Map<string, { label: string; delta: number }>();
  boots.forEach((boot, n) => {
    for (const item of boot.raw.path.items) {
      const key = `${item.kind} ${item.name}`;
      const sum = sums.get(key) ?? { label: item.kind === "wait" || item.kind === "phase" ? `${item.kind}: ${item.name}` : item.name, delta: 0 };
      sum.delta += (n ? 1 : -1) * (item.end_ns - item.start_ns);
      sums.set(key, sum);
    }
  });
  // What nobody could see in the picture is left to the rest.
  const least = Math.max(...ends(diff)) / 1000;
  const largest = (sign: number) => [...sums.values()].filter((s) => s.delta * sign > least).sort((a, b) => (b.delta - a.delta) * sign).slice(0, most);
  return between(...ends(diff), names, [...largest(-1), ...largest(1)]);
}

const ROW = 28;

export function waterfall(diff: Diff, boots: [Boot, Boot]): HTMLElement {
  const names: [string, string] = [boots[0].title, boots[1].title];
  const ways = { phases: steps(diff, names), path: pathSteps(diff, boots, names) };
  const both = boots.every((b) => b.raw.path.items.length > 1) && diff.first_light.delta_ns !== null;
  let way: keyof typeof ways = both && here().settings["steps"] === "path" ? "path" : "phases";
  const body = el("div");
  const draw = (pen: Pen, width: number, h: number) => drawSteps(pen, ways[way], width, h);
  const height = () => ways[way].length * ROW + 8;
  const says = el("p.about", {});
  const show = () => {
    const all = ways[way];
    refill(says, [diff.first_light.same_marks ? null : "The boots do not start and end at the same marks, so part of the difference may be one of definition. ",
      way === "path" ? "The critical paths, item by item: first what became shorter or disappeared, then what became longer or appeared." : null].filter((s) => s !== null).join(""));
    says.hidden = !says.textContent;
    refill(body, drawn(height(), draw, `From ${time(all[0]!.delta)} to ${time(all.at(-1)!.delta)}: ${all.slice(1, -1).map((s) => `${s.label} ${signed(s.delta)}`).join(", ")}`));
  };
  const buttons = (["phases", "path"] as const).map((w, _, all) => button(w === "phases" ? "by phase" : "by critical path", () => {
    way = w;
    remember({ steps: w === "path" ? w : null });
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(all[i] === w)));
    show();
  }, { "aria-pressed": String(way === w) }));
  show();
  return section("What made the difference", null, el("div.tools", {}, both ? el("span.tools.inline", { role: "group", "aria-label": "Steps" }, buttons) : null,
    copyTools(() => ({ name: "difference", width: 900, height: height(), draw }))), says, body);
}

function drawSteps(pen: Pen, all: Step[], width: number, h: number): void {
  const t = theme();
  const label = width < 560 ? 110 : 260;
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, h);
  pen.textBaseline = "middle";
  let [most, at] = [1, 0];
  for (const s of all) {
    at = s.kind === "total" ? s.delta : at + s.delta;
    most = Math.max(most, at);
  }
  const scale = (width - label - 92) / most;
  at = 0;
  all.forEach((s, i) => {
    const y = 4 + i * ROW;
    const [from, to] = s.kind === "total" ? [0, s.delta] : [at, at + s.delta];
    const tone = s.kind === "total" ? t.ink : s.delta < 0 ? t.good : t.bad;
    const [x, w] = [label + Math.min(from, to) * scale, Math.max(Math.abs(to - from) * scale, 1.5)];
    pen.font = `${s.kind === "total" ? "600 " : ""}12px ${FONT}`;
    pen.textAlign = "right";
    pen.fillStyle = s.kind === "total" ? t.ink : t.quiet;
    pen.fillText(fitted(pen, s.label, label - 14), label - 10, y + ROW / 2);
    pen.fillStyle = s.kind === "total" ? t.stage : tone;
    pen.fillRect(x, y + 5, w, ROW - 10);
    pen.textAlign = "left";
    pen.fillStyle = tone;
    pen.fillText(s.kind === "total" ? time(s.delta) : signed(s.delta), x + w + 7, y + ROW / 2);
    at = to;
    if (i + 1 < all.length) {
      pen.strokeStyle = t.quiet;
      pen.setLineDash([2, 2]);
      pen.beginPath();
      pen.moveTo(label + at * scale, y + ROW - 5);
      pen.lineTo(label + at * scale, y + ROW + 5);
      pen.stroke();
      pen.setLineDash([]);
    }
  });
}
