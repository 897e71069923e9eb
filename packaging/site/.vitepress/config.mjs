// The site: `./x docs` lays the pages out in target/site/pages and names them in
// target/site/sidebar.json.
import { readFileSync } from "node:fs";
import { defineConfig } from "vitepress";

const folder = process.env.FIRSTLIGHT_SITE;
const { version, sidebar } = JSON.parse(readFileSync(`${folder}/sidebar.json`, "utf8"));

export default defineConfig({
  title: "Firstlight",
  description: "Where every millisecond of a Linux boot goes, and how to get it back",
  lang: "en-US",
  srcDir: `${folder}/pages`,
  outDir: `${folder}/out`,
  cacheDir: `${folder}/cache`,
  base: process.env.FIRSTLIGHT_SITE_BASE ?? "/",
  cleanUrls: false,
  // Nothing is fetched from elsewhere, so the site works offline.
  markdown: { html: false, theme: { light: "github-light", dark: "github-dark" } },
  themeConfig: {
    search: { provider: "local" },
    nav: [
      { text: "Install", link: "/install" },
      { text: "Findings", link: "/findings/" },
      { text: "Commands", link: "/commands" },
      { text: "Gallery", link: "/gallery" },
      { text: version, link: "/changelog" },
    ],
    sidebar,
    outline: { level: [2, 3] },
    socialLinks: [{ icon: "github", link: "https://github.com/firstlight-boot/firstlight" }],
    footer: { message: "MIT or Apache-2.0. This site sets no cookies and counts no visitors." },
  },
});
