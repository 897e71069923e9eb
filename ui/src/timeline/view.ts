// The interactive timeline: zoom, pan, search, click, select.

import type { Boot } from "../data";
import { button, el, refill } from "../dom";
import { count, plural, time } from "../format";
import { here, remember } from "../link";
import { type Picture, paint } from "../pen";
import { onTheme, theme } from "../theme";
import { copyTools } from "../tools";
import { detail, hint, rangeDetail } from "./detail";
import { MARKS, AXIS, TOP, type View, amount, busyness, drawOverview, drawTimeline, xOf } from "./draw";
import { type Found, pathOnRows, search } from "./find";
import type { Picked } from "./picked";
import { type Row, firstAt, lanes, lowerBound, rows, sliceAt, total } from "./rows";

const OVERVIEW = 38;

export class TimelineView {
  readonly element: HTMLElement;
  readonly ready: () => void;
  private readonly canvas = el("canvas", { tabindex: 0, role: "application", "aria-roledescription": "timeline" }) as HTMLCanvasElement;
  private readonly small = el("canvas.small", { "aria-hidden": "true" }) as HTMLCanvasElement;
  private readonly stage = el("div.stage");
  private readonly tip = el("div.tip", { hidden: true });
  private readonly side = el("aside.detail", { "aria-label": "Details" });
  private readonly says = el("p.visually-hidden", { "aria-live": "polite" });
  private readonly find = el("input", { type: "search", placeholder: "Search (/)", "aria-label": "Search the timeline" }) as HTMLInputElement;
  private readonly hits = el("span.quiet.hits", { "aria-live": "polite" });
  private readonly bounds: [number, number];
  private readonly view: View;
  private readonly closed = new Set<string>();
  private readonly hidden = new Set<string>();
  private all: Row[] = [];
  private found: Found[] = [];
  private busy: Float32Array | null = null;
  private width = 800;
  private height = 500;
  private asked = 0;

  constructor(private readonly boot: Boot, private readonly doubts: Record<string, string>) {
    const [from, to] = boot.bounds;
    const margin = (to - from) * 0.01;
    this.bounds = [from - margin, to + margin];
    const end = this.boot.end;
    // What first light is about, with a little of what comes after.
    const fit = Math.min(this.bounds[1], end + (end - from) * 0.08);
    this.view = { from: this.bounds[0], to: fit > from ? fit : this.bounds[1], scroll: 0, label: 150, picked: null, hover: null, range: null, found: null, path: null };
    for (const g of boot.groups) if (g.tracks.length > 3000) this.closed.add(g.name);
    const path = pathOnRows(boot);
    const onRows = path.some((p) => p.group);
    const pathButton = button("Critical path", () => {
      this.view.path = this.view.path ? null : path;
      pathButton.setAttribute("aria-pressed", String(this.view.path !== null));
      remember({ path: this.view.path ? null : "0" });
      this.redraw();
    }, { "aria-pressed": "true", title: "Show the critical path (C)" });
    if (onRows && here().settings["path"] !== "0") this.view.path = path;
    pathButton.setAttribute("aria-pressed", String(this.view.path !== null));
    const lane = (l: { id: string; label: string; count: number }) => {
      const b = button(l.label, () => {
        if (this.hidden.has(l.id)) this.hidden.delete(l.id);
        else this.hidden.add(l.id);
        b.setAttribute("aria-pressed", String(!this.hidden.has(l.id)));
        this.layout();
      }, { "aria-pressed": "true", title: `Show or hide ${l.label}` });
      return b;
    };
    const dropped = boot.raw.lanes.slices_left_out;
    this.element = el("div.timeline", {},
      el("div.tools", {},
        this.find, this.hits,
        button("\u2191", () => this.next(-1), { "aria-label": "Previous match", title: "Previous match (P)" }), button("\u2193", () => this.next(1), { "aria-label": "Next match", title: "Next match (N)" }),
        el("span.gap"),
        button("+", () => this.zoom(0.6), { "aria-label": "Zoom in", title: "Zoom in (W)" }), button("\u2212", () => this.zoom(1 / 0.6), { "aria-label": "Zoom out", title: "Zoom out (S)" }),
        button("Boot", () => this.zoomTo(this.bounds[0], this.boot.end * 1.04), { title: "Zoom to first light (F)" }), button("All", () => this.zoomTo(...this.bounds), { title: "Zoom to everything (0)" }),
        onRows ? pathButton : null,
        el("span.gap"),
        copyTools(() => this.picture())),
      el("div.tools.lanes", { role: "group", "aria-label": "Lanes" }, lanes(boot).map(lane)),
      dropped ? el("p.about", {}, `Not drawn: the shortest ${plural(dropped, "interval")}. Sums include them.`) : null,
      el("div.split", {}, el("div.canvases", {}, this.small, this.stage), this.side), this.says,
      el("p.keys.quiet", {}, "Click an interval for its times, evidence and dependencies. Move: drag, or A and D. Zoom: Ctrl + wheel, or W and S. Analyze a range: drag on the axis, or Shift + drag. Next and previous: N and P. Search: /. Deselect: Esc."));
    this.stage.append(this.canvas, this.tip);
    this.ready = () => this.resize();
    this.listen();
    this.restore();
    this.layout();
    this.showSide();
  }

