// What took longest: a table for each kind.

import type { BlameRow, Boot, PathItem } from "./data";
import { type Bar, bars } from "./bars";
import { button, el, refill } from "./dom";
import { bytes, count, plural, time, words } from "./format";
import { go, here, remember } from "./link";
import { type TableColumn, meter, table } from "./table";
import type { Color } from "./theme";
import { locate } from "./timeline/find";
import { copyTools } from "./tools";

interface Tab { id: string; label: string; count: number; make: () => HTMLElement; bars: () => Bar[] }
type Show = (found: { group: import("./data").Group; index: number }) => void;

const NAMES: Record<string, string> = { initcall: "Initcalls", probe: "Probes", unit: "Units", process: "Processes", file: "Files", stage: "Firmware and loader", phase: "Phases" };

/** Kinds of items of the critical path. */
export const PATH_COLORS: Record<string, Color> = { initcall: "initcall", probe: "probe", deferral: "probe", unit: "unit", kernel: "kernel", phase: "stage", wait: "other" };

const bar = (label: string, value: number, color: Color): Bar => ({ label, value, says: time(value), color });

export function blame(boot: Boot, doubts: Record<string, string>, show: Show): HTMLElement {
  const tabs: Tab[] = boot.raw.blame.filter((b) => b.rows.length && b.kind !== "phase").map((b) => ({
    id: b.kind, label: NAMES[b.kind] ?? b.kind, count: b.total, make: () => rows(boot, b.kind, b.rows, b.total, doubts, show),
    bars: () => b.rows.map((r) => bar(r[0], (b.kind === "process" ? r[8] : (r[3] ?? r[4])) ?? 0, b.kind as Color)),
  }));
  const deferrals = boot.raw.deferrals.devices;
  if (deferrals.length) tabs.push({ id: "deferral", label: "Deferrals", count: deferrals.length, make: () => deferred(boot), bars: () => deferrals.map((d) => bar(d.device, d.wasted_ns, "probe")) });
  const files = boot.raw.io?.files ?? [];
  if (files.length) tabs.push({ id: "files", label: "Files read", count: boot.raw.files, make: () => fileTable(boot), bars: () => files.map((f) => ({ ...bar(f.path, f.bytes, "file"), says: bytes(f.bytes) })) });
  const functions = boot.raw.functions;
  if (functions) tabs.push({ id: "functions", label: "Functions", count: functions.total_rows, make: () => kd(boot), bars: () => functions.rows.map((r) => bar(r.name, r.time_ns, "kernel")) });
  if (boot.raw.path.items.length) tabs.push({ id: "path", label: "Critical path", count: boot.raw.path_items, make: () => pathTable(boot), bars: () => boot.raw.path.items.map((i) => bar(i.name, i.end_ns - i.start_ns, PATH_COLORS[i.kind] ?? "other")) });
  const body = el("div");
  if (!tabs.length) return el("section", {}, el("h2", {}, "What took longest"), el("p.about", {}, "The input has no durations. A kernel log with initcall_debug, the output of systemd-analyze plot or a bootchart has them."));
  const choose = (id: string) => {
    const tab = tabs.find((t) => t.id === id) ?? tabs[0]!;
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset["id"] === tab.id));
    remember({ kind: tab.id });
    refill(body, tab.make());
  };
  const buttons = tabs.map((t) => {
    const b = button(`${t.label} `, () => choose(t.id), { "aria-pressed": "false" });
    b.append(el("span.badge-count", {}, count(t.count)));
    b.dataset["id"] = t.id;
    return b;
  });
  choose(here().settings["kind"] ?? "");
  return el("section", { "aria-label": "What took longest" }, el("div.tools", {}, el("span.tools.inline.lanes", { role: "group", "aria-label": "Kind" }, buttons), copyTools(() => {
    const tab = tabs.find((t, i) => buttons[i]!.getAttribute("aria-pressed") === "true" && t) ?? tabs[0]!;
    return bars(tab.id, `${boot.title}: ${tab.label}`, tab.bars());
  })), body);
}

