// The page draws itself from its data block.

import "./style.css";
import { blame } from "./blame";
import { compare } from "./compare";
import { Boot, type Data, dataText, titles } from "./data";
import { append, button, el, refill } from "./dom";
import { evidence, log } from "./evidence";
import { calls } from "./flame";
import { go, here, onGo } from "./link";
import { beforeAndAfter } from "./layout";
import { type Listing, listing } from "./list";
import { overview } from "./overview";
import { type Published, published } from "./published";
import { storage } from "./storage";
import { type Choice, choose, chosen } from "./theme";
import { TimelineView } from "./timeline/view";

interface Tab { id: string; label: string; make: () => HTMLElement; shown?: () => void }

async function start(): Promise<void> {
  const page = document.getElementById("page");
  const block = document.getElementById("data");
  if (!page || !block) return;
  choose(chosen());
  const mark = document.getElementById("mark");
  let data: Data;
  try {
    const known = JSON.parse(await dataText(block.textContent ?? "")) as Data | Listing | Published;
    const alone = known.schema === "firstlight.list/1" ? listing(known as Listing) : known.schema === "firstlight.published/1" ? published(known as Published) : null;
    if (alone) {
      refill(page, el("header", {}, el("div.brand", {}, mark, el("h1", { title: known.title }, known.title)), el("span.grow"), themeButton()), alone);
      return;
    }
    data = known as Data;
  } catch (e) {
    refill(page, el("main", {}, el("h1", {}, "This page cannot be shown"), el("p", {}, String(e))));
    return;
  }
  const raw = [data.baseline, data.best].flatMap((b) => (b ? [b] : []));
  const names = titles(raw.map((b) => b.title));
  const boots = raw.map((b, i) => new Boot(b, names[i] ?? b.title, i ? "timeline2" : "timeline"));
  const title = boots.length > 1 ? names.join(" and ") : data.title;
  const first = boots[0]!;
  document.documentElement.classList.toggle("virtual", first.isVirtual);
  const lines: (TimelineView | null)[] = boots.map(() => null);
  const line = (n: number) => (lines[n] ??= new TimelineView(boots[n]!, data.doubts));
  const timeline = (n: number): Tab => ({
    id: n ? "timeline2" : "timeline", label: boots.length > 1 ? `Timeline ${n + 1}` : "Timeline",
    make: () => el("div.wide", {}, boots.length > 1 ? el("h2.boot-title", {}, boots[n]!.title) : null, line(n).element),
    shown: () => line(n).ready(),
  });
  const tabs: Tab[] = [{ id: "overview", label: "Overview", make: () => overview(data, boots) }, timeline(0)];
  if (boots[1]) tabs.push(timeline(1));
  if (data.comparison || data.lab || data.board) tabs.push({ id: "compare", label: data.lab || data.board ? "Experiment" : "Comparison", make: () => compare(data, boots) });
  const show = (n: number) => (found: Parameters<TimelineView["show"]>[0]) => {
    go(n ? "timeline2" : "timeline");
    requestAnimationFrame(() => line(n).show(found));
  };
  tabs.push({ id: "blame", label: "Blame", make: () => perBoot(boots, (b, n) => blame(b, data.doubts, show(n))) });
  if (boots.some((b) => b.raw.io)) tabs.push({ id: "storage", label: "Storage", make: () => stored(boots.filter((b) => b.raw.io)) });
  if (boots.some((b) => b.raw.calls)) tabs.push({ id: "calls", label: "Calls", make: () => perBoot(boots.filter((b) => b.raw.calls), calls) });
  if (boots.some((b) => b.messages.length)) tabs.push({ id: "log", label: "Log", make: () => perBoot(boots, log) });
  tabs.push({ id: "evidence", label: "Evidence", make: () => perBoot(boots, evidence) });

  const main = el("main", { tabindex: -1 });
  const made = new Map<string, HTMLElement>();
  const links = tabs.map((t) => {
    const b = button(t.label, () => go(t.id), { role: "tab", "aria-selected": "false", id: `tab-${t.id}`, "aria-controls": `view-${t.id}` });
    return b;
  });
  const open = (id: string) => {
    const tab = tabs.find((t) => t.id === id) ?? tabs[0]!;
    let view = made.get(tab.id);
    // A view that its link describes is rebuilt; a timeline keeps its place.
    if (view && !tab.id.startsWith("timeline") && Object.keys(here().settings).length) { view.remove(); view = undefined; }
    if (view && tab.id.startsWith("timeline") && Object.keys(here().settings).length) {
      lines[tab.id === "timeline" ? 0 : 1] = null;
      view.remove();
      view = undefined;
    }
    if (!view) {
      view = el("div.view", { role: "tabpanel", id: `view-${tab.id}`, "aria-labelledby": `tab-${tab.id}` }, tab.make());
      made.set(tab.id, view);
      main.append(view);
    }
    for (const [name, v] of made) v.hidden = name !== tab.id;
    tabs.forEach((t, i) => {
      links[i]!.setAttribute("aria-selected", String(t === tab));
      links[i]!.tabIndex = t === tab ? 0 : -1;
    });
    document.title = `${tab.id === "overview" ? "" : `${tab.label} - `}${title} - Firstlight`;
    main.classList.toggle("full", tab.id.startsWith("timeline"));
    tab.shown?.();
  };
  const bar = el("nav.tabs", { role: "tablist", "aria-label": "Views" }, links);
  bar.addEventListener("keydown", (e) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    e.preventDefault();
    const at = (links.findIndex((l) => l.getAttribute("aria-selected") === "true") + by + links.length) % links.length;
    go(tabs[at]!.id);
    links[at]!.focus();
  });
  refill(page, el("header", {}, el("div.brand", {}, mark, el("h1", { title: data.title }, title)), bar, themeButton()), main,
    el("footer", {}, `Made by ${data.made_by}. This page contains all its data and makes no network requests.`));
  onGo((s) => open(s.view));
  open(here().view);
  window.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || (e.target as Element).closest("input, textarea, select, canvas")) return;
    if (e.key === "/") {
      const field = main.querySelector<HTMLInputElement>(".view:not([hidden]) input[type=search]");
      if (field) { e.preventDefault(); field.focus(); }
    }
  });
  // Paper has room for every view that is not a picture of a screen.
  window.addEventListener("beforeprint", () => {
    for (const t of tabs) {
      if (made.has(t.id)) continue;
      const view = el("div.view", { role: "tabpanel", id: `view-${t.id}`, "aria-labelledby": `tab-${t.id}`, hidden: true }, t.make());
      made.set(t.id, view);
      main.append(view);
    }
    for (const t of tabs) main.append(made.get(t.id)!);
    document.documentElement.classList.add("printing");
    lines.forEach((l) => { l?.ready(); l?.draw(); });
  });
  window.addEventListener("afterprint", () => {
    document.documentElement.classList.remove("printing");
    open(here().view);
  });
}

