import { expect, test } from "vitest";
import { Group, type RawGroup } from "../../src/data";
import { moved } from "../../src/layout";
import { type PublishedResult, furthest } from "../../src/published";
import { Requests, folderOf, hues, room, waysOf } from "../../src/seek";

const TEXTS = ["read", "write", "flush", "/a", "/b", "sh", "init"];
type One = [name: number, start: number, sector: number, bytes: number, of: number | null, by: number | null];
const group = (all: One[]): Group => {
  const column = (f: (o: One) => number | null) => ({ values: all.map(f) });
  const raw: RawGroup = { kind: "request", name: "requests 8:0", count: all.length, sizes: { values: [all.length] }, columns: {
    name: column((o) => o[0]), start: column((o) => o[1]), length: column(() => 10), sector: column((o) => o[2]), bytes: column((o) => o[3]), of: column((o) => o[4]), by: column((o) => o[5]),
  } };
  return new Group(raw, TEXTS);
};
const before = new Requests(group([[0, 300, 800, 4096, 4, 5], [0, 100, 16, 8192, 3, 5], [1, 200, 64, 4096, null, 6], [2, 250, 0, 0, null, 6], [0, 400, 8, 4096, 3, 5]]));

test("requests are in the order in which they were made, and only those with data", () => {
  expect([...before.start]).toEqual([100, 200, 300, 400]);
  expect([...before.index]).toEqual([1, 2, 0, 4]);
  expect(before.operations).toEqual(["read", "write", "read", "read"]);
  expect(room([before])).toEqual({ from: 100, to: 410, low: 8 * 512, high: 800 * 512 + 4096, most: 4 });
});

test("colors go to those of whom most was asked", () => {
  expect(waysOf([before])).toEqual(["file", "folder", "process", "operation"]);
  expect(hues([before], "file").map((h) => [h.label, h.count, h.bytes])).toEqual([["/a", 2, 12_288], ["/b", 1, 4096]]);
  expect(hues([before], "operation").map((h) => [h.label, h.color, h.count])).toEqual([["read", "read", 3], ["write", "write", 1]]);
  const many = new Requests(group(Array.from({ length: 12 }, (_, i): One => [0, i, i, 4096, i % 7, 5])));
  expect(hues([many], "file")).toHaveLength(7);
});

test("files that lie elsewhere afterwards are told with both places", () => {
  const after = new Requests(group([[0, 10, 16, 8192, 4, 5]]));
  expect(moved(before, after)).toEqual([
    { path: "/a", before: { requests: 2, place: 8 * 512 }, after: null },
    { path: "/b", before: { requests: 1, place: 800 * 512 }, after: { requests: 1, place: 16 * 512 } },
  ]);
});

test("the ratio that is furthest from what was published is told, whichever way", () => {
  const result = (ratios: [number, number | null][]): PublishedResult => ({ id: "r", title: "r", source: "s", machine: "m", here: "h", why: "w", failures: [], values: ratios.map(([published_ratio, measured_ratio]) => ({ name: "v", published_ns: 1, measured_ns: 1, published_ratio, measured_ratio })) });
  expect(furthest(result([[1, 1], [2, 3], [4, 1]]))).toBe(0.25);
  expect(furthest(result([[1, 1], [2, 3], [4, null]]))).toBe(1.5);
  expect(furthest(result([[1, null]]))).toBeNull();
});

test("a folder is as deep as tells its purpose", () => {
  expect(["/usr/lib/modules/6.1/kernel/a.ko", "/usr/bin/sh", "/etc/fstab", "/init", "inode 7 on 8:1"].map(folderOf)).toEqual(["/usr/lib/modules", "/usr/bin", "/etc", "/", "inode 7 on 8:1"]);
});
