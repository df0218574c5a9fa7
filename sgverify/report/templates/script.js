(() => {
  "use strict";
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const said = document.getElementById("said");
  const tools = document.querySelector(".tools");
  const form = tools && tools.querySelector("form");

  // Without a mathematical font, browsers raise exponents too far and do not lower indices: measured, and mended by the style.
  const probe = document.createElement("p");
  probe.innerHTML = "<math><msup><mi>x</mi><mn>2</mn></msup></math>";
  document.body.append(probe);
  const [base, exponent] = all("mi, mn", probe).map((part) => part.getBoundingClientRect());
  const size = parseFloat(getComputedStyle(probe).fontSize);
  document.documentElement.classList.toggle("no-math-font", base.bottom - exponent.bottom > 0.48 * size);
  probe.remove();

  // What can be filtered: rows, cells and evidence that name a scheme, a claim or an outcome.
  const entries = all("[data-claim], [data-outcome], [data-scheme]");
  const texts = new WeakMap();
  // A formula is found by its text in one line, and a power by its usual writing: h^2 for h².
  const raised = { "⁰": "0", "¹": "1", "²": "2", "³": "3", "⁴": "4", "⁵": "5", "⁶": "6", "⁷": "7", "⁸": "8", "⁹": "9", "⁻": "-" };
  const greek = { α: "alpha", β: "beta", δ: "delta", ε: "eps", ζ: "zeta", η: "eta", θ: "theta", ξ: "xi", ρ: "rho", σ: "sigma", τ: "tau", φ: "phi", ψ: "psi", ω: "omega" };
  const plain = (text) => text.toLowerCase()
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+/g, (found) => "^" + [...found].map((sign) => raised[sign]).join(""))
    .replace(/[α-ω]/g, (sign) => greek[sign] || sign)
    .replace(/−/g, "-").replace(/\*\*/g, "^").replace(/\s+/g, " ");
  const textOf = (entry) => {
    if (!texts.has(entry)) {
      const formulas = all("[aria-label]", entry).map((math) => math.getAttribute("aria-label"));
      const attributes = [entry.dataset.scheme, entry.dataset.claim, entry.dataset.outcome];
      texts.set(entry, plain([entry.textContent, ...formulas, ...attributes].join(" ")));
    }
    return texts.get(entry);
  };
  const fits = (entry, wanted) => ["scheme", "claim", "outcome"].every((name) =>
    !wanted[name] || entry.dataset[name] === undefined || entry.dataset[name].split(" ").includes(wanted[name]))
    && (!wanted.text || textOf(entry).includes(wanted.text));

  const narrow = (table) => {
    // A matrix loses the rows and columns in which nothing is left.
    const rows = all("tbody tr", table);
    const kept = rows.map((row) => [...row.cells].slice(1).map((cell) => all("a", cell).some((link) => !link.hidden)));
    const any = kept.some((row) => row.includes(true));
    rows.forEach((row, number) => { row.hidden = any && !kept[number].includes(true); });
    [...table.tHead.rows, ...rows].forEach((row) => [...row.cells].slice(1).forEach((cell, place) => {
      cell.hidden = any && !kept.some((found) => found[place]);
    }));
    const section = table.closest("section");
    if (section) section.hidden = !any;
  };

  const filter = () => {
    const wanted = Object.fromEntries(new FormData(form));
    wanted.text = plain((wanted.text || "").trim());
    const active = Object.values(wanted).some(Boolean);
    let shown = 0;
    for (const entry of entries) {
      entry.hidden = active && !fits(entry, wanted);
      shown += !entry.hidden;
    }
    all("table.matrix").forEach(active ? narrow : (table) => {
      all("tr, td, th", table).forEach((part) => { part.hidden = false; });
      if (table.closest("section")) table.closest("section").hidden = false;
    });
    all("section.claim").forEach((section) => {
      section.hidden = active && !all(".evidence", section).some((entry) => !entry.hidden);
    });
    form.querySelector(".shown").textContent = active ? `${shown} of ${entries.length} shown` : "";
  };

  const folded = () => all("main details");
  const expand = (open) => {
    folded().forEach((part) => { part.open = open; });
    const button = form.elements.expand;
    button.textContent = open ? "fold all" : "expand all";
    button.setAttribute("aria-pressed", String(open));
  };

  if (form && entries.length) {
    tools.hidden = false;
    form.addEventListener("input", filter);
    form.addEventListener("reset", () => setTimeout(filter));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.elements.expand.addEventListener("click", (event) => {
      expand(event.currentTarget.getAttribute("aria-pressed") !== "true");
    });
  }

  // A link to something that is folded, or filtered away, shows it.
  const reveal = () => {
    let name = location.hash.slice(1);
    try { name = decodeURIComponent(name); } catch { /* the hash is no encoded text */ }
    const target = name && document.getElementById(name);
    if (!target) return;
    if (form && target.closest("[hidden]")) form.reset();
    for (let part = target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    setTimeout(() => target.scrollIntoView());
  };
  addEventListener("hashchange", reveal);

  const copied = (text) => {
    const box = document.createElement("textarea");
    box.value = text;
    document.body.append(box);
    box.select();
    const done = document.execCommand("copy");
    box.remove();
    return done ? Promise.resolve() : Promise.reject();
  };
  const copy = (text) => (navigator.clipboard ? navigator.clipboard.writeText(text).catch(() => copied(text)) : copied(text));
  const linked = (place, id, name) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = "copy link";
    button.setAttribute("aria-label", `copy link to ${name}`);
    button.addEventListener("click", () => {
      const link = location.href.split("#")[0] + "#" + id;
      copy(link).then(() => { said.textContent = "link copied"; }, () => { said.textContent = link; });
      setTimeout(() => { said.textContent = ""; }, 4000);
    });
    place.append(" ", button);
  };
  all("main section[id] > h2, main section[id] > h3").forEach((title) => linked(title, title.parentElement.id, title.textContent));
  all(".evidence > .body[id] > p:first-child").forEach((line) => linked(line, line.parentElement.id, line.parentElement.id));
  reveal();
})();
