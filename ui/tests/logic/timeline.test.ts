import { expect, test } from "vitest";
import { Boot, type RawBoot, type RawGroup } from "../../src/data";
import { frames } from "../../src/flame";
import { format, here, parse } from "../../src/link";
import { pathSteps, steps } from "../../src/waterfall";
import { inRange, locate, pathOnRows, pathPieces, search } from "../../src/timeline/find";
import { firstAt, lowerBound, rows, sliceAt, total } from "../../src/timeline/rows";
import { folders } from "../../src/treemap";
import { address } from "../../src/list";

const group = (kind: string, slices: [name: number, start: number, end: number][], sizes = [slices.length]): RawGroup => ({
  kind, name: `${kind}s`, count: slices.length, sizes: { values: sizes },
  columns: { name: { values: slices.map((s) => s[0]) }, start: { values: slices.map((s) => s[1]) }, length: { values: slices.map((s) => s[2] - s[1]) } },
});

const boot = (groups: RawGroup[], texts: string[], items: RawBoot["path"]["items"] = []): Boot =>
  new Boot({
    title: "b", clock_says: null, path: { mark: "m", end_ns: 100, knows_units: true, items }, path_items: items.length, blame: [], deferrals: { devices: [], total_devices: 0 }, io: null, files: 0, functions: null, calls: null, lines: [[0, 7, "the line"]],
    show: { zero: "z", clock: "printk", kernel: null, machine: null, cmdline: null, phases: [], first_light: null, last_ns: 100, milestones: [], summary: { kinds: [], deferrals: 0, deferred_devices: 0, deferral_ns: 0 }, facts: [], findings: [], sources: [{ name: "log", format: "f", units: 1, events: 1, noted: 0 }], notes: [] },
    lanes: { texts, groups, marks: {}, counters: [], messages: {}, dependencies: { from: { values: [0, 0] }, to: { values: [1, 2] }, kind: { values: [0, 2] } }, slices_left_out: 0, messages_left_out: 0 },
  }, "b");

test("the interval at a time is the innermost one", () => {
  const b = boot([group("process", [[0, 0, 100], [1, 10, 20], [1, 50, 52]])], ["life", "running"]);
  const g = b.groups[0]!;
  expect([5, 15, 30, 51, 53].map((at) => sliceAt(g, g.tracks[0]!, at, 0))).toEqual([0, 1, 0, 2, 0]);
  expect(sliceAt(g, g.tracks[0]!, 53, 2)).toBe(0);
  expect(sliceAt(g, g.tracks[0]!, 140, 2)).toBe(-1);
});

test("a lower bound is where sorting would put it", () => {
  const sorted = Float64Array.from([1, 3, 3, 9]);
  expect([0, 1, 2, 3, 4, 9, 10].map((v) => lowerBound(sorted, 0, 4, v))).toEqual([0, 0, 1, 1, 3, 3, 4]);
});

test("rows follow each other, and can be found by their place", () => {
  const b = boot([group("initcall", [[0, 0, 5], [1, 1, 90]], [1, 1]), group("unit", [[1, 3, 50]])], ["a", "b"]);
  const all = rows(b, new Set(), new Set());
  for (let i = 1; i < all.length; i++) expect(all[i]!.y).toBeGreaterThanOrEqual(all[i - 1]!.y + all[i - 1]!.height);
  for (const [i, row] of all.entries()) expect(firstAt(all, row.y)).toBe(i);
  expect(total(rows(b, new Set(["units"]), new Set()))).toBeLessThan(total(all));
  expect(rows(b, new Set(), new Set(["units", "initcalls"]))).toEqual([]);
});

test("a search finds names in any case, by start", () => {
  const b = boot([group("initcall", [[0, 5, 6], [1, 7, 8]]), group("unit", [[2, 1, 3]])], ["usb_init", "net_init", "USB.service"]);
  const found = search(b, "usb");
  expect(found.total).toBe(2);
  expect(found.list.map((f) => f.group.nameOf(f.index))).toEqual(["USB.service", "usb_init"]);
});

test("a range counts what lies within it", () => {
  const b = boot([group("unit", [[0, 0, 10], [0, 12, 20], [1, 18, 40]], [2, 1])], ["a", "b"]);
  expect(inRange(b, 5, 20, 9).map((r) => [r.name, r.within, r.count])).toEqual([["a", 13, 2], ["b", 2, 1]]);
  expect(inRange(b, 41, 50, 9)).toEqual([]);
});

test("the critical path is found on its rows, and rows of tables too", () => {
  const item = { kind: "unit", name: "b", start_ns: 18, end_ns: 40, slack_ns: 0, saving_if_halved_ns: 0, origin: null };
  const b = boot([group("unit", [[0, 0, 10], [1, 18, 40]])], ["a", "b", "c"], [item, { ...item, kind: "wait", name: "before b" }]);
  expect(pathOnRows(b).map((p) => p.index)).toEqual([1, -1]);
  expect(locate(b, "unit", "b", 18)?.index).toBe(1);
  expect(locate(b, "unit", "none", 0)).toBeNull();
  expect(b.orderedAfter("a")).toEqual(["b"]);
  expect(b.lineAt("log", 7)).toBe("the line");
});

