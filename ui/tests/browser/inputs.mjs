// Inputs that are made here: small, and with everything that a view is about.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { file, root, scratch } from "./open.mjs";

const PAGE = 4096;

/** A kernel trace of two processes that read files, each in one piece, where `place` says; a third one writes. */
export function traced(name, files, place) {
  const lines = ["# tracer: nop", "#"];
  let us = 1_000_000;
  const say = (what, task) => lines.push(`          ${task}     [000] .....   ${(us / 1e6).toFixed(6).padStart(10)}: ${what}`);
  files.forEach(({ inode, pages }, n) => {
    const [sector, sectors, name] = [place(n), pages * 8, n % 3 ? "reader" : "other"];
    const task = `${name}-${name.length + 100}`;
    for (let p = 0; p < pages; p++) say(`mm_filemap_add_to_page_cache: dev 8:1 ino ${inode.toString(16)} pfn=0x${(n * 64 + p).toString(16)} ofs=${p * PAGE} order=0`, task);
    us += 5;
    say(`block_bio_queue: 8,0 R ${sector} + ${sectors} [${name}]`, task);
    us += 5;
    say(`block_rq_issue: 8,0 R ${pages * PAGE} () ${sector} + ${sectors} [${name}]`, task);
    us += 300 + sectors * 4;
    say(`block_rq_complete: 8,0 R () ${sector} + ${sectors} [0]`, "<idle>-0");
    us += 2_000;
  });
  say("block_bio_queue: 8,0 W 8192 + 8 [writer]", "writer-101");
  say("block_rq_issue: 8,0 W 4096 () 8192 + 8 [writer]", "writer-101");
  us += 900;
  say("block_rq_complete: 8,0 W () 8192 + 8 [0]", "<idle>-0");
  return file(name, `${lines.join("\n")}\n`);
}

/** An experiment of one baseline and one variant, as the demo writes it, with boots that the demo made. */
export function experiment() {
  const dir = join(scratch, "experiment");
  const trials = [];
  for (const [variant, capture, at] of [["baseline", "v1-debian", 10_719_000_000], ["all", "v1-debian-all", 5_090_000_000]]) {
    for (const perturbation of [0, 1, 2]) {
      const path = `trials/${variant}/${perturbation}/capture`;
      trials.push({ variant, perturbation, digest: "0".repeat(64), first_light_ns: at + perturbation * 1_000_000, capture: path, failure: null });
      if (perturbation) continue;
      mkdirSync(join(dir, path), { recursive: true });
      execFileSync("tar", ["--zstd", "-xf", join(root, `corpus/captures/${capture}.tar.zst`), "-C", join(dir, path)]);
    }
  }
  writeFileSync(join(dir, "result.json"), JSON.stringify({
    schema: "firstlight.lab/1", clock: "virtual", baseline: "baseline", trials,
    exact: [{ variant: "baseline", same: true, digests: ["0".repeat(64), "0".repeat(64)], difference: null }],
    recording: [{ variant: "baseline", asked: ["initcalls"], cost_ns: 12_000_000 }],
  }));
  return dir;
}

/** A published result, as `lab classics` writes it. */
export function classic() {
  const dir = join(scratch, "classic");
  mkdirSync(dir, { recursive: true });
  const value = (name, published_ns, measured_ns, first) => ({ name, published_ns, measured_ns, published_ratio: published_ns / first[0], measured_ratio: measured_ns === null ? null : measured_ns / first[1] });
  writeFileSync(join(dir, "result.json"), JSON.stringify({
    schema: "firstlight.classics.result/1", id: "quiet", title: "quiet: from the kernel's start to <init>", source: "A talk & its slides, 2014", machine: "arm-virt", here: "as there", why: "another kernel",
    values: [value("without quiet", 2_352_000_000, 1_388_821_888, [2_352_000_000, 1_388_821_888]), value("with quiet", 1_285_000_000, 325_951_944, [2_352_000_000, 1_388_821_888]), value("with a board", 900_000_000, null, [2_352_000_000, 1])],
    failures: [],
  }));
  return dir;
}

