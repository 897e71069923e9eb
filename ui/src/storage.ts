// What was asked of storage: where, when, how much, by whom.

import type { Boot, Group, Io, Stretch } from "./data";
import { button, el, refill, section } from "./dom";
import { bytes, count, plural, step, tick, ticks, time } from "./format";
import { go, here, remember } from "./link";
import { type Pen, type Picture, fitted, paint } from "./pen";
import { fileTable } from "./blame";
import { type TableColumn, meter, table } from "./table";
import { type Colour, FONT, type Theme, onTheme, theme } from "./theme";
import { copyTools } from "./tools";
import { treemap } from "./treemap";

const LEFT = 76;
const RIGHT = 8;
const SECTOR = 512;

interface Settings { by: "operation" | "process"; now: number | null; picked: number }
interface Legend { label: string; colour: Colour; count: number }

export function storage(boot: Boot): HTMLElement {
  const io = boot.raw.io!;
  const devices = boot.groups.filter((g) => g.kind === "request");
  return el("div", {},
    summary(io),
    devices.length ? seek(boot, devices) : null,
    io.timeline.length && io.requests ? rates(io) : null,
    latencies(io),
    io.files.length ? section("Bytes read, by path", "A rectangle is a file; its area is what was read of it.", treemap(io.files.map((f) => ({ path: f.path, value: f.bytes })))) : null,
    io.files.length ? section("Files", null, fileTable(boot)) : null,
    io.processes.length ? processes(io) : null);
}

function summary(io: Io): HTMLElement {
  const fact = (value: string, name: string) => el("div.fact", {}, el("b", {}, value), el("span.quiet", {}, name));
  const { sequence: s } = io;
  return el("section.facts-row", { "aria-label": "Sums" },
    fact(count(io.requests), "requests"),
    fact(bytes(io.read_bytes), `read, ${plural(io.reads, "request")}`),
    fact(bytes(io.write_bytes), `written, ${plural(io.writes, "request")}`),
    io.dispatch_to_complete.mean_ns === null ? null : fact(time(io.dispatch_to_complete.mean_ns), "mean service time"),
    io.depth.max ? fact(io.depth.mean.toFixed(2), `at a time, ${io.depth.max} at most`) : null,
    s.followed ? fact(`${((s.sequential / s.followed) * 100).toFixed(0)} %`, "began where the last ended") : null,
    io.files.length ? fact(count(io.files.length), "files needed") : null);
}

function bounds(groups: Group[]): { from: number; to: number; low: number; high: number } {
  let [from, to, low, high] = [Infinity, -Infinity, Infinity, 0];
  for (const g of groups) {
    for (let i = 0; i < g.count; i++) {
      from = Math.min(from, g.start[i]!);
      to = Math.max(to, g.end[i]!);
      const sector = g.value("sector", i) ?? 0;
      if (!g.value("bytes", i)) continue;
      low = Math.min(low, sector * SECTOR);
      high = Math.max(high, sector * SECTOR + (g.value("bytes", i) ?? 0));
    }
  }
  if (low > high) [low, high] = [0, 1];
  return { from, to: Math.max(to, from + 1), low, high: Math.max(high, low + 4096) };
}

