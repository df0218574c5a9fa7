// Opens the pages of a folder in headless Chromium and prints as JSON what was seen there.
//
//   node open_pages.mjs CHROMIUM LIBRARIES FOLDER SCREENSHOTS PAGE...
//
// LIBRARIES is the folder in whose node_modules puppeteer-core and axe-core are, PAGE a file of FOLDER. SCREENSHOTS is a folder for
// pictures, "" for none. From the first page a link is followed to a piece of evidence, wherever that stands.

import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [chromium, libraries, folder, screenshots, ...pages] = process.argv.slice(2);
const require = createRequire(join(resolve(libraries), "package.json"));
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const LOOKS = {
  desktop: { width: 1280, height: 900, scheme: "light" },
  dark: { width: 1280, height: 900, scheme: "dark" },
  narrow: { width: 390, height: 844, scheme: "light" },
  unfolded: { width: 1280, height: 900, scheme: "light", expanded: true },
};
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

const profile = mkdtempSync(join(tmpdir(), "pages-"));
const browser = await puppeteer.launch({
  executablePath: chromium,
  headless: true,
  userDataDir: profile,
  protocolTimeout: 600000,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--allow-file-access-from-files"],
});

const address = (name) => pathToFileURL(resolve(folder, name)).href;
const shown = (page) => page.$$eval(
  "[data-claim], [data-outcome], [data-scheme]",
  (entries) => entries.filter((entry) => !entry.closest("[hidden]")).length,
);

async function opened(name, look, seen) {
  const page = await browser.newPage();
  page.setDefaultTimeout(600000);
  page.on("console", (message) => { if (message.type() !== "log") seen.console.push(`${name}: ${message.text()}`); });
  page.on("pageerror", (error) => seen.console.push(`${name}: ${error.message}`));
  page.on("request", (request) => { if (!pages.some((one) => request.url().split("#")[0] === address(one))) seen.requests.push(request.url()); });
  await page.setViewport({ width: look.width, height: look.height });
  // What "copy link" hands to the clipboard is kept, since a browser without a window may not have one.
  await page.evaluateOnNewDocument(() => {
    window.handed = [];
    document.addEventListener("copy", () => window.handed.push(String(getSelection()) || document.activeElement.value));
    if (navigator.clipboard) navigator.clipboard.writeText = async (text) => { window.handed.push(text); };
  });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: look.scheme }]);
  await page.goto(address(name));
  return page;
}

async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate((rules) => window.axe.run(document, {
    runOnly: rules, resultTypes: ["violations"], elementRef: false,
  }), RULES);
  return {
    rules: found.passes.length,
    violations: found.violations.map((one) => ({
      id: one.id, impact: one.impact, places: one.nodes.length, first: one.nodes[0].target.join(" "), why: one.nodes[0].failureSummary,
    })),
  };
}

async function filtered(page) {
  // Each filter alone, then none: how many entries are left.
  const left = { all: await shown(page) };
  for (const name of ["scheme", "claim", "outcome"]) {
    const value = await page.evaluate((choice) => {
      const select = document.querySelector(`.tools select[name="${choice}"]`);
      return select && select.options[1].value;
    }, name);
    if (value === null) continue;
    await page.select(`.tools select[name="${name}"]`, value);
    left[name] = await shown(page);
    const wrong = await page.$$eval("[data-claim], [data-outcome], [data-scheme]", (entries, key, wanted) => entries.filter(
      (entry) => !entry.closest("[hidden]") && entry.dataset[key] !== undefined && !entry.dataset[key].split(" ").includes(wanted)).length,
    name, value);
    left[`${name} amiss`] = wrong;
    await page.select(`.tools select[name="${name}"]`, "");
  }
  await page.type(".tools input[type=search]", "eta");
  left.search = await shown(page);
  await page.click(".tools button[type=reset]");
  await page.waitForFunction(() => !document.querySelector(".tools input[type=search]").value);
  await new Promise((done) => setTimeout(done, 50));
  left.cleared = await shown(page);
  return left;
}

