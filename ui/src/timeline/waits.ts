// What an interval waited for, and what waited for it.

import type { Boot, Group, Track } from "../data";
import { button, el } from "../dom";
import { bytes, count, plural, time } from "../format";
import { type Found, locate, pathPieces, unit } from "./find";
import type { Actions, Picked } from "./picked";

const MOST = 12;

/** Why it started when it started. */
export function waits(boot: Boot, picked: Picked, actions: Actions): Node[] {
  const { group, index } = picked;
  const list = ((): (Node | null)[] => {
    switch (group.kind) {
      case "unit": return [after(boot, picked, actions), before(boot, picked, actions)];
      case "probe": return [supplier(boot, picked, actions), tries(picked, actions)];
      case "initcall": return [inLine(picked, actions), within(boot, picked, actions)];
      case "process": return [family(picked, actions), states(picked)];
      case "request": return [requestOf(boot, picked, actions)];
      case "file": return [fileOf(boot, picked, actions)];
      default: return [];
    }
  })();
  return [onPath(boot, group, index), ...list].filter((n) => n !== null);
}

const list = (title: string, items: (Node | string | null)[]): Node | null => {
  const known = items.filter((i) => i !== null);
  return known.length ? el("div", {}, el("h4", {}, title), el("ul.plain", {}, known.slice(0, MOST).map((i) => el("li", {}, i)), known.length > MOST ? el("li.quiet", {}, `and ${count(known.length - MOST)} more`) : null)) : null;
};

const link = (found: Found, actions: Actions, says: string, more: Node | null = null): Node =>
  el("span", {}, button(found.group.nameOf(found.index), () => actions.pick(found, true), { class: "link" }), el("span.quiet", {}, ` ${says}`), more);

const startOf = (f: Found) => f.group.start[f.index]!;
const endOf = (f: Found) => f.group.end[f.index]!;

function onPath(boot: Boot, group: Group, index: number): Node | null {
  const { length, saving } = pathPieces(boot, { group, index });
  return length ? el("p.on-path", {}, el("b", {}, "On the critical path"), `: ${time(length)}. If it took half as long, first light would come ${time(saving)} earlier.`) : null;
}

function units(boot: Boot, names: string[]): Found[] {
  return names.flatMap((name) => unit(boot, name) ?? []);
}

function after(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const start = group.start[index]!;
  const all = units(boot, boot.orderedAfter(group.nameOf(index))).sort((a, b) => endOf(b) - endOf(a));
  const last = all.find((f) => endOf(f) <= start + 1e6);
  return list("Ordered after", all.map((f) => link(f, actions, `ended at ${time(endOf(f))}`, f === last ? el("b", {}, " \u2190 waited for this one") : null)));
}

function before(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const end = group.end[index]!;
  const all = units(boot, boot.orderedBefore(group.nameOf(index))).filter((f) => startOf(f) >= end - 1e6).sort((a, b) => startOf(a) - startOf(b));
  return list("Units that waited for it", all.map((f) => link(f, actions, `started at ${time(startOf(f))}`)));
}

/** The probe that a device waited for: the last one of its supplier that ended before. */
function supplier(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const device = boot.raw.deferrals.devices.find((d) => d.device === group.nameOf(index));
  if (!device) return null;
  const provider = device.waited_for ? locate(boot, "probe", device.waited_for, device.settled_ns) : null;
  const line = boot.lineAt(device.origin.source, device.origin.offset);
  return el("div", {}, el("h4", {}, "Deferred"),
    el("p", {}, `${plural(device.tries, "failed try")} took ${time(device.wasted_ns)}${device.first_ns === null ? "" : `, the first at ${time(device.first_ns)}`}; ${device.settled_ns === null ? "never probed successfully" : `probed at ${time(device.settled_ns)}`}.`),
    el("p", {}, device.waited_for ? ["Waited for ", provider ? link(provider, actions, `probed until ${time(endOf(provider))}`) : el("b", {}, device.waited_for)] : el("span.quiet", {}, "The log does not say what it waited for.")),
    line ? el("pre.evidence", {}, line) : null);
}

function named(group: Group, name: string): Found[] {
  const all: Found[] = [];
  for (let i = 0; i < group.count; i++) if (group.nameOf(i) === name) all.push({ group, index: i });
  return all.sort((a, b) => startOf(a) - startOf(b));
}

function tries({ group, index }: Picked, actions: Actions): Node | null {
  const all = named(group, group.nameOf(index));
  return all.length < 2 ? null : list("All tries", all.map((f) => link(f, actions, `${time(startOf(f))}, ${time(endOf(f) - startOf(f))}`, f.index === index ? el("b", {}, " \u2190 this one") : null)));
}

const trackOf = (group: Group, index: number): Track | undefined => group.tracks.find((t) => index >= t.first && index < t.first + t.count);

