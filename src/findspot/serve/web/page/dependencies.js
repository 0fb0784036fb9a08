// What a project depends on: each package with its version and state, and a search inside of packages.

import { get, post } from "./api.js";
import { desk } from "./desk.js";
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
    h("div", { class: "sheet" }, head, list.element, listed),
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
    if (!installed.length) field.placeholder = "No package is installed here";
    if (!found.length)
      fill(listed, emptyState("No dependencies", "No manifest or lock file of this project names a package."));
    else fill(listed, tables(found));
  }

  /** The packages that the project names first, then those that come with them. */
  function tables(found) {
    const groups = [
      ["Named by the project", found.filter((one) => one.direct)],
      ["Needed by other packages", found.filter((one) => !one.direct)],
    ];
    return groups.filter(([, listedNow]) => listedNow.length).map(([title, listedNow]) => [
      h("h2", {}, title, h("small", {}, `${listedNow.filter((one) => one.folder).length.toLocaleString("en")} of ${listedNow.length.toLocaleString("en")} installed`)),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": title },
        h(
          "table",
          { class: "packages" },
          h("thead", {}, h("tr", {}, ["Package", "Version", "State"].map((name) => h("th", { scope: "col" }, name)))),
          h("tbody", {}, listedNow.map(row)),
        ),
      ),
    ]);
  }

  const row = (one) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, one.folder ? picker(one) : visible(`${one.ecosystem}/${one.name}`)),
      h("td", {}, visible(one.version || "–")),
      h("td", {}, stateOf(one)),
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

/** The state as a tag; the rest of a reason, such as the system that a package is for, stands beside it. */
function stateOf(one) {
  if (one.folder) return h("span", { class: `pill ${one.indexed ? "good" : "none"}` }, one.indexed ? "indexed" : "not indexed yet");
  const [reason, ...rest] = one.missing.split("; ");
  return [h("span", { class: "pill warn" }, visible(reason)), visible(rest.join("; "))];
}
