// Requests to storage: where, when, how much, from which process.

import type { Boot, Io, IoFile, Owner, Stretch } from "./data";
import { button, el, section } from "./dom";
import { bytes, count, plural, time } from "./format";
import { go } from "./link";
import { type Pen, fitted, paint } from "./pen";
import { LEFT, RIGHT, axes, rule, seek } from "./seek";
import { type Table, type TableColumn, meter, table } from "./table";
import { type Color, onTheme, theme } from "./theme";
import { copyTools } from "./tools";
import { treemap } from "./treemap";

export function storage(boot: Boot): HTMLElement {
  const io = boot.raw.io!;
  const devices = boot.groups.filter((g) => g.kind === "request");
  const files = known(boot);
  let list: Table | null = null;
  const where = devices.length ? seek(boot, devices, (file) => list?.reveal(file)) : null;
  if (files.length) list = fileList(boot, files, where?.pick ?? null);
  const read = files.map((f) => ({ path: f.path, value: f.needed?.bytes || f.asked?.read_bytes || 0 })).filter((f) => f.value > 0);
  return el("div", {},
    summary(io, files.length),
    where?.element ?? null,
    list ? section("Files", says(boot), list) : null,
    io.timeline.length && io.requests ? rates(io) : null,
    latencies(io),
    read.length ? section("Bytes read, by path", "Each rectangle is a file; its area is the number of bytes read.", treemap(read)) : null,
    io.processes.length ? processes(io) : null);
}

interface Known { path: string; needed: IoFile | null; asked: Owner | null }

/** Files that were needed, and those that requests were for. */
export function known(boot: Boot): Known[] {
  const all = new Map<string, Known>();
  for (const needed of boot.raw.io?.files ?? []) all.set(needed.path, { path: needed.path, needed, asked: null });
  for (const asked of boot.raw.io?.owners.rows ?? []) {
    const one = all.get(asked.path);
    if (one) one.asked = asked;
    else all.set(asked.path, { path: asked.path, needed: null, asked });
  }
  return [...all.values()].sort((a, b) => (first(a) ?? Infinity) - (first(b) ?? Infinity));
}

const first = (f: Known): number | null => f.needed?.first_ns ?? f.asked?.first_ns ?? null;

function says(boot: Boot): string {
  const from = boot.raw.io?.owners.from;
  return from === "image" ? "The image says which file each request was for. Click a file to highlight its requests in the picture, or a request to find its file."
    : from === "page_cache" ? "Each read is matched to what its process had just added to the page cache. Click a file to highlight its requests in the picture, or a request to find its file."
      : boot.groups.some((g) => g.kind === "request") ? "The files that the boot used. The input does not show which request was for which file: pass an image of the device with --image, or trace the page cache." : "The files that the boot used.";
}

function fileList(boot: Boot, files: Known[], pick: ((file: string | null) => void) | null): Table {
  const most = files.reduce((m, f) => Math.max(m, f.needed?.bytes ?? 0, f.asked?.read_bytes ?? 0), 0);
  const needed = files.some((f) => f.needed);
  const asked = files.some((f) => f.asked);
  const size = (f: Known) => f.asked?.read_bytes ?? f.needed?.bytes ?? 0;
  let chosen: string | null = null;
  const columns: TableColumn<Known>[] = [{ name: "first use", numeric: true, value: first, cell: (f) => time(first(f)) }];
  if (needed) columns.push({ name: "in memory", numeric: true, value: (f) => f.needed?.bytes ?? null, cell: (f) => (f.needed?.bytes ? bytes(f.needed.bytes) : ""), title: "how much of it entered the page cache" });
  if (files.some((f) => f.needed?.used_bytes != null)) columns.push({ name: "used", numeric: true, value: (f) => f.needed?.used_bytes ?? null, cell: (f) => (f.needed?.used_bytes ? bytes(f.needed.used_bytes) : ""), title: "how much of that was read or mapped" });
  if (asked) {
    columns.push({ name: "requests", numeric: true, value: (f) => f.asked?.requests ?? null, cell: (f) => (f.asked ? count(f.asked.requests) : "") });
    columns.push({ name: "read", numeric: true, value: (f) => f.asked?.read_bytes ?? null, cell: (f) => (f.asked?.read_bytes ? bytes(f.asked.read_bytes) : "") });
    if (files.some((f) => f.asked?.write_bytes)) columns.push({ name: "written", numeric: true, value: (f) => f.asked?.write_bytes ?? null, cell: (f) => (f.asked?.write_bytes ? bytes(f.asked.write_bytes) : "") });
  }
  columns.push({ name: "", value: size, cell: (f) => meter(size(f), most, "file"), className: "bar" });
  columns.push({
    name: "path", value: (f) => f.path, className: "name",
    cell: (f) => button(f.path, () => {
      if (!pick || !f.asked) return go(boot.timeline, { q: f.path });
      chosen = chosen === f.path ? null : f.path;
      pick(chosen);
    }, { class: "link", title: f.asked && pick ? "Highlight its requests in the picture" : "Find it in the timeline" }),
  });
  return table<Known>({ label: "Files", rows: files, text: (f) => f.path, total: Math.max(boot.raw.files, files.length), key: (f) => f.path, columns });
}

