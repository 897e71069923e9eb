// Tables and bars of the page as pictures, to copy.

import type { Boot } from "./data";
import { count, step, tick, ticks, time } from "./format";
import { type Pen, type Picture, fitted } from "./pen";
import { type Color, FONT, on, theme } from "./theme";
import { phaseColor } from "./timeline/draw";

export interface Bar { label: string; value: number; says: string; color: Color }

const ROW = 20;
const MOST = 40;

/** What took longest, as bars: the first forty. */
export function bars(name: string, title: string, all: Bar[]): Picture {
  const shown = all.slice(0, MOST);
  const width = 900;
  const height = 44 + shown.length * ROW + (all.length > MOST ? ROW : 0);
  return { name, width, height, draw: (pen, w) => drawBars(pen, title, shown, all.length, w, height) };
}

function drawBars(pen: Pen, title: string, shown: Bar[], total: number, width: number, height: number): void {
  const t = theme();
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.font = `600 14px ${FONT}`;
  pen.fillStyle = t.ink;
  pen.fillText(fitted(pen, title, width - 24), 12, 20);
  const most = shown.reduce((m, b) => Math.max(m, b.value), 0) || 1;
  shown.forEach((b, i) => {
    const y = 36 + i * ROW;
    pen.font = `12px ${FONT}`;
    pen.textAlign = "right";
    pen.fillStyle = t.ink;
    pen.fillText(b.says, 96, y + ROW / 2);
    pen.fillStyle = t[b.color];
    pen.fillRect(106, y + 4, Math.max((b.value / most) * 240, 1), ROW - 8);
    pen.textAlign = "left";
    pen.fillStyle = t.ink;
    pen.fillText(fitted(pen, b.label, width - 370), 358, y + ROW / 2);
  });
  if (total > shown.length) {
    pen.fillStyle = t.quiet;
    pen.fillText(`and ${count(total - shown.length)} more`, 358, 36 + shown.length * ROW + ROW / 2);
  }
}

/** The phases of boots, to one scale. */
export function phaseStrips(boots: Boot[]): Picture {
  const height = 40 + boots.length * 56;
  return { name: "phases", width: 1000, height, draw: (pen, width) => drawStrips(pen, boots, width, height) };
}

function drawStrips(pen: Pen, boots: Boot[], width: number, height: number): void {
  const t = theme();
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, height);
  pen.textBaseline = "middle";
  const from = Math.min(0, ...boots.map((b) => b.show.phases[0]?.start_ns ?? 0));
  const to = Math.max(...boots.map((b) => Math.max(b.end, b.show.phases.at(-1)?.end_ns ?? 0)), from + 1);
  const x = (at: number) => 12 + ((at - from) / (to - from)) * (width - 40);
  boots.forEach((boot, n) => {
    const y = 8 + n * 56;
    pen.textAlign = "left";
    pen.font = `600 12px ${FONT}`;
    pen.fillStyle = t.ink;
    pen.fillText(fitted(pen, `${boot.title}: ${time(boot.end)}${boot.isVirtual ? " virtual" : ""}`, width - 24), 12, y + 7);
    for (const p of boot.show.phases) {
      const [a, b] = [x(p.start_ns), x(p.end_ns)];
      pen.fillStyle = t[phaseColor(p.name)];
      pen.fillRect(a, y + 17, Math.max(b - a - 1, 1), 26);
      pen.fillStyle = on(phaseColor(p.name));
      pen.font = `12px ${FONT}`;
      if (b - a > 30) pen.fillText(fitted(pen, `${p.name} ${time(p.end_ns - p.start_ns)}`, b - a - 12), a + 6, y + 30);
    }
  });
  const by = step(to - from, 9);
  pen.font = `11px ${FONT}`;
  pen.textAlign = "center";
  pen.fillStyle = t.quiet;
  for (const at of ticks(from, to, by)) pen.fillText(tick(at, by), Math.max(x(at), 16), height - 16);
  pen.strokeStyle = boots[0]?.isVirtual ? t.warn : t.line;
  pen.setLineDash(boots[0]?.isVirtual ? [5, 3] : []);
  pen.beginPath();
  pen.moveTo(12, height - 28);
  pen.lineTo(width - 28, height - 28);
  pen.stroke();
  pen.setLineDash([]);
}
