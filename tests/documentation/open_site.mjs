// Opens every page of the documentation site in headless Chromium, and asks its search; prints as JSON what was seen.
//
//   node open_site.mjs CHROMIUM LIBRARIES SITE QUESTIONS [PAGE...]
//
// LIBRARIES is the folder in whose node_modules puppeteer-core and axe-core are, SITE the folder of the built site, QUESTIONS a JSON
// list of texts that are typed into its search box. Without PAGE every page is opened.

import { createRequire } from "node:module";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [chromium, libraries, site, questions, ...chosen] = process.argv.slice(2);
const require = createRequire(join(resolve(libraries), "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const root = resolve(site);

const LOOKS = {
  wide: { width: 1280, height: 900, scheme: "light" },
  dark: { width: 1280, height: 900, scheme: "dark", rules: ["color-contrast"] },
  narrow: { width: 390, height: 844, scheme: "light" },
};
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const profile = mkdtempSync(join(tmpdir(), "site-"));
const browser = await puppeteer.launch({
  executablePath: chromium,
  headless: true,
  userDataDir: profile,
  protocolTimeout: 600000,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files"],
});

const pages = chosen.length ? chosen : readdirSync(root, { recursive: true })
  // The page of what is not there is for servers: its links begin at their root.
  .filter((name) => name.endsWith(".html") && name !== "404.html").sort();
const address = (name) => pathToFileURL(join(root, name)).href;
const seen = { browser: await browser.version(), axe: require("axe-core/package.json").version, pages: {}, search: {} };
const links = {};
const anchors = {};

for (const name of pages) {
  process.stderr.write(`${name}\n`);
  const about = (seen.pages[name] = { console: [], requests: [], looks: {} });
  for (const [kind, look] of Object.entries(LOOKS)) {
    // A context of its own: the theme remembers the colours of the page before.
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    page.setDefaultTimeout(600000);
    page.on("console", (message) => { if (message.type() === "error") about.console.push(message.text()); });
    page.on("pageerror", (error) => about.console.push(error.message));
    page.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) about.requests.push(request.url()); });
    await page.setViewport({ width: look.width, height: look.height });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look.scheme }, { name: "prefers-reduced-motion", value: "reduce" }]);
    await page.goto(address(name));
    await page.evaluate(axe);
    about.looks[kind] = await page.evaluate(async (rules) => {
      const cut = [...document.querySelectorAll("pre, pre > code")].filter((one) => one.scrollWidth > one.clientWidth + 1 && one.clientWidth);
      const checked = await window.axe.run(document, { runOnly: rules, resultTypes: ["violations"], elementRef: false });
      return {
        overflow: Math.max(0, document.scrollingElement.scrollWidth - innerWidth),
        blocks: document.querySelectorAll("pre").length,
        cut: cut.map((one) => one.textContent.trim().slice(0, 60)),
        rules: checked.passes.length,
        violations: checked.violations.map((one) => ({
          id: one.id, places: one.nodes.length, first: one.nodes[0].target.join(" "), why: one.nodes[0].failureSummary,
        })),
      };
    }, look.rules || RULES);
    if (kind === "wide") {
      links[name] = await page.$$eval("a[href], img[src]", (all) => all.map((one) => one.href || one.src));
      anchors[name] = new Set(await page.$$eval("[id], a[name]", (all) => all.map((one) => one.id || one.name)));
    }
    await context.close();
  }
}

for (const name of pages) {
  const about = seen.pages[name];
  const here = [...new Set(links[name])].filter((link) => link.startsWith("file:"));
  about.links = here.length;
  about.broken = here.filter((link) => {
    const [place, anchor] = link.split("#");
    const file = fileURLToPath(place);
    const target = relative(root, file);
    if (!existsSync(file)) return true;
    return anchor && target in anchors && !anchors[target].has(decodeURIComponent(anchor));
  }).map((link) => decodeURIComponent(link.replace(pathToFileURL(root).href, "")));
}

for (const question of JSON.parse(questions)) {
  const page = await browser.newPage();
  await page.setViewport({ width: 1280, height: 900 });
  await page.goto(address("index.html"));
  await page.click(".md-search__input");
  await page.type(".md-search__input", question);
  // The first answers may come while words are typed: those of the whole question are there when nothing changes any more.
  const read = () => page.$$eval(".md-search-result__item", (items) => items.slice(0, 3).map(
    (item) => [...item.querySelectorAll("a.md-search-result__link")].map((link) => link.href)));
  let found = [];
  for (let tries = 0, same = 0; tries < 100 && same < 5; tries += 1) {
    await new Promise((done) => setTimeout(done, 100));
    const now = await read();
    same = now.length && JSON.stringify(now) === JSON.stringify(found) ? same + 1 : 0;
    found = now;
  }
  seen.search[question] = found.map((item) => item.map((link) => link.replace(`${pathToFileURL(root).href}/`, "").replace(/\?[^#]*/, "")));
  await page.close();
}
await browser.close();
rmSync(profile, { recursive: true, force: true });
console.log(JSON.stringify(seen, null, 1));
