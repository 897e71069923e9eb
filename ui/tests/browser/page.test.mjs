// What a person does with a page.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";
import { close, file, launch, open, program, report, root, sample, scratch, serious, settled } from "./open.mjs";

const A = "corpus/captures/v1-debian.tar.zst";
const B = "corpus/captures/v1-debian-all.tar.zst";
let one;
let two;
before(async () => {
  one = report(A);
  two = report(A, "--against", B);
  await launch();
});
after(async () => {
  await close();
  rmSync(scratch, { recursive: true, force: true });
});

const canvas = (page) => page.locator(".view:not([hidden]) .stage canvas").first();
const visible = (page, selector) => page.locator(`.view:not([hidden]) ${selector}`);
const fragment = (page) => page.evaluate(() => location.hash);
const seen = async (page) => {
  const t = new URLSearchParams((await fragment(page)).split("?")[1] ?? "").get("t") ?? "0~0";
  const [from, to] = t.split("~").map(Number);
  return { from, to, length: to - from };
};

test("the first screen says how long, where it went and what to do", async () => {
  const page = await open(one);
  const text = await page.locator("main").innerText();
  for (const word of ["10.719", "virtual", "first-light", "decompression", "What to change", "Critical path", "systemd-journal-flush.service"]) assert.ok(text.includes(word), word);
  assert.ok(await page.evaluate(() => document.documentElement.classList.contains("virtual")));
  assert.deepEqual(page.wrong, []);
});

test("every view opens, and nothing is wider than the screen", async () => {
  for (const size of [[1440, 900], [1024, 700], [390, 844]]) {
    const page = await open(two, { size });
    const tabs = await page.locator("[role=tab]").allInnerTexts();
    assert.ok(tabs.length >= 6, String(tabs));
    for (let i = 0; i < tabs.length; i++) {
      await page.locator("[role=tab]").nth(i).click();
      await settled(page);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(over <= 0, `${tabs[i]} is ${over} px too wide at ${size}`);
    }
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }
});

test("the timeline zooms, pans and fits", async () => {
  const page = await open(one, { fragment: "#timeline" });
  const c = canvas(page);
  await c.focus();
  await page.keyboard.press("0");
  await settled(page);
  const all = await seen(page);
  await page.keyboard.press("w");
  await settled(page);
  const closer = await seen(page);
  assert.ok(closer.length < all.length * 0.8);
  await page.keyboard.press("d");
  await settled(page);
  const right = await seen(page);
  assert.ok(right.from > closer.from && Math.abs(right.length - closer.length) < 10);
  const box = await c.boundingBox();
  await page.mouse.move(box.x + 600, box.y + 200);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await settled(page);
  const wheeled = await seen(page);
  assert.ok(wheeled.length < right.length);
  await page.mouse.move(box.x + 700, box.y + 300);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 300, { steps: 5 });
  await page.mouse.up();
  await settled(page);
  assert.ok((await seen(page)).from > wheeled.from);
  await page.keyboard.press("0");
  await settled(page);
  assert.deepEqual(await seen(page), all);
  assert.deepEqual(page.wrong, []);
});

test("a search jumps, and a link brings it back", async () => {
  const page = await open(one, { fragment: "#timeline" });
  await page.keyboard.press("/");
  await page.keyboard.type("journal-flush");
  await page.waitForFunction(() => document.querySelector(".detail h3")?.textContent === "systemd-journal-flush.service");
  const text = await visible(page, ".detail").innerText();
  for (const word of ["duration", "evidence", "Ordered after", "waited for this one"]) assert.ok(text.includes(word), `${word} in ${text}`);
  await settled(page);
  const link = await fragment(page);
  const again = await open(one, { fragment: link });
  assert.equal(await visible(again, ".detail h3").innerText(), "systemd-journal-flush.service");
  assert.equal(await visible(again, "input[type=search]").inputValue(), "journal-flush");
  assert.deepEqual([...page.wrong, ...again.wrong], []);
});

