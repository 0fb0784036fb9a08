// Past changes: a question to the commits, or those that shaped a file, some lines or a symbol.

import { get } from "./api.js";
import { readdress, route } from "./desk.js";
import { fill, h, visible } from "./dom.js";
import { emptyState, errorState } from "./states.js";

/** Commits, the best or newest first; what a commit says is text. */
export function commitList(answer) {
  return h(
    "div",
    { class: "history" },
    answer.warning ? h("p", { class: "muted" }, visible(answer.warning)) : null,
    answer.results.length
      ? h("ol", {}, answer.results.map(commit))
      : emptyState("No commit fits", "Ask in other words, or name a file."),
  );
}

function commit(one) {
  const changed = (one.changed || []).map((file) => file.path).join(", ");
  return h(
    "li",
    {},
    h("strong", {}, visible(one.subject)),
    h("span", { class: "muted" }, `${one.date} `, h("code", {}, one.commit.slice(0, 10)), " ", visible(one.author || "")),
    one.sentence ? h("p", {}, visible(one.sentence)) : null,
    changed ? h("p", { class: "muted" }, visible(changed)) : null,
  );
}

/** The view of a project's history in a panel; what the address asks is shown at once. */
export function historyView(panel, project) {
  const field = h("input", {
    type: "search",
    "aria-label": "A question, a file with lines, or a symbol",
    placeholder: "Why, when, or src/cart.py:10-40",
    autocomplete: "off",
  });
  const body = h("div", {});
  let turn = 0;

  function ask(event) {
    event.preventDefault();
    readdress({ past: field.value.trim() }, { push: true });
    show();
  }

  async function show() {
    const mine = ++turn;
    const q = field.value.trim();
    if (!q) return;
    try {
      const answer = await get(`projects/${project.id}/history`, { q });
      if (mine === turn) fill(body, commitList(answer));
    } catch (problem) {
      if (problem.code !== "OFFLINE") fill(body, errorState(problem));
    }
  }

  fill(
    panel,
    h("h2", {}, "History"),
    h(
      "form",
      { class: "name-form", role: "search", "aria-label": "History", onsubmit: ask },
      field,
      h("button", { type: "submit" }, "Show"),
    ),
    body,
  );
  const asked = route().parameters.get("past");
  if (asked) {
    field.value = asked;
    show().then(() => panel.scrollIntoView({ block: "start" }));
  } else fill(body, h("p", { class: "muted" }, "Why and when something changed, from the commits."));
}
