// Storage, experiments and published results, as a person meets them.
import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { after, before, test } from "node:test";
import { boardRun, classic, experiment, forecast, traced } from "./inputs.mjs";
import { close, launch, open, report, scratch, serious, settled } from "./open.mjs";

const FILES = Array.from({ length: 30 }, (_, n) => ({ inode: 1000 + n, pages: 1 + (n % 4) }));
// Scattered, and one behind the other.
const scattered = (n) => ((n * 7919) % 1000) * 2048;
const inOrder = (n) => 4096 + n * 64;
let one;
let two;
before(async () => {
  const [a, b] = [traced("before.trace", FILES, scattered), traced("after.trace", FILES, inOrder)];
  one = report(a);
  two = report(a, "--against", b);
  await launch();
});
after(async () => {
  await close();
  rmSync(scratch, { recursive: true, force: true });
});

const visible = (page, selector) => page.locator(`.view:not([hidden]) ${selector}`);
const fragment = async (page) => new URLSearchParams((await page.evaluate(() => location.hash)).split("?")[1] ?? "");

test("a file's row and its requests in the picture lead to each other", async () => {
  const page = await open(one, { fragment: "#storage" });
  assert.equal(await page.locator("[aria-label=Color] [aria-pressed=true]").innerText(), "by file");
  assert.match(await visible(page, "section[aria-label=Files] p.about").innerText(), /added to the page cache/);
  const row = visible(page, "section[aria-label=Files] td.name button").filter({ hasText: /^inode 1005 on 8:1$/ });
  await row.click();
  await settled(page);
  assert.equal((await fragment(page)).get("file"), "inode 1005 on 8:1");
  assert.match(await visible(page, ".said").innerText(), /inode 1005 on 8:1: 1 request/);
  assert.match(await visible(page, "tr[aria-current] td.name").innerText(), /inode 1005/);
  await page.getByRole("button", { name: "Show all again" }).click();
  assert.equal(await visible(page, "tr[aria-current]").count(), 0);
  // The other way: somewhere in the picture there is a request; its hint says whose.
  const canvas = visible(page, "section[aria-label='Position on the device'] canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  const tip = visible(page, "section[aria-label='Position on the device'] .tip");
  let name = "";
  for (let x = 90; x < box.width - 10 && !name; x += 9) {
    for (let y = 20; y < box.height - 30 && !name; y += 9) {
      await page.mouse.move(box.x + x, box.y + y);
      if (!(await tip.isVisible())) continue;
      name = /inode \d+ on 8:1/.exec(await tip.innerText())?.[0] ?? "";
      if (name) await page.mouse.click(box.x + x, box.y + y);
    }
  }
  assert.ok(name, "no request is in the picture");
  await settled(page);
  assert.equal(await visible(page, "tr[aria-current] td.name").innerText(), name);
  await page.getByRole("button", { name: "Show in the timeline" }).click();
  await page.waitForSelector(".detail h3");
  const detail = await visible(page, ".detail").innerText();
  for (const word of ["read", name, "requested by"]) assert.ok(detail.includes(word), `${word} in ${detail}`);
  assert.deepEqual(page.wrong, []);
});

test("colors are by file, process or operation, reads and writes can be left out", async () => {
  const page = await open(one, { fragment: "#storage" });
  const picture = () => visible(page, "section[aria-label='Position on the device'] canvas").evaluate((c) => c.toDataURL());
  const seen = new Set([await picture()]);
  for (const name of ["by process", "by operation", "in order", "writes"]) {
    await page.getByRole("button", { name, exact: true }).click();
    await settled(page);
    seen.add(await picture());
  }
  assert.equal(seen.size, 5, "a button changed nothing");
  assert.match(await visible(page, ".legend").innerText(), /read\s*30\s+write\s*1/);
  const again = await open(one, { fragment: `#storage?${await fragment(page)}` });
  assert.equal(await again.locator("[aria-label=Along] [aria-pressed=true]").innerText(), "in order");
  assert.deepEqual([...page.wrong, ...again.wrong], []);
});

test("a layout before and after stands side by side, to one scale", async () => {
  const page = await open(two, { fragment: "#storage", size: [1400, 900] });
  const section = visible(page, "section[aria-label='Before and after']");
  assert.equal(await section.locator("canvas").count(), 2);
  const sums = await section.locator("table.sums").innerText();
  assert.match(sums, /non-sequential requests/);
  assert.match(sums, /total length of their jumps.*-\d+ %/);
  const row = section.locator("tr").filter({ hasText: "inode 1003 on 8:1" });
  assert.match(await row.innerText(), /1\s+1\s+[\d.]+ MiB\s+[\d.]+ MiB/);
  await row.click();
  await settled(page);
  assert.equal((await fragment(page)).get("file"), "inode 1003 on 8:1");
  assert.deepEqual(page.wrong, []);
});

test("an experiment has its boots, and what made the difference both ways", async () => {
  const page = await open(report(experiment()), { fragment: "#compare" });
  const text = await page.locator("main").innerText();
  for (const word of ["Variants", "Each square is a boot", "Booted twice", "identical to the byte", "Recording overhead", "All boots"]) assert.ok(text.includes(word), word);
  await page.getByRole("button", { name: "by critical path" }).click();
  await settled(page);
  assert.equal((await fragment(page)).get("steps"), "path");
  const says = await visible(page, "section[aria-label='What made the difference'] canvas").getAttribute("aria-label");
  assert.match(says, /crypto_algapi_init -\d/);
  assert.match(says, / \+\d/);
  // Nothing of it is named as it is in the lab only: every line of evidence is there.
  await page.locator("#tab-blame").click();
  await visible(page, "td.name button").first().click();
  await page.waitForSelector(".detail pre.evidence");
  assert.deepEqual(page.wrong, []);
});

test("a run on a board shows its variants, why boots are void, and the evidence of each", async () => {
  const run = boardRun();
  const page = await open(report(run), { fragment: "#compare" });
  const section = (name) => visible(page, `section[aria-label='${name}']`);
  const says = await section("Variants on bench").innerText();
  for (const word of ["wall time, from the boot loader's first byte", "every answer was known", "booted to prove it", "faster", "slower", "given up: hang: the console was silent", "A difference counts if", "temperature_c was 41 to 44.5"]) assert.ok(says.includes(word), `${word} in ${says}`);
  const cells = (name) => section("Variants on bench").locator("tbody tr").filter({ has: page.locator("td.name", { hasText: name }) }).locator("td").allInnerTexts();
  const quiet = await cells("quiet");
  // Variant, change, interval, p, verdict, boots, boots needed, void, from power-on, from the loader.
  assert.match(quiet[1], /^-(29|30)\d\.\d ms$/);
  assert.match(quiet[2], /^-\d+\.\d ms to -\d+\.\d ms$/);
  assert.deepEqual([quiet[3], quiet[4], quiet[5], quiet[7]], ["< 0.001", "faster", "8", "0"]);
  assert.match(quiet[6], /^\d+$/);
  assert.match(quiet[9], /^3\.70\d s$/);
  assert.equal((await cells("plant <b>"))[0], "plant <b>");
  assert.match(await section("Void boots").innerText(), /hangs[\s\S]*hang: the console was silent for 40 s[\s\S]*trials\/hangs\/0\/capture/);
  const all = section("All boots");
  assert.equal(await all.locator("tbody tr").count(), 20);
  assert.match(await all.innerText(), /20 of 25/);
  assert.match(await all.locator("tbody tr").first().innerText(), /firstlight\.nonce=006acfc0 seen/);
  assert.match(await all.innerText(), /temperature c/i);
  assert.equal(await visible(page, "section[aria-label^='Forecast of the lab']").count(), 0);
  await page.locator("#tab-overview").click();
  assert.match(await page.locator("main .hero").innerText(), /over 8 boots each: faster/);
  assert.deepEqual(page.wrong, []);
});

test("the lab's forecasts stand beside the board, each clock in a column of its own", async () => {
  const both = report(forecast(), "--against", boardRun());
  for (const size of [[1440, 900], [390, 844]]) {
    const page = await open(both, { fragment: "#compare", size });
    const section = visible(page, "section[aria-label='Forecast of the lab and truth of bench']");
    const heads = await section.locator("th").allInnerTexts();
    assert.deepEqual(heads.map((h) => h.toLowerCase()), ["variant", "lab, virtual", "board, wall", "lab, % of its baseline", "board, % of its baseline", "95 % interval", "verdict of the board"]);
    const row = await section.locator("tbody tr").first().locator("td").allInnerTexts();
    assert.deepEqual([row[0], row[1], row[3], row[6]], ["quiet", "-90.0 ms", "-9.00 %", "faster"]);
    assert.equal(row[2], "-300.0 ms");
    const says = await section.innerText();
    for (const word of ["2 changes", "Only one side booted: only here", "Fewer than three variants"]) assert.ok(says.includes(word), `${word} in ${says}`);
    const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(over <= 0, `${over} px too wide at ${size}`);
    assert.deepEqual(page.wrong, []);
    await page.context().close();
  }
});

test("published results stand beside what they are here", async () => {
  const page = await open(report(classic()));
  const text = await page.locator("main").innerText();
  for (const word of ["quiet: from the kernel's start to <init>", "A talk & its slides, 2014", "published", "measured", "2.352 s", "326.0 ms", "0.546", "0.235", "0.43 x", "not measured", "another kernel"]) assert.ok(text.includes(word), word);
  assert.equal(await page.locator("main canvas").count(), 1);
  assert.deepEqual(page.wrong, []);
});

test("assistive programs find nothing seriously wrong here, either", async () => {
  const list = report(classic());
  const board = report(forecast(), "--against", boardRun());
  for (const colorScheme of ["light", "dark"]) {
    for (const [path, fragment] of [[two, "#storage?file=inode+1003+on+8%3A1"], [list, ""], [board, "#compare"]]) {
      const page = await open(path, { fragment, colorScheme, bypassCSP: true });
      assert.deepEqual(await serious(page), [], `${path}, ${colorScheme}`);
      await page.context().close();
    }
  }
});
