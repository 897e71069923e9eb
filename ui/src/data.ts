// The data block: what `crates/views/src/html/` writes.

export interface Place { source: string; offset: number }
export interface Phase { name: string; start_ns: number; end_ns: number; start_mark: string; end_mark: string; stages: { name: string; start_ns: number; end_ns: number }[] }
export interface Finding {
  id: string; title: string; why: string; cost: string; treatment: string | null;
  evidence: { text: string; source: string; offset: number }[];
  saving: { low_ns: number; high_ns: number } | null;
}
export interface Note { severity: "info" | "doubt" | "data_loss"; kind: string; count: number; advice: string; detail: string; first: Place | null }
export interface Show {
  zero: string; clock: string | null; kernel: string | null; machine: string | null; cmdline: string | null;
  phases: Phase[]; first_light: { mark: string; at_ns: number } | null; last_ns: number;
  milestones: { name: string; at_ns: number; origin: Place }[];
  summary: { kinds: { kind: string; count: number; sum_ns: number; busy_ns: number }[]; deferrals: number; deferred_devices: number; deferral_ns: number };
  facts: { key: string; value: string; origin: Place }[];
  findings: Finding[];
  sources: { name: string; format: string; units: number; events: number; noted: number }[];
  notes: Note[];
}
export interface PathItem { kind: string; name: string; start_ns: number; end_ns: number; slack_ns: number; saving_if_halved_ns: number; origin: Place | null }
export interface Column { unit?: number; delta?: boolean; repeat?: number; values: (number | null)[] }
type Columns = Record<string, Column | undefined>;
export interface RawGroup { kind: string; name: string; sizes: Column; tracks?: Column; count: number; columns: Columns }
export interface RawLanes {
  texts: string[]; groups: RawGroup[]; marks: Columns;
  counters: { name: string; unit: string; at: Column; values: Column }[];
  messages: Columns; dependencies: Columns; slices_left_out: number; messages_left_out: number;
}
export type BlameRow = [
  name: string, start: number | null, end: number | null, wall: number | null, reported: number | null, doubt: string | null,
  outcome: number | null, pid: number | null, cpu: number | null, source: number | null, offset: number,
];
export interface Latency { count: number; mean_ns: number | null; median_ns: number | null; p90_ns: number | null; p99_ns: number | null; max_ns: number | null }
export interface Io {
  requests: number; requests_kept: number; reads: number; writes: number; read_bytes: number; write_bytes: number;
  dispatch_to_complete: Latency; queue_to_dispatch: Latency; queue_to_complete: Latency;
  depth: { max: number; mean: number; busy_ns: number };
  sequence: { followed: number; sequential: number; backward: number; median_distance_bytes: number; mean_distance_bytes: number };
  processes: { name: string; pid: number | null; requests: number; reads: number; writes: number; read_bytes: number; write_bytes: number }[];
  processes_from: string;
  files: IoFile[];
  owners: { from: "image" | "page_cache" | "nothing"; rows: Owner[] };
  timeline: Stretch[];
}
export interface IoFile { path: string; requests: number; bytes: number; used_bytes: number | null; write_bytes: number; opens: number; first_ns: number }
/** Whose what was asked of devices is. */
export interface Owner { path: string; requests: number; read_bytes: number; write_bytes: number; first_ns: number | null }
export interface Stretch { start_ns: number; end_ns: number; requests: number; read_bytes: number; write_bytes: number; [key: string]: number | null }
export interface FunctionRow { name: string; count: number; time_ns: number; average_ns: number; local_ns: number; max_sub: string | null; max_sub_count: number; open: number }
export interface CallRow { depth: number; name: string; count: number; time_ns: number; local_ns: number; open: number }
/** An item of the critical path, and first light by how long it takes: duration, then first light at the earliest, expected, at the latest. */
export interface Lever { kind: string; name: string; took_ns: number; steps: [left_ns: number, least_ns: number, expected_ns: number, most_ns: number][] }
export interface RawBoot {
  title: string; show: Show; clock_says: string | null; path: { mark: string; end_ns: number; knows_units: boolean; items: PathItem[] };
  path_items: number; levers: Lever[];
  lanes: RawLanes; blame: { kind: string; total: number; rows: BlameRow[] }[];
  deferrals: { devices: { device: string; tries: number; wasted_ns: number; first_ns: number | null; settled_ns: number | null; waited_for: string | null; origin: Place }[]; total_devices: number };
  io: Io | null; files: number; functions: { rows: FunctionRow[]; total_rows: number } | null; calls: { rows: CallRow[]; total_rows: number } | null;
  lines: [source: number, offset: number, text: string][];
}
export interface DiffItem { kind: string; name: string; nth: number; a_ns: number | null; b_ns: number | null; delta_ns: number; presence: string; change: string }
export interface Diff {
  clock: string | null;
  first_light: { a: { mark: string; at_ns: number } | null; b: { mark: string; at_ns: number } | null; delta_ns: number | null; same_marks: boolean };
  phases: { name: string; a_ns: number | null; b_ns: number | null; delta_ns: number; same_marks: boolean }[];
  items: DiffItem[];
}
export interface Lab {
  clock: string; baseline: string;
  trials: { variant: string; perturbation: number; digest: string; first_light_ns: number | null; capture: string; failure: { detail: string; last_lines: string[] } | null }[];
  variants: { variant: string; boots: number; failed: number; median_ns: number | null; min_ns: number | null; max_ns: number | null; median_interval_ns: [number, number] | null; outliers: { perturbation: number; first_light_ns: number }[] }[];
  comparison: { variant: string; delta_ns: number; spread_ns: number; verdict: string; unperturbed: boolean; interval_ns: [number, number] | null; p_value: number | null }[];
  exact: { variant: string; same: boolean; digests: string[]; difference: string | null }[];
  recording: { variant: string; asked: string[]; cost_ns: number | null }[];
}
export interface Span { median_ns: number; min_ns: number; max_ns: number }
export interface BoardTrial {
  variant: string; round: number; attempt: number; purpose: string; first_light_ns: { power_on: number | null; loader: number | null };
  light_error_ns: number; power_error_ns: number; off_ns: number | null; void: string | null; resets: number;
  proof: { by: string; expected: string; seen: boolean }; state: { name: string; value: number }[]; capture: string;
}
export interface BoardComparison { variant: string; boots: number; delta_ns: number; interval_ns: [number, number]; p_value: number; verdict: string; boots_needed: number | null }
export interface BoardRun {
  board: string; baseline: string; ended: string; left: string; cycles: number; basis: "power_on" | "loader"; level: number; trials: BoardTrial[];
  variants: { variant: string; boots: number; void: number; power_on: Span | null; loader: Span | null; given_up: string | null }[];
  comparison: BoardComparison[];
}
export interface TruthRow { variant: string; forecast_virtual_ns: number; forecast_percent: number; board_wall_ns: number; board_percent: number; board_interval_percent: [number, number] | null; verdict: string | null }
export interface Data {
  schema: string; made_by: string; title: string; baseline: RawBoot; best: RawBoot | null;
  comparison: Diff | null; lab: Lab | null;
  board: { run: BoardRun; says: string[] } | null; truth: { table: { board: string; variants: TruthRow[]; rank_correlation: number | null }; says: string[] } | null;
  doubts: Record<string, string>;
}

