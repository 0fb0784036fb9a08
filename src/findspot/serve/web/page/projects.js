// Every project: how it stands, how large it is, how fresh.

import { follow, post } from "./api.js";
import { desk, go, homely, nameOf } from "./desk.js";
import { ago, count, fill, h, visible } from "./dom.js";
import { indexingButton, notIndexed } from "./indexing.js";
import { progressBar, statePill } from "./states.js";

export function projectsPage(main) {
  const body = h("div", { class: "sheet-part" });
  show();

  function show() {
    const listed = desk.projects;
    const indexed = listed.filter((project) => project.status !== "not_found");
    const total = indexed.reduce((sum, project) => sum + project.totalChunks, 0);
    fill(
      body,
      h(
        "div",
        { class: "sheet-head" },
        h("h1", {}, "Projects"),
        h(
          "p",
          { class: "lead" },
          `${count(indexed.length, "project")} indexed, ${count(total, "chunk")} on this machine`,
          desk.service
            ? `; process ${desk.service.pid} answers ${count(desk.service.clients, "client")}`
            : null,
        ),
      ),
      listed.length ? h("ul", { class: "cards" }, listed.map(card)) : notIndexed(null, desk),
    );
  }
  fill(main, h("div", { class: "sheet" }, body, folderForm()));

  const stop = follow(async () => {
    await desk.refresh().then(show, () => {});
    return true;
  }, 1500);
  return stop;
}

/** A form that indexes another folder, and leads to its progress. */
function folderForm() {
  const problem = h("p", { class: "problem", role: "alert" });
  const field = h("input", {
    type: "text",
    name: "path",
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
    { class: "panel", "aria-label": "Index another folder" },
    h("h2", {}, "Index another folder"),
    h("form", { class: "name-form", onsubmit: submit }, field, h("button", { class: "primary" }, "Index")),
    h("p", { class: "muted" }, "A folder of this machine. Its files stay where they are; only an index is made."),
    problem,
  );
}

const isBusy = (project) => project.status === "indexing" || project.run?.running;

function card(project) {
  const busy = isBusy(project);
  const missing = project.status === "not_found";
  const address = `#/project/${encodeURIComponent(project.id)}`;
  return h(
    "li",
    { class: "card" },
    h(
      "div",
      { class: "card-head" },
      h(
        "h2",
        {},
        missing ? visible(nameOf(project.path)) : h("a", { href: address }, visible(nameOf(project.path))),
      ),
      statePill(busy ? "indexing" : project.status),
      project.id === desk.here && h("span", { class: "pill none" }, "here"),
    ),
    h("p", { class: "place" }, visible(homely(project.path))),
    busy
      ? progressBar(project.run?.running ? project.run.progress : null)
      : missing
        ? indexingButton(project, "Index now")
        : figures(project),
    project.lastError && h("p", { class: "problem" }, project.lastError),
  );
}

function figures(project) {
  const top = Object.entries(project.languages || {})
    .slice(0, 3)
    .map(([name]) => name)
    .join(", ");
  return h(
    "dl",
    { class: "figures" },
    [
      ["Files", project.totalFiles.toLocaleString("en")],
      ["Chunks", project.totalChunks.toLocaleString("en")],
      ["Left out", (project.skippedFiles || 0).toLocaleString("en")],
      ["On disk", project.storageSize],
      ["Updated", ago(project.lastUpdated)],
      ["Kept fresh", project.watcherActive ? "yes" : "not now"],
      ["Mostly", top || "–"],
    ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}