  private restore(): void {
    const { t, q, sel } = here().settings;
    const [a, b] = (t ?? "").split("~").map(Number);
    if (a !== undefined && b !== undefined && b > a) [this.view.from, this.view.to] = [a, b];
    if (q) {
      this.find.value = q;
      this.look(false);
    }
    const at = /^(.+):(\d+)$/.exec(sel ?? "");
    const group = at && this.boot.groups.find((g) => g.name === at[1]);
    if (at && group && Number(at[2]) < group.count) this.view.picked = { group, index: Number(at[2]) };
    const range = /^range:(-?[\d.]+)~(-?[\d.]+)$/.exec(sel ?? "");
    if (range) this.view.range = [Number(range[1]), Number(range[2])];
  }

  /** Shows one interval. */
  show(found: Found): void {
    const [start, end] = [found.group.start[found.index]!, found.group.end[found.index]!];
    const around = Math.max((end - start) * 3, (this.bounds[1] - this.bounds[0]) / 60);
    this.zoomTo((start + end) / 2 - around, (start + end) / 2 + around);
    this.pick(found, true);
  }

  zoomTo(from: number, to: number): void {
    const least = 1000;
    const middle = (from + to) / 2;
    let length = Math.min(Math.max(to - from, least), this.bounds[1] - this.bounds[0]);
    let begin = middle - length / 2;
    begin = Math.min(Math.max(begin, this.bounds[0]), this.bounds[1] - length);
    if (!Number.isFinite(begin)) [begin, length] = [this.bounds[0], this.bounds[1] - this.bounds[0]];
    this.view.from = begin;
    this.view.to = begin + length;
    remember({ t: `${Math.round(this.view.from)}~${Math.round(this.view.to)}` });
    this.redraw();
  }

  private zoom(by: number, at?: number): void {
    const { from, to } = this.view;
    const middle = at ?? (from + to) / 2;
    const length = Math.min((to - from) * by, this.bounds[1] - this.bounds[0]);
    const share = (middle - from) / (to - from);
    const begin = Math.min(Math.max(middle - length * share, this.bounds[0]), this.bounds[1] - length);
    this.zoomTo(begin, begin + length);
  }

  private pan(by: number): void {
    const length = this.view.to - this.view.from;
    const begin = Math.min(Math.max(this.view.from + by * length, this.bounds[0]), this.bounds[1] - length);
    this.zoomTo(begin, begin + length);
  }

  private scrollTo(y: number): void {
    this.view.scroll = Math.min(Math.max(y, 0), Math.max(0, total(this.all) - (this.height - TOP)));
    this.redraw();
  }

  pick(picked: Picked | null, show: boolean): void {
    this.view.picked = picked;
    if (picked) {
      this.view.range = null;
      if (this.closed.delete(picked.group.name) || this.hidden.delete(picked.group.name)) this.layout();
      const row = this.all.find((r) => r.type === "track" && r.group === picked.group && picked.index >= r.track.first && picked.index < r.track.first + r.track.count);
      if (row && (row.y < this.view.scroll || row.y + row.height > this.view.scroll + this.height - TOP)) this.scrollTo(row.y - (this.height - TOP) / 2);
      const [start, end] = [picked.group.start[picked.index]!, picked.group.end[picked.index]!];
      if (show && (end < this.view.from || start > this.view.to)) {
        const length = this.view.to - this.view.from;
        this.zoomTo((start + end) / 2 - length / 2, (start + end) / 2 + length / 2);
      }
      this.says.textContent = `${picked.group.kind} ${picked.group.nameOf(picked.index)}, ${time(end - start)}, starts at ${time(start)}`;
    }
    remember({ sel: picked ? `${picked.group.name}:${picked.index}` : null });
    this.showSide();
    this.redraw();
  }

