// Where on its device what was asked lay: offset over time, or one after the other.

import type { Boot, Group } from "./data";
import { button, el, refill, section } from "./dom";
import { bytes, count, plural, step, tick, ticks, time } from "./format";
import { go, here, remember } from "./link";
import { type Pen, type Picture, paint } from "./pen";
import { type Color, FONT, type Theme, onTheme, theme } from "./theme";
import { copyTools } from "./tools";

export const LEFT = 76;
export const RIGHT = 8;
const SECTOR = 512;
const BOTTOM = 26;

const WAYS = ["file", "folder", "process", "operation"] as const;
export type Way = (typeof WAYS)[number];

/** What a picture shows of all there is. */
export interface Settings {
  by: Way;
  /** Along the picture: the time, or one request after the other. */
  along: "time" | "order";
  /** Only these operations. */
  shown: { read: boolean; write: boolean };
  /** The movie has come so far; null: everything is there. */
  now: number | null;
  /** Whose requests stand out: a file or a process, as `by` has it. */
  picked: string | null;
}

/** The folder of a file, no deeper than tells its purpose; what is in no folder stays itself. */
export function folderOf(file: string): string {
  if (!file.startsWith("/")) return file;
  const parts = file.split("/").slice(1, -1);
  return `/${parts.slice(0, parts[1] === "lib" || parts[0] === "lib" ? 3 : 2).join("/")}`;
}

/** A device's requests, in the order in which they were made. */
export class Requests {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly place: Float64Array;
  readonly bytes: Float64Array;
  /** Which interval of the group each is. */
  readonly index: Uint32Array;
  readonly count: number;

  constructor(readonly group: Group) {
    const [sector, size] = [group.column("sector"), group.column("bytes")];
    const carries = Array.from({ length: group.count }, (_, i) => i).filter((i) => (size?.[i] ?? 0) > 0);
    this.index = Uint32Array.from(carries).sort((a, b) => group.start[a]! - group.start[b]! || a - b);
    this.count = this.index.length;
    const pick = (of: (i: number) => number) => Float64Array.from(this.index, of);
    this.start = pick((i) => group.start[i]!);
    this.end = pick((i) => group.end[i]!);
    this.place = pick((i) => (sector?.[i] ?? 0) * SECTOR);
    this.bytes = pick((i) => size?.[i] ?? 0);
  }

  /** What a way of coloring calls the request. */
  named(by: Way, n: number): string {
    const i = this.index[n]!;
    if (by === "operation") return this.group.nameOf(i);
    if (by === "process") return this.group.textOf("by", i) ?? "";
    const file = this.group.textOf("of", i) ?? "";
    return by === "file" ? file : folderOf(file);
  }

  get operations(): string[] { return Array.from(this.index, (i) => this.group.nameOf(i)); }
}

export interface Box { from: number; to: number; low: number; high: number; most: number }

/** Room for all requests of one or several devices. */
export function room(all: Requests[]): Box {
  const box = { from: Infinity, to: -Infinity, low: Infinity, high: 0, most: 1 };
  for (const r of all) {
    box.most = Math.max(box.most, r.count);
    for (let n = 0; n < r.count; n++) {
      box.from = Math.min(box.from, r.start[n]!);
      box.to = Math.max(box.to, r.end[n]!);
      box.low = Math.min(box.low, r.place[n]!);
      box.high = Math.max(box.high, r.place[n]! + r.bytes[n]!);
    }
  }
  if (box.low > box.high) return { from: 0, to: 1, low: 0, high: 4096, most: 1 };
  return { ...box, to: Math.max(box.to, box.from + 1), high: Math.max(box.high, box.low + 4096) };
}

const PALETTE: Color[] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];
const REST: Color = "s7";
const OPERATIONS: Record<string, Color> = { read: "read", write: "write" };

export interface Hue { label: string; color: Color; count: number; bytes: number }

/** What has a color of its own: those of whom most was asked, the rest together. */
export function hues(all: Requests[], by: Way): Hue[] {
  const sums = new Map<string, { count: number; bytes: number }>();
  for (const r of all) {
    for (let n = 0; n < r.count; n++) {
      const name = r.named(by, n);
      const sum = sums.get(name) ?? { count: 0, bytes: 0 };
      sum.count++;
      sum.bytes += r.bytes[n]!;
      sums.set(name, sum);
    }
  }
  if (by === "operation") return [...sums].map(([label, s]) => ({ label, color: OPERATIONS[label] ?? "other", ...s }));
  const known = [...sums].filter(([label]) => label).sort((a, b) => b[1].bytes - a[1].bytes || (a[0] < b[0] ? -1 : 1));
  return known.slice(0, PALETTE.length).map(([label, s], i) => ({ label, color: PALETTE[i]!, ...s }));
}