const where = (boot: Boot, source: number | null, offset: number): Node | string => {
  if (source === null) return "";
  const line = boot.lineAt(source, offset);
  return el("span.quiet", { title: line ?? `${boot.sourceName(source)}, byte ${offset}` }, `${boot.sourceName(source).split("/").pop() ?? ""} @${count(offset)}`);
};

function rows(boot: Boot, kind: string, all: BlameRow[], total: number, doubts: Record<string, string>, show: Show): HTMLElement {
  const isProcess = kind === "process";
  const duration = (r: BlameRow) => (isProcess ? (r[8] ?? null) : (r[3] ?? r[4]));
  const most = all.reduce((m, r) => Math.max(m, duration(r) ?? 0), 0);
  const has = (i: number) => all.some((r) => r[i] !== null);
  const sum = boot.show.summary.kinds.find((k) => k.kind === kind);
  const columns: TableColumn<BlameRow>[] = [];
  if (isProcess) columns.push({ name: "CPU time", numeric: true, value: (r) => r[8], cell: (r) => time(r[8]) });
  columns.push({ name: isProcess ? "lifetime" : "time", numeric: true, value: (r) => r[3] ?? r[4], cell: (r) => time(r[3] ?? r[4]), title: "end minus start, from the timestamps" });
  columns.push({ name: "", value: (r) => duration(r), cell: (r) => meter(duration(r) ?? 0, most, kind), className: "bar" });
  columns.push({ name: "start", numeric: true, value: (r) => r[1], cell: (r) => time(r[1]) });
  if (has(4)) columns.push({ name: "reported", numeric: true, value: (r) => r[4], cell: (r) => time(r[4]), title: "the duration that the input itself states" });
  if (has(7)) columns.push({ name: "PID", numeric: true, value: (r) => r[7], cell: (r) => (r[7] === null ? "" : String(r[7])) });
  columns.push({ name: "name", cell: (r) => button(r[0], () => {
    const found = locate(boot, kind, r[0], r[1]);
    if (found) show(found);
  }, { class: "link", title: "Show in the timeline" }), value: (r) => r[0], className: "name" });
  if (has(6) && !isProcess) columns.push({ name: "returned", numeric: true, value: (r) => r[6], cell: (r) => (r[6] === null || r[6] === 0 ? "" : String(r[6])) });
  if (has(5)) columns.push({ name: "doubt", cell: (r) => (r[5] ? el("span.pill.warn", { title: doubts[r[5]] ?? "" }, words(r[5])) : "") });
  columns.push({ name: "evidence", cell: (r) => where(boot, r[9], r[10]), value: (r) => r[10], className: "evidence-cell" });
  return el("div", {},
    el("p.about", {}, sum ? `${plural(sum.count, kind)}: ${time(sum.sum_ns)} summed, ${time(sum.busy_ns)} with overlaps counted once.` : ""),
    table({ columns, rows: all, label: NAMES[kind] ?? kind, text: (r) => r[0], sort: 0, total }));
}

function deferred(boot: Boot): HTMLElement {
  const { deferrals, deferred_devices, deferral_ns } = boot.show.summary;
  return el("div", {}, el("p.about", {}, `${plural(deferrals, "deferred probe")} on ${plural(deferred_devices, "device")}: ${time(deferral_ns)} wasted.`),
    table({
      label: "Deferrals", rows: boot.raw.deferrals.devices, text: (d) => `${d.device} ${d.waited_for ?? ""}`, sort: 0,
      columns: [
        { name: "wasted", numeric: true, value: (d) => d.wasted_ns, cell: (d) => time(d.wasted_ns) },
        { name: "tries", numeric: true, value: (d) => d.tries, cell: (d) => count(d.tries) },
        { name: "device", cell: (d) => button(d.device, () => go(boot.timeline, { q: d.device }), { class: "link" }), className: "name" },
        { name: "waited for", cell: (d) => d.waited_for ?? "", className: "name" },
        { name: "first try", numeric: true, value: (d) => d.first_ns, cell: (d) => time(d.first_ns) },
        { name: "probed", numeric: true, value: (d) => d.settled_ns, cell: (d) => (d.settled_ns === null ? el("span.warn", {}, "never") : time(d.settled_ns)) },
      ],
    }));
}

