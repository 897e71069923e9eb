// Drawing a timeline: only what can be seen, and no more than a mark a pixel.

import type { Boot, Group, PathItem, Track } from "../data";
import { bytes, step, tick, ticks, time } from "../format";
import { type Pen, fitted } from "../pen";
import { FONT, type Color, type Theme, hash, on } from "../theme";
import type { Picked } from "./picked";
import { type Row, firstAt, lowerBound } from "./rows";

export interface View {
  from: number;
  to: number;
  /** What lies above the first visible row. */
  scroll: number;
  label: number;
  picked: Picked | null;
  hover: Picked | null;
  range: [number, number] | null;
  /** Intervals that a search found, by group. */
  found: Map<Group, Set<number>> | null;
  path: PathOnRow[] | null;
}
export interface PathOnRow { item: PathItem; group: Group | null; index: number }

export const AXIS = 22;
export const MARKS = 20;
export const TOP = AXIS + MARKS;

const PHASES: Record<string, Color> = {
  firmware: "firmware", loader: "loader", decompression: "decompression", kernel: "kernel", initrd: "initrd", userspace: "userspace", app: "app",
};
const STATES: Record<string, Color> = { running: "running", runnable: "runnable", blocked: "blocked", zombie: "quiet", stopped: "quiet" };
const OPERATIONS: Record<string, Color> = { read: "read", write: "write" };

export const phaseColor = (name: string): Color => PHASES[name] ?? "stage";

export function colorOf(group: Group, i: number): Color {
  const name = group.nameOf(i);
  switch (group.kind) {
    case "phase": return phaseColor(name);
    case "request": return OPERATIONS[name] ?? "other";
    case "process": return group.value("pid", i) === null ? (STATES[name] ?? "quiet") : "life";
    default: return group.kind as Color;
  }
}

const x = (view: View, width: number, at: number) => view.label + ((at - view.from) / (view.to - view.from)) * (width - view.label);
export const xOf = x;

export function drawTimeline(pen: Pen, boot: Boot, all: Row[], view: View, width: number, height: number, t: Theme): void {
  pen.textBaseline = "middle";
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, height);
  const by = step(view.to - view.from, (width - view.label) / 90);
  pen.strokeStyle = t.line;
  pen.lineWidth = 1;
  for (const at of ticks(view.from, view.to, by)) {
    const px = Math.round(x(view, width, at)) + 0.5;
    pen.beginPath();
    pen.moveTo(px, TOP);
    pen.lineTo(px, height);
    pen.stroke();
  }
  pen.save();
  pen.beginPath();
  pen.rect(0, TOP, width, height - TOP);
  pen.clip();
  for (let r = firstAt(all, view.scroll); r < all.length; r++) {
    const row = all[r]!;
    const y = row.y - view.scroll + TOP;
    if (y > height) break;
    drawRow(pen, boot, row, view, y, width, t);
  }
  if (view.path) drawPath(pen, all, view, view.path, width, height, t);
  drawMarkLines(pen, boot, view, width, height, t);
  if (view.range) {
    const [a, b] = view.range.map((at) => x(view, width, at)) as [number, number];
    pen.globalAlpha = 0.14;
    pen.fillStyle = t.accent;
    pen.fillRect(Math.max(a, view.label), TOP, Math.min(b, width) - Math.max(a, view.label), height - TOP);
    pen.globalAlpha = 1;
    pen.strokeStyle = t.accent;
    for (const px of [a, b]) {
      if (px < view.label) continue;
      pen.beginPath();
      pen.moveTo(px, TOP);
      pen.lineTo(px, height);
      pen.stroke();
    }
  }
  pen.restore();
  drawAxis(pen, boot, view, by, width, t);
}

