// The page draws itself from its data block. Text from logs is only ever set
// as text: there is no way here from a string to markup.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("page");
const sides = [data.baseline, data.best].filter(Boolean);
const KINDS = ["initcall", "probe", "unit", "process", "file"];
const LIGHT = ["decompression", "initrd", "loader"];

// --- small helpers ---------------------------------------------------------

// An element: el("td.num", {title: "x"}, "text", child, ...).
function el(spec, attrs, ...children) {
  const [tag, ...classes] = spec.split(".");
  const e = document.createElement(tag);
  if (classes.length) e.className = classes.join(" ");
  for (const [k, v] of Object.entries(attrs || {})) {
    if (k === "css") Object.assign(e.style, v);
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (v !== null && v !== undefined) e.setAttribute(k, v);
  }
  for (const c of children.flat(Infinity)) if (c !== null && c !== undefined) e.append(c);
  return e;
}
const clear = (e) => { while (e.firstChild) e.firstChild.remove(); return e; };

// Durations as everywhere in Firstlight: 1.234 s, 56.7 ms, 890 us, 12 ns.
function time(ns) {
  if (ns === null || ns === undefined) return "";
  const a = Math.abs(ns), sign = ns < 0 ? "-" : "";
  if (a === 0) return "0 s";
  if (a < 1e3) return `${sign}${a} ns`;
  if (a < 999500) return `${sign}${Math.round(a / 1e3)} us`;
  if (a < 999950000) return `${sign}${(Math.round(a / 1e5) / 10).toFixed(1)} ms`;
  return `${sign}${(Math.round(a / 1e6) / 1e3).toFixed(3)} s`;
}
const signed = (ns) => (ns > 0 ? "+" : "") + time(ns);
const tone = (ns) => (ns < 0 ? "good" : ns > 0 ? "bad" : "quiet");
const count = (n) => n.toLocaleString("en-US");
const place = (p) => `${p.source} at byte ${count(p.offset)}`;
const isVirtual = (side) => side.show.clock === "virtual";
const colour = (name) => `var(--${name})`;
const words = (s) => s.replaceAll("_", " ");

function section(id, title, about, ...children) {
  const s = el("section", { id, "aria-labelledby": `${id}-title` },
    el("h2", { id: `${id}-title` }, title), about ? el("p.about", {}, about) : null, children);
  main.append(s);
  return s;
}
function table(heads, rows) {
  const th = (h) => el(h.num ? "th.num" : "th", { scope: "col" }, h.name);
  return el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, heads.map(th))), el("tbody", {}, rows)));
}
// `like this` in a sentence is code.
const prose = (text) => text.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
const choice = (buttons, label) => buttons.length ? el("span.choice", { role: "group", "aria-label": label }, buttons) : null;
// Round steps for an axis of about n labels.
function step(length, n) {
  const raw = Math.max(length / n, 1), power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
}

// --- the top ---------------------------------------------------------------

function hero() {
  main.classList.toggle("virtual", isVirtual(sides[0]));
  const figures = sides.map((side) => {
    const f = side.show.first_light;
    const number = f ? el("span.big", {}, time(f.at_ns), isVirtual(side) ? el("span.suffix", {}, "virtual") : null)
      : el("span.big.quiet", {}, time(side.show.last_ns));
    const what = f ? `to first light (${f.mark}), after ${side.show.zero}` : `to the last event, after ${side.show.zero}; nothing in the sources ends the boot`;
    return el("figure", {}, sides.length > 1 ? el("b.who", {}, side.title) : null, number, el("figcaption", {}, what));
  });
  const delta = data.comparison && data.comparison.first_light.delta_ns;
  if (delta !== null && delta !== undefined) {
    const verdict = (data.lab && data.best && data.lab.comparison.find((c) => c.variant === data.best.title)) || null;
    const says = verdict ? verdict.unperturbed ? "one boot each: spread unknown"
      : `${words(verdict.verdict)}; innocent changes alone move it by ${time(verdict.spread_ns)}` : "one boot each";
    figures.push(el("figure", {}, el("b.who", {}, "change"), el(`span.change.${tone(delta)}`, {}, signed(delta)), el("figcaption", {}, says)));
  }
  main.append(el("div.hero", {}, figures));
  const says = sides[0].clock_says;
  if (says) main.append(el(isVirtual(sides[0]) ? "span.badge" : "span.badge.real", {}, says));
  const facts = ["machine", "kernel", "cmdline"].filter((k) => sides[0].show[k]);
  if (facts.length) main.append(el("dl.facts", {}, facts.map((k) => [el("dt", {}, k), el("dd.mono", {}, sides[0].show[k])])));
}