export function fileTable(boot: Boot): HTMLElement {
  const files = boot.raw.io?.files ?? [];
  const most = files.reduce((m, f) => Math.max(m, f.bytes), 0);
  return el("div", {}, el("p.about", {}, `${plural(boot.raw.files, "file")}, in the order of first use.`),
    table({
      label: "Files read", rows: files, text: (f) => f.path, total: boot.raw.files,
      columns: [
        { name: "first use", numeric: true, value: (f) => f.first_ns, cell: (f) => time(f.first_ns) },
        { name: "read", numeric: true, value: (f) => f.bytes, cell: (f) => bytes(f.bytes) },
        { name: "", value: (f) => f.bytes, cell: (f) => meter(f.bytes, most, "file"), className: "bar" },
        { name: "pieces", numeric: true, value: (f) => f.requests, cell: (f) => count(f.requests) },
        { name: "opens", numeric: true, value: (f) => f.opens, cell: (f) => count(f.opens) },
        { name: "path", cell: (f) => button(f.path, () => go(boot.timeline, { q: f.path }), { class: "link" }), className: "name" },
      ],
    }));
}

function kd(boot: Boot): HTMLElement {
  const { rows, total_rows } = boot.raw.functions!;
  const most = rows.reduce((m, r) => Math.max(m, r.time_ns), 0);
  return el("div", {}, el("p.about", {}, "The columns of kd: time includes the functions that were called, local excludes them."),
    table({
      label: "Functions", rows, text: (r) => r.name, sort: 1, total: total_rows,
      columns: [
        { name: "function", cell: (r) => r.name, className: "name" },
        { name: "time", numeric: true, value: (r) => r.time_ns, cell: (r) => time(r.time_ns) },
        { name: "", value: (r) => r.time_ns, cell: (r) => meter(r.time_ns, most, "kernel"), className: "bar" },
        { name: "count", numeric: true, value: (r) => r.count, cell: (r) => count(r.count) },
        { name: "average", numeric: true, value: (r) => r.average_ns, cell: (r) => time(r.average_ns) },
        { name: "local", numeric: true, value: (r) => r.local_ns, cell: (r) => time(r.local_ns) },
        { name: "max-sub", cell: (r) => r.max_sub ?? "", className: "name" },
        { name: "Ms count", numeric: true, value: (r) => r.max_sub_count, cell: (r) => (r.max_sub ? count(r.max_sub_count) : "") },
        { name: "open", numeric: true, value: (r) => r.open, cell: (r) => (r.open ? count(r.open) : ""), title: "calls without a return in the trace" },
      ],
    }));
}

function pathTable(boot: Boot): HTMLElement {
  const { items, mark, end_ns, knows_units } = boot.raw.path;
  const most = items.reduce((m, i) => Math.max(m, i.end_ns - i.start_ns), 0);
  const length = (i: PathItem) => i.end_ns - i.start_ns;
  return el("div", {}, el("p.about", {}, `The critical path to ${mark} at ${time(end_ns)}, in order${boot.raw.path_items > items.length ? `: the longest of ${plural(boot.raw.path_items, "item")}. ` : ". Each item starts where the previous one ends. "}`,
    knows_units ? "" : "The input does not have the order of units, so userspace is one item."),
    table({
      label: "Critical path", rows: items, text: (i) => `${i.kind} ${i.name}`, shown: 200,
      columns: [
        { name: "start", numeric: true, value: (i) => i.start_ns, cell: (i) => time(i.start_ns) },
        { name: "time", numeric: true, value: length, cell: (i) => time(length(i)) },
        { name: "", value: length, cell: (i) => meter(length(i), most, PATH_COLORS[i.kind] ?? "other"), className: "bar" },
        { name: "kind", cell: (i) => i.kind },
        { name: "name", cell: (i) => button(i.name, () => go(boot.timeline, { t: `${i.start_ns - length(i) * 0.2}~${i.end_ns + length(i) * 0.2}` }), { class: "link" }), className: "name", value: (i) => i.name },
        { name: "if halved", numeric: true, value: (i) => i.saving_if_halved_ns, cell: (i) => time(i.saving_if_halved_ns), title: "how much earlier first light would come if this item took half as long and nothing else changed" },
      ],
    }));
}