/** The text of the data block, decompressed if it is. */
export async function dataText(text: string): Promise<string> {
  if (!text.startsWith('{"encoding":')) return text;
  const { encoding, base64 } = JSON.parse(text) as { encoding: CompressionFormat; base64: string };
  const raw = atob(base64);
  const stream = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) stream[i] = raw.charCodeAt(i);
  const whole = new Blob([stream]).stream().pipeThrough(new DecompressionStream(encoding));
  return new Response(whole).text();
}

/** The numbers of a column; what is missing is not a number. */
export function numbers(column: Column | undefined, length: number): Float64Array {
  const all = new Float64Array(length);
  if (!column) return all.fill(NaN);
  const unit = column.unit ?? 1;
  if (column.repeat) return all.fill((column.values[0] ?? NaN) * unit);
  let before = 0;
  const values = column.values;
  for (let i = 0; i < length; i++) {
    const value = values[i];
    if (value === null || value === undefined) all[i] = NaN;
    else if (column.delta) all[i] = (before += value) * unit;
    else all[i] = value * unit;
  }
  return all;
}

const size = (column: Column | undefined): number => column?.repeat ?? column?.values.length ?? 0;

export interface Track { name: string | null; first: number; count: number; pid: number | null; parent: number | null; depth: number }

/** Intervals about one thing, by track and then by start. */
export class Group {
  readonly kind: string;
  readonly name: string;
  readonly count: number;
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly names: Float64Array;
  readonly tracks: Track[] = [];
  /** The longest interval: how far before a time one may begin that is still there. */
  readonly longest: number;
  private readonly columns: Columns;
  private readonly read = new Map<string, Float64Array>();

