// Colors: by Okabe and Ito, distinct with every common color vision. They
// are in the style sheet; canvases ask for them here.

const NAMES = [
  "ink", "quiet", "line", "ground", "card", "accent", "good", "bad", "warn", "select",
  "firmware", "loader", "decompression", "before-kernel-clock", "kernel", "initrd", "userspace", "app",
  "initcall", "probe", "unit", "process", "file", "request", "stage", "read", "write", "other",
  "running", "runnable", "blocked", "life", "path",
  "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
] as const;
export type Color = (typeof NAMES)[number];
export type Theme = Record<Color, string>;

let current: Theme | null = null;
const listeners = new Set<() => void>();

export function theme(): Theme {
  if (!current) {
    const style = getComputedStyle(document.documentElement);
    current = Object.fromEntries(NAMES.map((n) => [n, style.getPropertyValue(`--${n}`).trim()])) as Theme;
  }
  return current;
}

/** Calls when colors have changed. */
export function onTheme(f: () => void): void { listeners.add(f); }

function changed(): void {
  current = null;
  for (const f of listeners) f();
}

export type Choice = "auto" | "light" | "dark";
export function choose(choice: Choice): void {
  if (choice === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = choice;
  try { localStorage.setItem("firstlight-theme", choice); } catch { /* file:// may have no storage */ }
  changed();
}
export function chosen(): Choice {
  try {
    const c = localStorage.getItem("firstlight-theme");
    return c === "light" || c === "dark" ? c : "auto";
  } catch { return "auto"; }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);

const contrasts = new Map<string, string>();

/** What can be read on a color: dark or light text (WCAG 2.2, relative luminance). */
export function on(color: Color): string {
  const ground = theme()[color];
  let text = contrasts.get(ground);
  if (text === undefined) {
    const parts = [1, 3, 5].map((i) => parseInt(ground.slice(i, i + 2), 16) / 255);
    const [r, g, b] = parts.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)) as [number, number, number];
    const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    text = 1.05 / (luminance + 0.05) >= (luminance + 0.05) / 0.057 ? "#ffffff" : "#0d1115";
    contrasts.set(ground, text);
  }
  return text;
}

/** The color of something by its name, always the same. */
export const shade = (name: string): Color => `s${hash(name) % 8}` as Color;
export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