function drawAxis(pen: Pen, boot: Boot, view: View, by: number, width: number, t: Theme): void {
  pen.fillStyle = t.ground;
  pen.fillRect(0, 0, width, TOP);
  pen.strokeStyle = t.line;
  pen.beginPath();
  pen.moveTo(0, TOP + 0.5);
  pen.lineTo(width, TOP + 0.5);
  pen.moveTo(view.label + 0.5, 0);
  pen.lineTo(view.label + 0.5, TOP);
  pen.stroke();
  pen.font = `11px ${FONT}`;
  pen.fillStyle = t.quiet;
  pen.textAlign = "left";
  pen.fillText(boot.isVirtual ? "virtual time" : "time", 8, AXIS / 2);
  pen.textAlign = "center";
  for (const at of ticks(view.from, view.to, by)) {
    const px = x(view, width, at);
    const label = tick(at, by);
    const half = pen.measureText(label).width / 2;
    if (px - half < view.label + 2 || px + half > width - 2) continue;
    pen.fillText(label, px, AXIS / 2);
    pen.beginPath();
    pen.moveTo(Math.round(px) + 0.5, AXIS - 4);
    pen.lineTo(Math.round(px) + 0.5, AXIS);
    pen.stroke();
  }
  if (boot.isVirtual) {
    // Virtual seconds look different from real ones.
    pen.strokeStyle = t.warn;
    pen.setLineDash([5, 3]);
    pen.beginPath();
    pen.moveTo(view.label, AXIS - 0.5);
    pen.lineTo(width, AXIS - 0.5);
    pen.stroke();
    pen.setLineDash([]);
  }
  // Flags of marks, as many as fit beside each other.
  pen.textAlign = "left";
  pen.fillStyle = t.quiet;
  pen.fillText("marks", 8, AXIS + MARKS / 2);
  let free = view.label;
  const flags = importance(boot).map((m) => ({ ...m, px: x(view, width, m.at) })).filter((m) => m.px >= view.label && m.px <= width);
  const placed: [number, number][] = [];
  for (const flag of flags) {
    const label = fitted(pen, flag.name, 150);
    const w = pen.measureText(label).width + 12;
    let left = flag.px;
    if (left + w > width) left = Math.max(view.label, flag.px - w);
    if (!label || placed.some(([a, b]) => left < b && left + w > a)) continue;
    placed.push([left, left + w]);
    free = Math.max(free, left + w);
    pen.fillStyle = flag.light ? t.ink : t.quiet;
    pen.fillRect(left === flag.px ? flag.px : flag.px - 2, AXIS + 3, 2, MARKS - 4);
    pen.font = `${flag.light ? "600 " : ""}11px ${FONT}`;
    pen.fillText(label, left + (left === flag.px ? 6 : 2), AXIS + MARKS / 2 + 1);
  }
}

/** Marks, those that matter most first. */
function importance(boot: Boot): { name: string; at: number; light: boolean }[] {
  const light = boot.show.first_light;
  const starts = new Set(boot.show.phases.map((p) => p.start_mark));
  const rank = (m: { name: string; light: boolean }) => (m.light ? 0 : starts.has(m.name) ? 1 : 2);
  const all = boot.show.milestones.map((m) => ({ name: m.name, at: m.at_ns, light: m.name === light?.mark && m.at_ns === light.at_ns }));
  if (light && !all.some((m) => m.light)) all.push({ name: light.mark, at: light.at_ns, light: true });
  return all.sort((a, b) => rank(a) - rank(b) || a.at - b.at);
}

