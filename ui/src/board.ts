// The variants that a real board booted, and the lab's forecasts beside them.

import type { BoardComparison, BoardRun, BoardTrial, Data, TruthRow } from "./data";
import { el, prose, section } from "./dom";
import { dots } from "./dots";
import { count, signed, time, verdictOf } from "./format";
import { type Pen, fitted } from "./pen";
import { drawn } from "./stage";
import { table } from "./table";
import { FONT, theme } from "./theme";
import { copyTools } from "./tools";

type Variant = BoardRun["variants"][number];
interface Row { v: Variant; c: BoardComparison | null }

const BEGINS = { power_on: "power-on", loader: "the boot loader's first byte" };
const PURPOSES: Record<string, string> = { boot: "counts", "warm-up": "warm-up", scatter: "scatter" };
const LEFT: Record<string, string> = {
  baseline_proven: "its baseline, booted to prove it", baseline_restored: "its baseline, not booted since", untouched: "what it had: nothing was changed", changed: "a variant: the baseline could not be put back",
};
const ENDED: Record<string, string> = {
  all_rounds: "every round was booted", decided: "every answer was known", limit_cycles: "the limit of power cycles was reached", limit_deployments: "the limit of writes to the card was reached",
  interrupted: "it was interrupted", baseline_fails: "the baseline does not reach first light", board_lost: "the board did not come back",
};

const tone = (verdict: string | null): string => (verdict === "faster" ? "good" : verdict === "slower" ? "bad" : "quiet");
const chance = (p: number): string => (p < 0.001 ? "< 0.001" : p.toFixed(3));
const percent = (part: number): string => `${part > 0 ? "+" : ""}${part.toFixed(2)} %`;

/** Where in its run's folder a capture is. */
const within = (capture: string): string => capture.replace(/^.*\/(?=trials\/)/, "");

/** What was found, and the boots that it rests on. */
export function board(data: NonNullable<Data["board"]>): { variants: HTMLElement; boots: HTMLElement } {
  const { run, says } = data;
  const { basis } = run;
  const light = (t: BoardTrial) => (t.void === null ? t.first_light_ns[basis] : null);
  const counts = run.trials.filter((t) => t.purpose === "boot");
  const rows: Row[] = run.variants.map((v) => ({ v, c: run.comparison.find((c) => c.variant === v.variant) ?? null }));
  const picture = dots("variants", run.variants.map((v) => {
    const span = v[basis];
    return {
      name: v.variant, isBase: v.variant === run.baseline, median: span?.median_ns ?? null, range: span ? [span.min_ns, span.max_ns] : null, interval: null,
      verdict: run.comparison.find((c) => c.variant === v.variant)?.verdict ?? null,
      lights: counts.flatMap((t) => (t.variant === v.variant ? (light(t) ?? []) : [])),
    };
  }));
  const verdict = ({ v, c }: Row): Node | string => {
    if (v.given_up !== null) return el("span.bad", {}, `given up: ${v.given_up}`);
    if (v.variant === run.baseline) return el("b", {}, "baseline");
    return c ? el(`span.${tone(c.verdict)}`, {}, verdictOf(c.verdict)) : el("span.quiet", {}, "no boots to compare");
  };
  const variants = section(`Variants on ${run.board}`, `First light in wall time, from ${BEGINS[basis]}. Each square is a boot, the bar their median. The run ended because ${ENDED[run.ended] ?? run.ended}. The board has ${LEFT[run.left] ?? run.left}.`,
    picture,
    table<Row>({
      label: `Variants on ${run.board}`, rows,
      columns: [
        { name: "variant", cell: ({ v }) => (v.variant === run.baseline ? el("b", {}, v.variant) : v.variant), value: ({ v }) => v.variant, className: "name" },
        { name: "change", numeric: true, value: ({ c }) => c?.delta_ns ?? null, cell: ({ c }) => (c ? el(`span.${tone(c.verdict)}`, {}, signed(c.delta_ns)) : "") },
        { name: "95 % interval", numeric: true, value: ({ c }) => c?.interval_ns[0] ?? null, cell: ({ c }) => (c ? c.interval_ns.map(signed).join(" to ") : ""), title: "of the change" },
        { name: "p", numeric: true, value: ({ c }) => c?.p_value ?? null, cell: ({ c }) => (c ? chance(c.p_value) : ""), title: `probability of so large a change arising by chance; one look counts from ${run.level.toFixed(5)} down` },
        { name: "verdict", cell: verdict },
        { name: "boots", numeric: true, value: ({ v }) => v.boots, cell: ({ v }) => count(v.boots) },
        { name: "boots needed", numeric: true, value: ({ c }) => c?.boots_needed ?? null, cell: ({ c }) => (c ? (c.boots_needed === null ? "no number" : count(c.boots_needed)) : ""), title: "of each variant, to show an effect of twice the smallest one that counts, at this scatter" },
        { name: "void", numeric: true, value: ({ v }) => v.void, cell: ({ v }) => (v.void ? el("span.bad", {}, count(v.void)) : "0") },
        { name: "from power-on", numeric: true, value: ({ v }) => v.power_on?.median_ns ?? null, cell: ({ v }) => time(v.power_on?.median_ns), title: "median" },
        { name: "from the loader", numeric: true, value: ({ v }) => v.loader?.median_ns ?? null, cell: ({ v }) => time(v.loader?.median_ns), title: "median, from the boot loader's first byte" },
      ],
    }),
    el("ul.plain", {}, says.map((s) => el("li", {}, prose(s)))));
  return { variants, boots: boots(run) };
}