  constructor(raw: RawGroup, private readonly texts: string[]) {
    this.kind = raw.kind;
    this.name = raw.name;
    this.count = raw.count;
    this.columns = raw.columns;
    this.start = numbers(raw.columns["start"], raw.count);
    this.end = numbers(raw.columns["length"], raw.count);
    let longest = 0;
    for (let i = 0; i < raw.count; i++) {
      longest = Math.max(longest, this.end[i]!);
      this.end[i] = this.end[i]! + this.start[i]!;
    }
    this.longest = longest;
    this.names = numbers(raw.columns["name"], raw.count);
    const tracks = size(raw.sizes);
    const sizes = numbers(raw.sizes, tracks);
    const names = numbers(raw.tracks, tracks);
    let first = 0;
    for (let t = 0; t < tracks; t++) {
      const name = Number.isNaN(names[t]) ? null : (texts[names[t]!] ?? null);
      this.tracks.push({ name, first, count: sizes[t]!, pid: this.value("pid", first), parent: this.value("parent", first), depth: 0 });
      first += sizes[t]!;
    }
    if (raw.kind === "process") this.tracks = asTree(this.tracks);
  }

  nameOf(i: number): string { return this.texts[this.names[i]!] ?? ""; }

  /** A column's values; what is missing is not a number. */
  column(column: string): Float64Array | null {
    if (!this.columns[column]) return null;
    let all = this.read.get(column);
    if (!all) {
      all = numbers(this.columns[column], this.count);
      this.read.set(column, all);
    }
    return all;
  }

  /** One value of an interval; null if there is none. */
  value(column: string, i: number): number | null {
    const value = this.column(column)?.[i];
    return value === undefined || Number.isNaN(value) ? null : value;
  }

  textOf(column: string, i: number): string | null {
    const n = this.value(column, i);
    return n === null ? null : (this.texts[n] ?? null);
  }

  has(column: string): boolean { return this.columns[column] !== undefined; }
}

/** Tracks of processes, each below the one that forked it. */
function asTree(tracks: Track[]): Track[] {
  const known = new Set(tracks.map((t) => t.pid));
  const children = new Map<number | null, Track[]>();
  for (const t of tracks) {
    const of = t.parent !== null && t.parent !== t.pid && known.has(t.parent) ? t.parent : null;
    const list = children.get(of);
    if (list) list.push(t);
    else children.set(of, [t]);
  }
  const all: Track[] = [];
  const stack = (children.get(null) ?? []).toReversed().map((t) => ({ t, depth: 0 }));
  const done = new Set<number | null>();
  for (let top = stack.pop(); top; top = stack.pop()) {
    top.t.depth = top.depth;
    all.push(top.t);
    if (done.has(top.t.pid)) continue;
    done.add(top.t.pid);
    const depth = top.depth + 1;
    for (const t of (children.get(top.t.pid) ?? []).toReversed()) stack.push({ t, depth });
  }
  // Ids that are used again may make a circle: nothing is lost by it.
  const placed = new Set(all);
  return all.length === tracks.length ? all : [...all, ...tracks.filter((t) => !placed.has(t))];
}

export interface Message { at: number | null; level: number | null; text: string; source: number | null; offset: number }
export interface Counter { name: string; unit: string; at: Float64Array; values: Float64Array; max: number }
export interface Mark { name: string; at: number; source: number | null; offset: number }

/** Names of boots, as short as keeps them distinct. */
export function titles(all: string[]): string[] {
  const short = all.map((t) => (t.split("/").pop() ?? t).replace(/\.tar(\.zst)?$/, ""));
  return new Set(short).size === all.length ? short : all;
}