function loss() {
  for (const side of sides) {
    const lost = side.show.notes.filter((n) => n.severity === "data_loss");
    if (!lost.length) continue;
    const s = section(`loss-${side.title}`, sides.length > 1 ? `Evidence is missing: ${side.title}` : "Evidence is missing",
      "What follows is what is left.", notes(lost));
    s.classList.add("loss");
  }
}

// --- phases ----------------------------------------------------------------

const bootEnd = (side) => side.show.phases.length ? side.show.phases.at(-1).end_ns : 0;

function phases() {
  if (!sides.some((s) => s.show.phases.length)) return;
  const start = Math.min(0, ...sides.flatMap((s) => s.show.phases.map((p) => p.start_ns)));
  const end = Math.max(...sides.map(bootEnd), start + 1);
  const at = (ns) => `${((ns - start) / (end - start) * 100).toFixed(3)}%`;
  const grid = el("div.boots", {});
  for (const side of sides) {
    const strip = el("div.strip", { role: "img", "aria-label": side.show.phases.map((p) => `${p.name} ${time(p.end_ns - p.start_ns)}`).join(", ") });
    for (const p of side.show.phases) {
      const length = p.end_ns - p.start_ns, share = length / (end - start);
      const says = `${p.name}: ${time(length)}, from ${p.start_mark} (${time(p.start_ns)}) to ${p.end_mark} (${time(p.end_ns)})`;
      const part = el("div.part", { title: says, css: { left: at(p.start_ns), width: `${share * 100}%`, background: colour(p.name) } },
        share > 0.07 ? p.name : "", share > 0.16 ? el("span.length", {}, ` ${time(length)}`) : null);
      if (LIGHT.includes(p.name)) part.classList.add("light");
      if (share <= 0.07) part.style.padding = "0";
      strip.append(part);
    }
    if (side !== sides[0] && bootEnd(side) < bootEnd(sides[0])) {
      const saved = bootEnd(sides[0]) - bootEnd(side), share = saved / (end - start);
      strip.append(el("div.gone", { css: { left: at(bootEnd(side)), width: `${share * 100}%` }, title: `${time(saved)} saved` }, share > 0.09 ? `${time(saved)} saved` : ""));
    }
    if (side.show.first_light) strip.append(el("div.end", { title: "first light", css: { left: at(bootEnd(side)) } }));
    grid.append(el("div.who", { title: side.title }, side.title), strip);
  }
  const axis = el("div.axis", { "aria-hidden": "true" }), every = step(end - start, 8);
  for (let t = Math.ceil(start / every) * every; t <= end - every * 0.3; t += every) axis.append(el("span", { css: { left: at(t) } }, time(t)));
  grid.append(el("div", {}), axis);

  const names = [...new Set(sides.flatMap((s) => s.show.phases.map((p) => p.name)))];
  const rows = [];
  for (const name of names) {
    const [a, b] = [0, 1].map((i) => sides[i] && sides[i].show.phases.find((p) => p.name === name));
    const c = data.comparison && data.comparison.phases.find((p) => p.name === name);
    const any = a || b;
    rows.push(el("tr", {}, el("td.marks", {}, el("span.swatch", { css: { background: colour(name) } }), name),
      el("td.num", {}, time(any.start_ns)), el("td.num", {}, a ? time(a.end_ns - a.start_ns) : ""),
      sides[1] ? [el("td.num", {}, b ? time(b.end_ns - b.start_ns) : ""), el(`td.num.${c ? tone(c.delta_ns) : "quiet"}`, {}, c ? signed(c.delta_ns) : "")] : null,
      el("td.quiet.marks", {}, `${any.start_mark} to ${any.end_mark}`)));
    for (const s of any.stages) {
      rows.push(el("tr.stage", {}, el("td.sub", {}, s.name), el("td.num", {}, time(s.start_ns)), el("td.num", {}, time(s.end_ns - s.start_ns)),
        sides[1] ? [el("td", {}), el("td", {})] : null, el("td", {})));
    }
  }
  const heads = [{ name: "phase" }, { name: "from", num: 1 }, { name: sides[1] ? sides[0].title : "length", num: 1 }];
  if (sides[1]) heads.push({ name: sides[1].title, num: 1 }, { name: "change", num: 1 });
  section("phases", "Phases", `Zero is ${sides[0].show.zero}.${sides.some((s) => s.show.first_light) ? " The thick line is first light." : ""}`, grid, table([...heads, { name: "marks" }], rows));
}