  private selectRange(range: [number, number] | null): void {
    this.view.range = range;
    this.view.picked = null;
    remember({ sel: range ? `range:${Math.round(range[0])}~${Math.round(range[1])}` : null });
    this.showSide();
    this.redraw();
  }

  private showSide(): void {
    const actions = { pick: (p: Picked | null, s: boolean) => this.pick(p, s), zoomTo: (a: number, b: number) => this.zoomTo(a, b) };
    const { picked, range } = this.view;
    if (picked) refill(this.side, detail(this.boot, this.doubts, picked, actions));
    else if (range) refill(this.side, rangeDetail(this.boot, range, actions, () => this.selectRange(null)));
    this.side.hidden = !picked && !range;
  }

  private look(jump: boolean): void {
    const text = this.find.value.trim();
    remember({ q: text });
    if (!text) {
      this.found = [];
      this.view.found = null;
      refill(this.hits);
    } else {
      const { list, byGroup, total } = search(this.boot, text);
      this.found = list;
      this.view.found = byGroup;
      refill(this.hits, total ? plural(total, "match") : "no match");
      if (jump && list[0]) this.pick(list[0], true);
    }
    this.redraw();
  }

  /** The next interval: of those found, else in its lane. */
  private next(by: number): void {
    if (this.view.found) {
      if (!this.found.length) return;
      const { picked } = this.view;
      const at = picked ? this.found.findIndex((f) => f.group === picked.group && f.index === picked.index) : -1;
      const f = this.found[(at < 0 ? (by > 0 ? 0 : this.found.length - 1) : at + by + this.found.length) % this.found.length];
      if (f) this.pick(f, true);
      return;
    }
    const picked = this.view.picked;
    const group = picked?.group ?? this.boot.groups.find((g) => g.kind !== "phase") ?? this.boot.groups[0];
    if (!group || !group.count) return;
    const index = picked ? (picked.index + by + group.count) % group.count : Math.min(lowerBound(group.start, 0, group.tracks[0]?.count ?? 0, this.view.from), group.count - 1);
    this.pick({ group, index }, true);
  }

  private layout(): void {
    this.all = rows(this.boot, this.closed, this.hidden);
    this.scrollTo(this.view.scroll);
  }

  resize(): void {
    const width = this.stage.clientWidth;
    if (!width) return;
    this.width = width;
    this.view.label = width < 520 ? 92 : Math.min(210, Math.max(130, width * 0.16));
    const room = window.innerHeight - this.stage.getBoundingClientRect().top - window.scrollY * 0 - 40;
    this.height = Math.round(Math.min(Math.max(room, 320), Math.max(total(this.all) + TOP + 4, 160)));
    this.canvas.style.height = `${this.height}px`;
    this.small.style.height = `${OVERVIEW}px`;
    this.busy = busyness(this.boot, this.bounds, Math.max(50, Math.min(800, Math.floor(width - this.view.label) >> 1)));
    this.scrollTo(this.view.scroll);
  }

