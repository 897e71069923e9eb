// What if: first light by how long one item of the critical path takes. The forecasts are
// computed by the program; the page moves between them and computes none.

import type { Boot, Lever } from "./data";
import { el, prose, refill, section } from "./dom";
import { time } from "./format";

/** What a slider stands at: how long the item takes, and first light then. */
export interface At { left: number; least: number; expected: number; most: number }

/** The state at a step; past the last step the item takes all of its time. */
export function at(lever: Lever, step: number, light: number): At {
  const found = lever.steps[step];
  if (!found) return { left: lever.took_ns, least: light, expected: light, most: light };
  const [left, least, expected, most] = found;
  return { left, least, expected, most };
}

export function levers(boot: Boot): HTMLElement | null {
  const all = boot.raw.levers;
  if (!all.length) return null;
  const light = boot.raw.path.end_ns;
  return section("What if", prose("First light if one item takes less time and all others stay. Savings of several items overlap: `firstlight path --shorten` forecasts them together."),
    el("ul.plain.levers", {}, all.map((lever) => row(lever, light))));
}

function row(lever: Lever, light: number): HTMLElement {
  const says = el("span.says", { role: "status" });
  const whole = lever.steps.length;
  const slider = el("input", { type: "range", min: 0, max: whole, step: 1, value: whole, "aria-label": `Duration of ${lever.name}` }) as HTMLInputElement;
  const say = () => {
    const now = at(lever, Number(slider.value), light);
    const unsure = now.least !== now.most ? ` (${time(now.least)} to ${time(now.most)})` : "";
    refill(says, el("span.num", {}, time(now.left)), el("span.quiet", {}, " \u2192 first light "), el(now.expected < light ? "b.good" : "b", {}, time(now.expected)), el("span.quiet", {}, unsure));
  };
  slider.addEventListener("input", say);
  say();
  return el("li", {}, el("div.name", {}, lever.name, el("span.quiet", {}, ` ${lever.kind}`)), slider, says);
}
