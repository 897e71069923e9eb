// The same storage before and after: two boots' requests to one scale.

import type { Boot, Io } from "./data";
import { el, refill, section } from "./dom";
import { bytes, count, time } from "./format";
import { remember } from "./link";
import { Requests, SeekPicture, controls, firstPlaces, hues, legend, room, settingsHere, waysOf } from "./seek";
import { type Table, type TableColumn, table } from "./table";
import { copyTools } from "./tools";

/** The device with the most requests. */
function most(boot: Boot): Requests | null {
  const devices = boot.groups.filter((g) => g.kind === "request");
  return devices.length ? new Requests(devices.reduce((a, b) => (b.count > a.count ? b : a))) : null;
}

export interface Moved { path: string; before: { requests: number; place: number } | null; after: { requests: number; place: number } | null }

/** Where each file lay in both boots, and how many requests it took. */
export function moved(before: Requests, after: Requests): Moved[] {
  const all = new Map<string, Moved>();
  for (const [side, requests] of [["before", before], ["after", after]] as const) {
    const counts = new Map<string, number>();
    for (let n = 0; n < requests.count; n++) counts.set(requests.named("file", n), (counts.get(requests.named("file", n)) ?? 0) + 1);
    for (const [path, place] of firstPlaces(requests)) {
      const one = all.get(path) ?? { path, before: null, after: null };
      one[side] = { requests: counts.get(path) ?? 0, place };
      all.set(path, one);
    }
  }
  return [...all.values()];
}

export function beforeAndAfter(boots: [Boot, Boot]): HTMLElement | null {
  const sides = boots.map(most);
  const [before, after] = sides;
  if (!before || !after) return null;
  const both = [before, after];
  const ways = waysOf(both);
  const settings = settingsHere(ways);
  const box = room(both);
  let known = hues(both, settings.by);
  let knownBy = settings.by;
  const huesNow = () => {
    if (knownBy !== settings.by) [known, knownBy] = [hues(both, settings.by), settings.by];
    return known;
  };
  const names = el("div.legend");
  let list: Table | null = null;
  const pick = (name: string | null) => {
    settings.picked = name;
    if (settings.by === "file") {
      remember({ file: name });
      list?.reveal(name);
    }
    changed();
  };
  const pictures = both.map((r, k) => new SeekPicture(boots[k]!, r, box, settings, huesNow, (n) => pick(r.named(settings.by, n) || null), 0.62));
  const changed = () => {
    refill(names, legend(huesNow(), both, settings, pick));
    pictures.forEach((p) => p.draw());
  };
  refill(names, legend(huesNow(), both, settings, pick));
  const files = ways.includes("file") ? moved(before, after) : [];
  if (files.length) list = movedTable(files, boots, (path) => {
    settings.by = "file";
    pick(settings.picked === path ? null : path);
  });
  return section("Before and after", "The position on the device of the requests of both boots, on one scale and in the same colors.",
    el("div.tools", {}, controls(both, ways, settings, changed)),
    el("div.columns.even", {}, boots.map((b, k) => el("div", {}, el("div.tools", {}, el("b.who", {}, b.title), copyTools(() => ({ ...pictures[k]!.picture(), name: `seek-${k ? "after" : "before"}` }))), pictures[k]!.element))),
    names, sums(boots), list);
}

function sums(boots: [Boot, Boot]): HTMLElement {
  const [a, b] = boots.map((boot) => boot.raw.io!) as [Io, Io];
  const jumps = (io: Io) => io.sequence.followed - io.sequence.sequential;
  const rows: [string, (io: Io) => number | null, (n: number) => string][] = [
    ["requests", (io) => io.requests, count],
    ["read", (io) => io.read_bytes, bytes],
    ["written", (io) => io.write_bytes, bytes],
    ["non-sequential requests", jumps, count],
    ["total length of their jumps", (io) => io.sequence.mean_distance_bytes * jumps(io), bytes],
    ["mean service time", (io) => io.dispatch_to_complete.mean_ns, time],
    ["time the device was busy", (io) => io.depth.busy_ns, time],
  ];
  const share = (x: number | null, y: number | null) => (!x || y === null || x === y ? "" : `${y > x ? "+" : ""}${((y / x - 1) * 100).toFixed(Math.abs(y / x - 1) < 0.1 ? 1 : 0)} %`);
  return el("div.scroll", { tabindex: 0, role: "region", "aria-label": "Before and after, in figures" }, el("table.sums", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "figure"), boots.map((boot) => el("th.num", { scope: "col" }, boot.title)), el("th.num", { scope: "col" }, "change"))),
    el("tbody", {}, rows.map(([name, of, shown]) => {
      const [x, y] = [of(a), of(b)];
      if (!x && !y) return null;
      return el("tr", {}, el("th", { scope: "row" }, name), [x, y].map((n) => el("td.num", {}, n === null ? "" : shown(n))), el(`td.num.${(y ?? 0) < (x ?? 0) ? "good" : (y ?? 0) > (x ?? 0) ? "bad" : "quiet"}`, {}, share(x, y)));
    }))));
}

function movedTable(files: Moved[], boots: [Boot, Boot], pick: (path: string) => void): Table {
  const place = (side: Moved["before"]) => (side ? bytes(side.place) : "");
  const asked = (side: Moved["before"]) => (side ? count(side.requests) : "");
  const columns: TableColumn<Moved>[] = [
    { name: `requests, ${boots[0].title}`, numeric: true, value: (f) => f.before?.requests ?? null, cell: (f) => asked(f.before) },
    { name: boots[1].title, numeric: true, value: (f) => f.after?.requests ?? null, cell: (f) => asked(f.after) },
    { name: `position, ${boots[0].title}`, numeric: true, value: (f) => f.before?.place ?? null, cell: (f) => place(f.before) },
    { name: boots[1].title, numeric: true, value: (f) => f.after?.place ?? null, cell: (f) => place(f.after) },
    { name: "file", cell: (f) => f.path, className: "name" },
  ];
  return table<Moved>({ label: "Files before and after", rows: files, text: (f) => f.path, key: (f) => f.path, sort: 0, columns, onrow: (f) => pick(f.path) });
}
