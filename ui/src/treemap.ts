// Bytes by path, as nested rectangles.

import { type HierarchyRectangularNode, hierarchy, treemap as layout } from "d3-hierarchy";
import { el, refill } from "./dom";
import { bytes, count } from "./format";
import { type Pen, fitted, paint } from "./pen";
import { type Color, FONT, hash, on, onTheme, theme } from "./theme";
import { copyTools } from "./tools";

export interface Folder { name: string; value: number; files: number; children: Folder[] }

/** Files in their folders; a folder of one folder becomes one. */
export function folders(files: { path: string; value: number }[]): Folder {
  const root: Folder = { name: "", value: 0, files: 0, children: [] };
  const known = new Map<string, Folder>([["", root]]);
  for (const f of files) {
    if (f.value <= 0) continue;
    const parts = f.path.split("/").filter(Boolean);
    let at = root;
    let path = "";
    parts.forEach((part, i) => {
      path += `/${part}`;
      let next = known.get(path);
      if (!next) {
        next = { name: part, value: 0, files: 0, children: [] };
        known.set(path, next);
        at.children.push(next);
      }
      at = next;
      if (i === parts.length - 1) {
        at.value += f.value;
        at.files++;
      }
    });
  }
  const joined = (f: Folder): Folder => {
    let g = f;
    while (g.children.length === 1 && g.value === 0) g = { ...g.children[0]!, name: `${g.name}/${g.children[0]!.name}` };
    return { ...g, children: g.children.map(joined) };
  };
  return joined(root);
}

export function treemap(files: { path: string; value: number }[]): HTMLElement {
  const root = hierarchy(folders(files)).sum((f) => (f.children.length ? 0 : f.value)).sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  if (!root.value) return el("p.quiet", {}, "The input does not show how much of each file was read.");
  const canvas = el("canvas", { role: "img", "aria-label": `Bytes read by path: ${bytes(root.value)} of ${count(files.length)} files. The table of files has the same data.` }) as HTMLCanvasElement;
  const tip = el("div.tip", { hidden: true });
  const stage = el("div.stage.flat", {}, canvas, tip);
  let [width, height] = [900, 360];
  let placed: HierarchyRectangularNode<Folder> | null = null;
  const path = (n: HierarchyRectangularNode<Folder>) => n.ancestors().map((a) => a.data.name).reverse().filter(Boolean).join("/").replace(/^\/*/, "/");
  const draw = (pen: Pen, w: number, h: number) => {
    const t = theme();
    placed = layout<Folder>().size([w, h]).paddingTop(16).paddingInner(1).paddingOuter(1).round(true)(root);
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, w, h);
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    for (const n of placed.descendants()) {
      const [bw, bh] = [n.x1 - n.x0, n.y1 - n.y0];
      if (bw < 2 || bh < 2) continue;
      const top = n.ancestors().at(-2)?.data.name ?? n.data.name;
      const leaf = !n.children;
      pen.globalAlpha = leaf ? 1 : 0.18;
      pen.fillStyle = t[`s${hash(top) % 7}` as Color];
      pen.fillRect(n.x0, n.y0, bw, bh);
      pen.globalAlpha = 1;
      if (bw < 30 || bh < 13) continue;
      pen.font = `11px ${FONT}`;
      pen.fillStyle = leaf ? on(`s${hash(top) % 7}` as Color) : t.ink;
      pen.fillText(fitted(pen, n.depth ? n.data.name : `${n.data.name || "/"}  ${bytes(n.value)}`, bw - 6), n.x0 + 4, n.y0 + 8.5);
      if (leaf && bh > 28) pen.fillText(fitted(pen, bytes(n.value), bw - 6), n.x0 + 4, n.y0 + 22);
    }
  };
  const show = () => paint(canvas, width, height, (pen) => draw(pen, width, height));
  canvas.addEventListener("pointermove", (e) => {
    const n = placed?.leaves().find((l) => l.x0 <= e.offsetX && e.offsetX <= l.x1 && l.y0 <= e.offsetY && e.offsetY <= l.y1);
    tip.hidden = !n;
    if (!n) return;
    refill(tip, el("b.name", {}, path(n)), el("div", {}, bytes(n.value)));
    tip.style.left = `${Math.max(0, Math.min(e.offsetX + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${Math.min(e.offsetY + 16, height - tip.offsetHeight - 2)}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  new ResizeObserver(() => {
    if (!stage.clientWidth) return;
    width = stage.clientWidth;
    canvas.style.height = `${height}px`;
    show();
  }).observe(stage);
  onTheme(show);
  return el("div", {}, el("div.tools", {}, copyTools(() => ({ name: "files", width: 1100, height: 440, draw }))), stage);
}
