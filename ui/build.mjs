// Builds the page that `views` embeds: one file, without its title and data.
//
//   node build.mjs            writes ../crates/views/page/index.html
//   node build.mjs --check    says whether what is there is what this gives
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const target = here("../crates/views/page/index.html");

const output = await build({
  root: here("."),
  configFile: false,
  logLevel: "warn",
  build: {
    write: false,
    target: "es2022",
    cssMinify: true,
    minify: true,
    modulePreload: false,
    lib: { entry: here("src/main.ts"), name: "firstlight", formats: ["iife"], cssFileName: "page" },
  },
});
const files = (Array.isArray(output) ? output : [output]).flatMap((o) => o.output);
const script = files.find((f) => f.type === "chunk").code.trim();
const style = String(files.find((f) => f.fileName.endsWith(".css")).source).trim();
if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) throw new Error("the bundle would end its element");
if (script.includes("{{title}}") || script.includes("{{data}}")) throw new Error("the bundle names a slot");

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const put = { style, script, "style-hash": hash(style), "script-hash": hash(script) };
const page = readFileSync(here("page.html"), "utf8").replace(/\{\{([a-z-]+)\}\}/g, (slot, name) => put[name] ?? slot);

if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("crates/views/page/index.html is not what ui/ gives: run `./x bless`, and commit it");
    process.exit(1);
  }
} else {
  writeFileSync(target, page);
  console.log(`${target}: ${page.length} bytes`);
}
