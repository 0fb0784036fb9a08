// Who calls a name, and what it calls.

import { get } from "./api.js";
import { readdress, route } from "./desk.js";
import { count, fill, h, pathParts, visible } from "./dom.js";
import { emptyState, errorState } from "./states.js";
import { openFile } from "./viewer.js";

const SURE = 0.7;

/** The view of callers and callees in a panel; a name in the address is shown at once. */
export function callsView(panel, project) {
  const field = h("input", {
    type: "search",
    "aria-label": "Name of a function, method or class",
    placeholder: "A name, such as Cart.total",
    autocomplete: "off",
    spellcheck: "false",
  });
  const choices = h("div", { class: "choices", role: "group", "aria-label": "Definitions" });
  const body = h("div", { class: "calls" });
  let turn = 0;
  fill(
    panel,
    h("h2", {}, "Callers and callees"),
    h(
      "form",
      {
        class: "name-form",
        role: "search",
        "aria-label": "Name",
        onsubmit: (event) => {
          event.preventDefault();
          ask({ name: field.value.trim() });
        },
      },
      field,
      h("button", { type: "submit" }, "Show"),
    ),
    choices,
    body,
  );

  /** Show a name, and put it into the address. */
  function ask(asked) {
    if (asked.name) readdress({ symbol: asked.name }, { push: true });
    return show(asked);
  }

  async function show(asked) {
    if (!asked.name && !asked.id) return;
    const mine = ++turn;
    try {
      const answer = await get(`projects/${project.id}/calls`, asked);
      if (mine === turn) draw(answer, asked);
    } catch (problem) {
      if (problem.code !== "OFFLINE") fill(body, errorState(problem));
    }
  }

  function draw(answer, asked) {
    fill(
      choices,
      answer.definitions.length > 1
        ? answer.definitions.map((node) =>
            h(
              "button",
              {
                type: "button",
                class: "small",
                "aria-pressed": String(node.id === answer.node?.id),
                onclick: () => show({ name: asked.name, id: node.id }),
              },
              visible(node.name),
              h("span", { class: "muted" }, ` ${node.path.split("/").pop()}:${node.startLine}`),
            ),
          )
        : null,
    );
    if (!answer.node) {
      fill(body, emptyState("No such definition", `Nothing that is indexed defines ${asked.name}.`));
      return;
    }
    fill(
      body,
      side("Called by", answer.callers, answer.totalCallers),
      h(
        "div",
        { class: "centre" },
        h("span", { class: "kind" }, answer.node.kind),
        h("h3", {}, visible(answer.node.name)),
        place(answer.node.path, answer.node.startLine, answer.node.endLine),
      ),
      side("Calls", answer.callees, answer.totalCallees),
    );
  }

  function side(title, nodes, total) {
    return h(
      "section",
      { class: "side", "aria-label": title },
      h("h3", {}, total ? `${title} ${count(nodes.length, "definition")}` : `${title} nothing that is known`),
      h(
        "ul",
        {},
        nodes.map((node) =>
          h(
            "li",
            { class: node.confidence < SURE ? "unsure" : "" },
            h(
              "button",
              {
                type: "button",
                class: "bare",
                title: node.confidence < SURE ? "Likely, not certain" : "",
                onclick: () => {
                  field.value = node.name;
                  ask({ name: node.name, id: node.id });
                },
              },
              visible(node.name),
              node.times > 1 ? h("span", { class: "muted" }, ` × ${node.times}`) : null,
              node.confidence < SURE ? h("span", { class: "muted" }, " likely") : null,
            ),
            place(node.at, node.line, node.line),
          ),
        ),
      ),
    );
  }

  function place(path, startLine, endLine) {
    return h(
      "button",
      {
        type: "button",
        class: "bare place",
        onclick: () => openFile(project.id, { path, startLine, endLine }),
      },
      pathParts(path, `:${startLine}`),
    );
  }

  const asked = route().parameters.get("symbol");
  if (asked) {
    field.value = asked;
    show({ name: asked }).then(() => panel.scrollIntoView({ block: "start" }));
  } else
    fill(
      body,
      h(
        "p",
        { class: "muted" },
        "Follow the code from a name: who calls it on the left, what it calls on the right.",
      ),
    );
}