/** The color of each request, as a number in `PALETTE` and what follows it. */
function colors(requests: Requests, by: Way, known: Hue[]): (Color | null)[] {
  const of = new Map(known.map((h) => [h.label, h.color]));
  return Array.from({ length: requests.count }, (_, n) => {
    const name = requests.named(by, n);
    return of.get(name) ?? (name ? REST : null);
  });
}

/** A picture of one device, that others may share their scale and colors with. */
export class SeekPicture {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas", { tabindex: 0, role: "img" }) as HTMLCanvasElement;
  private readonly tip = el("div.tip", { hidden: true });
  private width = 900;
  private height = 380;
  private known: { by: Way; hues: Hue[]; of: (Color | null)[] } | null = null;

  constructor(readonly boot: Boot, readonly requests: Requests, public box: Box, readonly settings: Settings, private readonly hueOf: () => Hue[], private readonly onpick: (n: number) => void, tall = 0.4) {
    this.element = el("div.stage.flat", {}, this.canvas, this.tip);
    this.canvas.addEventListener("pointermove", (e) => this.point(e.offsetX, e.offsetY));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.canvas.addEventListener("click", (e) => {
      const n = this.near(e.offsetX, e.offsetY);
      if (n >= 0) this.onpick(n);
    });
    new ResizeObserver(() => {
      if (!this.element.clientWidth) return;
      this.width = this.element.clientWidth;
      this.height = Math.round(Math.min(440, Math.max(260, this.width * tall)));
      this.canvas.style.height = `${this.height}px`;
      this.draw();
    }).observe(this.element);
    onTheme(() => this.draw());
  }

  draw(): void {
    paint(this.canvas, this.width, this.height, (pen) => this.drawOn(pen, this.width, this.height));
    const { requests: r, box } = this;
    this.canvas.setAttribute("aria-label", `Position on the device over time: ${plural(r.count, "request")} of ${r.group.name}, from ${time(box.from)} to ${time(box.to)}. The tables below have the same data.`);
  }

  picture(): Picture {
    return { name: "seek", width: 1100, height: 460, draw: (pen, w, h) => this.drawOn(pen, w, h) };
  }

  private hues(): (Color | null)[] {
    const hues = this.hueOf();
    if (this.known?.by !== this.settings.by || this.known.hues !== hues) this.known = { by: this.settings.by, hues, of: colors(this.requests, this.settings.by, hues) };
    return this.known.of;
  }

  private shows(n: number): boolean {
    const { shown, now } = this.settings;
    const name = this.requests.group.nameOf(this.requests.index[n]!);
    return (name === "write" ? shown.write : name === "read" ? shown.read : true) && (now === null || this.requests.start[n]! <= now);
  }

  private placed(n: number, width: number, height: number): [number, number, number] {
    const { box, requests: r, settings } = this;
    const y = height - BOTTOM - ((r.place[n]! - box.low) / (box.high - box.low)) * (height - 40);
    if (settings.along === "order") {
      const each = (width - LEFT - RIGHT) / box.most;
      return [LEFT + n * each, y, each];
    }
    const scale = (width - LEFT - RIGHT) / (box.to - box.from);
    return [LEFT + (r.start[n]! - box.from) * scale, y, (r.end[n]! - r.start[n]!) * scale];
  }

  private near(x: number, y: number): number {
    let [best, distance] = [-1, 100];
    for (let n = 0; n < this.requests.count; n++) {
      const [px, py, w] = this.placed(n, this.width, this.height);
      const dx = x < px ? px - x : x > px + w ? x - px - w : 0;
      const d = dx * dx + (y - py) * (y - py);
      if (d < distance && this.shows(n)) [best, distance] = [n, d];
    }
    return best;
  }

  private point(x: number, y: number): void {
    const n = this.near(x, y);
    this.tip.hidden = n < 0;
    if (n < 0) return;
    const { requests: r } = this;
    const [file, by] = [r.named("file", n), r.named("process", n)];
    refill(this.tip, el("b", {}, `${r.named("operation", n)} of ${bytes(r.bytes[n])}`), file ? el("div.name", {}, file) : null,
      el("div", {}, `at ${bytes(r.place[n])}, sector ${count(r.place[n]! / SECTOR)}`), el("div", {}, `${time(r.end[n]! - r.start[n]!)} from ${time(r.start[n])}`),
      by ? el("div.quiet", {}, `requested by ${by}`) : null);
    this.tip.style.left = `${Math.max(0, Math.min(x + 14, this.width - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${y + 100 > this.height ? y - this.tip.offsetHeight - 8 : y + 16}px`;
  }