function stored(boots: Boot[]): HTMLElement {
  return el("div", {}, boots[1] ? beforeAndAfter([boots[0]!, boots[1]]) : null, perBoot(boots, storage));
}

function perBoot(boots: Boot[], make: (boot: Boot, n: number) => HTMLElement): HTMLElement {
  if (boots.length === 1) return make(boots[0]!, 0);
  const body = el("div");
  const buttons = boots.map((b, n) => button(b.title, () => {
    buttons.forEach((o, i) => o.setAttribute("aria-pressed", String(i === n)));
    refill(body, make(b, n));
  }, { "aria-pressed": String(n === 0) }));
  append(body, make(boots[0]!, 0));
  return el("div", {}, el("div.tools.boots", { role: "group", "aria-label": "Boot" }, buttons), body);
}

function themeButton(): HTMLElement {
  const order: Choice[] = ["auto", "light", "dark"];
  const label = (c: Choice) => ({ auto: "\u25d0 Auto", light: "\u25cb Light", dark: "\u25cf Dark" })[c];
  const b = button(label(chosen()), () => {
    const next = order[(order.indexOf(now) + 1) % order.length]!;
    now = next;
    choose(next);
    b.textContent = label(next);
  }, { title: "Colors: system, light or dark", class: "theme" });
  let now: Choice = chosen();
  return b;
}

void start();
