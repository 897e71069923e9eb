// What a folder holds: `firstlight serve`.

import { el, refill } from "./dom";
import { bytes, plural, time } from "./format";
import { table } from "./table";

export interface Listed { path: string; kind: string; bytes: number; modified_s: number; first_light_ns: number | null; clock: string | null; machine: string | null; kernel: string | null }
export interface Listing { schema: string; made_by: string; title: string; entries: Listed[] }

/** The address of the page of one entry, or of two beside each other. */
export const address = (...paths: string[]): string => `page?${paths.map((p) => `path=${encodeURIComponent(p)}`).join("&")}`;

export function listing(list: Listing): HTMLElement {
  const { entries } = list;
  const chosen: string[] = [];
  const says = el("p.about", { "aria-live": "polite" });
  const show = () => {
    if (chosen.length === 2) refill(says, el("a", { href: address(...chosen) }, `Compare ${chosen[0]} with ${chosen[1]}`));
    else refill(says, chosen.length === 1 ? "Choose a second one to compare with." : "Choose two captures to compare them, or the experiments of the same variants in the lab and on a board.");
  };
  const pick = (path: string) => {
    const box = el("input", { type: "checkbox", "aria-label": `Compare ${path}`, checked: chosen.includes(path) }) as HTMLInputElement;
    box.addEventListener("change", () => {
      if (box.checked) chosen.push(path);
      else chosen.splice(chosen.indexOf(path), 1);
      show();
    });
    return box;
  };
  show();
  return el("main", {}, el("section", { "aria-label": "Boots" }, el("h2", {}, plural(entries.length, "entry")),
    entries.length ? says : el("p.about", {}, "There are no captures, experiments or logs in this folder."),
    entries.length ? table<Listed>({
      label: "Captures, experiments and logs", rows: entries, text: (e) => `${e.path} ${e.kind} ${e.machine ?? ""} ${e.kernel ?? ""}`, shown: 200,
      columns: [
        { name: "", cell: (e) => (e.kind === "capture" || e.kind === "experiment" ? pick(e.path) : "") },
        { name: "name", cell: (e) => el("a", { href: address(e.path) }, e.path), value: (e) => e.path, className: "name" },
        { name: "kind", cell: (e) => e.kind },
        { name: "first light", numeric: true, value: (e) => e.first_light_ns, cell: (e) => (e.first_light_ns === null ? "" : el("span", {}, time(e.first_light_ns), e.clock === "virtual" ? el("span.pill.warn.gap-left", {}, "virtual") : null)) },
        { name: "machine", cell: (e) => e.machine ?? "", className: "short" },
        { name: "kernel", cell: (e) => (e.kernel ?? "").split(" ")[0] ?? "" },
        { name: "size", numeric: true, value: (e) => e.bytes, cell: (e) => (e.bytes ? bytes(e.bytes) : "") },
        { name: "written", numeric: true, value: (e) => e.modified_s, cell: (e) => (e.modified_s ? new Date(e.modified_s * 1000).toISOString().slice(0, 16).replace("T", " ") : "") },
      ],
    }) : null));
}