  private drawOn(pen: Pen, width: number, height: number): void {
    const t = theme();
    const { box, settings, requests: r } = this;
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, width, height);
    if (settings.along === "time") axes(pen, box.from, box.to, this.boot.isVirtual, width, height, t);
    else order(pen, box.most, width, height, t);
    const span = box.high - box.low;
    pen.textAlign = "right";
    for (const at of ticks(box.low, box.high, binaryStep(span, 5))) {
      rule(pen, height - BOTTOM - ((at - box.low) / span) * (height - 40), bytes(at), width, t);
    }
    const mark = r.count < 400 ? 4 : r.count < 4000 ? 3 : 2;
    const of = this.hues();
    const recent = (box.to - box.from) / 40;
    const perByte = (height - 40) / span;
    // Of many marks on one spot, one of each color is drawn.
    const wide = Math.ceil(width / mark);
    const taken = new Set<number>();
    const one = (n: number, color: Color, alpha: number, least = mark) => {
      const [x, y, w] = this.placed(n, width, height);
      const h = Math.max(r.bytes[n]! * perByte, least);
      if (w <= least && h <= least) {
        const spot = ((Math.floor(y / mark) * wide + Math.floor(x / mark)) * 64 + SHADES.indexOf(color)) * 2 + (alpha === 1 ? 1 : 0);
        if (taken.has(spot)) return;
        taken.add(spot);
      }
      pen.globalAlpha = alpha;
      pen.fillStyle = t[color];
      pen.fillRect(x - 1, y - h / 2, Math.max(w, least), h);
    };
    const chosen: number[] = [];
    for (let n = 0; n < r.count; n++) {
      if (!this.shows(n)) continue;
      if (settings.picked !== null && r.named(settings.by, n) === settings.picked) { chosen.push(n); continue; }
      const alpha = settings.picked !== null ? 0.22 : settings.now === null ? 0.85 : settings.now - r.start[n]! < recent ? 1 : 0.3;
      one(n, settings.picked !== null ? "quiet" : (of[n] ?? "quiet"), alpha);
    }
    for (const n of chosen) one(n, of[n] === REST ? "accent" : (of[n] ?? "accent"), 1, mark + 3);
    pen.globalAlpha = 1;
    if (settings.now !== null && settings.along === "time") {
      pen.fillStyle = t.accent;
      pen.fillRect(LEFT + ((settings.now - box.from) / (box.to - box.from)) * (width - LEFT - RIGHT), 6, 1.5, height - 30);
    }
  }
}

const SHADES: Color[] = [...PALETTE, REST, "read", "write", "other", "quiet", "accent"];

function binaryStep(span: number, n: number): number {
  let by = 4096;
  while (span / by > n) by *= 2;
  return by;
}

/** A line across at `height`, with what it stands for on its left. */
export function rule(pen: Pen, height: number, name: string, width: number, t: Theme): void {
  const y = Math.round(height) + 0.5;
  pen.strokeStyle = t.line;
  pen.beginPath();
  pen.moveTo(LEFT, y);
  pen.lineTo(width - RIGHT, y);
  pen.stroke();
  pen.fillStyle = t.quiet;
  pen.fillText(name, LEFT - 8, y);
}

export function axes(pen: Pen, from: number, to: number, isVirtual: boolean, width: number, height: number, t: Theme): void {
  base(pen, isVirtual, width, height, t);
  const by = step(to - from, (width - LEFT) / 100);
  for (const at of ticks(from, to, by)) label(pen, LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT), tick(at, by), width, height);
}

function order(pen: Pen, most: number, width: number, height: number, t: Theme): void {
  base(pen, false, width, height, t);
  const by = Math.max(1, step(most, (width - LEFT) / 100));
  for (const at of ticks(0, most, by)) label(pen, LEFT + (at / most) * (width - LEFT - RIGHT), at ? `${count(at)}.` : "first", width, height);
}

function base(pen: Pen, isVirtual: boolean, width: number, height: number, t: Theme): void {
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  pen.strokeStyle = isVirtual ? t.warn : t.line;
  pen.setLineDash(isVirtual ? [5, 3] : []);
  pen.beginPath();
  pen.moveTo(LEFT, height - BOTTOM + 0.5);
  pen.lineTo(width - RIGHT, height - BOTTOM + 0.5);
  pen.stroke();
  pen.setLineDash([]);
  pen.fillStyle = t.quiet;
  pen.textAlign = "center";
}