test("a click shows what was clicked, with its line of the source", async () => {
  const page = await open(one, { fragment: "#blame?kind=initcall" });
  await visible(page, "td.name button").first().click();
  await page.waitForSelector(".detail h3");
  const name = await visible(page, ".detail h3").innerText();
  assert.match(await visible(page, ".detail pre.evidence").innerText(), new RegExp(name.split(" ")[0]));
  const box = await canvas(page).boundingBox();
  // The interval is in the middle of the picture: find it there by its hint.
  await page.keyboard.press("Escape");
  let hit = false;
  for (let y = 60; y < box.height && !hit; y += 6) {
    await page.mouse.move(box.x + (box.width + 200) / 2, box.y + y);
    hit = await visible(page, ".tip").isVisible() && (await visible(page, ".tip").innerText()).includes(name);
    if (hit) await page.mouse.click(box.x + (box.width + 200) / 2, box.y + y);
  }
  assert.ok(hit, `${name} is not where it was shown`);
  await settled(page);
  assert.equal(await visible(page, ".detail h3").innerText(), name);
  assert.deepEqual(page.wrong, []);
});

test("a slider moves the forecast of first light", async () => {
  const page = await open(one, {});
  const row = visible(page, ".levers li").first();
  const before = await row.locator(".says b").innerText();
  const slider = row.locator("input[type=range]");
  await slider.focus();
  await page.keyboard.press("Home");
  const gone = await row.locator(".says").innerText();
  assert.match(gone, /^0 s/);
  const after = await row.locator(".says b").innerText();
  assert.notEqual(after, before);
  await page.keyboard.press("End");
  assert.equal(await row.locator(".says b").innerText(), before);
  assert.deepEqual(page.wrong, []);
});

test("a range has its blame", async () => {
  const page = await open(one, { fragment: "#timeline" });
  const box = await canvas(page).boundingBox();
  await page.mouse.move(box.x + 500, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + 900, box.y + 12, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  assert.match(await visible(page, ".detail").innerText(), /What took most of this range/);
  assert.ok((await visible(page, ".detail tbody tr").count()) > 3);
  assert.match(await fragment(page), /sel=range/);
});

test("tables sort and filter", async () => {
  const page = await open(one, { fragment: "#blame?kind=unit" });
  const first = () => visible(page, "tbody td.name").first().innerText();
  const longest = await first();
  await visible(page, "th button").filter({ hasText: /^time$/ }).click();
  assert.notEqual(await first(), longest);
  assert.equal(await visible(page, "th[aria-sort]").getAttribute("aria-sort"), "ascending");
  await visible(page, "input[type=search]").fill("udev");
  const names = await visible(page, "tbody td.name").allInnerTexts();
  assert.ok(names.length > 0 && names.every((n) => n.includes("udev")), String(names));
});

test("two boots are compared", async () => {
  const page = await open(two, { fragment: "#compare" });
  const text = await visible(page, "section").allInnerTexts();
  assert.ok(text.some((t) => t.includes("What made the difference")) && text.some((t) => t.includes("Side by side")) && text.some((t) => t.includes("crypto_algapi_init")));
  await page.locator("select[aria-label='Align at']").selectOption("userspace-start");
  await settled(page);
  assert.match(await fragment(page), /mark=userspace-start/);
  assert.deepEqual(page.wrong, []);
});

test("requests play as a movie", async () => {
  const trace = sample("blktrace/keks.blktrace.0");
  if (!trace) return;
  const page = await open(report(...Array.from({ length: 8 }, (_, i) => trace.replace(/0$/, String(i)))), { fragment: "#storage" });
  const slider = page.locator("input[type=range]");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => Number(document.querySelector("input[type=range]").value) < 900);
  const at = Number(await slider.inputValue());
  await page.waitForFunction((was) => Number(document.querySelector("input[type=range]").value) > was, at);
  await page.getByRole("button", { name: "Pause" }).click();
  assert.deepEqual(page.wrong, []);
});

test("dark, light and the system's choice differ", async () => {
  const page = await open(one, { colorScheme: "dark" });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const dark = await ground();
  const theme = page.locator("button.theme");
  assert.match(await theme.innerText(), /Auto/);
  await theme.click();
  const light = await ground();
  assert.notEqual(dark, light);
  await theme.click();
  assert.match(await theme.innerText(), /Dark/);
  assert.equal(await ground(), dark);
});

