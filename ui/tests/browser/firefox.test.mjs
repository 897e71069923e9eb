// The page in a real Firefox, from a file: Debian's, driven by WebDriver BiDi.
import assert from "node:assert/strict";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { PNG } from "pngjs";
import puppeteer from "puppeteer-core";
import { experiment, traced } from "./inputs.mjs";
import { report, scratch } from "./open.mjs";

const executablePath = ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find(existsSync);
const skip = executablePath ? false : "skipped: there is no Firefox; Debian's `firefox-esr` brings one";
if (skip) console.log(skip);
let browser;
let demo;
before(async () => {
  if (skip) return;
  demo = report(experiment());
  browser = await puppeteer.launch({ browser: "firefox", executablePath, headless: true, timeout: 180_000 });
});
after(async () => {
  await browser?.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** Opens a page; whatever goes wrong in it is kept. */
async function open(path, fragment = "", size = [1280, 800]) {
  const page = await browser.newPage();
  page.wrong = [];
  page.on("pageerror", (e) => page.wrong.push(String(e)));
  // A breach of the content security policy is a message of the console, too.
  page.on("console", (m) => { if (["error", "warn"].includes(m.type())) page.wrong.push(m.text()); });
  await page.evaluateOnNewDocument(() => document.addEventListener("securitypolicyviolation", (e) => console.error(`${e.violatedDirective}: ${e.blockedURI}`)));
  await page.setViewport({ width: size[0], height: size[1] });
  await page.goto(pathToFileURL(path).href + fragment);
  await page.waitForSelector("main .view:not([hidden])");
  await settled(page);
  return page;
}
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 200)))));
const text = (page, selector) => page.$eval(selector, (e) => e.innerText);

/** How many different colors an element shows. */
async function colors(page, selector) {
  const { data } = PNG.sync.read(Buffer.from(await (await page.$(selector)).screenshot()));
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
  return seen.size;
}

test("the first screen is there, and every view opens", { skip }, async () => {
  const page = await open(demo);
  const first = await text(page, "main");
  for (const word of ["10.719", "virtual", "What to change", "Critical path"]) assert.ok(first.includes(word), word);
  for (const tab of await page.$$("[role=tab]")) {
    await tab.click();
    await settled(page);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${await tab.evaluate((t) => t.innerText)} is ${over} px too wide`);
  }
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test("the timeline is drawn, zooms by keys and finds by name", { skip }, async () => {
  const page = await open(demo, "#timeline");
  const canvas = ".view:not([hidden]) .stage canvas";
  assert.ok((await colors(page, canvas)) > 12, "the timeline is blank");
  await page.focus(canvas);
  await page.keyboard.press("0");
  await settled(page);
  const seen = () => page.evaluate(() => { const [a, b] = (new URLSearchParams(location.hash.split("?")[1]).get("t") ?? "0~0").split("~").map(Number); return b - a; });
  const whole = await seen();
  await page.keyboard.press("w");
  await settled(page);
  assert.ok((await seen()) < whole * 0.8);
  await page.keyboard.press("/");
  await page.keyboard.type("journal-flush");
  await page.waitForFunction(() => document.querySelector(".detail h3")?.textContent === "systemd-journal-flush.service");
  const detail = await text(page, ".view:not([hidden]) .detail");
  for (const word of ["duration", "evidence", "Ordered after", "waited for this one"]) assert.ok(detail.includes(word), word);
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test("dark is another ground, and pictures follow it", { skip }, async () => {
  const page = await open(demo, "#timeline");
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const corner = () => page.$eval(".view:not([hidden]) .stage canvas", (c) => [...c.getContext("2d").getImageData(c.width - 30, 10, 1, 1).data].join());
  const press = (label) => page.evaluate((wanted) => [...document.querySelectorAll("button.theme")].find((b) => b.textContent.includes(wanted)).click(), label);
  await press("Auto");
  await settled(page);
  const light = [await ground(), await corner()];
  await press("Light");
  await settled(page);
  const dark = [await ground(), await corner()];
  assert.notEqual(dark[0], light[0]);
  assert.notEqual(dark[1], light[1]);
  assert.deepEqual(page.wrong, []);
  await page.close();
});

test("a seek picture is drawn, and a compressed data block is read", { skip }, async () => {
  const files = Array.from({ length: 6000 }, (_, n) => ({ inode: 1000 + n, pages: 1 }));
  const path = report(traced("many.trace", files, (n) => ((n * 7919) % 6000) * 64));
  assert.match(readFileSync(path, "utf8"), /id="data">\{"encoding":"gzip"/);
  const page = await open(path, "#storage");
  assert.ok((await colors(page, ".view:not([hidden]) section[aria-label='Position on the device'] canvas")) > 8, "the picture is blank");
  assert.deepEqual(page.wrong, []);
  await page.close();
});
