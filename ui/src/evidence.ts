// The evidence: inputs, notes, marks, facts, log lines.

import type { Boot } from "./data";
import { el, section } from "./dom";
import { count, plural, time, words } from "./format";
import { noteItem } from "./overview";
import { table } from "./table";

export function evidence(boot: Boot): HTMLElement {
  const { show } = boot;
  const order = { data_loss: 0, doubt: 1, info: 2 };
  const notes = [...show.notes].sort((a, b) => order[a.severity] - order[b.severity]);
  return el("div", {},
    section("Data quality", notes.length ? "What was lost, is uncertain or was skipped, and what to do about it." : "Nothing was lost, and nothing is uncertain.",
      notes.length ? el("ul.plain", {}, notes.map((n) => noteItem(boot, n, false))) : null),
    section("Inputs", "Every line or packet was either parsed or is accounted for in a note.", table({
      label: "Inputs", rows: show.sources,
      columns: [
        { name: "input", cell: (s) => s.name, className: "name" }, { name: "format", cell: (s) => s.format },
        { name: "read", numeric: true, value: (s) => s.units, cell: (s) => count(s.units) },
        { name: "events", numeric: true, value: (s) => s.events, cell: (s) => count(s.events) },
        { name: "noted", numeric: true, value: (s) => s.noted, cell: (s) => count(s.noted) },
      ],
    })),
    show.milestones.length ? section("Marks", null, table({
      label: "Marks", rows: show.milestones, text: (m) => m.name,
      columns: [
        { name: "at", numeric: true, value: (m) => m.at_ns, cell: (m) => time(m.at_ns) }, { name: "mark", cell: (m) => m.name, className: "name" },
        { name: "evidence", cell: (m) => el("span.quiet", { title: boot.lineAt(m.origin.source, m.origin.offset) ?? "" }, `${m.origin.source} @${count(m.origin.offset)}`) },
      ],
    })) : null,
    show.facts.length ? section("Facts", null, table({
      label: "Facts", rows: show.facts, text: (f) => `${f.key} ${f.value}`,
      columns: [{ name: "fact", cell: (f) => words(f.key) }, { name: "value", cell: (f) => f.value, className: "name" }, { name: "evidence", cell: (f) => el("span.quiet", {}, `${f.origin.source} @${count(f.origin.offset)}`) }],
    })) : null);
}

const LEVELS = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

export function log(boot: Boot): HTMLElement {
  const left = boot.raw.lanes.messages_left_out;
  const levels = boot.messages.some((m) => m.level !== null);
  return section("Log", `${plural(boot.messages.length, "line")}${left ? `; the last ${count(left)} are only in the input` : ""}. Lines that became intervals are under Blame.`, table({
    label: "Log lines", rows: boot.messages, text: (m) => m.text, shown: 200,
    columns: [
      { name: "time", numeric: true, value: (m) => m.at, cell: (m) => (m.at === null ? "" : (m.at / 1e9).toFixed(6)) },
      ...(levels ? [{ name: "level", value: (m: { level: number | null }) => m.level, cell: (m: { level: number | null }) => (m.level === null ? "" : el(`span${m.level <= 3 ? ".bad" : m.level === 4 ? ".warn" : ".quiet"}`, {}, LEVELS[m.level] ?? String(m.level))) }] : []),
      { name: "line", cell: (m) => m.text, className: "mono" },
    ],
  }));
}