test("everything can be reached with the keyboard", async () => {
  const page = await open(one);
  const at = () => page.evaluate(() => document.activeElement?.textContent ?? "");
  await page.keyboard.press("Tab");
  assert.equal(await at(), "Overview");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.equal(await page.evaluate(() => location.hash.split("?")[0]), "#timeline");
  let reached = false;
  for (let i = 0; i < 30 && !reached; i++) {
    await page.keyboard.press("Tab");
    reached = await page.evaluate(() => document.activeElement?.getAttribute("role") === "application");
  }
  assert.ok(reached, "the timeline cannot be reached");
  await page.keyboard.press("n");
  await page.keyboard.press("n");
  await settled(page);
  assert.ok(await visible(page, ".detail h3").isVisible());
  assert.match(await page.locator("[aria-live=polite].visually-hidden").first().innerText(), /starts at/);
  await page.keyboard.press("Escape");
  await settled(page);
  assert.ok(!(await visible(page, ".detail").isVisible()));
  assert.deepEqual(page.wrong, []);
});

test("it prints on few pages, every view of it", async () => {
  const page = await open(one);
  const pdf = await page.pdf({ format: "A4" });
  const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  assert.ok(pages >= 3 && pages <= 30, `${pages} pages`);
  assert.deepEqual(page.wrong, []);
});

test("pictures can be had as PNG and SVG, of every view that shows more than text", async () => {
  const shows = { overview: /decompression/, timeline: /dev-nbd0\.device/, compare: /baseline|v1-debian/, blame: /systemd-journal-flush\.service|crypto_algapi_init/ };
  for (const [view, known] of Object.entries(shows)) {
    const page = await open(two, { fragment: `#${view}`, permissions: [] });
    for (const kind of ["PNG", "SVG"]) {
      const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: `Copy as ${kind}` }).first().click()]);
      const bytes = readFileSync(await saved.path());
      if (kind === "PNG") assert.equal(bytes.toString("latin1", 1, 4), "PNG", view);
      else {
        const text = bytes.toString();
        assert.match(text, /^<svg [\s\S]*<\/svg>\n$/, view);
        assert.match(text, known, view);
      }
    }
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }
});

test("names that look like markup are shown as text", async () => {
  const names = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "\"'`&amp;", "\u0001\u001b[31m", "\u202egnp.exe", "{{data}}", "javascript:alert(3)"];
  const lines = names.flatMap((n, i) => [`[    0.${i + 1}00000] calling  ${n}+0x0/0x10 @ 1`, `[    0.${i + 1}90000] initcall ${n}+0x0/0x10 returned 0 after 90000 usecs`, `[    0.${i + 1}95000] ${n}`]);
  const log = file("hostile <b>'\"&.log", ["[    0.000000] Linux version 6.1.0 (<b>x</b>) #1", "[    0.000000] Kernel command line: quiet <i>a</i>", ...lines, "[    0.990000] Run /sbin/init as init process"].join("\n") + "\n");
  const path = report(log);
  const page = await open(path);
  for (const tab of await page.locator("[role=tab]").all()) {
    await tab.click();
    await settled(page);
    const odd = await page.evaluate(() => [...document.querySelectorAll("main img, main script, main b *, main i *, main a, iframe")].map((e) => e.outerHTML));
    assert.deepEqual(odd, []);
  }
  assert.equal(await page.evaluate(() => document.scripts.length), 2);
  const text = await page.evaluate(() => { for (const v of document.querySelectorAll(".view")) v.hidden = false; return document.body.innerText; });
  for (const n of names.slice(0, 3)) assert.ok(text.includes(n), n);
  assert.ok(!text.includes("\u202e") && !text.includes("\u0001"));
  await page.locator("[role=tab]").nth(1).click();
  await page.keyboard.press("/");
  await page.keyboard.type("<img");
  await settled(page);
  assert.deepEqual(page.wrong, []);
});