// --- the experiment --------------------------------------------------------

function lab() {
  if (!data.lab) return;
  const vs = data.lab.variants, known = vs.filter((v) => v.median_ns !== null && !v.failed);
  const low = Math.min(...known.map((v) => v.min_ns)), high = Math.max(...known.map((v) => v.max_ns));
  const pad = Math.max((high - low) * 0.04, 1), at = (ns) => `${((ns - low + pad) / (high - low + 2 * pad) * 100).toFixed(2)}%`;
  const base = vs[0];
  const rows = vs.map((v) => {
    const c = data.lab.comparison.find((x) => x.variant === v.variant);
    const mark = v.median_ns === null || v.failed ? null : el("div.range", { role: "img", "aria-label": `${v.boots} boots from ${time(v.min_ns)} to ${time(v.max_ns)}`, title: `${v.boots} boots from ${time(v.min_ns)} to ${time(v.max_ns)}` },
      base.median_ns !== null ? el("u", { css: { left: at(base.median_ns) } }) : null,
      el("i", { css: { left: at(v.min_ns), width: `calc(${at(v.max_ns)} - ${at(v.min_ns)})` } }), el("b", { css: { left: at(v.median_ns) } }));
    const cls = c && c.verdict === "faster" ? "good" : c && c.verdict === "slower" ? "bad" : "quiet";
    const verdict = c ? words(c.verdict) : v.variant === data.lab.baseline ? "baseline" : `${v.failed} of ${v.boots} boots never came to first light`;
    return el("tr", {}, el("td.name", {}, v.variant), el("td.num", {}, v.failed ? "" : time(v.median_ns)), el(`td.num.${cls}`, {}, c ? signed(c.delta_ns) : ""),
      el("td.num.quiet", {}, c ? c.unperturbed && !c.spread_ns ? "unknown" : time(c.spread_ns) : v.boots > 1 && !v.failed ? time(v.max_ns - v.min_ns) : ""),
      el("td", {}, el(`span.${c || v.failed ? `pill.${v.failed ? "bad" : cls}` : "quiet"}`, {}, verdict)), el("td.meter", {}, mark));
  });
  const alone = data.lab.comparison.some((c) => c.unperturbed);
  section("lab", "Experiment", alone ? "One boot of a variant: how far an innocent change would move it is not known, and the verdict is the bare sign."
    : "Spread: how far innocent changes alone, such as an unused word on the command line, move first light. A variant is faster or slower only outside of it.",
    table([{ name: "variant" }, { name: "median", num: 1 }, { name: "change", num: 1 }, { name: "spread", num: 1 }, { name: "verdict" },
      { name: `${time(low)} to ${time(high)}${data.lab.clock === "virtual" ? ", virtual" : ""}` }], rows));
}

// --- findings --------------------------------------------------------------

function findings() {
  const list = sides[0].show.findings;
  if (!list.length) return;
  const saves = (s) => !s ? "" : s.low_ns === s.high_ns ? `saves ${time(s.high_ns)}`
    : s.low_ns <= 0 ? `saves up to ${time(s.high_ns)}` : `saves ${time(s.low_ns)} to ${time(s.high_ns)}`;
  section("findings", "What could be better", sides[1] ? `In ${sides[0].title}, the largest saving first.` : "The largest saving first.", list.map((f) => el("div.finding", {},
    el("h3", {}, prose(f.title)), el("div.saving", {}, saves(f.saving)), el("p", {}, prose(f.why)),
    f.evidence.map((e) => el("p.quiet", {}, "Seen: ", el("span.mono", {}, e.text), ` (${place(e)})`)),
    el("p.quiet", {}, "Cost: ", prose(f.cost)), f.treatment ? el("p", {}, "Try: ", el("code.try", {}, f.treatment)) : null)));
}