function drawMarkLines(pen: Pen, boot: Boot, view: View, width: number, height: number, t: Theme): void {
  const light = boot.show.first_light;
  for (const phase of boot.show.phases.slice(1)) {
    const px = Math.round(x(view, width, phase.start_ns)) + 0.5;
    if (px < view.label) continue;
    pen.globalAlpha = 0.35;
    pen.strokeStyle = t.quiet;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(px, TOP);
    pen.lineTo(px, height);
    pen.stroke();
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
  if (light) {
    const px = Math.round(x(view, width, light.at_ns));
    if (px >= view.label) {
      pen.fillStyle = t.ink;
      pen.fillRect(px - 1, TOP, 2, height - TOP);
    }
  }
}

function drawRow(pen: Pen, boot: Boot, row: Row, view: View, y: number, width: number, t: Theme): void {
  if (row.type === "head") {
    pen.fillStyle = t.ground;
    pen.fillRect(0, y, width, row.height);
    pen.font = `600 12px ${FONT}`;
    pen.textAlign = "left";
    pen.fillStyle = t.ink;
    if (!row.open) for (const g of boot.groups) if (g.name === row.id) folded(pen, g, view, y + 5, row.height - 10, width, t);
    const detail = row.detail ? `  ${row.detail}` : "";
    const label = fitted(pen, row.label, width - 120);
    const end = 22 + pen.measureText(label + detail).width;
    if (end > view.label - 8) {
      // A label that needs more than the column of labels stands on its own ground.
      pen.fillStyle = t.ground;
      pen.fillRect(0, y, end + 8, row.height);
    }
    pen.fillStyle = t.ink;
    arrow(pen, 8, y + row.height / 2, row.open);
    pen.fillText(label, 22, y + row.height / 2 + 0.5);
    const after = 22 + pen.measureText(label).width;
    pen.font = `11px ${FONT}`;
    pen.fillStyle = t.quiet;
    if (end > view.label - 8) pen.fillText(detail, after, y + row.height / 2 + 0.5);
    else {
      pen.textAlign = "right";
      pen.fillText(row.detail, view.label - 8, y + row.height / 2 + 0.5);
    }
    return;
  }
  if (row.label) {
    pen.font = `11px ${FONT}`;
    pen.textAlign = "left";
    pen.fillStyle = t.quiet;
    pen.fillText(fitted(pen, row.label, view.label - 18), 12, y + row.height / 2 + 0.5);
  }
  pen.save();
  pen.beginPath();
  pen.rect(view.label, y, width - view.label, row.height);
  pen.clip();
  if (row.type === "track") drawTrack(pen, row.group, row.track, view, y, row.height, width, t);
  else if (row.type === "log") drawLog(pen, boot, view, y, row.height, width, t);
  else drawCounter(pen, row.counter, view, y, row.height, width, t);
  pen.restore();
}

function arrow(pen: Pen, px: number, y: number, open: boolean): void {
  pen.beginPath();
  if (open) { pen.moveTo(px - 1, y - 2.5); pen.lineTo(px + 7, y - 2.5); pen.lineTo(px + 3, y + 3.5); }
  else { pen.moveTo(px, y - 4); pen.lineTo(px + 6, y); pen.lineTo(px, y + 4); }
  pen.closePath();
  pen.fill();
}

/** Calls for each stretch of a track that shows: one interval, or several that fall on one pixel. */
function visit(group: Group, track: Track, view: View, width: number, f: (i: number, left: number, right: number) => void): void {
  const perPixel = (view.to - view.from) / (width - view.label);
  const { start, end } = group;
  let i = lowerBound(start, track.first, track.count, view.from);
  const last = track.first + track.count;
  // What began before and is still there: lanes do not overlap, but nest.
  if (i > track.first) {
    const before = i - 1;
    if (end[track.first]! > view.from && track.first !== before) f(track.first, x(view, width, start[track.first]!), x(view, width, end[track.first]!));
    if (end[before]! > view.from) f(before, x(view, width, start[before]!), x(view, width, end[before]!));
  }
  while (i < last && start[i]! < view.to) {
    const left = x(view, width, start[i]!);
    const right = x(view, width, end[i]!);
    f(i, left, right);
    if (right - left < 1) {
      // The next one that is not drawn on top of this one: gallop, then halve.
      const until = start[i]! + perPixel;
      let by = 1;
      while (i + by < last && start[i + by]! < until && end[i + by]! < until) by *= 2;
      if (by === 1) i++;
      else {
        const from = i + (by >> 1);
        const next = lowerBound(start, from, Math.min(i + by, last) - from, until);
        let j = Math.max(next, i + 1);
        // One of those passed over may be long.
        for (let k = Math.max(i + 1, j - 3); k < j; k++) if (end[k]! > until) { j = k; break; }
        i = j;
      }
    } else i++;
  }
}

function drawTrack(pen: Pen, group: Group, track: Track, view: View, y: number, height: number, width: number, t: Theme): void {
  const found = view.found?.get(group);
  const dimmed = view.found !== null;
  visit(group, track, view, width, (i, left, right) => {
    const l = Math.max(left, view.label - 4);
    const w = Math.max(Math.min(right, width + 4) - l, 1);
    const color = colorOf(group, i);
    const isLife = color === "life";
    const inset = height < 12 ? 0.5 : isLife ? 5 : 2;
    const outcome = group.value("outcome", i);
    pen.globalAlpha = dimmed && !found?.has(i) ? 0.18 : group.kind === "phase" || group.kind === "request" || group.kind === "process" ? 1 : 0.74 + (hash(group.nameOf(i)) % 3) * 0.13;
    pen.fillStyle = t[color];
    if (outcome !== null && outcome !== 0 && w > 2) {
      // It failed or was deferred: an outline.
      pen.globalAlpha *= 0.35;
      pen.fillRect(l, y + inset, w, height - inset * 2);
      pen.globalAlpha = Math.min(1, pen.globalAlpha * 2.6);
      pen.strokeStyle = t[color];
      pen.lineWidth = 1;
      pen.strokeRect(l + 0.5, y + inset + 0.5, Math.max(w - 1, 0.5), height - inset * 2 - 1);
    } else pen.fillRect(l, y + inset, w > 3 ? w - 0.5 : w, height - inset * 2);
    pen.globalAlpha = 1;
    if (w > 24 && height > 12 && !(group.kind === "process" && !isLife)) {
      pen.font = `11px ${FONT}`;
      pen.textAlign = "left";
      pen.fillStyle = isLife || (outcome !== null && outcome !== 0) || (dimmed && !found?.has(i)) ? t.ink : on(color);
      const begin = Math.max(l, view.label) + 4;
      const label = fitted(pen, label1(group, i), l + w - begin - 3);
      if (label && !isLife) pen.fillText(label, begin, y + height / 2 + 0.5);
    }
    for (const [which, alpha] of [[view.hover, 0.6], [view.picked, 1]] as const) {
      if (which && which.group === group && which.index === i) {
        pen.globalAlpha = alpha;
        pen.strokeStyle = t.select;
        pen.lineWidth = 2;
        pen.strokeRect(l - 1, y + inset - 1, w + 2, height - inset * 2 + 2);
        pen.globalAlpha = 1;
      }
    }
  });
}

function label1(group: Group, i: number): string {
  const name = group.nameOf(i);
  if (group.kind === "initcall") return name.replace(/\+0x.*?(?= \[|$)/, "");
  if (group.kind === "request") return `${name} ${bytes(group.value("bytes", i))}`;
  return name;
}

/** A folded lane: how much of it is busy when. */
function folded(pen: Pen, group: Group, view: View, y: number, height: number, width: number, t: Theme): void {
  for (const track of group.tracks) {
    visit(group, track, view, width, (i, left, right) => {
      if (right < view.label) return;
      const l = Math.max(left, view.label);
      pen.globalAlpha = 0.4;
      pen.fillStyle = t[colorOf(group, i)];
      pen.fillRect(l, y, Math.max(Math.min(right, width) - l, 1), height);
    });
  }
  pen.globalAlpha = 1;
}

function drawLog(pen: Pen, boot: Boot, view: View, y: number, height: number, width: number, t: Theme): void {
  const seen = new Map<number, number>();
  for (const m of boot.messages) {
    if (m.at === null || m.at < view.from || m.at > view.to) continue;
    const px = Math.floor(x(view, width, m.at));
    const rank = m.level === null ? 6 : m.level;
    seen.set(px, Math.min(seen.get(px) ?? 8, rank));
  }
  for (const [px, rank] of seen) {
    pen.fillStyle = rank <= 3 ? t.bad : rank === 4 ? t.warn : t.quiet;
    const h = rank <= 3 ? height - 4 : rank === 4 ? height - 8 : height - 14;
    pen.fillRect(px, y + height - 2 - h, 1.2, h);
  }
}

function drawCounter(pen: Pen, counter: { at: Float64Array; values: Float64Array; max: number; unit: string }, view: View, y: number, height: number, width: number, t: Theme): void {
  const { at, values } = counter;
  const max = counter.unit === "permille" ? Math.max(1000, counter.max) : counter.max || 1;
  const base = y + height - 3;
  const yOf = (v: number) => base - (Math.max(v, 0) / max) * (height - 10);
  pen.beginPath();
  let i = Math.max(lowerBound(at, 0, at.length, view.from) - 1, 0);
  if (i >= at.length) return;
  pen.moveTo(x(view, width, at[i]!), base);
  let lastX = -Infinity;
  let peak = 0;
  let px = view.label;
  for (; i < at.length; i++) {
    px = x(view, width, at[i]!);
    peak = Math.max(peak, values[i]!);
    if (px - lastX < 1 && i + 1 < at.length) continue;
    pen.lineTo(px, yOf(peak));
    lastX = px;
    peak = 0;
    if (at[i]! > view.to) break;
  }
  pen.lineTo(px, base);
  pen.closePath();
  pen.globalAlpha = 0.35;
  pen.fillStyle = t.accent;
  pen.fill();
  pen.globalAlpha = 1;
  pen.strokeStyle = t.accent;
  pen.lineWidth = 1;
  pen.stroke();
  pen.font = `10px ${FONT}`;
  pen.fillStyle = t.quiet;
  pen.textAlign = "left";
  pen.fillText(`max ${amount(counter.max, counter.unit)}`, view.label + 4, y + 8);
}

export function amount(value: number, unit: string): string {
  switch (unit) {
    case "permille": return `${(value / 10).toFixed(value % 10 ? 1 : 0)} %`;
    case "bytes": return bytes(value);
    case "bytes_per_second": return `${bytes(value)}/s`;
    default: return value.toLocaleString("en-US");
  }
}

function drawPath(pen: Pen, all: Row[], view: View, path: PathOnRow[], width: number, height: number, t: Theme): void {
  const places = new Map<Group, Row[]>();
  for (const row of all) if (row.type === "track") {
    const list = places.get(row.group);
    if (list) list.push(row);
    else places.set(row.group, [row]);
  }
  let before: [number, number] | null = null;
  pen.strokeStyle = t.path;
  pen.fillStyle = t.path;
  for (const step of path) {
    if (!step.group) continue;
    const list = places.get(step.group);
    const row = list?.find((r) => r.type === "track" && step.index >= r.track.first && step.index < r.track.first + r.track.count);
    if (!row) continue;
    const y = row.y - view.scroll + TOP;
    const [left, right] = [x(view, width, step.item.start_ns), x(view, width, step.item.end_ns)];
    // Below what it is about, so that names can be read.
    const base = y + row.height - 1;
    // Of very short ones beside each other, one line shows all.
    if (before && base === before[1] && right - before[0] < 0.7) continue;
    if (before && left >= view.label) {
      const [bx, by] = before;
      if (bx < width && left - view.label > -50) {
        pen.lineWidth = 1.25;
        pen.globalAlpha = 0.8;
        pen.beginPath();
        pen.moveTo(Math.max(bx, view.label), by);
        pen.lineTo(left, by);
        pen.lineTo(left, base);
        pen.stroke();
        pen.globalAlpha = 1;
      }
    }
    if (right >= view.label && left <= width && y > -40 && y < height + 40) {
      const l = Math.max(left, view.label);
      pen.fillRect(l, base - 1.5, Math.max(Math.min(right, width) - l, 1), 3);
    }
    before = [right, base];
  }
  pen.lineWidth = 1;
}

/** The whole boot, small: phases, and how much goes on. */
export function drawOverview(pen: Pen, boot: Boot, bounds: [number, number], view: View, busy: Float32Array, width: number, height: number, t: Theme): void {
  const scale = (at: number) => view.label + ((at - bounds[0]) / (bounds[1] - bounds[0])) * (width - view.label);
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, height);
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.fillStyle = t.quiet;
  pen.fillText("whole boot", 8, height / 2);
  for (const phase of boot.show.phases) {
    pen.globalAlpha = 0.9;
    pen.fillStyle = t[phaseColor(phase.name)];
    pen.fillRect(scale(phase.start_ns), 0, Math.max(scale(phase.end_ns) - scale(phase.start_ns) - 1, 1), 5);
  }
  pen.globalAlpha = 0.55;
  pen.fillStyle = t.quiet;
  const w = (width - view.label) / busy.length;
  let most = 0;
  for (const b of busy) most = Math.max(most, b);
  for (let i = 0; i < busy.length; i++) {
    const h = (Math.sqrt(busy[i]! / (most || 1))) * (height - 10);
    if (h > 0) pen.fillRect(view.label + i * w, height - Math.max(h, 1), w + 0.3, Math.max(h, 1));
  }
  pen.globalAlpha = 1;
  const [a, b] = [scale(view.from), scale(view.to)];
  if (b - a < width - view.label - 2) {
    pen.globalAlpha = 0.6;
    pen.fillStyle = t.ground;
    pen.fillRect(view.label, 0, Math.max(a - view.label, 0), height);
    pen.fillRect(b, 0, Math.max(width - b, 0), height);
    pen.globalAlpha = 1;
  }
  pen.strokeStyle = t.accent;
  pen.lineWidth = 2;
  pen.strokeRect(Math.max(a, view.label) + 1, 1, Math.max(Math.min(b, width) - Math.max(a, view.label) - 2, 2), height - 2);
  pen.lineWidth = 1;
}

/** How much goes on in each of `n` parts of the boot. */
export function busyness(boot: Boot, bounds: [number, number], n: number): Float32Array {
  const all = new Float32Array(n);
  // What begins and ends: whole parts are added up at the end.
  const steps = new Float32Array(n + 1);
  const scale = n / (bounds[1] - bounds[0]);
  const clamp = (v: number) => Math.min(Math.max(v, 0), n - 1e-6);
  for (const g of boot.groups) {
    if (g.kind === "phase") continue;
    // Of very many, some tell as much.
    const stride = Math.max(1, Math.floor(g.count / 200_000));
    for (let i = 0; i < g.count; i += stride) {
      if (g.kind === "process" && g.value("pid", i) !== null && g.count > g.tracks.length) continue;
      const a = clamp((g.start[i]! - bounds[0]) * scale);
      const b = Math.max(clamp((g.end[i]! - bounds[0]) * scale), a + 0.02);
      const [first, last] = [Math.floor(a), Math.min(Math.floor(b), n - 1)];
      if (first === last) all[first]! += stride * (b - a);
      else {
        all[first]! += stride * (first + 1 - a);
        all[last]! += stride * (b - last);
        steps[first + 1]! += stride;
        steps[last]! -= stride;
      }
    }
  }
  let sum = 0;
  for (let k = 0; k < n; k++) {
    sum += steps[k]!;
    all[k]! += sum;
  }
  return all;
}

export const describeRange = ([a, b]: [number, number]): string => `${time(b - a)}, from ${time(a)} to ${time(b)}`;
