// What every page shares: the projects, the one that is meant, and the address that says so.

import { get } from "./api.js";

const SECTIONS = new Set(["search", "projects", "project", "tools", "servers"]);

/** What every page may ask for: the projects, the one that is meant, and how to go elsewhere. */
export const desk = {
  projects: [],
  here: null,
  start: "",
  home: "",
  version: "",
  watchers: [],
  async refresh() {
    Object.assign(this, await get("projects"));
    for (const watcher of this.watchers) watcher();
    return this.projects;
  },
  get chosen() {
    return this.projects.find((project) => project.id === route().parameters.get("project")) || this.usual;
  },
  get usual() {
    const last = localStorage.getItem("findspot-project");
    const by = (id) => this.projects.find((project) => project.id === id && project.queryReady);
    return (
      by(this.here) ||
      by(last) ||
      this.projects.find((project) => project.queryReady) ||
      this.projects[0] ||
      null
    );
  },
};

export const nameOf = (path) => path.split(/[\\/]/).filter(Boolean).pop() || path;

/** A path as people write it: what is in the user's home begins with a tilde. */
export const homely = (path) =>
  desk.home && /^[\\/]/.test(path.slice(desk.home.length)) && path.startsWith(desk.home)
    ? `~${path.slice(desk.home.length)}`
    : path;

/** The page and its parameters, as the address has them. */
export function route() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [page, ...rest] = (path || "search").split("/");
  return {
    page: SECTIONS.has(page) ? page : "search",
    rest: rest.map(decodeURIComponent),
    parameters: new URLSearchParams(query),
  };
}

export function go(page, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  const query = new URLSearchParams(given).toString();
  location.hash = `#/${page}${query ? `?${query}` : ""}`;
}
