// Starting to index from the page, and saying that there is nothing to search yet.

import { post } from "./api.js";
import { go, homely, nameOf } from "./desk.js";
import { h } from "./dom.js";
import { emptyState, ticked } from "./states.js";

export function indexingButton(project, label, options = {}) {
  const button = h(
    "button",
    {
      type: "button",
      class: options.kind ?? "primary",
      onclick: async () => {
        button.disabled = true;
        await post(`projects/${project.id}/index`, options.asked || {}).catch(() => {});
        options.onStarted ? options.onStarted() : go(`project/${encodeURIComponent(project.id)}`);
      },
    },
    label,
  );
  return button;
}

/** What to do where there is no index. */
export function notIndexed(project, desk) {
  if (!project && desk.projects.length)
    return emptyState(
      "No such project",
      "The address names a project that is not in the list. Its index may have been deleted.",
      h("a", { class: "button primary", href: "#/projects" }, "Projects"),
    );
  if (!project) {
    return h(
      "div",
      { class: "state" },
      h("h2", {}, "Nothing is indexed yet"),
      h("p", {}, ticked("Run `findspot index` in a project, or `findspot ui` inside one. ")),
      h(
        "p",
        { class: "detail" },
        `${homely(desk.start)} does not look like a project: it has no .git, no package file, no build file.`,
      ),
    );
  }
  const state = {
    indexing: "is being indexed",
    incomplete: "was not indexed to the end",
    failed: "has a damaged index",
  }[project.status];
  const name = nameOf(project.path);
  if (project.status === "indexing")
    return emptyState(`${name} ${state}`, "The first answers come in a moment.");
  return emptyState(
    `${name} ${state || "is not indexed yet"}`,
    homely(project.path),
    indexingButton(project, state ? "Go on" : "Index now"),
  );
}
