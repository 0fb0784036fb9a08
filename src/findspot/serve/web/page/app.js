// The shell: which page is shown, which project is meant, the theme, the keys that work everywhere.

import { activityPage } from "./activity.js";
import { get, onConnection } from "./api.js";
import { ALL, WORKSPACE, addressOf, desk, go, isDrawn, nameOf, noteDrawn, readdress, route } from "./desk.js";
import { dependenciesPage } from "./dependencies.js";
import { fill, h } from "./dom.js";
import { mapPage } from "./map.js";
import { projectPage } from "./project.js";
import { projectsPage } from "./projects.js";
import { searchPage } from "./search.js";
import { errorState, ticked } from "./states.js";
import { followAddress, forgetFiles } from "./viewer.js";

const PAGES = {
  search: searchPage,
  projects: projectsPage,
  project: projectPage,
  map: mapPage,
  dependencies: dependenciesPage,
  activity: activityPage,
};
const TITLES = {
  search: "Search",
  projects: "Projects",
  project: "Project",
  map: "Map",
  dependencies: "Dependencies",
  activity: "Activity",
};
const OF_A_PROJECT = ["search", "map", "dependencies", "project"];
const KEYS = [
  ["/", "Search"],
  ["↑ ↓", "Choose a result"],
  ["Enter", "Open the file at the result"],
  ["Esc", "Close, or back to the search field"],
  ["Alt 1 2", "Code, docs"],
  ["1 2 3 4 5", "Its code, callers, tests, impact, history"],
  ["c", "Copy the place of the result"],
  ["m", "More like the result"],
  ["g then s m d p a", "Go to search, map, dependencies, projects, activity"],
  ["?", "These keys"],
];

const main = document.getElementById("main");
const chooser = document.getElementById("project");
let leave = () => {};
let pending = "";

async function show() {
  leave();
  leave = () => {};
  forgetFiles();
  const { page } = route();
  document.body.dataset.page = page;
  document.title = `${TITLES[page]} – Findspot`;
  for (const link of document.querySelectorAll("[data-section]")) {
    const current =
      link.dataset.section === page || (page === "project" && link.dataset.section === "projects");
    if (current) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  try {
    await desk.refresh();
    if (route().page !== page) return;
    noteDrawn();
    nameProject(page);
    leave = PAGES[page](main) || leave;
    followAddress();
  } catch (problem) {
    fill(main, errorState(problem, show));
  }
}

/** An address means the same tomorrow only if it says which project it is about. */
function nameProject(page) {
  const chosen = desk.chosen;
  if (!chosen || !OF_A_PROJECT.includes(page)) return;
  if (!chosen.several) sessionStorage.setItem("findspot-project", chosen.id);
  if (page !== "project") readdress({ project: chosen.id });
  else if (!route().rest[0]) {
    history.replaceState(null, "", addressOf(`project/${chosen.id}`, Object.fromEntries(route().parameters)));
    noteDrawn();
  }
}

/** Draw the view that the address names; where it is drawn already, only its open file changes. */
function follow() {
  if (isDrawn()) followAddress();
  else show();
}

function showChooser() {
  const chosen = desk.chosen;
  const ready = desk.projects.filter((project) => project.queryReady);
  const option = (id, label) => h("option", { value: id }, label);
  const projects = desk.projects.map((project) => option(project.id, nameOf(project.path)));
  const several = [
    ...desk.workspaces.map((one) => option(WORKSPACE + one.path, `${nameOf(one.path)}, ${one.members.length} projects`)),
    ...(ready.length > 1 ? [option(ALL, "All projects")] : []),
  ];
  const group = (label, options) => h("optgroup", { label }, options);
  fill(
    chooser,
    projects.length ? null : option("", "None yet"),
    several.length ? [group("Projects", projects), group("Together", several)] : projects,
  );
  chooser.value = chosen ? chosen.id : "";
  chooser.disabled = !desk.projects.length;
  for (const section of OF_A_PROJECT.slice(0, 3)) {
    const meant = chosen && !(chosen.several && section !== "search") ? { project: chosen.id } : {};
    document.querySelector(`[data-section="${section}"]`).setAttribute("href", addressOf(section, meant));
  }
}

function choose() {
  const { page, parameters } = route();
  const one = !desk.several(chooser.value);
  // The address has what is typed only once typing rests.
  const asked = page === "search" ? main.querySelector("[data-search]")?.value.trim() : parameters.get("q");
  if (page === "project" && one) go(`project/${encodeURIComponent(chooser.value)}`);
  else if (["map", "dependencies"].includes(page) && one) go(page, { project: chooser.value });
  else go("search", { q: asked, corpus: parameters.get("corpus"), project: chooser.value });
}

const THEMES = ["auto", "light", "dark"];

function showTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = { auto: "◐", light: "☀", dark: "☾" }[theme];
  button.setAttribute("aria-label", `Theme: ${theme}`);
  button.title = `Theme: ${theme}`;
}

function nextTheme() {
  const now = localStorage.getItem("findspot-theme") || "auto";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  localStorage.setItem("findspot-theme", next);
  showTheme(next);
}

const keysDialog = document.getElementById("keys");

function showKeys() {
  fill(
    keysDialog,
    h("h2", { id: "keys-title" }, "Keys"),
    h(
      "dl",
      {},
      KEYS.map(([key, what]) => [
        h(
          "dt",
          {},
          key.split(" ").map((part) => (part === "then" ? " then " : h("kbd", {}, part))),
        ),
        h("dd", {}, what),
      ]),
    ),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", class: "primary", onclick: () => keysDialog.close() }, "Close"),
    ),
  );
  keysDialog.showModal();
}

const isTyping = (target) => target.matches("input, select, textarea");

function onKey(event) {
  if (
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    isTyping(event.target) ||
    document.querySelector("dialog[open]")
  )
    return;
  const gone = {
    s: "search",
    p: "projects",
    m: "map",
    d: "dependencies",
    a: "activity",
  }[event.key];
  if (pending === "g" && gone) go(gone);
  else if (event.key === "/") {
    event.preventDefault();
    const field = main.querySelector("[data-search]");
    if (field) field.focus();
    else go("search");
  } else if (event.key === "?") showKeys();
  pending = event.key === "g" ? "g" : "";
}

onConnection((online, problem) => {
  const banner = document.getElementById("offline");
  banner.hidden = online;
  document.body.classList.toggle("is-offline", !online);
  if (online) return;
  fill(banner, h("strong", {}, problem.message), " ", ticked(problem.hint));
  const again = setInterval(
    () =>
      get("projects").then(
        () => {
          clearInterval(again);
          show();
        },
        () => {},
      ),
    2000,
  );
});

showTheme(localStorage.getItem("findspot-theme") || "auto");
document.getElementById("theme").addEventListener("click", nextTheme);
document.getElementById("keys-button").addEventListener("click", showKeys);
document.querySelector(".skip-link").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
chooser.addEventListener("change", choose);
desk.watchers.push(showChooser);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", follow);
show();