// --- time line -------------------------------------------------------------

let showOnTimeline = () => {};
const evidence = (side, b) => ({ source: side.sources[b[8]], offset: b[9] });

function describe(side, b) {
  const out = [el("b", {}, b[1]), el("br"), `${b[0]}, ${time(b[4] - b[3])}, from ${time(b[3])} to ${time(b[4])}`];
  const more = (...t) => out.push(el("br"), ...t);
  if (b[5] !== null) more(`the source itself says ${time(b[5])}`);
  if (b[6]) more(el("span.warn", {}, data.doubts[b[6]] || words(b[6])));
  if (b[7]) more(`returned ${b[7]}`);
  more(el("span.quiet", {}, `evidence: ${place(evidence(side, b))}`));
  return out;
}

function timeline() {
  if (!sides.some((s) => s.bars.length)) return;
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": "Time line of initcalls, probes and units. Arrow keys move, plus and minus zoom, 0 shows all, n and p step through the bars. The table below holds the same items." });
  const tip = el("div.tip", { hidden: "" }), detail = el("p.detail", { "aria-live": "polite" }, "Wheel or + and - zoom, drag or arrow keys move, 0 shows all, click or n and p pick a bar.");
  const find = el("input", { type: "search", placeholder: "find in the time line", "aria-label": "find in the time line" });
  const hidden = new Set();
  let side = sides[0], view = [0, 1], bounds = [0, 1], groups = [], hits = [], picked = null, height = 0, lane = 13, ratio = 1;

  function layout() {
    const bars = side.bars, ends = bars.map((b) => b[4]), starts = bars.map((b) => b[3]), ps = side.show.phases;
    const low = ps.length ? ps[0].start_ns : Math.min(...starts), high = Math.max(bootEnd(side), ends.reduce((a, b) => Math.max(a, b), 1));
    const pad = (high - low) * 0.01 || 1;
    bounds = [low - pad, high + pad]; view = [...bounds]; picked = null; relane();
  }
  function relane() {
    const kinds = KINDS.filter((k) => !hidden.has(k)).map((k) => ({ kind: k, bars: side.bars.filter((b) => b[0] === k) })).filter((g) => g.bars.length);
    for (const g of kinds) g.lanes = g.bars.reduce((m, b) => Math.max(m, b[2] + 1), 1);
    const lanes = kinds.reduce((n, g) => n + g.lanes, 0);
    lane = Math.max(5, Math.min(15, Math.floor(640 / Math.max(lanes, 1))));
    let y = 44;
    for (const g of kinds) { g.top = y + 18; y = g.top + g.lanes * lane + 6; }
    groups = kinds; height = y + 4;
    canvas.style.height = `${height}px`;
    draw();
  }
  const x = (t) => (t - view[0]) / (view[1] - view[0]) * canvas.clientWidth;
  const t = (px) => view[0] + px / canvas.clientWidth * (view[1] - view[0]);

  function draw() {
    const w = canvas.clientWidth, css = getComputedStyle(document.documentElement), v = (n) => css.getPropertyValue(`--${n}`).trim();
    if (!w) return;
    ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(w * ratio); canvas.height = Math.round(height * ratio);
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.fillStyle = v("card"); g.fillRect(0, 0, w, height);
    g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle";
    const every = step(view[1] - view[0], Math.max(w / 110, 2));
    for (let s = Math.ceil(view[0] / every) * every; s <= view[1]; s += every) {
      g.fillStyle = v("line"); g.fillRect(Math.round(x(s)), 0, 1, height);
      g.fillStyle = v("quiet"); g.fillText(time(Math.round(s)), x(s) + 4, 10);
    }
    for (const p of side.show.phases) {
      const a = Math.max(x(p.start_ns), 0), b = Math.min(x(p.end_ns), w);
      if (b <= a) continue;
      g.fillStyle = v(p.name); g.fillRect(a, 21, b - a, 16);
      if (b - a > 80) { g.fillStyle = v(LIGHT.includes(p.name) ? "on-light-bar" : "on-bar"); g.fillText(p.name, a + 5, 29.5); }
    }
    const wanted = find.value.toLowerCase();
    hits = [];
    for (const group of groups) {
      g.fillStyle = v("quiet"); g.font = "600 12px system-ui, sans-serif";
      g.fillText(`${group.kind === "process" ? "processes" : `${group.kind}s`} (${count(group.bars.length)})`, 4, group.top - 9);
      g.font = `${Math.min(11, lane - 2)}px system-ui, sans-serif`;
      const last = [];
      for (const b of group.bars) {
        if (b[4] < view[0] || b[3] > view[1]) continue;
        const a = Math.max(x(b[3]), -2), z = Math.min(Math.max(x(b[4]), a + 1), w + 2), y = group.top + b[2] * lane;
        hits.push([a, z, y, b]);
        const match = wanted && b[1].toLowerCase().includes(wanted);
        // Bars that end in a pixel that is drawn already add nothing to it.
        if (!match && b !== picked && z <= (last[b[2]] || -9)) continue;
        last[b[2]] = Math.ceil(z);
        g.globalAlpha = wanted && !match ? 0.18 : 1;
        g.fillStyle = v(b[0]); g.fillRect(a, y, z - a > 4 ? z - a - 1 : Math.max(z - a, 1), lane - 2);
        if (b[6] && z - a > 3) { g.fillStyle = v("card"); for (let k = a + 3; k < z - 1; k += 6) g.fillRect(k, y + lane - 5, 3, 2); }
        if (z - a > 46 && lane >= 10) {
          g.save(); g.beginPath(); g.rect(a, y, z - a - 3, lane); g.clip();
          g.fillStyle = v(b[0] === "probe" || b[0] === "file" ? "on-light-bar" : "on-bar"); g.fillText(b[1], Math.max(a, 0) + 4, y + lane / 2 - 0.5); g.restore();
        }
        g.globalAlpha = 1;
        if (b === picked) { g.strokeStyle = v("ink"); g.lineWidth = 2; g.strokeRect(a - 1, y - 1, Math.max(z - a, 1) + 2, lane); }
      }
    }
    const f = side.show.first_light;
    if (f) { g.fillStyle = v("ink"); g.fillRect(Math.round(x(f.at_ns)) - 1, 18, 2, height); }
  }
  function zoom(factor, px) {
    const c = t(px), length = Math.min((view[1] - view[0]) * factor, bounds[1] - bounds[0]);
    if (length < 1000) return;
    move(c - (px / canvas.clientWidth) * length, length);
  }
  function move(from, length) {
    const a = Math.min(Math.max(from, bounds[0]), bounds[1] - length);
    view = [a, a + length]; draw();
  }
  function hit(px, py) {
    let best = null;
    for (const h of hits) if (px >= h[0] - 2 && px <= h[1] + 2 && py >= h[2] - 1 && py <= h[2] + lane - 1 && (!best || h[1] - h[0] < best[1] - best[0])) best = h;
    return best && best[3];
  }
  function pick(b) { picked = b; clear(detail).append(...(b ? describe(side, b) : ["Nothing is picked."])); draw(); }
  function goTo(b) {
    if (hidden.delete(b[0])) { for (const k of kinds) k.setAttribute("aria-pressed", String(!hidden.has(k.textContent))); relane(); }
    const length = Math.min(Math.max((b[4] - b[3]) * 6, (bounds[1] - bounds[0]) / 200), bounds[1] - bounds[0]);
    if (x(b[4]) - x(b[3]) < 12 || b[4] > view[1] || b[3] < view[0]) move((b[3] + b[4]) / 2 - length / 2, length);
    pick(b);
  }
  showOnTimeline = (from, kind, name, start) => {
    if (side !== from) choose(from);
    const b = from.bars.find((b) => b[0] === kind && b[1] === name && b[3] === start);
    if (b) { goTo(b); canvas.scrollIntoView({ block: "center" }); }
  };
  canvas.addEventListener("wheel", (e) => {
    const length = view[1] - view[0], all = length >= (bounds[1] - bounds[0]) * 0.999;
    if (all && e.deltaY > 0 && !e.ctrlKey) return; // nothing left to zoom out: the page scrolls
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) move(view[0] + (e.deltaX || e.deltaY) / canvas.clientWidth * length, length);
    else zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), e.offsetX);
  }, { passive: false });
  let drag = null;
  canvas.addEventListener("pointerdown", (e) => { drag = { x: e.offsetX, view: [...view], moved: false }; canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointermove", (e) => {
    if (drag) {
      if (Math.abs(e.offsetX - drag.x) > 3) { drag.moved = true; canvas.classList.add("drag"); tip.hidden = true; }
      const length = drag.view[1] - drag.view[0];
      if (drag.moved) move(drag.view[0] - (e.offsetX - drag.x) / canvas.clientWidth * length, length);
      return;
    }
    const b = hit(e.offsetX, e.offsetY);
    tip.hidden = !b;
    if (!b) return;
    clear(tip).append(...describe(side, b));
    tip.style.left = `${Math.max(0, Math.min(e.offsetX + 14, canvas.clientWidth - tip.offsetWidth - 4))}px`;
    tip.style.top = `${e.offsetY + 18}px`;
  });
  canvas.addEventListener("pointerup", (e) => { if (drag && !drag.moved) pick(hit(e.offsetX, e.offsetY)); drag = null; canvas.classList.remove("drag"); });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => { view = [...bounds]; draw(); });
  canvas.addEventListener("keydown", (e) => {
    const length = view[1] - view[0], middle = canvas.clientWidth / 2;
    const keys = {
      ArrowLeft: () => move(view[0] - length / 8, length), ArrowRight: () => move(view[0] + length / 8, length),
      "+": () => zoom(0.7, middle), "=": () => zoom(0.7, middle), "-": () => zoom(1 / 0.7, middle), "0": () => { view = [...bounds]; draw(); },
      n: () => next(1), p: () => next(-1), Escape: () => pick(null),
    };
    if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key]) return;
    e.preventDefault(); keys[e.key]();
  });
  function next(by) {
    const all = groups.flatMap((g) => g.bars), wanted = find.value.toLowerCase();
    const list = wanted ? all.filter((b) => b[1].toLowerCase().includes(wanted)) : all;
    const at = list.indexOf(picked);
    const b = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : (at + by + list.length) % list.length];
    if (b) goTo(b);
  }
  function choose(s) {
    side = s;
    for (const b of which) b.setAttribute("aria-pressed", String(b.textContent === s.title));
    layout();
  }
  const which = sides.length > 1 ? sides.map((s) => el("button", { type: "button", onclick: () => choose(s) }, s.title)) : [];
  const kinds = KINDS.filter((k) => sides.some((s) => s.bars.some((b) => b[0] === k))).map((k) => el("button", {
    type: "button", "aria-pressed": "true",
    onclick: (e) => { if (!hidden.delete(k)) hidden.add(k); e.currentTarget.setAttribute("aria-pressed", String(!hidden.has(k))); relane(); },
  }, k));
  find.addEventListener("input", draw);
  const left = sides.reduce((n, s) => n + s.left_out, 0);
  section("timeline", "Time line", `Everything with a start and an end. A dotted edge marks numbers that are in doubt.${left ? ` The shortest ${count(left)} are left out.` : ""}`,
    el("div.tools", {}, choice(which, "which boot"), choice(kinds, "which kinds"), find), el("div.lanes", {}, canvas, tip), detail);
  choose(sides[0]);
  new ResizeObserver(draw).observe(canvas);
  for (const q of ["(prefers-color-scheme: dark)", "print"]) matchMedia(q).addEventListener("change", draw);
}