function label(pen: Pen, x: number, text: string, width: number, height: number): void {
  if (x + pen.measureText(text).width / 2 < width) pen.fillText(text, x, height - 12);
}

/** The ways of coloring that the data allow. */
export function waysOf(all: Requests[]): Way[] {
  const has = (column: string) => all.some((r) => r.group.has(column));
  const paths = () => all.some((r) => Array.from({ length: r.count }, (_, n) => r.named("file", n)).some((f) => f.startsWith("/")));
  return WAYS.filter((w) => w === "operation" || (w === "process" ? has("by") : has("of") && (w === "file" || paths())));
}

export function settingsHere(ways: Way[]): Settings {
  const { by, along, file } = here().settings;
  const way = ways.find((w) => w === by) ?? ways[0] ?? "operation";
  return { by: way, along: along === "order" ? "order" : "time", shown: { read: true, write: true }, now: null, picked: file && way === "file" ? file : null };
}

/** Buttons that pictures of the same settings share. */
export function controls(all: Requests[], ways: Way[], settings: Settings, changed: () => void): HTMLElement[] {
  const group = (label: string, buttons: HTMLElement[]) => (buttons.length > 1 ? [el("span.tools.inline", { role: "group", "aria-label": label }, buttons)] : []);
  const by = ways.map((w) => button(`by ${w}`, () => {
    settings.by = w;
    settings.picked = null;
    remember({ by: w === ways[0] ? null : w, file: null });
    by.forEach((o, i) => o.setAttribute("aria-pressed", String(ways[i] === w)));
    changed();
  }, { "aria-pressed": String(settings.by === w) }));
  const along = (["time", "order"] as const).map((a, _, both) => button(a === "time" ? "over time" : "in order", () => {
    settings.along = a;
    remember({ along: a === "order" ? a : null });
    along.forEach((o, i) => o.setAttribute("aria-pressed", String(both[i] === a)));
    changed();
  }, { "aria-pressed": String(settings.along === a), title: a === "time" ? "Horizontal axis: time" : "Horizontal axis: request number" }));
  const there = new Set(all.flatMap((r) => r.operations));
  const shown = (["read", "write"] as const).filter((o) => there.has(o)).map((o) => {
    const b = button(`${o}s`, () => {
      settings.shown[o] = !settings.shown[o];
      b.setAttribute("aria-pressed", String(settings.shown[o]));
      changed();
    }, { "aria-pressed": "true" });
    return b;
  });
  return [...group("Color", by), ...group("Along", along), ...group("Operations", shown)];
}

/** What the colors mean; each picks what it stands for. */
export function legend(hues: Hue[], all: Requests[], settings: Settings, pick: (label: string | null) => void): HTMLElement[] {
  const total = all.reduce((sum, r) => sum + r.count, 0);
  const rest = total - hues.reduce((sum, h) => sum + h.count, 0);
  const of = (label: string, color: Color, n: number, name: string | null) => {
    const swatch = el("span.swatch");
    swatch.style.background = `var(--${color})`;
    const text = [swatch, el("span.name", {}, label), el("span.quiet.gap-left", {}, count(n))];
    if (name === null) return el("span", {}, text);
    const b = button("", () => pick(settings.picked === name ? null : name), { class: "link", "aria-pressed": String(settings.picked === name), title: "Highlight only these" });
    b.append(...text);
    return b;
  };
  const named = hues.map((h) => of(h.label, h.color, h.count, settings.by === "operation" ? null : h.label));
  return rest ? [...named, of(settings.by === "file" ? "other and unknown files" : "others and unknown", REST, rest, null)] : named;
}

