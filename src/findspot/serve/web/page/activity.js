// What assistants asked on this machine, which answers they got, and what that cost.

import { follow, get, post } from "./api.js";
import { confirmed } from "./confirm.js";
import { addressOf, desk, nameOf, readdress, route } from "./desk.js";
import { ago, count, fill, h, pathParts, visible } from "./dom.js";
import { emptyState, errorState, loadingState, ticked } from "./states.js";

const EVERY_MS = 2000;
const PLACE = /^(.+):(\d+)$/;
const OFF = "Turn it on again with `findspot config set --global activity true`.";

export function activityPage(main) {
  const body = h("div", { class: "sheet" });
  const filters = h("div", { class: "actions", role: "group", "aria-label": "Filters" });
  const figures = h("dl", { class: "tiles" });
  const list = h("div", {});
  const clear = h("button", { type: "button", class: "small", onclick: ask, hidden: true }, "Delete all");
  fill(
    body,
    h(
      "div",
      { class: "sheet-head" },
      h("h1", {}, "Activity"),
      h("p", { class: "lead" }, "What assistants asked on this machine. It stays here, for 90 days at most."),
    ),
    h("div", { class: "activity-bar" }, filters, clear),
    figures,
    list,
  );
  fill(list, loadingState("Reading the record …"));
  fill(main, body);
  let shown = "";

  async function look() {
    const { parameters } = route();
    const asked = { project: parameters.get("about"), client: parameters.get("client") };
    try {
      const answer = await get("activity", asked);
      const stamp = JSON.stringify(answer);
      if (stamp !== shown) show(answer, asked);
      shown = stamp;
    } catch (problem) {
      shown = "";
      if (problem.code !== "OFFLINE") fill(list, errorState(problem, look));
    }
    return true;
  }

  function show(answer, asked) {
    const { activity, summary, recording } = answer;
    clear.hidden = !answer.clients.length;
    fill(
      filters,
      chooser("Project", "about", answer.projects, asked.project, (path) => (path ? nameOf(path) : "no project")),
      chooser("Client", "client", answer.clients, asked.client, (name) => name),
    );
    figures.hidden = !activity.length;
    fill(figures, tiles(summary));
    fill(
      list,
      recording ? null : h("p", { class: "notice" }, "Nothing is recorded. ", ticked(OFF)),
      activity.length
        ? h("ol", { class: "asked" }, activity.map(entryItem))
        : emptyState(
            "No assistant has asked anything yet",
            ticked("Connect one with `findspot setup`. Its questions and answers are listed here."),
          ),
    );
  }

  function chooser(label, name, counts, value, text) {
    if (counts.length < 2 && !value) return null;
    const pick = (event) => {
      readdress({ [name]: event.target.value }, { push: true });
      look();
    };
    const option = ([key, number]) =>
      h("option", { value: key, selected: key === value }, `${text(key)} (${number.toLocaleString("en")})`);
    return h(
      "select",
      { "aria-label": label, onchange: pick },
      h("option", { value: "" }, `Every ${label.toLowerCase()}`),
      counts.filter(([key]) => key).map(option),
    );
  }

  async function ask() {
    const question = "Delete the record of what was asked?";
    if (!(await confirmed(question, "Counts and the log of tool calls stay.", "Delete"))) return;
    await post("activity/clear").catch(() => {});
    look();
  }

  look();
  return follow(look, EVERY_MS);
}

function tiles(summary) {
  const share = summary.questions ? Math.round((100 * summary.answered) / summary.questions) : 0;
  return [
    ["Questions", summary.questions.toLocaleString("en"), "in this list"],
    ["Found something", `${share}%`, count(summary.answered, "question")],
    ["Median time", `${Math.round(summary.medianMs).toLocaleString("en")} ms`, "per question"],
    ["Tokens of answers", summary.tokens.toLocaleString("en"), "characters / 4"],
  ].map(([name, value, what]) =>
    h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, h("strong", {}, value), h("span", {}, what))),
  );
}

function entryItem(entry) {
  const project = desk.projects.find((one) => one.path === entry.project);
  const failed = entry.outcome !== "ok";
  return h(
    "li",
    { class: "asked-item" },
    h(
      "p",
      { class: "asked-head" },
      h("strong", {}, visible(entry.client)),
      entry.project && h("span", {}, visible(nameOf(entry.project))),
      h("code", {}, visible(entry.tool)),
      ago(entry.time),
      h(
        "span",
        { class: "asked-cost figure" },
        `${Math.round(entry.durationMs).toLocaleString("en")} ms · ${count(entry.tokens, "token")}`,
      ),
    ),
    entry.question && h("p", { class: "question" }, question(entry, project)),
    failed
      ? h("p", { class: "problem" }, visible(entry.outcome.replaceAll("_", " ").toLowerCase()))
      : h("ul", { class: "places" }, entry.answers.map((answer) => place(answer, entry, project)), rest(entry)),
  );
}

/** The question, which leads to the same search here. */
function question(entry, project) {
  const searches = { search_code: "", search: "", search_docs: "docs", docs: "docs" };
  if (!project || searches[entry.tool] === undefined) return visible(entry.question);
  const href = addressOf("search", { project: project.id, q: entry.question, corpus: searches[entry.tool] });
  return h("a", { href }, visible(entry.question));
}

function place(answer, entry, project) {
  const [, path, line] = PLACE.exec(answer) || [];
  if (!path || !project) return h("li", {}, h("code", {}, visible(answer)));
  const { parameters } = route();
  const kept = { about: parameters.get("about"), client: parameters.get("client") };
  const href = addressOf("activity", { ...kept, open: `${path}:${line}`, of: project.id });
  return h("li", {}, h("a", { href, class: "bare" }, pathParts(path, `:${line}`)));
}

function rest(entry) {
  const more = entry.found - entry.answers.length;
  if (!entry.found) return h("li", { class: "muted" }, "nothing found");
  return more > 0 ? h("li", { class: "muted" }, `and ${more.toLocaleString("en")} more`) : null;
}