/** Offset over time; colours by operation or by process. */
function seek(boot: Boot, devices: Group[]): HTMLElement {
  const wanted = here().settings["device"];
  let group = devices.find((g) => g.name === wanted) ?? devices.reduce((a, b) => (b.count > a.count ? b : a));
  let box = bounds([group]);
  const settings: Settings = { by: here().settings["by"] === "process" ? "process" : "operation", now: null, picked: -1 };
  const canvas = el("canvas", { tabindex: 0, role: "img" }) as HTMLCanvasElement;
  const tip = el("div.tip", { hidden: true });
  const stage = el("div.stage.flat", {}, canvas, tip);
  const legend = el("div.legend");
  const says = el("p.quiet", { "aria-live": "polite" });
  let [width, height] = [900, 380];
  const slider = el("input", { type: "range", min: 0, max: 1000, value: 1000, "aria-label": "Time of the movie" }) as HTMLInputElement;
  let playing = 0;

  const draw = () => {
    const t = theme();
    paint(canvas, width, height, (pen) => drawSeek(pen, group, box, settings, boot.isVirtual, width, height, t));
    canvas.setAttribute("aria-label", `Place on the device over time: ${plural(group.count, "request")} of ${group.name}, from ${time(box.from)} to ${time(box.to)}. The same is in the tables below.`);
  };
  const legends = () => refill(legend, legendOf(group, settings).map((l) => {
    const swatch = el("span.swatch");
    swatch.style.background = `var(--${l.colour})`;
    return el("span", {}, swatch, l.label, el("span.quiet", {}, ` ${count(l.count)}`));
  }));
  const stop = () => {
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = "\u25b6 Play";
  };
  const play = button("\u25b6 Play", () => {
    if (playing) return stop();
    play.textContent = "\u275a\u275a Pause";
    const length = box.to - box.from;
    const begin = settings.now !== null && settings.now < box.to ? settings.now : box.from;
    // The whole in twelve seconds.
    const rate = length / 12_000;
    const since = performance.now() - (begin - box.from) / rate;
    const frame = (at: number) => {
      const now = box.from + (at - since) * rate;
      settings.now = now >= box.to ? null : now;
      slider.value = String(settings.now === null ? 1000 : ((now - box.from) / length) * 1000);
      draw();
      if (settings.now === null) return stop();
      playing = requestAnimationFrame(frame);
    };
    playing = requestAnimationFrame(frame);
  }, { title: "Play the requests as they came" });
  slider.addEventListener("input", () => {
    stop();
    const share = Number(slider.value) / 1000;
    settings.now = share >= 1 ? null : box.from + share * (box.to - box.from);
    refill(says, settings.now === null ? "" : `at ${time(settings.now)}`);
    draw();
  });
  const by = (["operation", "process"] as const).map((b) => button(`by ${b}`, () => {
    settings.by = b;
    remember({ by: b === "process" ? b : null });
    by.forEach((o) => o.setAttribute("aria-pressed", String(o.textContent === `by ${b}`)));
    legends();
    draw();
  }, { "aria-pressed": String(settings.by === b) }));
  const choice = devices.length > 1 ? el("select", { "aria-label": "Device" }, devices.map((g) => el("option", { value: g.name, selected: g === group }, `${g.name} (${count(g.count)})`))) as HTMLSelectElement : null;
  choice?.addEventListener("change", () => {
    group = devices.find((g) => g.name === choice.value) ?? group;
    box = bounds([group]);
    settings.picked = -1;
    remember({ device: group.name });
    legends();
    draw();
  });
  const near = (x: number, y: number) => {
    let best = -1;
    let distance = 100;
    for (let i = 0; i < group.count; i++) {
      if (!group.value("bytes", i)) continue;
      const [px, py, w] = placed(group, i, box, width, height);
      const dx = x < px ? px - x : x > px + w ? x - px - w : 0;
      const d = dx * dx + (y - py) * (y - py);
      if (d < distance) { distance = d; best = i; }
    }
    return best;
  };
  canvas.addEventListener("pointermove", (e) => {
    const i = near(e.offsetX, e.offsetY);
    tip.hidden = i < 0;
    if (i < 0) return;
    refill(tip, el("b", {}, `${group.nameOf(i)} of ${bytes(group.value("bytes", i))}`), el("div", {}, `at ${bytes((group.value("sector", i) ?? 0) * SECTOR)}, sector ${count(group.value("sector", i) ?? 0)}`),
      el("div", {}, `${time(group.end[i]! - group.start[i]!)} from ${time(group.start[i])}`), group.textOf("by", i) ? el("div.quiet", {}, `asked by ${group.textOf("by", i)}`) : null);
    tip.style.left = `${Math.max(0, Math.min(e.offsetX + 14, width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${e.offsetY + 90 > height ? e.offsetY - tip.offsetHeight - 8 : e.offsetY + 16}px`;
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (e) => {
    const i = near(e.offsetX, e.offsetY);
    if (i >= 0) go("timeline", { t: `${Math.round(group.start[i]! - 5e7)}~${Math.round(group.end[i]! + 5e7)}`, sel: `${group.name}:${i}` });
  });
  new ResizeObserver(() => {
    if (!stage.clientWidth) return;
    width = stage.clientWidth;
    height = Math.round(Math.min(440, Math.max(260, width * 0.4)));
    canvas.style.height = `${height}px`;
    draw();
  }).observe(stage);
  onTheme(draw);
  legends();
  const picture = (): Picture => ({ name: "seek", width: 1100, height: 460, draw: (pen, w, h) => drawSeek(pen, group, box, settings, boot.isVirtual, w, h, theme()) });
  return section("Where on the device", null,
    el("div.tools", {}, choice, el("span.tools.inline", { role: "group", "aria-label": "Colour" }, by), play, slider, says, copyTools(picture)), stage, legend);
}

const PALETTE: Colour[] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6"];
const ranked = new WeakMap<Group, Map<string, number>>();

/** Who asked most, in order. */
function rank(group: Group): Map<string, number> {
  let known = ranked.get(group);
  if (!known) {
    const counts = new Map<string, number>();
    for (let i = 0; i < group.count; i++) {
      const by = group.textOf("by", i) ?? "";
      counts.set(by, (counts.get(by) ?? 0) + 1);
    }
    known = new Map([...counts].sort((a, b) => b[1] - a[1]));
    ranked.set(group, known);
  }
  return known;
}

function colour(group: Group, i: number, by: Settings["by"]): Colour {
  const name = group.nameOf(i);
  if (by === "operation") return name === "read" ? "read" : name === "write" ? "write" : "other";
  const at = [...rank(group).keys()].indexOf(group.textOf("by", i) ?? "");
  return PALETTE[at] ?? "s7";
}

function legendOf(group: Group, settings: Settings): Legend[] {
  if (settings.by === "operation") {
    const counts = new Map<string, Legend>();
    for (let i = 0; i < group.count; i++) {
      const name = group.nameOf(i);
      const known = counts.get(name);
      if (known) known.count++;
      else counts.set(name, { label: name, colour: colour(group, i, "operation"), count: 1 });
    }
    return [...counts.values()];
  }
  const all = [...rank(group)];
  const named = all.slice(0, PALETTE.length).map(([label, n], i) => ({ label: label || "unknown", colour: PALETTE[i]!, count: n }));
  const rest = all.slice(PALETTE.length).reduce((sum, [, n]) => sum + n, 0);
  return rest ? [...named, { label: `${plural(all.length - PALETTE.length, "other")}`, colour: "s7", count: rest }] : named;
}

type Box = ReturnType<typeof bounds>;

function placed(group: Group, i: number, box: Box, width: number, height: number): [number, number, number] {
  const scale = (width - LEFT - RIGHT) / (box.to - box.from);
  const x = LEFT + (group.start[i]! - box.from) * scale;
  const y = height - 26 - (((group.value("sector", i) ?? 0) * SECTOR - box.low) / (box.high - box.low)) * (height - 40);
  return [x, y, (group.end[i]! - group.start[i]!) * scale];
}

function drawSeek(pen: Pen, group: Group, box: Box, settings: Settings, isVirtual: boolean, width: number, height: number, t: Theme): void {
  pen.fillStyle = t.card;
  pen.fillRect(0, 0, width, height);
  axes(pen, box.from, box.to, isVirtual, width, height, t);
  const span = box.high - box.low;
  const by = binaryStep(span, 5);
  pen.textAlign = "right";
  for (const at of ticks(box.low, box.high, by)) {
    const y = Math.round(height - 26 - ((at - box.low) / span) * (height - 40)) + 0.5;
    pen.strokeStyle = t.line;
    pen.beginPath();
    pen.moveTo(LEFT, y);
    pen.lineTo(width - RIGHT, y);
    pen.stroke();
    pen.fillStyle = t.quiet;
    pen.fillText(bytes(at), LEFT - 8, y);
  }
  const perByte = (height - 40) / span;
  const stale = settings.now !== null;
  const recent = (box.to - box.from) / 40;
  const marks = group.count < 400 ? 4 : group.count < 4000 ? 3 : 2;
  for (let i = 0; i < group.count; i++) {
    const size = group.value("bytes", i);
    if (!size) continue;
    if (settings.now !== null && group.start[i]! > settings.now) continue;
    const [x, y, w] = placed(group, i, box, width, height);
    const h = Math.max(size * perByte, marks);
    pen.globalAlpha = stale ? (settings.now! - group.start[i]! < recent ? 1 : 0.3) : 0.85;
    pen.fillStyle = t[colour(group, i, settings.by)];
    pen.fillRect(x - 1, y - h / 2, Math.max(w, marks), h);
  }
  pen.globalAlpha = 1;
  if (settings.now !== null) {
    const x = LEFT + ((settings.now - box.from) / (box.to - box.from)) * (width - LEFT - RIGHT);
    pen.fillStyle = t.accent;
    pen.fillRect(x, 6, 1.5, height - 30);
  }
}

function binaryStep(span: number, n: number): number {
  let by = 4096;
  while (span / by > n) by *= 2;
  return by;
}

function axes(pen: Pen, from: number, to: number, isVirtual: boolean, width: number, height: number, t: Theme): void {
  pen.font = `11px ${FONT}`;
  pen.textBaseline = "middle";
  pen.lineWidth = 1;
  pen.strokeStyle = isVirtual ? t.warn : t.line;
  pen.setLineDash(isVirtual ? [5, 3] : []);
  pen.beginPath();
  pen.moveTo(LEFT, height - 25.5);
  pen.lineTo(width - RIGHT, height - 25.5);
  pen.stroke();
  pen.setLineDash([]);
  const by = step(to - from, (width - LEFT) / 100);
  pen.fillStyle = t.quiet;
  pen.textAlign = "center";
  for (const at of ticks(from, to, by)) {
    const x = LEFT + ((at - from) / (to - from)) * (width - LEFT - RIGHT);
    const label = tick(at, by);
    if (x + pen.measureText(label).width / 2 < width) pen.fillText(label, x, height - 12);
  }
}

/** Throughput and service time beside each other. */
function rates(io: Io): HTMLElement {
  const all = io.timeline;
  const from = all[0]!.start_ns;
  const to = all[all.length - 1]!.end_ns;
  const keys = Object.keys(all[0]!);
  const meanKey = keys.find((k) => /mean.*ns$|mean_ns/.test(k));
  const graph = (title: string, about: string, values: { of: (s: Stretch) => number; colour: Colour; label: string }[], unit: (v: number) => string) => {
    const canvas = el("canvas", { role: "img", "aria-label": `${title}: ${about}` }) as HTMLCanvasElement;
    const stage = el("div.stage.flat", {}, canvas);
    const height = 170;
    const picture = (pen: Pen, width: number, h: number) => {
      const t = theme();
      pen.fillStyle = t.card;
      pen.fillRect(0, 0, width, h);
      axes(pen, from, to, false, width, h, t);
      const most = Math.max(1, ...all.map((s) => Math.max(...values.map((v) => v.of(s)))));
      pen.textAlign = "right";
      for (const share of [0.5, 1]) {
        const y = Math.round(h - 26 - share * (h - 40)) + 0.5;
        pen.strokeStyle = t.line;
        pen.beginPath();
        pen.moveTo(LEFT, y);
        pen.lineTo(width - RIGHT, y);
        pen.stroke();
        pen.fillStyle = t.quiet;
        pen.fillText(fitted(pen, unit(most * share), LEFT - 10), LEFT - 8, y);
      }
      const w = (width - LEFT - RIGHT) / all.length / values.length;
      all.forEach((s, i) => values.forEach((v, k) => {
        const hgt = (v.of(s) / most) * (h - 40);
        if (hgt <= 0) return;
        pen.fillStyle = t[v.colour];
        pen.fillRect(LEFT + (i * values.length + k) * w, h - 26 - hgt, Math.max(w - 0.4, 0.8), hgt);
      }));
    };
    let width = 500;
    const draw = () => paint(canvas, width, height, (pen) => picture(pen, width, height));
    new ResizeObserver(() => {
      if (!stage.clientWidth) return;
      width = stage.clientWidth;
      canvas.style.height = `${height}px`;
      draw();
    }).observe(stage);
    onTheme(draw);
    return section(title, about, el("div.tools", {}, values.map((v) => {
      const swatch = el("span.swatch");
      swatch.style.background = `var(--${v.colour})`;
      return el("span.quiet", {}, swatch, v.label);
    }), copyTools(() => ({ name: title.toLowerCase().replaceAll(" ", "-"), width: 900, height: 220, draw: picture }))), stage);
  };
  const perSecond = (s: Stretch, n: number) => (n / Math.max(s.end_ns - s.start_ns, 1)) * 1e9;
  return el("div.columns.even", {},
    graph("Throughput", "bytes a second", [
      { of: (s) => perSecond(s, s.read_bytes), colour: "read", label: "read" }, { of: (s) => perSecond(s, s.write_bytes), colour: "write", label: "written" },
    ], (v) => `${bytes(v)}/s`),
    meanKey ? graph("Service time", "from dispatch to completion, the mean", [{ of: (s) => s[meanKey] ?? 0, colour: "probe", label: "mean" }], time) : null);
}

function latencies(io: Io): HTMLElement | null {
  const all = [["service (dispatch to completion)", io.dispatch_to_complete], ["wait (queued to dispatch)", io.queue_to_dispatch], ["whole (queued to completion)", io.queue_to_complete]] as const;
  const known = all.filter(([, l]) => l.count > 0);
  if (!known.length) return null;
  return section("How long requests took", null, table({
    label: "How long requests took", rows: known,
    columns: [
      { name: "what", cell: ([name]) => name },
      { name: "requests", numeric: true, cell: ([, l]) => count(l.count) },
      ...(["mean", "median", "p90", "p99", "max"] as const).map((k): TableColumn<(typeof known)[number]> => ({ name: k, numeric: true, value: ([, l]) => l[`${k}_ns`], cell: ([, l]) => time(l[`${k}_ns`]) })),
    ],
  }));
}

function processes(io: Io): HTMLElement {
  const most = io.processes.reduce((m, p) => Math.max(m, p.read_bytes + p.write_bytes), 0);
  return section("Who asked", io.processes_from === "issue" ? "Who gave the request to the device: often a thread of the kernel that works for others." : null, table({
    label: "Who asked", rows: io.processes, text: (p) => p.name,
    columns: [
      { name: "process", cell: (p) => `${p.name || "unknown"}${p.pid === null ? "" : ` (${p.pid})`}`, className: "name" },
      { name: "", value: (p) => p.read_bytes + p.write_bytes, cell: (p) => meter(p.read_bytes + p.write_bytes, most, "process"), className: "bar" },
      { name: "read", numeric: true, value: (p) => p.read_bytes, cell: (p) => bytes(p.read_bytes) },
      { name: "written", numeric: true, value: (p) => p.write_bytes, cell: (p) => bytes(p.write_bytes) },
      { name: "requests", numeric: true, value: (p) => p.requests, cell: (p) => count(p.requests) },
    ],
  }));
}