test("an interval has all its pieces of the critical path, and a vain try is a probe", () => {
  const item = { kind: "initcall", name: "a", start_ns: 0, end_ns: 10, slack_ns: 0, saving_if_halved_ns: 5, origin: null };
  const items = [item, { ...item, kind: "probe", name: "dev", start_ns: 10, end_ns: 20 }, { ...item, start_ns: 20, end_ns: 60, saving_if_halved_ns: 20 }, { ...item, kind: "deferral", name: "dev", start_ns: 60, end_ns: 64, saving_if_halved_ns: 2 }];
  const b = boot([group("initcall", [[0, 0, 64]]), group("probe", [[1, 10, 20], [1, 60, 64], [1, 70, 90]])], ["a", "dev"], items);
  const [calls, probes] = [b.groups[0]!, b.groups[1]!];
  const found = [[calls, 0], [probes, 0], [probes, 1], [probes, 2]] as const;
  expect(found.map(([group, index]) => pathPieces(b, { group, index }))).toEqual([
    { length: 50, saving: 25 }, { length: 10, saving: 5 }, { length: 4, saving: 2 }, { length: 0, saving: 0 },
  ]);
  expect(pathOnRows(b).map((p) => [p.group?.kind, p.index])).toEqual([["initcall", 0], ["probe", 0], ["initcall", 0], ["probe", 1]]);
});

test("an icicle has each frame within the one that called it", () => {
  const row = (depth: number, time_ns: number) => ({ depth, name: "f", count: 1, time_ns, local_ns: 0, open: 0 });
  const { all, total: sum, depth } = frames([row(0, 10), row(1, 6), row(2, 5), row(1, 3), row(0, 4)]);
  expect([sum, depth]).toEqual([14, 3]);
  for (const f of all) if (f.parent) {
    expect(f.from).toBeGreaterThanOrEqual(f.parent.from);
    expect(f.from + f.length).toBeLessThanOrEqual(f.parent.from + f.parent.length);
  }
  expect(all.map((f) => f.from)).toEqual([0, 0, 0, 6, 10]);
});

test("a treemap's folders hold what their files do", () => {
  const f = folders([{ path: "/usr/lib/a", value: 3 }, { path: "/usr/lib/b", value: 4 }, { path: "/etc/c", value: 1 }, { path: "", value: 0 }]);
  expect(f.children.map((c) => [c.name, c.children.length])).toEqual([["usr/lib", 2], ["etc/c", 0]]);
});

test("a waterfall ends where the second boot does", () => {
  const phase = (name: string, a: number | null, b: number | null) => ({ name, a_ns: a, b_ns: b, delta_ns: (b ?? 0) - (a ?? 0), same_marks: true });
  const all = steps({ clock: null, items: [], first_light: { a: { mark: "m", at_ns: 10_000 }, b: { mark: "m", at_ns: 6000 }, delta_ns: -4000, same_marks: true }, phases: [phase("kernel", 7000, 5000), phase("initrd", 1000, null)] }, ["a", "b"]);
  expect(all.map((s) => [s.label, s.delta])).toEqual([["a", 10_000], ["kernel", -2000], ["initrd", -1000], ["other", -1000], ["b", 6000]]);
});

test("a waterfall of critical paths has what got shorter, then what got longer, and adds up", () => {
  const on = (items: [kind: string, name: string, length: number][]) => {
    let at = 0;
    return boot([], [], items.map(([kind, name, length]) => ({ kind, name, start_ns: at, end_ns: (at += length), slack_ns: 0, saving_if_halved_ns: 0, origin: null })));
  };
  const [a, b] = [on([["initcall", "x", 500], ["unit", "u", 300], ["unit", "gone", 200]]), on([["initcall", "x", 100], ["unit", "u", 450], ["unit", "new", 20]])];
  const diff = { clock: null, items: [], phases: [], first_light: { a: { mark: "m", at_ns: 1000 }, b: { mark: "m", at_ns: 570 }, delta_ns: -430, same_marks: true } };
  const all = pathSteps(diff, [a, b], ["a", "b"]);
  expect(all.map((s) => [s.label, s.delta])).toEqual([["a", 1000], ["x", -400], ["gone", -200], ["u", 150], ["new", 20], ["b", 570]]);
  expect(pathSteps(diff, [a, b], ["a", "b"], 1).map((s) => s.label)).toEqual(["a", "x", "u", "other", "b"]);
});

test("a link leads to where it was made", () => {
  expect(here()).toEqual({ view: "blame", settings: { kind: "unit" } });
  const state = { view: "timeline", settings: { t: "1~2", q: "a&b=c #%", sel: "units:3" } };
  expect(parse(format(state))).toEqual(state);
  expect(parse("")).toEqual({ view: "", settings: {} });
  expect(address("a b/c&d", "x#y")).toBe("page?path=a%20b%2Fc%26d&path=x%23y");
});
