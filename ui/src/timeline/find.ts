// Questions to the intervals: search, what lies in a range, the critical path.

import type { Boot, Group, PathItem } from "../data";
import type { PathOnRow } from "./draw";

export interface Found { group: Group; index: number }

/** Intervals whose names contain `text`, by start; at most `most` of them. */
export function search(boot: Boot, text: string, most = 5000): { list: Found[]; byGroup: Map<Group, Set<number>>; total: number } {
  const wanted = text.toLowerCase();
  const byGroup = new Map<Group, Set<number>>();
  const list: Found[] = [];
  let total = 0;
  const known = new Map<number, boolean>();
  for (const group of boot.groups) {
    known.clear();
    const of = new Set<number>();
    for (let i = 0; i < group.count; i++) {
      const n = group.names[i]!;
      let hit = known.get(n);
      if (hit === undefined) {
        hit = group.nameOf(i).toLowerCase().includes(wanted);
        known.set(n, hit);
      }
      if (!hit) continue;
      total++;
      of.add(i);
      if (list.length < most) list.push({ group, index: i });
    }
    for (const track of group.tracks) {
      if (!track.name?.toLowerCase().includes(wanted) || of.has(track.first) || !track.count) continue;
      total++;
      of.add(track.first);
      if (list.length < most) list.push({ group, index: track.first });
    }
    if (of.size) byGroup.set(group, of);
  }
  list.sort((a, b) => a.group.start[a.index]! - b.group.start[b.index]!);
  return { list, byGroup, total };
}

export interface InRange { kind: string; name: string; count: number; within: number; group: Group; index: number }

/** What took most of a range: the time of each name within it. */
export function inRange(boot: Boot, from: number, to: number, top: number): InRange[] {
  const all: InRange[] = [];
  for (const group of boot.groups) {
    const sums = new Map<string | number, InRange>();
    for (const track of group.tracks) {
      for (let i = track.first; i < track.first + track.count && group.start[i]! < to; i++) {
        const within = Math.min(group.end[i]!, to) - Math.max(group.start[i]!, from);
        if (within < 0 || group.end[i]! <= from) continue;
        // A process' life says little: what it did counts.
        const isState = group.kind === "process" && group.value("pid", i) === null;
        if (group.kind === "process" && !isState && track.count > 1) continue;
        const key = isState ? `${track.first} ${group.names[i]!}` : group.names[i]!;
        const sum = sums.get(key);
        if (sum) {
          sum.count++;
          sum.within += within;
        } else {
          const name = isState ? `${track.name ?? ""} ${group.nameOf(i)}` : group.nameOf(i);
          sums.set(key, { kind: group.kind, name, count: 1, within, group, index: i });
        }
      }
    }
    all.push(...sums.values());
  }
  return all.sort((a, b) => b.within - a.within || b.count - a.count).slice(0, top);
}

/** The group that an item of the critical path is in: a vain probe is one, too. */
const groupOf = (item: PathItem): string => item.kind === "deferral" ? "probe" : item.kind;

/** What the critical path has of an interval, in all the pieces that others left of it. */
export function pathPieces(boot: Boot, { group, index }: Found): { length: number; saving: number } {
  const [start, end, name] = [group.start[index]!, group.end[index]!, group.nameOf(index)];
  const pieces = boot.raw.path.items.filter((i) => groupOf(i) === group.kind && i.name === name && i.start_ns < end && i.end_ns > start);
  const sum = (of: (i: PathItem) => number) => pieces.reduce((all, i) => all + of(i), 0);
  return { length: sum((i) => i.end_ns - i.start_ns), saving: sum((i) => i.saving_if_halved_ns) };
}

/** The items of the critical path, each with the interval that it is. */
export function pathOnRows(boot: Boot): PathOnRow[] {
  // By kind and name; there may be very many.
  const wanted = new Set(boot.raw.path.items.map((i) => `${groupOf(i)} ${i.name}`));
  const known = new Map<string, Found[]>();
  for (const group of boot.groups) {
    if (!["unit", "initcall", "probe", "phase"].includes(group.kind)) continue;
    for (let i = 0; i < group.count; i++) {
      const key = `${group.kind} ${group.nameOf(i)}`;
      if (!wanted.has(key)) continue;
      const list = known.get(key);
      if (list) list.push({ group, index: i });
      else known.set(key, [{ group, index: i }]);
    }
  }
  return boot.raw.path.items.map((item) => {
    const found = known.get(`${groupOf(item)} ${item.name}`)?.find(({ group, index }) => group.end[index]! >= item.end_ns - 1 && group.start[index]! <= item.end_ns);
    return found ? { item, ...found } : { item, group: null, index: -1 };
  });
}

/** The unit of this name. */
export function unit(boot: Boot, name: string): Found | null {
  for (const group of boot.groups) {
    if (group.kind !== "unit") continue;
    for (let i = 0; i < group.count; i++) if (group.nameOf(i) === name) return { group, index: i };
  }
  return null;
}

/** The interval of a kind, a name and a start, such as a row of a table tells. */
export function locate(boot: Boot, kind: string, name: string, start: number | null): Found | null {
  let best: Found | null = null;
  let distance = Infinity;
  for (const group of boot.groups) {
    if (group.kind !== kind) continue;
    for (let i = 0; i < group.count; i++) {
      const life = kind === "process";
      if (life && group.value("pid", i) === null) continue;
      if (!life && group.nameOf(i) !== name) continue;
      const d = Math.abs(group.start[i]! - (start ?? group.start[i]!));
      if (d < distance) {
        distance = d;
        best = { group, index: i };
      }
    }
  }
  return best;
}