  redraw(): void {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = 0;
      this.draw();
    });
  }

  draw(): void {
    const t = theme();
    paint(this.canvas, this.width, this.height, (pen) => drawTimeline(pen, this.boot, this.all, this.view, this.width, this.height, t));
    paint(this.small, this.width, OVERVIEW, (pen) => drawOverview(pen, this.boot, this.bounds, this.view, this.busy ?? new Float32Array(1), this.width, OVERVIEW, t));
    const { from, to } = this.view;
    this.canvas.setAttribute("aria-label", `Timeline from ${time(from)} to ${time(to)}. Keys: A and D move, W and S zoom, N and P select the next and the previous item, slash searches. The tables under Blame have the same data.`);
    // A bar that shows how far down this is.
    const whole = total(this.all);
    const room = this.height - TOP;
    if (whole > room) {
      const pen = this.canvas.getContext("2d");
      if (pen) {
        pen.globalAlpha = 0.45;
        pen.fillStyle = t.quiet;
        pen.fillRect(this.width - 6, TOP + (this.view.scroll / whole) * room, 5, Math.max((room / whole) * room, 24));
        pen.globalAlpha = 1;
      }
    }
  }

  private picture(): Picture {
    const [width, height] = [Math.max(this.width, 900), Math.min(total(this.all) + TOP, 2400)];
    return { name: "timeline", width, height, draw: (pen) => drawTimeline(pen, this.boot, this.all, { ...this.view, scroll: 0, hover: null }, width, height, theme()) };
  }

  private timeAt(px: number): number {
    const { from, to, label } = this.view;
    return from + ((px - label) / (this.width - label)) * (to - from);
  }

  private rowAt(y: number): Row | null {
    if (y < TOP) return null;
    const row = this.all[firstAt(this.all, y - TOP + this.view.scroll)];
    return row && y - TOP + this.view.scroll >= row.y ? row : null;
  }

  private hit(px: number, y: number): Picked | null {
    const row = this.rowAt(y);
    if (!row || row.type !== "track" || px < this.view.label) return null;
    const slop = ((this.view.to - this.view.from) / (this.width - this.view.label)) * 3;
    const index = sliceAt(row.group, row.track, this.timeAt(px), slop);
    return index < 0 ? null : { group: row.group, index };
  }

  private hintAt(px: number, y: number): Node[] | null {
    const row = this.rowAt(y);
    if (y > AXIS && y < AXIS + MARKS && px > this.view.label) {
      const near = this.boot.show.milestones.map((m) => ({ m, d: Math.abs(xOf(this.view, this.width, m.at_ns) - px) })).filter((n) => n.d < 6).sort((a, b) => a.d - b.d);
      return near.length ? near.slice(0, 5).map(({ m }) => el("div", {}, el("b.name", {}, m.name), ` ${time(m.at_ns)}`)) : null;
    }
    if (!row || px < this.view.label) return null;
    if (row.type === "counter") {
      const i = Math.min(lowerBound(row.counter.at, 0, row.counter.at.length, this.timeAt(px)), row.counter.at.length - 1);
      const value = row.counter.values[i];
      return value === undefined ? null : [el("b", {}, row.counter.name), el("div", {}, `${amount(value, row.counter.unit)} at ${time(row.counter.at[i])}`)];
    }
    if (row.type === "log") {
      const slop = ((this.view.to - this.view.from) / (this.width - this.view.label)) * 2;
      const at = this.timeAt(px);
      const near = this.boot.messages.filter((m) => m.at !== null && Math.abs(m.at - at) <= slop);
      return near.length ? [...near.slice(0, 8).map((m) => el("div.mono", {}, m.text.slice(0, 160))), near.length > 8 ? el("div.quiet", {}, `and ${count(near.length - 8)} more`) : el("span")] : null;
    }
    const picked = this.hit(px, y);
    return picked ? hint(picked) : null;
  }

  private listen(): void {
    const { canvas, small } = this;
    let drag: { x: number; y: number; from: number; scroll: number; mode: "pan" | "range"; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      const onAxis = e.offsetY < TOP && e.offsetX > this.view.label;
      drag = { x: e.offsetX, y: e.offsetY, from: this.view.from, scroll: this.view.scroll, mode: onAxis || e.shiftKey ? "range" : "pan", moved: false };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (drag) {
        if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 4) drag.moved = true;
        if (!drag.moved) return;
        this.tip.hidden = true;
        if (drag.mode === "range") {
          const [a, b] = [this.timeAt(Math.max(drag.x, this.view.label)), this.timeAt(Math.max(e.offsetX, this.view.label))];
          this.view.range = [Math.min(a, b), Math.max(a, b)];
          this.view.picked = null;
          this.redraw();
          return;
        }
        canvas.classList.add("drag");
        const length = this.view.to - this.view.from;
        const begin = drag.from - ((e.offsetX - drag.x) / (this.width - this.view.label)) * length;
        this.view.scroll = Math.min(Math.max(drag.scroll - (e.offsetY - drag.y), 0), Math.max(0, total(this.all) - (this.height - TOP)));
        this.zoomTo(begin, begin + length);
        return;
      }
      this.point(e.offsetX, e.offsetY);
    });
    canvas.addEventListener("pointerup", (e) => {
      const was = drag;
      drag = null;
      canvas.classList.remove("drag");
      if (!was) return;
      if (was.mode === "range" && was.moved) return this.selectRange(this.view.range);
      if (was.moved) return;
      const row = this.rowAt(e.offsetY);
      if (row?.type === "head") {
        if (this.closed.has(row.id)) this.closed.delete(row.id);
        else this.closed.add(row.id);
        this.layout();
        return;
      }
      this.pick(this.hit(e.offsetX, e.offsetY), false);
    });
    canvas.addEventListener("pointerleave", () => {
      this.tip.hidden = true;
      if (this.view.hover) {
        this.view.hover = null;
        this.redraw();
      }
    });
    canvas.addEventListener("dblclick", (e) => {
      const p = this.hit(e.offsetX, e.offsetY);
      if (p) this.show(p);
    });
    canvas.addEventListener("wheel", (e) => {
      this.tip.hidden = true;
      const unit = e.deltaMode === 1 ? 16 : 1;
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        this.zoom(Math.exp(e.deltaY * unit * 0.002), this.timeAt(Math.max(e.offsetX, this.view.label)));
      } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        this.pan(((e.shiftKey ? e.deltaY || e.deltaX : e.deltaX) * unit) / (this.width - this.view.label));
      } else {
        // At the end of the lanes the page scrolls on.
        const before = this.view.scroll;
        this.scrollTo(before + e.deltaY * unit);
        if (this.view.scroll !== before) e.preventDefault();
      }
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const f = this.keys()[e.key.length === 1 ? e.key.toLowerCase() : e.key];
      if (!f) return;
      e.preventDefault();
      f();
    });
    const jump = (e: PointerEvent) => {
      const at = this.bounds[0] + (Math.max(e.offsetX - this.view.label, 0) / (this.width - this.view.label)) * (this.bounds[1] - this.bounds[0]);
      const half = (this.view.to - this.view.from) / 2;
      this.zoomTo(at - half, at + half);
    };
    small.addEventListener("pointerdown", (e) => { small.setPointerCapture(e.pointerId); jump(e); });
    small.addEventListener("pointermove", (e) => { if (e.buttons & 1) jump(e); });
    let typing = 0;
    this.find.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => this.look(true), 120);
    });
    this.find.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { e.preventDefault(); this.next(e.shiftKey ? -1 : 1); }
      if (e.key === "Escape") { this.find.value = ""; this.look(false); this.canvas.focus(); }
    });
    onTheme(() => this.redraw());
    new ResizeObserver(() => this.resize()).observe(this.stage);
  }

  private point(px: number, y: number): void {
    const hover = this.hit(px, y);
    const row = this.rowAt(y);
    this.canvas.style.cursor = hover || row?.type === "head" ? "pointer" : y < TOP ? "col-resize" : "grab";
    if (hover?.group !== this.view.hover?.group || hover?.index !== this.view.hover?.index) {
      this.view.hover = hover;
      this.redraw();
    }
    const text = this.hintAt(px, y);
    this.tip.hidden = !text;
    if (!text) return;
    refill(this.tip, text);
    this.tip.style.left = `${Math.max(0, Math.min(px + 14, this.width - this.tip.offsetWidth - 6))}px`;
    const below = y + 18;
    this.tip.style.top = `${below + this.tip.offsetHeight > this.height ? Math.max(0, y - this.tip.offsetHeight - 10) : below}px`;
  }

  private keys(): Record<string, () => void> {
    return {
      w: () => this.zoom(0.7), s: () => this.zoom(1 / 0.7), a: () => this.pan(-0.2), d: () => this.pan(0.2),
      "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1 / 0.7),
      ArrowLeft: () => this.pan(-0.12), ArrowRight: () => this.pan(0.12),
      ArrowUp: () => this.scrollTo(this.view.scroll - 60), ArrowDown: () => this.scrollTo(this.view.scroll + 60),
      PageUp: () => this.scrollTo(this.view.scroll - this.height * 0.8), PageDown: () => this.scrollTo(this.view.scroll + this.height * 0.8),
      Home: () => this.scrollTo(0), End: () => this.scrollTo(Infinity),
      "0": () => this.zoomTo(...this.bounds), f: () => (this.view.picked ? this.show(this.view.picked) : this.zoomTo(this.bounds[0], this.boot.end * 1.04)),
      n: () => this.next(1), p: () => this.next(-1), "/": () => this.find.focus(),
      c: () => this.element.querySelector<HTMLButtonElement>("button[title^='Show the critical']")?.click(),
      Escape: () => (this.view.range ? this.selectRange(null) : this.pick(null, false)),
    };
  }
}