// --- tables that sort and filter -------------------------------------------

// columns: {name, num, key(row) for sorting, cell(row) -> element}.
function sortable(id, title, about, rows, columns, kindOf, tools, onRow) {
  const LIMIT = 25;
  let by = 0, down = true, kind = null, text = "", limit = LIMIT;
  const body = el("tbody", {}), foot = el("div", {}), kinds = [...new Set(rows().map(kindOf))];
  const heads = columns.map((c, i) => el(c.num ? "th.num" : "th", { scope: "col" },
    c.key ? el("button", { type: "button", onclick: () => { down = by === i ? !down : Boolean(c.num); by = i; fill(); } }, c.name) : c.name));
  const buttons = kinds.length > 1 ? [null, ...kinds].map((k) => el("button", { type: "button", onclick: () => { kind = k; limit = LIMIT; fill(); } }, k || "all")) : [];
  const find = el("input", { type: "search", placeholder: "filter by name", "aria-label": `filter ${title} by name`, oninput: () => { text = find.value.toLowerCase(); limit = LIMIT; fill(); } });
  function fill() {
    buttons.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === (kind || "all"))));
    heads.forEach((h, i) => { if (i === by) h.setAttribute("aria-sort", down ? "descending" : "ascending"); else h.removeAttribute("aria-sort"); });
    const key = columns[by].key, order = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (down ? -1 : 1));
    const list = rows().filter((r) => (!kind || kindOf(r) === kind) && r[1].toLowerCase().includes(text)).map((r, i) => [r, i]);
    list.sort((a, b) => order(key(a[0]), key(b[0])) || a[1] - b[1]);
    clear(body).append(...list.slice(0, limit).map(([r]) => {
      const tr = el(onRow ? "tr.clickable" : "tr", {}, columns.map((c) => c.cell(r)));
      if (onRow) tr.addEventListener("click", () => onRow(r));
      return tr;
    }));
    clear(foot);
    if (!list.length) foot.append(el("p.quiet", {}, "Nothing matches."));
    if (list.length > limit) foot.append(el("button.more", { type: "button", onclick: () => { limit = Infinity; fill(); } }, `show all ${count(list.length)}`));
  }
  section(id, title, about, el("div.tools", {}, tools ? choice(tools(fill), "which boot") : null, choice(buttons, "which kind"), find),
    el("div.scroll", {}, el("table", {}, el("thead", {}, el("tr", {}, heads)), body)), foot);
  fill();
}

