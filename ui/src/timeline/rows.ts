// The rows of a timeline: what is where from top to bottom.

import type { Boot, Counter, Group, Track } from "../data";

export const HEAD = 24;
export const LANE = 18;
/** Lanes of which nothing could be read anyway. */
export const THIN = 5;
export const IDLE = 3;
export const COUNTER = 36;
export const LOG = 26;

export type Row =
  | { type: "head"; id: string; label: string; detail: string; y: number; height: number; open: boolean }
  | { type: "track"; id: string; group: Group; track: Track; label: string; y: number; height: number }
  | { type: "counter"; id: string; counter: Counter; label: string; y: number; height: number }
  | { type: "log"; id: string; label: string; y: number; height: number };

const NAMES: Record<string, string> = { phase: "phases", stage: "firmware and loader" };

export interface Lane { id: string; label: string; count: number }

/** The lanes that can be shown and hidden. */
export function lanes(boot: Boot): Lane[] {
  const all = boot.groups.map((g) => ({ id: g.name, label: NAMES[g.kind] ?? g.name, count: g.count }));
  if (boot.messages.some((m) => m.at !== null)) all.push({ id: "log", label: "log", count: boot.messages.length });
  if (counters(boot).length) all.push({ id: "readings", label: "readings", count: boot.counters.length });
  return all;
}

/** Rows, with those of `closed` lanes folded and those of `hidden` ones left out. */
export function rows(boot: Boot, closed: ReadonlySet<string>, hidden: ReadonlySet<string>): Row[] {
  const all: Row[] = [];
  const least = boot.end / 250;
  let y = 0;
  const head = (id: string, label: string, detail: string) => {
    const open = !closed.has(id);
    all.push({ type: "head", id, label, detail, y, height: HEAD, open });
    y += HEAD;
    return open;
  };
  let read = false;
  // As bootchart has them: above what the processes did.
  const readings = () => {
    if (read || hidden.has("readings")) return;
    read = true;
    const shown = counters(boot);
    if (!shown.length || !head("readings", "readings", String(shown.length))) return;
    for (const counter of shown) {
      all.push({ type: "counter", id: "readings", counter, label: counter.name, y, height: COUNTER });
      y += COUNTER + 2;
    }
    y += 4;
  };
  for (const group of boot.groups) {
    if (["process", "file", "request"].includes(group.kind)) readings();
    if (hidden.has(group.name)) continue;
    const many = group.kind === "phase" ? "" : `${group.count.toLocaleString("en-US")}`;
    const of = boot.groups.filter((g) => g.name === group.name).indexOf(group);
    const id = of ? `${group.name} ${of}` : group.name;
    if (!head(id, NAMES[group.kind] ?? group.name, many)) continue;
    const doing = group.count > group.tracks.length;
    for (const track of group.tracks) {
      const label = track.name === null ? "" : `${"\u2002".repeat(Math.min(track.depth, 8))}${track.name}`;
      // A process that was only there, and did nothing that was seen.
      const idle = group.kind === "process" && doing && track.count === 1;
      const height = idle ? IDLE : track.name === null && isSparse(group, track, least) ? THIN : LANE;
      all.push({ type: "track", id, group, track, label: idle ? "" : label, y, height });
      y += height;
    }
    y += 4;
  }
  if (!hidden.has("log") && boot.messages.some((m) => m.at !== null)) {
    all.push({ type: "log", id: "log", label: "log lines", y, height: LOG });
    y += LOG + 4;
  }
  readings();
  return all;
}

/** Readings that ever say anything: of the processors first, and of the whole before its parts. */
export function counters(boot: Boot): Counter[] {
  const rank = (c: Counter) => (c.name.startsWith("cpu") ? 0 : c.name.startsWith("disk") ? 1 : 2) * 2 + (c.name.includes(" ") ? 1 : 0);
  return boot.counters.filter((c) => c.max > 0).map((c, i) => ({ c, i })).sort((a, b) => rank(a.c) - rank(b.c) || a.i - b.i).map(({ c }) => c);
}

/** Whether nothing on a track is as long as `least`. */
function isSparse(group: Group, track: Track, least: number): boolean {
  const known = sparse.get(track);
  if (known !== undefined) return known;
  let is = true;
  for (let i = track.first; is && i < track.first + track.count; i++) is = group.end[i]! - group.start[i]! < least;
  sparse.set(track, is);
  return is;
}
const sparse = new WeakMap<Track, boolean>();

export const total = (all: readonly Row[]): number => {
  const last = all[all.length - 1];
  return last ? last.y + last.height + 8 : 0;
};

/** The first row whose end lies below `y`. */
export function firstAt(all: readonly Row[], y: number): number {
  let [low, high] = [0, all.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const row = all[middle]!;
    if (row.y + row.height <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first of `count` sorted numbers from `first` that is not below `value`. */
export function lowerBound(sorted: Float64Array, first: number, count: number, value: number): number {
  let [low, high] = [first, first + count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The innermost interval of a track at a time, within `slop` of it; -1 if there is none. */
export function sliceAt(group: Group, track: Track, at: number, slop: number): number {
  const end = lowerBound(group.start, track.first, track.count, at + slop + 1e-9);
  let near = -1;
  let distance = Infinity;
  for (let i = end - 1; i >= track.first && end - i < 4096; i--) {
    const d = Math.max(group.start[i]! - at, at - group.end[i]!, 0);
    if (d <= slop && d < distance) {
      near = i;
      distance = d;
      if (d === 0) break;
    }
  }
  // A long one that many short ones followed, such as a process' life.
  if (near < 0 && track.count && group.start[track.first]! <= at && at <= group.end[track.first]!) return track.first;
  return near;
}
