// Pages of a million events, a kernel log's and a block trace's: how long each
// takes to make, how large it is, how soon it shows, how fluently it moves; and
// an ordinary boot's. `./x bench ui` runs this.
import { execFileSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { close, launch, program, root, scratch } from "./browser/open.mjs";

const inputs = process.argv.slice(2);
if (!inputs.length) inputs.push(...["target/bench/million.log", "target/bench/million.blkparse", "corpus/captures/v1-debian.tar.zst"].map((p) => join(root, p)));
const round = (n, digits = 2) => n.toFixed(digits);

for (const input of inputs.filter(existsSync)) {
  const out = join(scratch, "million.html");
  const begun = performance.now();
  execFileSync(program, ["report", input, "-o", out]);
  const made = (performance.now() - begun) / 1000;
  const page = await (await launch()).newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${pathToFileURL(out).href}#timeline`);
  await page.waitForSelector(".stage canvas");
  const first = await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(performance.now())))));
  const canvas = page.locator(".stage canvas").first();
  await canvas.focus();
  const fps = await page.evaluate(async () => {
    const canvas = document.querySelector(".stage canvas");
    const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const rates = {};
    for (const [name, zooms] of [["whole", 0], ["closer", 6], ["closest", 14]]) {
      press("0");
      for (let i = 0; i < zooms; i++) press("w");
      let frames = 0;
      const begun = performance.now();
      while (performance.now() - begun < 2000) {
        press(frames % 16 < 8 ? "ArrowRight" : "ArrowLeft");
        await new Promise((done) => requestAnimationFrame(done));
        frames++;
      }
      rates[name] = frames / ((performance.now() - begun) / 1000);
    }
    return rates;
  });
  // The seek picture, where there is one: from the click to the picture.
  const seek = await page.evaluate(async () => {
    const tab = document.getElementById("tab-storage");
    if (!tab) return null;
    const begun = performance.now();
    tab.click();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))));
    return performance.now() - begun;
  });
  await page.close();
  console.log(`${input}`);
  console.log(`  made in ${round(made)} s, ${round(statSync(out).size / 1e6)} MB`);
  console.log(`  first picture after ${round(first / 1000)} s; panning at ${Object.entries(fps).map(([name, n]) => `${round(n, 0)} (${name})`).join(", ")} frames a second`);
  if (seek !== null) console.log(`  seek picture ${round(seek / 1000)} s after the click`);
}
await close();
