// What every view shares: the projects, the one that is chosen, and the address that says so.

import { get } from "./api.js";

const SECTIONS = new Set([
  "search",
  "projects",
  "project",
  "map",
  "dependencies",
  "activity",
]);

/** The id that means all indexed projects, and how that of a workspace begins, before its folder. */
export const ALL = "all";
export const WORKSPACE = "in:";

export const desk = {
  projects: [],
  workspaces: [],
  here: null,
  start: "",
  home: "",
  editor: null,
  watchers: [],
  async refresh() {
    Object.assign(this, await get("projects"));
    for (const watcher of this.watchers) watcher();
    return this.projects;
  },
  /** The project that the address names, null for an unknown one; the usual one where it names none. */
  get chosen() {
    const { page, rest, parameters } = route();
    const id = (page === "project" && rest[0]) || parameters.get("project");
    const several = this.several(id);
    if (page === "search" && (several || id?.startsWith(WORKSPACE))) return several;
    if (id && !several && this.projects.length) return this.projects.find((project) => project.id === id) || null;
    return (page === "search" && !this.here && this.several(WORKSPACE + this.start)) || this.usual;
  },
  /** Projects that are asked as one: all of them, or those of a workspace; null for any other id. */
  several(id) {
    if (id === ALL) return together(ALL, this.projects);
    const workspace = this.workspaces.find((one) => WORKSPACE + one.path === id);
    const members = workspace && this.projects.filter((project) => workspace.members.includes(project.id));
    return workspace ? together(id, members, workspace.path) : null;
  },
  get usual() {
    const ready = this.projects.filter((project) => project.queryReady);
    const by = (id) => ready.find((project) => project.id === id);
    return by(sessionStorage.getItem("findspot-project")) || by(this.here) || byLastUse(ready)[0] || this.projects[0] || null;
  },
};

/** Projects, the one used last first. */
export const byLastUse = (projects) =>
  [...projects].sort((one, other) => (other.lastUsed || "").localeCompare(one.lastUsed || ""));

/** Several projects as one, for searching. */
function together(id, projects, workspace = "") {
  const ready = projects.filter((project) => project.queryReady);
  const languages = {};
  for (const project of ready)
    for (const [name, files] of Object.entries(project.languages || {}))
      languages[name] = (languages[name] || 0) + files;
  const sum = (name) => ready.reduce((total, project) => total + project[name], 0);
  return {
    id,
    several: true,
    workspace,
    path: workspace || count(ready.length),
    queryReady: ready.length > 0,
    totalFiles: sum("totalFiles"),
    totalChunks: sum("totalChunks"),
    languages,
  };
}

const count = (projects) => (projects === 1 ? "your one project" : `all ${projects} projects`);

export const nameOf = (path) => path.split(/[\\/]/).filter(Boolean).pop() || path;

/** A path as people write it: what is in the user's home begins with a tilde. */
export const homely = (path) =>
  desk.home && /^[\\/]/.test(path.slice(desk.home.length)) && path.startsWith(desk.home)
    ? `~${path.slice(desk.home.length)}`
    : path;

/** The view and its parameters, as the address has them. */
export function route(hash = location.hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = (path || "search").split("/");
  return {
    page: SECTIONS.has(page) ? page : "search",
    rest: rest.map(decodeURIComponent),
    parameters: new URLSearchParams(query),
  };
}

/** The order of parameters in an address: the same view has the same address, however somebody came to it. */
const ORDER = ["project", "corpus", "q", "similar", "languages", "tests", "path", "mode", "under", "server", "result", "open", "line", "of", "tab"];

export function addressOf(page, parameters = {}) {
  const given = Object.entries(parameters)
    .filter(([, value]) => value)
    .sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other));
  const query = new URLSearchParams(given).toString();
  return `#/${page}${query ? `?${query}` : ""}`;
}

export function go(page, parameters = {}) {
  location.hash = addressOf(page, parameters);
}

let drawn = "";

/** The address without what lies over the view, or is chosen in it. */
function viewAddress() {
  const { page, rest, parameters } = route();
  for (const name of ["open", "line", "of", "tab", "result"]) parameters.delete(name);
  return JSON.stringify([page, rest, [...parameters]]);
}

/** Note that what is drawn now is what the address names. */
export function noteDrawn() {
  drawn = viewAddress();
}

/** Whether the view that the address names is the one that is drawn. */
export const isDrawn = () => viewAddress() === drawn;

/** Change parameters of the address without drawing the view again; true if that changed the address. The
 * address of a view that is not drawn yet is left alone: it is where Back or Forward has just gone. */
export function readdress(changes, { push = false, state = null } = {}) {
  if (!isDrawn()) return false;
  const { page, rest, parameters } = route();
  const path = [page, ...rest.map(encodeURIComponent)].join("/");
  const address = addressOf(path, { ...Object.fromEntries(parameters), ...changes });
  if (address === location.hash) return false;
  if (push) history.pushState(state, "", address);
  else history.replaceState(state ?? history.state, "", address);
  noteDrawn();
  return true;
}
