// The catalogue: the tools of MCP servers, by server, each with what it takes.

import { get } from "./api.js";
import { route } from "./desk.js";
import { ago, count, fill, h, visible } from "./dom.js";
import { lineElements } from "./highlight.js";
import { resultList } from "./results.js";
import { emptyState, errorState, loadingState, ticked } from "./states.js";

export function toolsPage(main) {
  const field = h("input", {
    type: "search",
    "data-search": "",
    placeholder: "Filter by what a tool does",
    "aria-label": "Filter tools",
    autocomplete: "off",
    spellcheck: "false",
  });
  const servers = h("select", { "aria-label": "Server" }, h("option", { value: "" }, "Every server"));
  const summary = h("p", { class: "summary" });
  const pane = h("section", { class: "pane", "aria-label": "Chosen tool" });
  const list = resultList({
    onChoose: choose,
    onOpen: () => pane.querySelector(".code")?.focus(),
    onMore: () => {},
  });
  const ask = h(
    "form",
    { class: "ask", role: "search", onsubmit: (event) => event.preventDefault() },
    h("div", { class: "ask-row" }, h("span", { class: "glass", "aria-hidden": "true" }), field),
    h(
      "div",
      { class: "ask-options" },
      h("label", { class: "filter" }, h("span", { class: "unseen" }, "Server"), servers),
      summary,
    ),
  );
  fill(
    main,
    h("h1", { class: "unseen" }, "Tools"),
    ask,
    h("div", { class: "columns" }, h("div", { class: "found" }, list.element), pane),
  );
  fill(list.aside, loadingState("Reading the catalogue …"));
  let turn = 0;
  let wanted = route().parameters.get("server") || "";

  async function look() {
    const mine = ++turn;
    try {
      const answer = await get("tools", { q: field.value.trim(), server: wanted || servers.value });
      if (mine === turn) show(answer);
    } catch (problem) {
      list.show([], { query: "", offset: 0, total: 0, tools: true });
      fill(list.aside, errorState(problem, look));
    }
  }

  function show(answer) {
    list.show(answer.tools, {
      query: field.value.trim(),
      mode: "keyword",
      offset: 0,
      total: answer.total,
      tools: true,
    });
    if (answer.missing) {
      fill(pane);
      fill(
        list.aside,
        h(
          "div",
          { class: "state" },
          h("h2", {}, answer.missing.userMessage),
          h("p", {}, ticked(answer.missing.hint)),
        ),
      );
      return;
    }
    if (servers.options.length === 1)
      servers.append(
        ...Object.entries(answer.servers).map(([name, number]) =>
          h("option", { value: name }, `${name} (${number})`),
        ),
      );
    if (wanted) servers.value = wanted;
    wanted = "";
    fill(
      summary,
      `${answer.tools.length < answer.total ? `${answer.tools.length} of ` : ""}${count(answer.total, "tool")} of ${count(Object.keys(answer.servers).length, "server")}`,
      answer.updatedAt ? [" · indexed ", ago(answer.updatedAt)] : null,
    );
    if (!answer.tools.length) {
      fill(pane);
      fill(list.aside, emptyState("No tool does that", "Try other words, or another server."));
    }
  }

  async function choose(tool) {
    if (!tool) return;
    const details = await get(`tools/${encodeURIComponent(tool.name)}`).catch(() => null);
    if (details && list.chosen === tool) fill(pane, toolDetails(details));
  }

  function onKey(event) {
    if (document.querySelector("dialog[open]") || event.target.closest(".pane") || event.target === servers)
      return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      list.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && event.target === field) list.open();
    else if (event.key === "Escape") field.focus();
  }

  field.addEventListener("input", look);
  servers.addEventListener("change", look);
  document.addEventListener("keydown", onKey);
  look();
  return () => document.removeEventListener("keydown", onKey);
}

/** One tool in full. */
export function toolDetails({ tool, serverName }) {
  const schema = tool.inputSchema || {};
  const required = new Set(schema.required || []);
  const taken = Object.entries(schema.properties || {});
  return h(
    "div",
    { class: "tool-details" },
    h(
      "header",
      { class: "pane-head" },
      h(
        "div",
        { class: "heading" },
        h("h2", {}, h("bdi", { class: "path" }, visible(tool.name))),
        h(
          "p",
          { class: "crumb" },
          tool.title ? [visible(tool.title), " · "] : null,
          "server ",
          visible(serverName),
        ),
      ),
    ),
    h("p", { class: "description" }, visible(tool.description || "No description.")),
    taken.length
      ? h(
          "table",
          { class: "arguments" },
          h("caption", {}, "Takes"),
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              ["Argument", "Type", "Meaning"].map((title) => h("th", { scope: "col" }, title)),
            ),
          ),
          h(
            "tbody",
            {},
            taken.map(([name, value]) =>
              h(
                "tr",
                {},
                h(
                  "th",
                  { scope: "row" },
                  visible(name),
                  required.has(name) ? h("span", { class: "required" }, "required") : null,
                ),
                h("td", {}, typeOf(value)),
                h("td", {}, visible(String(value?.description || ""))),
              ),
            ),
          ),
        )
      : h("p", { class: "muted" }, "Takes no arguments."),
    h("h3", {}, "Input schema"),
    h(
      "div",
      { class: "code plain", tabindex: "0", role: "region", "aria-label": "Input schema" },
      lineElements(JSON.stringify(schema, null, 2), "json").map((line) => h("div", { class: "row" }, line)),
    ),
  );
}

function typeOf(value) {
  if (value?.enum) return value.enum.map(String).join(" | ");
  return [value?.type || "any"].flat().join(" | ");
}
