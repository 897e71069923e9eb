// The tree of calls as an icicle: who called whom, and how long.

import type { Boot, CallRow } from "./data";
import { button, el, refill, section } from "./dom";
import { count, plural, time } from "./format";
import { type Pen, fitted, paint } from "./pen";
import { type Color, FONT, hash, on, onTheme, theme } from "./theme";
import { copyTools } from "./tools";

const ROW = 18;

export interface Frame { row: CallRow; parent: Frame | null; from: number; length: number; end: number; depth: number }

/** The tree, each frame placed beside those called before it. */
export function frames(rows: CallRow[]): { all: Frame[]; total: number; depth: number } {
  const all: Frame[] = [];
  const stack: Frame[] = [];
  let total = 0;
  let depth = 0;
  for (const row of rows) {
    stack.length = Math.min(stack.length, row.depth);
    const parent = stack[stack.length - 1] ?? null;
    const from = parent ? parent.end : total;
    const frame: Frame = { row, parent, from, length: row.time_ns, end: from, depth: stack.length };
    if (parent) parent.end += row.time_ns;
    else total += row.time_ns;
    stack.push(frame);
    all.push(frame);
    depth = Math.max(depth, frame.depth + 1);
  }
  return { all, total: total || 1, depth };
}

export function calls(boot: Boot): HTMLElement {
  const raw = boot.raw.calls!;
  const { all, total, depth } = frames(raw.rows);
  let root: Frame | null = null;
  let hover: Frame | null = null;
  let wanted = "";
  let width = 900;
  const height = depth * ROW + 4;
  const canvas = el("canvas", { role: "img", tabindex: 0 }) as HTMLCanvasElement;
  const tip = el("div.tip", { hidden: true });
  const stage = el("div.stage.flat", {}, canvas, tip);
  const says = el("p.quiet.trail", { "aria-live": "polite" });
  const place = (f: Frame, w: number): [number, number] => {
    const [from, length] = root ? [root.from, root.length || 1] : [0, total];
    return [((f.from - from) / length) * w, (f.length / length) * w];
  };
  const draw = (pen: Pen, w: number, h: number) => {
    const t = theme();
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, w, h);
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    for (const f of all) {
      let [x, fw] = place(f, w);
      if (fw < 0.4 || x + fw < 0 || x > w) continue;
      if (x < 0) { fw += x; x = 0; }
      fw = Math.min(fw, w - x);
      const task = f.depth === 0;
      pen.globalAlpha = wanted && !f.row.name.toLowerCase().includes(wanted) ? 0.25 : task ? 0.5 : 1;
      pen.fillStyle = task ? t.stage : t[`s${hash(f.row.name) % 7}` as Color];
      pen.fillRect(x, f.depth * ROW, Math.max(fw - 0.6, 0.5), ROW - 1);
      pen.globalAlpha = 1;
      if (fw > 28) {
        pen.fillStyle = task || (wanted && !f.row.name.toLowerCase().includes(wanted)) ? t.ink : on(`s${hash(f.row.name) % 7}` as Color);
        pen.fillText(fitted(pen, f.row.name, fw - 8), x + 4, f.depth * ROW + ROW / 2);
      }
      if (f === hover) {
        pen.strokeStyle = t.select;
        pen.lineWidth = 2;
        pen.strokeRect(x, f.depth * ROW, fw, ROW - 1);
      }
    }
  };
  const show = () => {
    paint(canvas, width, height, (pen) => draw(pen, width, height));
    canvas.setAttribute("aria-label", `Calls by time, ${plural(all.length, "stack")}. The table of functions under Blame has the sums.`);
  };
  const zoom = (f: Frame | null) => {
    root = f;
    const trail: Frame[] = [];
    for (let at = f; at; at = at.parent) trail.unshift(at);
    refill(says, button("all", () => zoom(null), { class: "link" }), trail.flatMap((a) => [" \u203a ", button(a.row.name, () => zoom(a), { class: "link" })]), f ? ` ${time(f.row.time_ns)}, ${plural(f.row.count, "call")}` : "");
    show();
  };
  const at = (x: number, y: number) => {
    const d = Math.floor(y / ROW);
    return all.find((f) => {
      if (f.depth !== d) return false;
      const [fx, fw] = place(f, width);
      return x >= fx && x <= fx + Math.max(fw, 1);
    }) ?? null;
  };
  canvas.addEventListener("pointermove", (e) => {
    const f = at(e.offsetX, e.offsetY);
    if (f !== hover) { hover = f; show(); }
    tip.hidden = !f;
    canvas.style.cursor = f ? "pointer" : "default";
    if (!f) return;
    const { row } = f;
    refill(tip, el("b.name", {}, row.name), el("div", {}, `${time(row.time_ns)} in total, ${time(row.local_ns)} in itself`),
      el("div", {}, `${plural(row.count, "call")}${row.open ? `, ${count(row.open)} without a return` : ""}`), el("div.quiet", {}, `${((row.time_ns / total) * 100).toFixed(1)} % of all`));
    tip.style.left = `${Math.max(0, Math.min(e.offsetX + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${e.offsetY + 20}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; hover = null; show(); });
  canvas.addEventListener("click", (e) => zoom(at(e.offsetX, e.offsetY)));
  canvas.addEventListener("keydown", (e) => { if (e.key === "Escape") zoom(root?.parent ?? null); });
  const find = el("input", { type: "search", placeholder: "Search (/)", "aria-label": "Search the calls" }) as HTMLInputElement;
  find.addEventListener("input", () => { wanted = find.value.trim().toLowerCase(); show(); });
  new ResizeObserver(() => {
    if (!stage.clientWidth) return;
    width = stage.clientWidth;
    canvas.style.height = `${height}px`;
    show();
  }).observe(stage);
  onTheme(show);
  zoom(null);
  const left = raw.total_rows - raw.rows.length;
  return section("Calls", `Each box is a function in a call stack, its width its time. Click a box to zoom in.${left ? ` ${plural(left, "shorter stack")} omitted.` : ""}`,
    el("div.tools", {}, find, copyTools(() => ({ name: "calls", width: 1200, height, draw }))), says, stage);
}