async function folded(page) {
  const open = () => page.$$eval("main details", (parts) => parts.filter((part) => part.open).length);
  const count = await page.$$eval("main details", (parts) => parts.length);
  const first = await open();
  await page.click(".tools button[name=expand]");
  const expanded = await open();
  await page.click(".tools button[name=expand]");
  const before = await open();
  return { count, first, expanded, before };
}

async function skipped(page) {
  // The first press of the tabulator shows the link past the contents, and following it leads to the content.
  await page.keyboard.press("Tab");
  const shown = await page.evaluate(() => {
    const place = document.activeElement.getBoundingClientRect();
    return document.activeElement.matches(".skip") && place.left >= 0 && place.right <= innerWidth && place.top >= 0;
  });
  await page.keyboard.press("Enter");
  return { shown, reached: await page.evaluate(() => document.activeElement.id) };
}

async function copied(page) {
  // Each button of the page hands over the address of this page with the name of something that is there, and says so.
  const links = await page.$$eval("button.link", (buttons) => buttons.length);
  await page.$$eval("button.link", (buttons) => buttons.forEach((button) => button.click()));
  await page.waitForFunction(() => document.getElementById("said").textContent);
  return page.evaluate((count) => ({
    links: count,
    right: window.handed.filter((text) => {
      const [place, name] = text.split("#");
      return place === location.href.split("#")[0] && document.getElementById(name);
    }).length,
    said: document.getElementById("said").textContent,
  }), links);
}

const result = { browser: await browser.version(), axe: require("axe-core/package.json").version, pages: {} };
try {
  for (const name of pages) {
    const about = { console: [], requests: [], looks: {} };
    result.pages[name] = about;
    for (const [kind, look] of Object.entries(LOOKS)) {
      const page = await opened(name, look, about);
      if (look.expanded) await page.click(".tools button[name=expand]");
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
      about.looks[kind] = { ...(await violations(page)), overflow: Math.max(0, wide) };
      if (screenshots) await page.screenshot({ path: join(screenshots, `${name.replace(".html", "")}-${kind}.png`) });
      await page.close();
    }
    const page = await opened(name, LOOKS.desktop, about);
    about.skip = await skipped(page);
    about.copied = await copied(page);
    about.filters = await filtered(page);
    about.details = await folded(page);
    about.formulas = await page.$$eval("math", (found) => ({
      count: found.length, named: found.filter((one) => one.closest("[aria-label]")).length,
    }));
    // As it is opened, on paper.
    await page.reload();
    const paper = await page.pdf({ preferCSSPageSize: true, timeout: 0 });
    about.sheets = (Buffer.from(paper).toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length;
    if (screenshots) writeFileSync(join(screenshots, `${name.replace(".html", "")}.pdf`), paper);
    await page.close();
    const plain = await browser.newPage();
    await plain.setJavaScriptEnabled(false);
    await plain.goto(address(name));
    about.withoutScript = { tools: await plain.$eval(".tools", (one) => one.hidden), entries: await shown(plain) };
    await plain.close();
  }
  // From a cell of a matrix, or a finding, to its evidence, which is unfolded there, and back.
  const page = await opened(pages[0], LOOKS.desktop, result.pages[pages[0]]);
  await page.$eval("table.matrix td a, table.findings th a", (link) => link.click());
  await page.waitForFunction(() => document.readyState === "complete" && document.querySelector(":target"));
  result.across = await page.evaluate(() => {
    const target = document.querySelector(":target");
    return { page: location.pathname.split("/").pop(), visible: target.checkVisibility(), open: target.closest("details").open };
  });
  if (result.across.page !== pages[0]) {
    await Promise.all([page.waitForNavigation(), page.$eval(`a[href="${pages[0]}"]`, (link) => link.click())]);
  }
  result.across.back = await page.evaluate(() => location.pathname.split("/").pop());
} finally {
  await browser.close();
  rmSync(profile, { recursive: true, force: true });
}
console.log(JSON.stringify(result, null, 1));
