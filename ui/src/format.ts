// Numbers and words, as everywhere in Firstlight.

/** From here on a time is told in minutes. */
const LONG = 119_999_500_000;

/** `2 min 13 s`, `1.234 s`, `56.7 ms`, `890 us`, `12 ns`. */
export function time(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "";
  const a = Math.abs(ns);
  const sign = ns < 0 ? "-" : "";
  if (a < 0.5) return "0 s";
  if (a < 1e3) return `${sign}${Math.round(a)} ns`;
  if (a < 999_500) return `${sign}${Math.round(a / 1e3)} us`;
  if (a < 999_950_000) return `${sign}${(Math.round(a / 1e5) / 10).toFixed(1)} ms`;
  if (a < LONG) return `${sign}${(Math.round(a / 1e6) / 1e3).toFixed(3)} s`;
  const seconds = Math.round(a / 1e9);
  return `${sign}${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export const signed = (ns: number): string => (ns > 0 ? "+" : "") + time(ns);

/** A time on an axis whose labels are `step` apart: no more digits than needed. */
export function tick(ns: number, step: number): string {
  const [unit, name] = step >= 1e7 || Math.abs(ns) >= 1e9 ? [1e9, "s"] : step >= 1e4 ? [1e6, "ms"] : [1e3, "us"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step / unit) - 1e-9)));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

export const count = (n: number): string => n.toLocaleString("en-US");

/** `12.5 MiB`. */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined || Number.isNaN(n)) return "";
  let value = n;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]) {
    if (value < 1023.5 || unit === "PiB") {
      const tenths = Math.round(value * 10) / 10;
      return `${Number.isInteger(tenths) || unit === "B" ? Math.round(tenths) : tenths.toFixed(1)} ${unit}`;
    }
    value /= 1024;
  }
  return "";
}

/** `1 match`, `2 matches`, `1,234 units`, `2 tries`. */
export function plural(n: number, word: string): string {
  const many = /[^aeiou]y$/.test(word) ? `${word.slice(0, -1)}ies` : /(s|x|ch|sh)$/.test(word) ? `${word}es` : `${word}s`;
  return `${count(n)} ${n === 1 ? word : many}`;
}

export const words = (s: string): string => s.replaceAll("_", " ");

/** A verdict in the words of a table. */
export const verdictOf = (verdict: string): string => (verdict === "no_difference" ? "not significant" : words(verdict));

/** Round steps for an axis of `length` with about `n` labels. */
export function step(length: number, n: number): number {
  const raw = Math.max(length / Math.max(n, 1), 1);
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw * 0.999) ?? 10 * power;
}

/** The multiples of `by` from `from` to `to`. */
export function ticks(from: number, to: number, by: number): number[] {
  const all: number[] = [];
  for (let i = Math.ceil(from / by - 1e-9); i * by <= to && all.length < 1000; i++) all.push(i * by);
  return all;
}
