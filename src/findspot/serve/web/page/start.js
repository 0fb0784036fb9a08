// What a project shows before anything is asked: its last questions.

import { get } from "./api.js";
import { addressOf, nameOf } from "./desk.js";
import { ago, count, fill, h, pathParts, visible } from "./dom.js";

const MOST = 6;
const CORPUS = { search_code: "", search_docs: "docs" };

/** The first view; its list appears once it is known. */
export function startView(project) {
  const lists = h("div", { class: "starts" });
  const size = `${count(project.totalFiles, "file")}, ${count(project.totalChunks, "chunk")}, all on this machine.`;
  if (!project.several) fillLists(lists, project);
  return h(
    "div",
    { class: "start" },
    h("h2", {}, "Search ", visible(nameOf(project.path))),
    h("p", { class: "muted" }, size),
    lists,
  );
}

async function fillLists(lists, project) {
  const { activity } = await get("activity", { project: project.path }).catch(() => ({ activity: [] }));
  const asked = activity.filter((entry) => entry.question && entry.tool in CORPUS && entry.answers.length);
  const last = [...new Map(asked.map((entry) => [entry.question, entry]).reverse()).values()].reverse();
  fill(lists, list("Asked last", last.slice(0, MOST).map((entry) => asking(project, entry))));
}

const list = (title, items) =>
  items.length ? h("section", { "aria-label": title }, h("h3", {}, title), h("ul", {}, items)) : null;

/** A line that leads to a search, with the result at a place chosen. */
function line(project, q, corpus, result, said) {
  const href = addressOf("search", { project: project.id, q, corpus, result });
  const [path, at] = result.split(/(?=:\d+$)/);
  return h("li", {}, h("a", { class: "example", href }, visible(q)), pathParts(path, at), h("span", { class: "muted" }, said));
}

const asking = (project, { question, tool, answers, time }) =>
  line(project, question, CORPUS[tool], answers[0], ago(time));