/** Why boots are void, and the evidence of every one. */
function boots(run: BoardRun): HTMLElement {
  const void_ = run.trials.filter((t) => t.void !== null);
  const names = [...new Set(run.trials.flatMap((t) => t.state.map((s) => s.name)))];
  const round = (t: BoardTrial) => `${t.round}${t.attempt ? ` (${t.attempt + 1}.)` : ""}`;
  return el("div", {},
    void_.length ? section("Void boots", "They say nothing of their variant and are not in the comparison.", table<BoardTrial>({
      label: "Void boots", rows: void_, text: (t) => `${t.variant} ${t.void}`,
      columns: [
        { name: "variant", cell: (t) => t.variant, className: "name" }, { name: "round", numeric: true, value: (t) => t.round, cell: round },
        { name: "why", cell: (t) => el("span.bad", {}, t.void ?? ""), className: "wide" }, { name: "resets", numeric: true, value: (t) => t.resets, cell: (t) => count(t.resets) },
        { name: "capture", cell: (t) => el("code", {}, within(t.capture)), className: "line" },
      ],
    })) : null,
    section("All boots", "The evidence of each: what proves the variant, and the capture with its console.", table<BoardTrial>({
      label: "All boots", rows: run.trials, shown: 20, text: (t) => `${t.variant} ${t.purpose} ${t.proof.expected} ${t.void ?? ""}`,
      columns: [
        { name: "variant", cell: (t) => t.variant, className: "name" }, { name: "round", numeric: true, value: (t) => t.round, cell: round },
        { name: "for", cell: (t) => (t.void === null ? (PURPOSES[t.purpose] ?? t.purpose) : el("span.bad", { title: t.void }, "void")), className: "line" },
        { name: "from power-on", numeric: true, value: (t) => t.first_light_ns.power_on, cell: (t) => time(t.first_light_ns.power_on) },
        { name: "from the loader", numeric: true, value: (t) => t.first_light_ns.loader, cell: (t) => time(t.first_light_ns.loader) },
        { name: "late by", numeric: true, value: (t) => t.light_error_ns, cell: (t) => (t.light_error_ns ? time(t.light_error_ns) : ""), title: "first light may have been earlier by this much" },
        { name: "power command", numeric: true, value: (t) => t.power_error_ns, cell: (t) => time(t.power_error_ns), title: "power-on may have been earlier by this much" },
        { name: "off before", numeric: true, value: (t) => t.off_ns, cell: (t) => time(t.off_ns) },
        { name: "resets", numeric: true, value: (t) => t.resets, cell: (t) => count(t.resets) },
        { name: "proof", cell: (t) => (t.proof.by ? el(`span${t.proof.seen ? "" : ".bad"}`, { title: t.proof.by }, el("code", {}, t.proof.expected), t.proof.seen ? " seen" : " not seen") : el("span.quiet", {}, "none")), className: "line" },
        ...names.map((name) => ({ name: name.replaceAll("_", " "), numeric: true, value: (t: BoardTrial) => t.state.find((s) => s.name === name)?.value ?? null, cell: (t: BoardTrial) => String(t.state.find((s) => s.name === name)?.value ?? "") })),
        { name: "capture", cell: (t) => el("code", { title: t.capture }, within(t.capture)), className: "line" },
      ],
    })));
}

const HEIGHT = 46;