/** A boot, ready to be drawn. */
export class Boot {
  readonly title: string;
  readonly show: Show;
  readonly groups: Group[];
  readonly marks: Mark[];
  readonly messages: Message[];
  readonly counters: Counter[];
  readonly isVirtual: boolean;
  private readonly after = new Map<string, string[]>();
  private readonly before = new Map<string, string[]>();
  private readonly lines = new Map<string, string>();

  /** `timeline` is the view that shows its timeline. */
  constructor(readonly raw: RawBoot, title: string, readonly timeline = "timeline") {
    const lanes = raw.lanes;
    const texts = lanes.texts;
    this.title = title;
    this.show = raw.show;
    this.isVirtual = raw.show.clock === "virtual";
    this.groups = lanes.groups.map((g) => new Group(g, texts));
    this.marks = events(lanes.marks, "name").map((e) => ({ name: texts[e.text] ?? "", at: e.at ?? 0, source: e.source, offset: e.offset }));
    this.messages = events(lanes.messages, "text").map((e) => ({ ...e, text: texts[e.text] ?? "" }));
    this.counters = lanes.counters.map((c) => {
      const length = size(c.at);
      const values = numbers(c.values, length);
      return { name: c.name, unit: c.unit, at: numbers(c.at, length), values, max: values.reduce((a, b) => Math.max(a, b), 0) };
    });
    const dependencies = size(lanes.dependencies["from"]);
    const [from, to, kind] = ["from", "to", "kind"].map((k) => numbers(lanes.dependencies[k], dependencies));
    for (let i = 0; i < dependencies; i++) {
      // 0 is "ordered after".
      if (kind![i] !== 0) continue;
      const [name, other] = [texts[from![i]!] ?? "", texts[to![i]!] ?? ""];
      add(this.after, name, other);
      add(this.before, other, name);
    }
    for (const [source, offset, text] of raw.lines) this.lines.set(`${source}:${offset}`, text);
    for (const m of this.messages) {
      const key = `${m.source}:${m.offset}`;
      if (!this.lines.has(key)) this.lines.set(key, m.text);
    }
  }

  /** When the boot ended, or what is nearest to that. */
  get end(): number {
    const phases = this.show.phases;
    return this.show.first_light?.at_ns ?? phases[phases.length - 1]?.end_ns ?? this.show.last_ns;
  }

  /** The first and the last time of anything that is drawn. */
  get bounds(): [number, number] {
    let from = Math.min(0, this.show.phases[0]?.start_ns ?? 0);
    let to = Math.max(this.end, this.show.last_ns, 1);
    for (const g of this.groups) {
      for (const t of g.tracks) {
        if (!t.count) continue;
        from = Math.min(from, g.start[t.first]!);
      }
      for (let i = 0; i < g.count; i++) if (g.end[i]! > to) to = g.end[i]!;
    }
    return [from, to];
  }

  /** What a unit is ordered after. */
  orderedAfter(unit: string): string[] { return this.after.get(unit) ?? []; }

  /** What is ordered after a unit. */
  orderedBefore(unit: string): string[] { return this.before.get(unit) ?? []; }

  sourceName(n: number | null): string { return n === null ? "" : (this.show.sources[n]?.name ?? ""); }

  lineAt(source: number | string | null, offset: number): string | null {
    const n = typeof source === "string" ? this.show.sources.findIndex((s) => s.name === source) : source;
    return this.lines.get(`${n}:${offset}`) ?? null;
  }
}

function add(to: Map<string, string[]>, key: string, value: string): void {
  const list = to.get(key);
  if (list) list.push(value);
  else to.set(key, [value]);
}

interface Event { at: number | null; level: number | null; text: number; source: number | null; offset: number }

function events(columns: Columns, text: string): Event[] {
  const length = size(columns[text]);
  const of = (name: string) => numbers(columns[name], length);
  const [texts, at, level, source, offset] = [text, "at", "level", "source", "offset"].map(of);
  const or = (n: number) => (Number.isNaN(n) ? null : n);
  return Array.from({ length }, (_, i) => ({
    text: texts![i]!, at: or(at![i]!), level: or(level![i]!), source: or(source![i]!), offset: or(offset![i]!) ?? 0,
  }));
}
