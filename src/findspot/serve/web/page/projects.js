// Every project as a row, the one used last first: how it stands, how large it is, how fresh.

import { follow, post } from "./api.js";
import { byLastUse, desk, go, homely, nameOf } from "./desk.js";
import { ago, count, fill, h, visible } from "./dom.js";
import { indexingButton, notIndexed } from "./indexing.js";
import { progressBar, statePill } from "./states.js";

export function projectsPage(main) {
  const lead = h("p", { class: "lead" });
  const body = h("div", {});
  const filter = h("input", {
    type: "search",
    "data-search": "",
    placeholder: "Filter by name, path or language",
    "aria-label": "Filter projects",
    autocomplete: "off",
    spellcheck: "false",
    oninput: show,
  });

  function show() {
    const listed = byLastUse(desk.projects);
    const indexed = listed.filter((project) => project.status !== "not_found");
    const total = indexed.reduce((sum, project) => sum + project.totalChunks, 0);
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = listed.filter((project) => words.every((word) => searchable(project).includes(word)));
    fill(lead, `${count(indexed.length, "project")} indexed, ${count(total, "chunk")} on this machine`);
    filter.hidden = listed.length < 2;
    fill(
      body,
      found.length ? h("ul", { class: "rows" }, found.map(row)) : null,
      listed.length ? null : notIndexed(null, desk),
      listed.length && !found.length ? h("p", { class: "muted" }, "No project fits the filter.") : null,
    );
  }
  show();
  const head = h("div", { class: "sheet-head" }, h("h1", {}, "Projects"), lead);
  fill(main, h("div", { class: "sheet" }, head, folderForm(), filter, body));

  return follow(async () => {
    const before = document.activeElement?.closest(".rows li")?.dataset.id;
    await desk.refresh().then(show, () => {});
    if (before) body.querySelector(`[data-id="${CSS.escape(before)}"] a, [data-id="${CSS.escape(before)}"] button`)?.focus();
    return true;
  }, 1500);
}

const searchable = (project) => [project.path, ...Object.keys(project.languages || {})].join(" ").toLowerCase();

/** A form that indexes another folder, and leads to its progress. */
function folderForm() {
  const problem = h("p", { class: "problem", role: "alert" });
  const field = h("input", {
    type: "text",
    name: "path",
    required: true,
    placeholder: "/home/you/project",
    "aria-label": "Folder to index",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
  });
  const submit = async (event) => {
    event.preventDefault();
    try {
      const { id } = await post("projects", { path: field.value });
      go(`project/${encodeURIComponent(id)}`);
    } catch (failed) {
      fill(problem, failed.message, " ", failed.hint);
      field.focus();
    }
  };
  return h(
    "section",
    { class: "another", "aria-label": "Index another folder" },
    h(
      "form",
      { class: "name-form", onsubmit: submit, title: "Its files stay where they are; only an index is made." },
      field,
      h("button", {}, "Index another folder"),
    ),
    problem,
  );
}

const isBusy = (project) => project.status === "indexing" || project.run?.running;

function row(project) {
  const busy = isBusy(project);
  const missing = project.status === "not_found";
  const name = visible(nameOf(project.path));
  const ready = !busy && project.status === "ready";
  return h(
    "li",
    { "data-id": project.id },
    h(
      "div",
      { class: "row-name" },
      h("h2", {}, missing ? name : h("a", { href: `#/project/${encodeURIComponent(project.id)}` }, name)),
      ready ? null : statePill(busy ? "indexing" : project.status),
      project.id === desk.here && h("span", { class: "pill none" }, "here"),
      project.watcherActive && h("span", { class: "pill good" }, "kept fresh"),
    ),
    h("p", { class: "place" }, visible(homely(project.path))),
    busy
      ? progressBar(project.run?.running ? project.run.progress : null)
      : missing
        ? indexingButton(project, "Index now", { kind: "small primary" })
        : figures(project),
    project.lastError && h("p", { class: "problem" }, project.lastError),
  );
}

function figures(project) {
  const top = Object.keys(project.languages || {}).slice(0, 3).join(", ");
  return h(
    "p",
    { class: "row-figures" },
    h("span", {}, top || "–"),
    h("span", { class: "figure" }, count(project.totalFiles, "file")),
    h("span", { class: "figure" }, project.storageSize),
    h("span", { class: "row-used" }, "used ", ago(project.lastUsed)),
  );
}
