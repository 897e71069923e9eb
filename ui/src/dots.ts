// Every boot of every variant as a square: the distribution of first light.

import { el } from "./dom";
import { step, tick, ticks, time } from "./format";
import { type Pen, fitted } from "./pen";
import { drawn } from "./stage";
import { type Color, FONT, theme } from "./theme";
import { copyTools } from "./tools";

/** The boots of a variant. */
export interface DotRow {
  name: string; isBase: boolean; lights: number[];
  median: number | null; range: [number, number] | null;
  /** What the median may be, in real time. */
  interval: [number, number] | null;
  verdict: string | null;
}

const ROW = 34;

/** Nothing where no boot came to first light. */
export function dots(name: string, rows: DotRow[]): HTMLElement | null {
  const times = rows.flatMap((r) => r.lights);
  if (!times.length) return null;
  const height = rows.length * ROW + 30;
  const base = rows.find((r) => r.isBase)?.median ?? null;
  const [low, high] = [Math.min(...times), Math.max(...times)];
  const margin = Math.max((high - low) * 0.06, 1e6);
  const draw = (pen: Pen, width: number, h: number) => {
    const t = theme();
    const label = width < 560 ? 110 : 220;
    const [from, to] = [low - margin, high + margin];
    const x = (at: number) => label + ((at - from) / (to - from)) * (width - label - 16);
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, width, h);
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    const by = step(to - from, (width - label) / 110);
    for (const at of ticks(from, to, by)) {
      pen.strokeStyle = t.line;
      pen.beginPath();
      pen.moveTo(x(at), 0);
      pen.lineTo(x(at), h - 22);
      pen.stroke();
      pen.fillStyle = t.quiet;
      if (x(at) > label + 20 && x(at) < width - 24) pen.fillText(tick(at, by), x(at), h - 10);
    }
    if (base) {
      pen.strokeStyle = t.quiet;
      pen.setLineDash([4, 3]);
      pen.beginPath();
      pen.moveTo(x(base), 0);
      pen.lineTo(x(base), h - 22);
      pen.stroke();
      pen.setLineDash([]);
    }
    rows.forEach((r, i) => {
      const y = i * ROW + ROW / 2 + 2;
      const color: Color = r.verdict === "faster" ? "good" : r.verdict === "slower" ? "bad" : "stage";
      pen.textAlign = "right";
      pen.font = `${r.isBase ? "600 " : ""}12px ${FONT}`;
      pen.fillStyle = t.ink;
      pen.fillText(fitted(pen, r.name, label - 18), label - 12, y);
      if (r.median === null || r.range === null) {
        pen.textAlign = "left";
        pen.fillStyle = t.bad;
        pen.fillText("never reached first light", label + 6, y);
        return;
      }
      pen.fillStyle = t[color];
      pen.globalAlpha = 0.3;
      pen.fillRect(x(r.range[0]), y - 3, Math.max(x(r.range[1]) - x(r.range[0]), 1), 6);
      if (r.interval) {
        const [a, b] = r.interval.map(x) as [number, number];
        pen.globalAlpha = 0.2;
        pen.fillRect(a, y - 11, Math.max(b - a, 1), 22);
      }
      pen.globalAlpha = 0.9;
      r.lights.forEach((light, k) => {
        const dy = ((k % 3) - 1) * 4;
        pen.fillRect(x(light) - 2.5, y + dy - 2.5, 5, 5);
      });
      pen.globalAlpha = 1;
      pen.fillRect(x(r.median) - 1.5, y - 11, 3, 22);
    });
  };
  return el("div", {}, el("div.tools", {}, copyTools(() => ({ name, width: 1000, height, draw }))), drawn(height, draw, rows.map((r) => `${r.name}: ${r.median === null ? "failed" : time(r.median)}`).join("; ")));
}
