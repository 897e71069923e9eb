import { expect, test } from "vitest";
import { bytes, plural, signed, step, tick, ticks, time } from "../../src/format";

test.each([
  [0, "0 s"], [12, "12 ns"], [890_000, "890 us"], [999_499, "999 us"], [999_500, "1.0 ms"], [56_700_000, "56.7 ms"],
  [999_949_999, "999.9 ms"], [999_950_000, "1.000 s"], [1_234_000_000, "1.234 s"], [119_999_000_000, "119.999 s"], [119_999_600_000, "2 min 0 s"], [133_400_000_000, "2 min 13 s"], [-133_400_000_000, "-2 min 13 s"], [-2_500_000, "-2.5 ms"], [null, ""], [NaN, ""],
])("%s ns reads %s, as the terminal says it", (ns, text) => expect(time(ns)).toBe(text));

test("a change has its sign", () => {
  expect([signed(1e6), signed(-1e6), signed(0)]).toEqual(["+1.0 ms", "-1.0 ms", "0 s"]);
});

test.each([[0, "0 B"], [1023, "1023 B"], [1024, "1 KiB"], [1536, "1.5 KiB"], [13_058_048, "12.5 MiB"], [2 ** 30, "1 GiB"]])("%s bytes read %s", (n, text) => expect(bytes(n)).toBe(text));

test.each([[1, "match", "1 match"], [2, "match", "2 matches"], [2, "try", "2 tries"], [2, "day", "2 days"], [2, "process", "2 processes"], [1234, "unit", "1,234 units"]])("%s %s", (n, word, text) => expect(plural(n, word)).toBe(text));

test("steps are round, and there are about as many as asked for", () => {
  for (const length of [3, 77, 1e4, 123_456, 7.7e9, 1e12]) {
    const by = step(length, 8);
    expect(String(by / 10 ** Math.floor(Math.log10(by)))).toMatch(/^(1|2|5)$/);
    expect(length / by).toBeLessThanOrEqual(8.01);
  }
});

test("labels of an axis differ from each other", () => {
  for (const [from, to] of [[0, 5e9], [1.2e9, 1.2001e9], [0, 4000], [3e6, 9e6]] as const) {
    const by = step(to - from, 8);
    const labels = ticks(from, to, by).map((t) => tick(t, by));
    expect(labels.length).toBeGreaterThan(2);
    expect(new Set(labels).size).toBe(labels.length);
  }
});
