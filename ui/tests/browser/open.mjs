// What the browser tests share: pages made by the program, and a browser.
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const scratch = mkdtempSync(join(tmpdir(), "firstlight-page-"));
export const program = resolve(root, process.env.FIRSTLIGHT ?? "target/debug/firstlight");
const samples = process.env.FIRSTLIGHT_SAMPLES ?? resolve(root, "../shared/samples");

/** A sample's path; null, with a line that says so, if it is not there. */
export function sample(name) {
  const path = join(samples, name);
  if (existsSync(path)) return path;
  console.log(`skipped: ${path} is not there`);
  return null;
}

let pages = 0;
/** The page of some inputs. */
export function report(...inputs) {
  const out = join(scratch, `${pages++}.html`);
  execFileSync(program, ["report", ...inputs.map((i) => (/^[-\/]/.test(i) ? i : join(root, i))), "-o", out]);
  return out;
}

export function file(name, text) {
  const path = join(scratch, name);
  writeFileSync(path, text);
  return path;
}

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
let browser;
export async function launch() {
  if (!executablePath) throw new Error("there is no Chromium: install Debian's `chromium`");
  browser ??= await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb", "--font-render-hinting=none"] });
  return browser;
}
export async function close() { await browser?.close(); }

/** Opens a page; whatever goes wrong in it, or leaves it, is kept. */
export async function open(path, { fragment = "", size = [1280, 800], ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: size[0], height: size[1] }, ...options });
  const page = await context.newPage();
  page.wrong = [];
  page.on("pageerror", (e) => page.wrong.push(String(e)));
  page.on("console", (m) => { if (m.type() === "error") page.wrong.push(m.text()); });
  page.on("dialog", (d) => { page.wrong.push(`a dialog: ${d.message()}`); d.dismiss(); });
  page.on("request", (r) => { if (!/^(file|data|blob):/.test(r.url())) page.wrong.push(`asked for ${r.url()}`); });
  await page.goto(path.includes("://") ? path : pathToFileURL(path).href + fragment);
  await page.waitForSelector("main .view:not([hidden]), main section");
  await settled(page);
  return page;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** What of a page, opened with `bypassCSP`, is seriously in the way of assistive programs. */
export async function serious(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => `${n.html} ${n.any[0]?.message ?? ""}`).join(" | ")}`);
}

/** Until what was asked to be drawn is drawn. */
export const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 160)))));