test("assistive programs find nothing seriously wrong", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(two, { colorScheme, bypassCSP: true });
    for (const tab of await page.locator("[role=tab]").all()) {
      await tab.click();
      await settled(page);
      assert.deepEqual(await serious(page), [], `${await tab.innerText()}, ${colorScheme}`);
    }
    await page.context().close();
  }
});

test("the pages of real boots open", async () => {
  const inputs = [["dmesg/x13s-dmesg.txt"], ["bootchart/f11_bootchart.tgz"], ["systemd/fedora32-bootup.svg"], ["serial/grabserial-beaglebone.log"], ["kft/kft-raw-excerpt.txt"]];
  for (const names of inputs) {
    const paths = names.map(sample);
    if (paths.includes(null)) continue;
    const page = await open(report(...paths));
    for (const tab of await page.locator("[role=tab]").all()) {
      await tab.click();
      await settled(page);
      assert.ok((await visible(page, "*").count()) > 5, names[0]);
    }
    assert.deepEqual(page.wrong, [], names[0]);
    await page.context().close();
  }
});

test("a folder is served: a list, and a page behind each entry", async () => {
  const server = spawn(program, ["serve", join(root, "corpus"), "--bind", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await new Promise((done) => server.stdout.once("data", (d) => done(String(d).trim())));
    const context = await (await launch()).newContext();
    // The server is built without optimization, and may share its processor with other work.
    context.setDefaultTimeout(240_000);
    const page = await context.newPage();
    const wrong = [];
    page.on("pageerror", (e) => wrong.push(String(e)));
    await page.goto(url);
    await page.waitForSelector("table");
    const names = () => page.locator("tbody td.name").allInnerTexts();
    await page.getByRole("button", { name: "name", exact: true }).click();
    const sorted = await names();
    assert.deepEqual(sorted, sorted.toSorted((a, b) => a.localeCompare(b, "en")));
    await page.getByRole("button", { name: "name", exact: true }).click();
    assert.notDeepEqual(await names(), sorted);
    await page.locator("input[type=search]").fill("captures");
    assert.ok((await names()).every((n) => n.includes("captures")));
    await page.locator("input[type=checkbox]").nth(0).check();
    await page.locator("input[type=checkbox]").nth(1).check();
    await page.getByRole("link", { name: /^Compare/ }).click();
    await page.waitForSelector("[role=tab]");
    assert.match(await page.locator("[role=tablist]").innerText(), /Comparison/);
    for (const path of ["page?path=../Cargo.toml", "page?path=/etc/passwd", "page", "nothing"]) assert.equal((await context.request.get(url + path)).status(), 404, path);
    assert.equal((await context.request.post(url)).status(), 405);
    assert.deepEqual(wrong, []);
  } finally {
    server.kill();
  }
});

test("pages look as they did", async () => {
  const references = fileURLToPath(new URL("references/", import.meta.url));
  const shots = [["overview", one, "", {}], ["timeline", one, "#timeline", {}], ["compare-dark", two, "#compare", { colorScheme: "dark" }], ["phone", one, "", { size: [390, 700] }]];
  for (const [name, path, at, options] of shots) {
    const page = await open(path, { fragment: at, size: [960, 640], ...options });
    const now = PNG.sync.read(await page.screenshot());
    const kept = join(references, `${name}.png`);
    if (process.env.FIRSTLIGHT_BLESS || !existsSync(kept)) {
      writeFileSync(kept, PNG.sync.write(now));
      continue;
    }
    const was = PNG.sync.read(readFileSync(kept));
    assert.deepEqual([now.width, now.height], [was.width, was.height]);
    const apart = pixelmatch(now.data, was.data, null, now.width, now.height, { threshold: 0.2 });
    const share = apart / (now.width * now.height);
    // Another version of the fonts moves letters a little.
    if (share > 0.06) writeFileSync(join(root, "target", `${name}.now.png`), PNG.sync.write(now));
    assert.ok(share <= 0.06, `${name}: ${(share * 100).toFixed(1)} % of it differs; see target/${name}.now.png`);
    await page.context().close();
  }
});
