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