function summary(io: Io, files: number): HTMLElement {
  const fact = (value: string, name: string) => el("div.fact", {}, el("b", {}, value), el("span.quiet", {}, name));
  const { sequence: s } = io;
  return el("section.facts-row", { "aria-label": "Sums" },
    fact(count(io.requests), "requests"),
    fact(bytes(io.read_bytes), `read, ${plural(io.reads, "request")}`),
    fact(bytes(io.write_bytes), `written, ${plural(io.writes, "request")}`),
    io.dispatch_to_complete.mean_ns === null ? null : fact(time(io.dispatch_to_complete.mean_ns), "mean service time"),
    io.depth.max ? fact(io.depth.mean.toFixed(2), `mean queue depth, ${io.depth.max} at most`) : null,
    s.followed ? fact(`${((s.sequential / s.followed) * 100).toFixed(0)} %`, "sequential requests") : null,
    files ? fact(count(files), "files") : null);
}

/** Throughput and service time beside each other. */
function rates(io: Io): HTMLElement {
  const all = io.timeline;
  const from = all[0]!.start_ns;
  const to = all[all.length - 1]!.end_ns;
  const keys = Object.keys(all[0]!);
  const meanKey = keys.find((k) => /mean.*ns$|mean_ns/.test(k));
  const graph = (title: string, about: string, values: { of: (s: Stretch) => number; color: Color; label: string }[], unit: (v: number) => string) => {
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
        rule(pen, h - 26 - share * (h - 40), fitted(pen, unit(most * share), LEFT - 10), width, t);
      }
      const w = (width - LEFT - RIGHT) / all.length / values.length;
      all.forEach((s, i) => values.forEach((v, k) => {
        const hgt = (v.of(s) / most) * (h - 40);
        if (hgt <= 0) return;
        pen.fillStyle = t[v.color];
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
      swatch.style.background = `var(--${v.color})`;
      return el("span.quiet", {}, swatch, v.label);
    }), copyTools(() => ({ name: title.toLowerCase().replaceAll(" ", "-"), width: 900, height: 220, draw: picture }))), stage);
  };
  const perSecond = (s: Stretch, n: number) => (n / Math.max(s.end_ns - s.start_ns, 1)) * 1e9;
  return el("div.columns.even", {},
    graph("Throughput", "bytes per second", [
      { of: (s) => perSecond(s, s.read_bytes), color: "read", label: "read" }, { of: (s) => perSecond(s, s.write_bytes), color: "write", label: "written" },
    ], (v) => `${bytes(v)}/s`),
    meanKey ? graph("Service time", "mean, from dispatch to completion", [{ of: (s) => s[meanKey] ?? 0, color: "probe", label: "mean" }], time) : null);
}

function latencies(io: Io): HTMLElement | null {
  const all = [["service (dispatch to completion)", io.dispatch_to_complete], ["queue (queued to dispatch)", io.queue_to_dispatch], ["total (queued to completion)", io.queue_to_complete]] as const;
  const there = all.filter(([, l]) => l.count > 0);
  if (!there.length) return null;
  return section("Request latency", null, table({
    label: "Request latency", rows: there,
    columns: [
      { name: "stage", cell: ([name]) => name },
      { name: "requests", numeric: true, cell: ([, l]) => count(l.count) },
      ...(["mean", "median", "p90", "p99", "max"] as const).map((k): TableColumn<(typeof there)[number]> => ({ name: k, numeric: true, value: ([, l]) => l[`${k}_ns`], cell: ([, l]) => time(l[`${k}_ns`]) })),
    ],
  }));
}

function processes(io: Io): HTMLElement {
  const most = io.processes.reduce((m, p) => Math.max(m, p.read_bytes + p.write_bytes), 0);
  return section("Processes", io.processes_from === "issue" ? "The process that dispatched the request, often a kernel thread that works for others." : null, table({
    label: "Processes", rows: io.processes, text: (p) => p.name,
    columns: [
      { name: "process", cell: (p) => `${p.name || "unknown"}${p.pid === null ? "" : ` (${p.pid})`}`, className: "name" },
      { name: "", value: (p) => p.read_bytes + p.write_bytes, cell: (p) => meter(p.read_bytes + p.write_bytes, most, "process"), className: "bar" },
      { name: "read", numeric: true, value: (p) => p.read_bytes, cell: (p) => bytes(p.read_bytes) },
      { name: "written", numeric: true, value: (p) => p.write_bytes, cell: (p) => bytes(p.write_bytes) },
      { name: "requests", numeric: true, value: (p) => p.requests, cell: (p) => count(p.requests) },
    ],
  }));
}