/** The lab's forecasts beside the board. Both clocks have columns of their own; only parts of a baseline are drawn on one scale. */
export function truth(data: NonNullable<Data["truth"]>): HTMLElement {
  const { table: found, says } = data;
  const rows = found.variants;
  const height = rows.length * HEIGHT + 30;
  const ends = rows.flatMap((r) => [r.forecast_percent, r.board_percent, ...(r.board_interval_percent ?? [])]);
  const [low, high] = [Math.min(0, ...ends), Math.max(0, ...ends, 0.01)];
  const draw = (pen: Pen, width: number, h: number) => {
    const t = theme();
    const label = width < 560 ? 110 : 220;
    const room = width - label - 76;
    const x = (part: number) => label + 8 + ((part - low) / (high - low)) * room;
    pen.fillStyle = t.card;
    pen.fillRect(0, 0, width, h);
    pen.textBaseline = "middle";
    pen.strokeStyle = t.quiet;
    pen.beginPath();
    pen.moveTo(x(0), 0);
    pen.lineTo(x(0), h - 22);
    pen.stroke();
    pen.font = `11px ${FONT}`;
    pen.fillStyle = t.quiet;
    pen.textAlign = "center";
    pen.fillText("0 %", x(0), h - 10);
    rows.forEach((r, i) => {
      const y = i * HEIGHT + 4;
      pen.textAlign = "right";
      pen.font = `12px ${FONT}`;
      pen.fillStyle = t.ink;
      pen.fillText(fitted(pen, r.variant, label - 14), label - 8, y + HEIGHT / 2 - 4);
      pen.textAlign = "left";
      pen.font = `11px ${FONT}`;
      for (const [k, part] of [[0, r.forecast_percent], [1, r.board_percent]] as const) {
        const top = y + k * 18;
        const [a, b] = [x(Math.min(0, part)), x(Math.max(0, part))];
        if (k === 0) {
          // Virtual seconds are dashed everywhere.
          pen.strokeStyle = t.stage;
          pen.setLineDash([4, 3]);
          pen.strokeRect(a + 0.5, top + 0.5, Math.max(b - a, 2), 14);
          pen.setLineDash([]);
        } else {
          pen.fillStyle = t.kernel;
          pen.fillRect(a, top, Math.max(b - a, 2), 15);
          if (r.board_interval_percent) {
            const [from, to] = r.board_interval_percent.map(x) as [number, number];
            pen.fillStyle = t.ink;
            pen.fillRect(from, top + 7, Math.max(to - from, 1), 1.5);
            pen.fillRect(from, top + 3, 1.5, 9);
            pen.fillRect(to - 1, top + 3, 1.5, 9);
          }
        }
        pen.fillStyle = t.quiet;
        const right = k === 1 && r.board_interval_percent ? Math.max(b, x(r.board_interval_percent[1])) : b;
        pen.fillText(percent(part), right + 6, top + 8);
      }
    });
  };
  return section(`Forecast of the lab and truth of ${found.board}`, "Virtual and wall seconds stand in columns of their own and are never compared. On one scale are only the changes in percent of each side's own baseline.",
    rows.length ? el("div.tools", {}, el("span.quiet", {}, "dashed: the lab, virtual; filled: the board, with its 95 % interval"), copyTools(() => ({ name: "forecast-and-truth", width: 900, height, draw }))) : null,
    rows.length ? drawn(height, draw, rows.map((r) => `${r.variant}: lab ${percent(r.forecast_percent)}, board ${percent(r.board_percent)}`).join("; ")) : null,
    table<TruthRow>({
      label: "Forecast and truth", rows,
      columns: [
        { name: "variant", cell: (r) => r.variant, className: "name" },
        { name: "lab, virtual", numeric: true, value: (r) => r.forecast_virtual_ns, cell: (r) => signed(r.forecast_virtual_ns) },
        { name: "board, wall", numeric: true, value: (r) => r.board_wall_ns, cell: (r) => signed(r.board_wall_ns) },
        { name: "lab, % of its baseline", numeric: true, value: (r) => r.forecast_percent, cell: (r) => percent(r.forecast_percent) },
        { name: "board, % of its baseline", numeric: true, value: (r) => r.board_percent, cell: (r) => percent(r.board_percent) },
        { name: "95 % interval", numeric: true, value: (r) => r.board_interval_percent?.[0] ?? null, cell: (r) => (r.board_interval_percent ? r.board_interval_percent.map(percent).join(" to ") : ""), title: "of the board's percentage" },
        { name: "verdict of the board", cell: (r) => el(`span.${tone(r.verdict)}`, {}, r.verdict === null ? "undecided" : verdictOf(r.verdict)) },
      ],
    }),
    el("ul.plain", {}, says.map((s) => el("li", {}, prose(s)))));
}

