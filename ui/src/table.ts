// A table that sorts and filters, and shows as many rows as requested.

import { append, button, clear, el, refill } from "./dom";
import { count } from "./format";

export interface TableColumn<R> {
  name: string;
  /** What it sorts by; without it, by the text. */
  value?: (row: R) => number | string | null;
  cell: (row: R) => string | Node | null;
  numeric?: boolean;
  className?: string;
  /** What it means, for those who wonder. */
  title?: string;
}
export interface TableOptions<R> {
  columns: TableColumn<R>[];
  rows: readonly R[];
  label: string;
  /** What a filter looks at; without it there is no filter. */
  text?: (row: R) => string;
  sort?: number;
  /** How many rows there are in all, if not all are here. */
  total?: number;
  shown?: number;
  /** What tells one row from the others, for `reveal`. */
  key?: (row: R) => string;
  onrow?: (row: R) => void;
}

// On a phone the name comes first and stays there while the figures scroll.
const narrow = matchMedia("(max-width: 620px)");

/** A table; `reveal` brings the row of a key into sight and marks it. */
export type Table = HTMLElement & { reveal: (key: string | null) => void };

export function table<R>(options: TableOptions<R>): Table {
  const { columns, label } = options;
  let shown = options.shown ?? 50;
  let by = options.sort ?? -1;
  let down = true;
  let wanted = "";
  let marked: string | null = null;
  let rows = [...options.rows];
  const inOrder = (): { column: TableColumn<R>; at: number }[] => {
    const all = columns.map((column, at) => ({ column, at }));
    const name = narrow.matches ? all.find(({ column }) => column.className === "name") : undefined;
    return name ? [name, ...all.filter((c) => c !== name)] : all;
  };
  const head = el("tr");
  const body = el("tbody");
  const foot = el("div.more");
  const box = el("div.table");

  const valueOf = (c: TableColumn<R>, row: R): number | string | null => {
    if (c.value) return c.value(row);
    const cell = c.cell(row);
    return typeof cell === "string" ? cell : (cell?.textContent ?? null);
  };
  const order = () => {
    rows = options.text && wanted ? options.rows.filter((r) => options.text!(r).toLowerCase().includes(wanted)) : [...options.rows];
    const column = columns[by];
    if (!column) return;
    const keyed = rows.map((row) => ({ row, key: valueOf(column, row) }));
    keyed.sort((a, b) => {
      // What is missing comes last, whichever way it goes.
      if (a.key === null || b.key === null) return a.key === b.key ? 0 : a.key === null ? 1 : -1;
      const c = typeof a.key === "number" && typeof b.key === "number" ? a.key - b.key : String(a.key).localeCompare(String(b.key), "en");
      return down ? -c : c;
    });
    rows = keyed.map((k) => k.row);
  };
  const fill = () => {
    clear(body);
    for (const row of rows.slice(0, shown)) {
      const tr = el("tr", {}, inOrder().map(({ column: c }) => el(`td${c.numeric ? ".num" : ""}${c.className ? `.${c.className}` : ""}`, {}, c.cell(row))));
      if (marked !== null && options.key?.(row) === marked) tr.setAttribute("aria-current", "true");
      if (options.onrow) {
        tr.classList.add("clickable");
        tr.addEventListener("click", (e) => { if (!(e.target as Element).closest("button, a")) options.onrow!(row); });
      }
      body.append(tr);
    }
    if (!rows.length) body.append(el("tr", {}, el("td.quiet", { colspan: columns.length }, "No match.")));
    const rest = rows.length - shown;
    refill(foot,
      rest > 0 ? button(`Show ${count(Math.min(rest, 500))} more`, () => { shown += 500; fill(); }) : null,
      el("span.quiet", {}, ` ${rest > 0 ? `${count(Math.min(shown, rows.length))} of ${count(rows.length)}` : count(rows.length)}${wanted ? " that match" : ""}${options.total && options.total > options.rows.length ? `; ${count(options.total)} in all, the smallest are omitted` : ""}`));
    foot.hidden = rows.length <= 5 && !wanted;
  };
  const heads = () => {
    refill(head, inOrder().map(({ column: c, at: i }, shownAt) => {
      const sorted = i === by ? (down ? "descending" : "ascending") : null;
      const b = button(c.name, () => {
        if (by === i) down = !down;
        else { by = i; down = c.numeric ?? false; }
        order();
        heads();
        fill();
        head.children[shownAt]?.querySelector("button")?.focus();
      }, { title: c.title ?? null });
      return el(`th${c.numeric ? ".num" : ""}${c.className === "name" ? ".name" : ""}`, { scope: "col", "aria-sort": sorted }, c.name ? b : null, sorted ? el("span.arrow", { "aria-hidden": "true" }, down ? "\u2193" : "\u2191") : null);
    }));
  };
  let reset = () => {};
  if (options.text && options.rows.length > 8) {
    const filter = el("input", { type: "search", placeholder: "Filter", "aria-label": `Filter ${label}` }) as HTMLInputElement;
    filter.addEventListener("input", () => {
      wanted = filter.value.trim().toLowerCase();
      order();
      fill();
    });
    append(box, el("div.tools", {}, filter));
    reset = () => { filter.value = ""; };
  }
  const reveal = (key: string | null) => {
    marked = key;
    if (key !== null && options.key) {
      if (!rows.some((row) => options.key!(row) === key)) {
        reset();
        wanted = "";
        order();
      }
      shown = Math.max(shown, rows.findIndex((row) => options.key!(row) === key) + 1);
    }
    fill();
    const row = body.querySelector("[aria-current]");
    // Only within the table: the picture stays where it is.
    const scroll = body.closest(".scroll");
    if (row instanceof HTMLElement && scroll && scroll.scrollHeight > scroll.clientHeight) scroll.scrollTop = row.offsetTop - scroll.clientHeight / 2;
  };
  order();
  heads();
  fill();
  narrow.addEventListener("change", () => { heads(); fill(); });
  append(box, [el(`div.scroll${options.key ? ".within" : ""}`, { tabindex: 0, role: "region", "aria-label": label }, el("table", {}, el("caption.visually-hidden", {}, label), el("thead", {}, head), body)), foot]);
  return Object.assign(box, { reveal });
}

/** A bar whose length says a share of the most. */
export function meter(value: number, most: number, color: string): HTMLElement {
  const bar = el("i");
  bar.style.width = `${Math.max(0, Math.min(100, (value / (most || 1)) * 100))}%`;
  bar.style.background = `var(--${color})`;
  return el("span.meter", { "aria-hidden": "true" }, bar);
}