/** A device's picture with everything that it is asked with. */
export function seek(boot: Boot, devices: Group[], onfile: (file: string | null) => void): { element: HTMLElement; pick: (file: string | null) => void } {
  const wanted = here().settings["device"];
  let requests = new Requests(devices.find((g) => g.name === wanted) ?? devices.reduce((a, b) => (b.count > a.count ? b : a)));
  const ways = waysOf(devices.map((g) => new Requests(g)));
  const settings = settingsHere(ways);
  const box = el("div");
  const says = el("p.quiet.said", { "aria-live": "polite" });
  const slider = el("input", { type: "range", min: 0, max: 1000, value: 1000, "aria-label": "Time of the movie" }) as HTMLInputElement;
  const names = el("div.legend");
  let known = hues([requests], settings.by);
  let knownBy = settings.by;
  const huesNow = () => {
    if (knownBy !== settings.by) [known, knownBy] = [hues([requests], settings.by), settings.by];
    return known;
  };
  let picture: SeekPicture;
  const changed = () => {
    refill(names, legend(huesNow(), [requests], settings, pick));
    picture.draw();
  };
  const pick = (name: string | null) => {
    settings.picked = name;
    if (settings.by === "file") {
      remember({ file: name });
      onfile(name);
    }
    const n = name === null ? 0 : Array.from({ length: requests.count }, (_, k) => requests.named(settings.by, k)).filter((o) => o === name).length;
    refill(says, name === null ? "" : [`${name}: ${plural(n, "request")} `, button("Show all again", () => pick(null), { class: "link" })]);
    changed();
  };
  const clicked = (n: number) => {
    const file = requests.named("file", n);
    if (file && settings.by === "file") pick(file);
    const [start, end] = [requests.start[n]!, requests.end[n]!];
    refill(says, `${requests.named("operation", n)} of ${bytes(requests.bytes[n])} at ${bytes(requests.place[n])}, ${time(end - start)} from ${time(start)}${file ? `, for ${file}` : ""}${requests.named("process", n) ? `, requested by ${requests.named("process", n)}` : ""} `,
      button("Show in the timeline", () => go(boot.timeline, { t: `${Math.round(start - 5e7)}~${Math.round(end + 5e7)}`, sel: `${requests.group.name}:${requests.index[n]}` }), { class: "link" }));
  };
  const make = () => {
    picture = new SeekPicture(boot, requests, room([requests]), settings, huesNow, clicked);
    refill(box, picture.element);
    refill(names, legend(huesNow(), [requests], settings, pick));
  };
  make();
  const choice = devices.length > 1 ? el("select", { "aria-label": "Device" }, devices.map((g) => el("option", { value: g.name, selected: g === requests.group }, `${g.name} (${count(g.count)})`))) as HTMLSelectElement : null;
  choice?.addEventListener("change", () => {
    requests = new Requests(devices.find((g) => g.name === choice.value) ?? devices[0]!);
    known = hues([requests], settings.by);
    settings.picked = null;
    remember({ device: requests.group.name });
    make();
  });
  const element = section("Position on the device", null, el("div.tools", {}, choice, controls([requests], ways, settings, changed), copyTools(() => picture.picture())),
    el("div.tools", {}, movie(() => picture, slider, (text) => refill(says, text)), slider), box, names, says);
  return {
    element,
    pick: (file) => {
      if (file !== null && settings.by !== "file" && ways.includes("file")) {
        settings.by = "file";
        for (const b of element.querySelectorAll("[aria-label=Color] button")) b.setAttribute("aria-pressed", String(b.textContent === "by file"));
      }
      pick(file);
    },
  };
}

/** The button that plays the requests as they came, all in twelve seconds. */
function movie(picture: () => SeekPicture, slider: HTMLInputElement, say: (text: string) => void): HTMLElement {
  let playing = 0;
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "\u25b6 Play";
  };
  const play = button("\u25b6 Play", () => {
    if (playing) return stop();
    play.textContent = "\u275a\u275a Pause";
    const { box, settings } = picture();
    const length = box.to - box.from;
    const begin = settings.now !== null && settings.now < box.to ? settings.now : box.from;
    const rate = length / 12_000;
    const since = performance.now() - (begin - box.from) / rate;
    const frame = (at: number) => {
      const now = box.from + (at - since) * rate;
      settings.now = now >= box.to ? null : Math.max(now, box.from);
      slider.value = String(settings.now === null ? 1000 : ((settings.now - box.from) / length) * 1000);
      picture().draw();
      if (settings.now === null) return stop();
      playing = requestAnimationFrame(frame);
    };
    playing = requestAnimationFrame(frame);
  }, { title: "Play the requests in order" });
  slider.addEventListener("input", () => {
    stop();
    const { box, settings } = picture();
    const share = Number(slider.value) / 1000;
    settings.now = share >= 1 ? null : box.from + share * (box.to - box.from);
    say(settings.now === null ? "" : `at ${time(settings.now)}`);
    picture().draw();
  });
  return play;
}

/** Where each file's first request lies on the device. */
export function firstPlaces(all: Requests): Map<string, number> {
  const places = new Map<string, number>();
  for (let n = 0; n < all.count; n++) {
    const file = all.named("file", n);
    if (file) places.set(file, Math.min(places.get(file) ?? Infinity, all.place[n]!));
  }
  return places;
}
