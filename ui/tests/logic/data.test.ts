import { expect, test } from "vitest";
import { at } from "../../src/levers";
import { commandOf } from "../../src/overview";
import { gzipSync } from "node:zlib";
import { Group, type RawGroup, dataText, numbers, titles } from "../../src/data";

test("columns give back what was written", () => {
  expect([...numbers({ unit: 1000, delta: true, values: [5, 2, 3] }, 3)]).toEqual([5000, 7000, 10_000]);
  expect([...numbers({ repeat: 3, values: [4] }, 3)]).toEqual([4, 4, 4]);
  expect([...numbers({ unit: 10, values: [2, null, 3] }, 3)]).toEqual([20, NaN, 30]);
  expect([...numbers(undefined, 2)]).toEqual([NaN, NaN]);
  expect([...numbers({ values: [] }, 0)]).toEqual([]);
});

test("a compressed block is read as a plain one", async () => {
  const text = JSON.stringify({ schema: "firstlight.page/2", title: "\u00e9 <b>" });
  const packed = JSON.stringify({ encoding: "gzip", base64: gzipSync(text).toString("base64") });
  expect(await dataText(packed)).toBe(text);
  expect(await dataText(text)).toBe(text);
});

const processes = (tracks: [name: number, pid: number, parent: number | null][]): RawGroup => ({
  kind: "process", name: "processes", count: tracks.length, sizes: { repeat: tracks.length, values: [1] }, tracks: { values: tracks.map((t) => t[0]) },
  columns: { start: { values: tracks.map((_, i) => i) }, length: { repeat: tracks.length, values: [10] }, name: { values: tracks.map((t) => t[0]) }, pid: { values: tracks.map((t) => t[1]) }, parent: { values: tracks.map((t) => t[2]) } },
});

test("processes stand below those that forked them", () => {
  const g = new Group(processes([[0, 1, null], [1, 20, 10], [2, 10, 1], [3, 11, 1]]), ["init", "grandchild", "child", "other"]);
  expect(g.tracks.map((t) => [t.name, t.depth])).toEqual([["init", 0], ["child", 1], ["grandchild", 2], ["other", 1]]);
});

test("processes in a circle, or with an id that is used again, are all there", () => {
  const circle = new Group(processes([[0, 1, 2], [1, 2, 1], [2, 3, 3]]), ["a", "b", "c"]);
  expect(circle.tracks.map((t) => t.name).sort()).toEqual(["a", "b", "c"]);
  const again = new Group(processes([[0, 1, null], [1, 5, 1], [2, 5, 1], [3, 6, 5]]), ["a", "b", "c", "d"]);
  expect(again.tracks.map((t) => t.name).sort()).toEqual(["a", "b", "c", "d"]);
});

test("names of boots are short while that tells them apart", () => {
  expect(titles(["runs/before.tar.zst", "runs/after.tar"])).toEqual(["before", "after"]);
  expect(titles(["a/boot.tar", "b/boot.tar"])).toEqual(["a/boot.tar", "b/boot.tar"]);
  expect(titles(["baseline", "quiet"])).toEqual(["baseline", "quiet"]);
});

test("a treatment's command can be pasted", () => {
  expect(["cmdline+=quiet", "fstab=/:+noatime", "cmdline+=a b'c", "kernel=uncompressed"].map(commandOf)).toEqual([
    "firstlight treat apply cmdline+=quiet ROOT", "firstlight treat apply fstab=/:+noatime ROOT", "firstlight treat apply 'cmdline+=a b'\\''c' ROOT", 'treatments = ["kernel=uncompressed"]  # in an experiment',
  ]);
});

test("a slider stands at forecasts, and past the last at the boot as it was", () => {
  const lever = { kind: "unit", name: "a.service", took_ns: 400, steps: [[0, 500, 600, 1000], [200, 750, 800, 1000]] as [number, number, number, number][] };
  expect(at(lever, 0, 1000)).toEqual({ left: 0, least: 500, expected: 600, most: 1000 });
  expect(at(lever, 1, 1000)).toEqual({ left: 200, least: 750, expected: 800, most: 1000 });
  expect(at(lever, 2, 1000)).toEqual({ left: 400, least: 1000, expected: 1000, most: 1000 });
});