function blame() {
  if (!sides.some((s) => s.rows.length)) return;
  let side = sides[0];
  const most = Math.max(1, ...sides.flatMap((s) => s.rows.slice(0, 1).map((r) => r[4] ?? r[5] ?? 0)));
  const long = (r) => r[4] ?? r[5];
  const columns = [
    { name: "time", num: 1, key: long, cell: (r) => el("td.num", {}, el("b", {}, time(long(r)))) },
    { name: "", cell: (r) => el("td.meter", {}, el("i", { css: { width: `${Math.max(0, long(r) || 0) / most * 100}%`, background: colour(r[0]) } })) },
    { name: "start", num: 1, key: (r) => r[2], cell: (r) => el("td.num", {}, time(r[2])) },
    { name: "reported", num: 1, key: (r) => r[5], cell: (r) => el("td.num.quiet", {}, time(r[5])) },
    { name: "kind", key: (r) => r[0], cell: (r) => el("td.quiet", {}, r[0]) },
    { name: "name", key: (r) => r[1], cell: (r) => el("td.name", {}, r[2] !== null && r[3] !== null
      ? el("button.link", { type: "button", title: "show in the time line" }, r[1]) : r[1], r[6] ? [" ", el("span.pill.warn", { title: data.doubts[r[6]] }, words(r[6]))] : null, r[7] ? el("span.quiet", {}, ` returned ${r[7]}`) : null) },
    { name: "evidence", key: (r) => r[9], cell: (r) => el("td.quiet", { title: `byte ${r[9]} of ${side.sources[r[8]]}` }, `${side.sources[r[8]].split("/").at(-1)}:${r[9]}`) },
  ];
  const tools = (fill) => sides.length < 2 ? [] : sides.map((s) => {
    const b = el("button", { type: "button", "aria-pressed": String(s === side), onclick: () => { side = s; for (const o of b.parentNode.children) if (o.dataset.side) o.setAttribute("aria-pressed", String(o === b)); fill(); } }, s.title);
    b.dataset.side = "1";
    return b;
  });
  sortable("blame", "What took longest", `The time is that of the stamps; reported is what the source says itself. A click shows the row in the time line.${sides.some((s) => s.total_rows > s.rows.length) ? ` Only the longest ${count(side.rows.length)} rows are here.` : ""}`,
    () => side.rows, columns, (r) => r[0], tools, (r) => { if (r[2] !== null && r[3] !== null) showOnTimeline(side, r[0], r[1], r[2]); });
}