/** A run on a board, as `lab run` writes it: five rounds of a baseline and three variants, one of which hangs. */
export function boardRun() {
  const dir = join(scratch, "board");
  const names = ["baseline", "quiet", "plant <b>", "hangs"];
  const length = { baseline: 4_000_000_000, quiet: 3_700_000_000, "plant <b>": 4_040_000_000 };
  const trials = [];
  for (let round = 0; round < 8; round++) {
    for (const variant of names) {
      if (variant === "hangs" && round) continue;
      const path = `trials/${variant}/${round}/capture`;
      const at = variant === "hangs" ? null : length[variant] + ((round * 6_113 + names.indexOf(variant) * 3_307) % 12_000) * 1000;
      trials.push({
        variant, round, attempt: 0, purpose: "boot", begun_unix_ms: 1_760_000_000_000 + trials.length * 7_000,
        first_light_ns: { power_on: at && at + 120_000_000, loader: at }, light_error_ns: 16_000_000, power_error_ns: 6_000_000, off_ns: 5_000_000_000,
        void: at ? null : "hang: the console was silent for 40 s; the last line was `Starting kernel ...`", resets: 0,
        proof: { by: "nonce", expected: `firstlight.nonce=${(trials.length + 7_000_000).toString(16).padStart(8, "0")}`, seen: at !== null },
        state: [{ name: "temperature_c", value: 41 + round / 2 }], capture: `/elsewhere/out/${path}`,
      });
      if (at === null) continue;
      mkdirSync(join(dir, path), { recursive: true });
      const line = (ns, text) => `${(ns / 1e9).toFixed(9)} ${(ns / 1e9).toFixed(9)} ${text}`;
      writeFileSync(join(dir, path, "serial.log"), `${["# firstlight-serial 1", "# power-on 0.200000000 0.206000000", line(3.2e8, "U-Boot SPL 2026.01"), line(8e8, "Starting kernel ..."), line(1.2e9, "[    0.000000] Linux version 6.12.9"), line(at + 3.2e8, "board login: ")].join("\n")}\n`);
      writeFileSync(join(dir, path, "manifest.json"), JSON.stringify({
        firstlight_capture: 1, taken_by: "firstlight lab", machine: "board bench", kernel: "", cmdline: "console=ttyS0",
        clocks: [{ name: "serial", kind: "wall", hz: 1_000_000_000, readings: [] }], marks: [],
        sources: [{ name: "serial log with stamps", format: "serial", file: "serial.log", clock: "serial" }], notes: [],
      }));
    }
  }
  writeFileSync(join(dir, "board.json"), JSON.stringify({
    schema: "firstlight.lab.board/1", clock: "wall", board: "bench", baseline: "baseline", ended: "decided", left: "baseline_proven", cycles: trials.length + 2,
    basis: "loader", minimum_effect: 0.0025, level: 0.00333, looks: [8], trials,
    variants: names.map((variant) => ({ variant, given_up: variant === "hangs" ? "hang: the console was silent for 40 s" : null, loader: variant === "hangs" ? null : { median_ns: length[variant] } })),
    comparison: [["quiet", -300], ["plant <b>", 40]].map(([variant, ms]) => ({ variant, delta_ns: ms * 1e6, interval_ns: [ms * 1e6 - 5e6, ms * 1e6 + 5e6], verdict: ms < 0 ? "faster" : "slower" })),
  }));
  return dir;
}

/** The lab's forecasts of the same variants. */
export function forecast() {
  const dir = join(scratch, "lab");
  mkdirSync(dir, { recursive: true });
  const change = (variant, delta_ns) => ({ variant, delta_ns, interval_ns: null, verdict: delta_ns < 0 ? "faster" : "slower" });
  writeFileSync(join(dir, "result.json"), JSON.stringify({
    schema: "firstlight.lab/1", clock: "virtual", baseline: "baseline", trials: [], variants: [{ variant: "baseline", median_ns: 1_000_000_000 }],
    comparison: [change("quiet", -90_000_000), change("plant <b>", 9_000_000), change("only here", 1)],
  }));
  return dir;
}
