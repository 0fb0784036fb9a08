// What a project depends on: each package with its version and state, and a search inside of packages.

import { get, post } from "./api.js";
import { desk, nameOf } from "./desk.js";
import { count, fill, h, say, visible } from "./dom.js";
import { notIndexed } from "./indexing.js";
import { resultList } from "./results.js";
import { emptyState, errorState, loadingState } from "./states.js";
import { openFile } from "./viewer.js";

export function dependenciesPage(main) {
  const project = desk.chosen;
  const head = h("h1", {}, "Dependencies");
  if (!project?.queryReady) {
    fill(main, h("div", { class: "sheet" }, head, notIndexed(project, desk)));
    return null;
  }
  const place = `projects/${encodeURIComponent(project.id)}/dependencies`;
  const field = h("input", {
    type: "search",
    "data-search": "",
    placeholder: "Search installed packages, and press Enter",
    "aria-label": "Search packages",
    autocomplete: "off",
    spellcheck: "false",
  });
  const packages = h("select", { "aria-label": "Package" }, h("option", { value: "*" }, "Every direct one"));
  const summary = h("p", { class: "summary", role: "status" });
  const listed = h("section", { class: "panel", "aria-label": "Packages" }, loadingState("Reading manifests …"));
  const list = resultList({ onChoose: () => {}, onOpen: (hit) => openFile(project.id, hit), onMore: () => {} });
  const ask = h(
    "form",
    { class: "ask", role: "search", onsubmit: submit },
    h("div", { class: "ask-row" }, h("span", { class: "glass", "aria-hidden": "true" }), field),
    h(
      "div",
      { class: "ask-options" },
      h("label", { class: "filter" }, h("span", { class: "unseen" }, "Package"), packages),
      summary,
    ),
  );
  fill(
    main,
    ask,
    h("div", { class: "sheet" }, head, h("p", { class: "place" }, visible(nameOf(project.path))), list.element, listed),
  );
  let asked = "";
  let turn = 0;

  async function look() {
    try {
      show((await get(place)).dependencies);
    } catch (problem) {
      fill(listed, errorState(problem, look));
    }
  }

  function show(found) {
    const installed = found.filter((one) => one.folder);
    const chosen = packages.value;
    fill(
      packages,
      h("option", { value: "*" }, "Every direct one"),
      installed.map((one) => h("option", { value: nameIn(one) }, `${one.name} ${one.version}`)),
    );
    packages.value = chosen;
    field.disabled = packages.disabled = !installed.length;
    if (!found.length)
      fill(listed, emptyState("No dependencies", "No manifest or lock file of this project names a package."));
    else fill(listed, table(found, installed.length));
  }

  function table(found, installed) {
    const titles = ["Package", "Version", "Named by", "State"];
    return [
      h("h2", {}, "Packages", h("small", {}, `${installed.toLocaleString("en")} of ${found.length.toLocaleString("en")} installed`)),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "List of packages" },
        h(
          "table",
          { class: "packages" },
          h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))),
          h("tbody", {}, found.map(row)),
        ),
      ),
    ];
  }

  const row = (one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.folder ? picker(one) : visible(`${one.ecosystem}/${one.name}`)),
      h("td", {}, visible(one.version || "–")),
      h("td", {}, one.direct ? "the project" : "another package"),
      h("td", {}, visible(stateOf(one))),
    );

  const picker = (one) =>
    h("button", { type: "button", class: "small", onclick: () => pick(one) }, visible(`${one.ecosystem}/${one.name}`));

  function pick(one) {
    packages.value = nameIn(one);
    field.focus();
  }

  async function submit(event) {
    event.preventDefault();
    const query = field.value.trim();
    const wanted = `${packages.value} ${query}`;
    if (!query) return;
    if (wanted === asked && list.length) {
      list.open();
      return;
    }
    const mine = ++turn;
    fill(summary, "Searching; a package that is new takes some seconds …");
    try {
      const answer = await post(`${place}/search`, { q: query, dependency: packages.value });
      if (mine !== turn) return;
      asked = wanted;
      list.show(answer.results, { query, mode: "hybrid", offset: 0, total: answer.results.length });
      fill(summary, [count(answer.results.length, "result"), answer.warning].filter(Boolean).join(". "));
      say(count(answer.results.length, "result"));
      if (!answer.results.length) fill(list.aside, emptyState("Nothing found", "Try other words, or another package."));
      look();
    } catch (problem) {
      if (mine !== turn) return;
      fill(summary);
      list.show([], { query, offset: 0, total: 0 });
      fill(list.aside, errorState(problem));
    }
  }

  function onKey(event) {
    const away = event.target !== field && event.target !== document.body;
    if (document.querySelector("dialog[open]") || (away && event.key !== "Escape")) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      list.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") field.focus();
  }

  document.addEventListener("keydown", onKey);
  look();
  return () => {
    turn += 1;
    document.removeEventListener("keydown", onKey);
  };
}

/** The name that is asked for: an ecosystem too, since two may have a package of the same name. */
const nameIn = (one) => `${one.ecosystem}/${one.name}${one.version ? `@${one.version}` : ""}`;

function stateOf(one) {
  if (!one.folder) return `missing: ${one.missing}`;
  return one.indexed ? "indexed" : "not indexed yet";
}
