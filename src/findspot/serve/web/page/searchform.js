// The form of the search page: the field, what to search, and the filters.

import { h } from "./dom.js";

export const CORPORA = [
  ["code", "Code"],
  ["docs", "Docs"],
];
const MODES = [
  ["hybrid", "Meaning and words"],
  ["semantic", "Meaning"],
  ["keyword", "Words"],
  ["regex", "Pattern"],
];
const TESTS = [
  ["auto", "Tests ranked lower"],
  ["yes", "Tests like other code"],
  ["no", "No tests"],
];

const select = (label, name, choices, value) =>
  h(
    "label",
    { class: "filter" },
    h("span", { class: "unseen" }, label),
    h(
      "select",
      { name, "aria-label": label },
      choices.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    ),
  );

/** The form as the address fills it; `onCorpus` is told what to search. */
export function searchForm(project, parameters, onCorpus) {
  const field = h("input", {
    type: "search",
    name: "q",
    "data-search": "",
    placeholder: "Ask a question or type a name",
    autocomplete: "off",
    spellcheck: "false",
    autocapitalize: "off",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "results",
    "aria-label": "Search",
    value: parameters.get("q") || "",
  });
  const corpora = h(
    "div",
    { class: "tabs", role: "group", "aria-label": "What to search" },
    CORPORA.map(([key, text], index) =>
      h(
        "button",
        {
          type: "button",
          "data-corpus": key,
          title: `Alt ${index + 1}`,
          "aria-pressed": "false",
          onclick: () => onCorpus(key),
        },
        text,
      ),
    ),
  );
  const languages = Object.entries(project?.languages || {}).map(([key, files]) => [
    key,
    `${key} (${files.toLocaleString("en")})`,
  ]);
  const filters = h(
    "div",
    { class: "filters", id: "filters", role: "group", "aria-label": "Filters" },
    select("Language", "languages", [["", "Any language"], ...languages], parameters.get("languages")),
    h(
      "label",
      { class: "filter" },
      h("span", { class: "unseen" }, "Path"),
      h("input", {
        name: "path",
        type: "text",
        placeholder: "Path, such as src/**",
        "aria-label": "Path glob",
        autocomplete: "off",
        spellcheck: "false",
        value: parameters.get("path") || "",
      }),
    ),
    select("Match by", "mode", MODES, parameters.get("mode") || "hybrid"),
    select("Tests", "tests", TESTS, parameters.get("tests") || "auto"),
  );
  const summary = h("p", { class: "summary" });
  const narrowed = ["languages", "path", "mode", "tests"].some((name) => parameters.get(name));
  filters.classList.toggle("shown", narrowed);
  const toggle = h(
    "button",
    {
      type: "button",
      class: "filter-toggle",
      "aria-expanded": String(narrowed),
      "aria-controls": "filters",
      onclick: () => toggle.setAttribute("aria-expanded", String(filters.classList.toggle("shown"))),
    },
    "Filters",
  );
  const form = h(
    "form",
    { class: "ask", role: "search", onsubmit: (event) => event.preventDefault() },
    h(
      "div",
      { class: "ask-row" },
      h("span", { class: "glass", "aria-hidden": "true" }),
      field,
      h("kbd", { class: "hint", "aria-hidden": "true" }, "/"),
    ),
    h("div", { class: "ask-options" }, corpora, toggle, filters, summary),
  );
  return { form, field, corpora, filters, summary };
}