/** The kernel runs initcalls one after the other: the one before it in its lane. */
function inLine({ group, index }: Picked, actions: Actions): Node | null {
  const track = trackOf(group, index);
  if (!track || index <= track.first) return null;
  const earlier = { group, index: index - 1 };
  return list("Previous initcall", [link(earlier, actions, `ended ${time(group.start[index]! - endOf(earlier))} earlier`)]);
}

function within(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const [start, end] = [group.start[index]!, group.end[index]!];
  const all: Found[] = [];
  for (const g of boot.groups) {
    if (g.kind !== "probe") continue;
    for (let i = 0; i < g.count; i++) if (g.start[i]! >= start && g.end[i]! <= end) all.push({ group: g, index: i });
  }
  all.sort((a, b) => endOf(b) - startOf(b) - (endOf(a) - startOf(a)));
  return list("Probes while it ran", all.map((f) => link(f, actions, time(endOf(f) - startOf(f)))));
}

const process = (group: Group, track: Track): Found => ({ group, index: track.first });

function family({ group, index }: Picked, actions: Actions): Node | null {
  const track = trackOf(group, index);
  if (!track) return null;
  const of = (t: Track, says: string) => el("span", {}, button(t.name ?? "", () => actions.pick(process(group, t), true), { class: "link" }), el("span.quiet", {}, ` ${says}`));
  const parent = track.parent === null ? undefined : group.tracks.find((t) => t.pid === track.parent && t !== track);
  const children = group.tracks.filter((t) => t.parent === track.pid && t !== track && track.pid !== null);
  const box = el("div");
  const forked = parent ? list("Forked by", [of(parent, `started at ${time(group.start[parent.first])}`)]) : null;
  const forks = list("Forked", children.map((t) => of(t, `at ${time(group.start[t.first])}, ${time(group.end[t.first]! - group.start[t.first]!)}`)));
  if (forked) box.append(forked);
  if (forks) box.append(forks);
  return forked || forks ? box : null;
}

function states({ group, index }: Picked): Node | null {
  const track = trackOf(group, index);
  if (!track || track.count < 2) return null;
  const sums = new Map<string, number>();
  for (let i = track.first + 1; i < track.first + track.count; i++) sums.set(group.nameOf(i), (sums.get(group.nameOf(i)) ?? 0) + group.end[i]! - group.start[i]!);
  const says: Record<string, string> = { blocked: "waited for storage or a lock", runnable: "waited for a CPU", running: "ran" };
  return list("Activity", [...sums].sort((a, b) => b[1] - a[1]).map(([name, ns]) => el("span", {}, el("b", {}, time(ns)), ` ${says[name] ?? name}`)));
}

/** The process of a name that lived at a time. */
function alive(boot: Boot, name: string, at: number): Found | null {
  for (const group of boot.groups) {
    if (group.kind !== "process") continue;
    for (const t of group.tracks) {
      if (t.count && t.name?.replace(/ \d+$/, "") === name && group.start[t.first]! <= at && group.end[t.first]! >= at) return process(group, t);
    }
  }
  return null;
}

function requestOf(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const [file, by] = [group.textOf("of", index), group.textOf("by", index)];
  const box = el("div");
  if (file) {
    const found = locate(boot, "file", file, null);
    box.append(el("h4", {}, "For"), el("p", {}, found ? link(found, actions, `first used at ${time(startOf(found))}`) : el("span.name", {}, file)));
  }
  const task = by ? alive(boot, by, group.start[index]!) : null;
  if (task) box.append(el("h4", {}, "Requested by"), el("p", {}, link(task, actions, `started at ${time(startOf(task))}`)));
  // What was in the device already, and had to be done first.
  const ahead: Found[] = [];
  for (let i = 0; i < group.count; i++) if (i !== index && group.start[i]! < group.start[index]! && group.end[i]! > group.start[index]!) ahead.push({ group, index: i });
  const waiting = list("Already on the device", ahead.sort((a, b) => endOf(a) - endOf(b)).map((f) => link(f, actions, `${bytes(group.value("bytes", f.index))}, until ${time(endOf(f))}`)));
  if (waiting) box.append(waiting);
  return box.childNodes.length ? box : null;
}

function fileOf(boot: Boot, { group, index }: Picked, actions: Actions): Node | null {
  const name = group.nameOf(index);
  const all: Found[] = [];
  for (const g of boot.groups) {
    if (g.kind !== "request" || !g.has("of")) continue;
    for (let i = 0; i < g.count; i++) if (g.textOf("of", i) === name) all.push({ group: g, index: i });
  }
  all.sort((a, b) => startOf(a) - startOf(b));
  return list(`${plural(all.length, "request")} for it`, all.map((f) => link(f, actions, `${bytes(f.group.value("bytes", f.index))} at ${time(startOf(f))}, ${time(endOf(f) - startOf(f))}`)));
}