function comparison() {
  const c = data.comparison;
  if (!c || !c.items.length) return;
  const items = c.items.filter((i) => i.delta_ns !== 0).map((i) => [i, i.nth > 1 ? `${i.name} #${i.nth}` : i.name]);
  const titles = sides.map((s) => s.title);
  sortable("comparison", "Item by item", `From ${titles[0]} to ${titles[1] || "the second boot"}, the largest change first.`, () => items, [
    { name: "change", num: 1, key: (r) => Math.abs(r[0].delta_ns), cell: (r) => el(`td.num.${tone(r[0].delta_ns)}`, {}, el("b", {}, signed(r[0].delta_ns))) },
    { name: titles[0], num: 1, key: (r) => r[0].a_ns, cell: (r) => el("td.num", {}, time(r[0].a_ns)) },
    { name: titles[1] || "second", num: 1, key: (r) => r[0].b_ns, cell: (r) => el("td.num", {}, time(r[0].b_ns)) },
    { name: "kind", key: (r) => r[0].kind, cell: (r) => el("td.quiet", {}, r[0].kind) },
    { name: "name", key: (r) => r[1], cell: (r) => el("td.name", {}, r[1], r[0].presence === "both" ? null : [" ", el(`span.pill.${r[0].presence === "only_a" ? "good" : "bad"}`, {}, r[0].presence === "only_a" ? "gone" : "new")]) },
  ], (r) => r[0].kind);
}

