// Every project: how it stands, how large it is, how fresh.

import { follow } from "./api.js";
import { desk, homely, nameOf } from "./desk.js";
import { ago, count, fill, h, visible } from "./dom.js";
import { indexingButton, notIndexed } from "./indexing.js";
import { progressBar, statePill } from "./states.js";

export function projectsPage(main) {
  const body = h("div", { class: "sheet" });
  fill(main, body);
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
        ),
      ),
      listed.length ? h("ul", { class: "cards" }, listed.map(card)) : notIndexed(null, desk),
    );
  }

  const stop = follow(async () => {
    await desk.refresh().then(show, () => {});
    return true;
  }, 1500);
  return stop;
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
      ["Kept fresh", project.watcherActive ? "yes" : "no"],
      ["Mostly", top || "–"],
    ].map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}