// --- milestones, ledger, sources -------------------------------------------

const SEVERITY = { data_loss: ["bad", "lost"], doubt: ["warn", "doubt"], info: ["quiet", "info"] };
function notes(list) {
  return table([{ name: "" }, { name: "count", num: 1 }, { name: "what" }, { name: "first place" }], list.map((n) => el("tr", {},
    el("td", {}, el(`span.pill.${SEVERITY[n.severity][0]}`, {}, SEVERITY[n.severity][1])), el("td.num", {}, count(n.count)),
    el("td.name", {}, el("b", {}, words(n.kind)), n.detail ? [": ", el("span.mono", {}, n.detail)] : null, el("br"), el("span.quiet", {}, prose(n.advice))),
    el("td.quiet", {}, n.first ? place(n.first) : ""))));
}
function rest() {
  for (const side of sides) {
    const of = sides.length > 1 ? `: ${side.title}` : "", id = `side${sides.indexOf(side)}`;
    const others = side.show.notes.filter((n) => n.severity !== "data_loss");
    if (others.length) section(`${id}-ledger`, `Ledger${of}`, "What is doubtful, and what was passed over.", notes(others));
  }
  const side = sides[0];
  if (side.show.milestones.length) {
    section("milestones", sides.length > 1 ? `Milestones: ${side.title}` : "Milestones", null, table([{ name: "at", num: 1 }, { name: "mark" }, { name: "evidence" }],
      side.show.milestones.map((m) => el("tr", {}, el("td.num", {}, time(m.at_ns)), el("td.name", {}, m.name), el("td.quiet", {}, place(m.origin))))));
  }
  section("sources", "Sources", "Every line is an event, or is counted in the ledger.", table([{ name: "source" }, { name: "format" }, { name: "lines", num: 1 }, { name: "events", num: 1 }, { name: "noted", num: 1 }],
    sides.flatMap((s) => s.show.sources.map((x) => el("tr", {}, el("td.name", {}, sides.length > 1 ? `${s.title}: ${x.name}` : x.name), el("td", {}, x.format),
      el("td.num", {}, count(x.units)), el("td.num", {}, count(x.events)), el("td.num", {}, count(x.noted)))))));
  main.append(el("footer", {}, "Made by Firstlight. This file is whole: it loads nothing, and its data block can be read by programs."));
}

main.append(el("h1", {}, data.title));
loss(); hero(); phases(); lab(); findings(); timeline(); blame(); comparison(); rest();
})();
