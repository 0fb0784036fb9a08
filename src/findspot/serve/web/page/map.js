// The module map: folders and files by size, and what imports what among them.

import { get } from "./api.js";
import { count, fill, h, visible } from "./dom.js";
import { button, errorState, loadingState } from "./states.js";
import { treemap } from "./treemap.js";
import { openFile } from "./viewer.js";

const MOST = 48;
const SMALLEST = 0.004;
const GROWTH = 1.12; // of the smallest part with each attempt to make all of them large enough
const ATTEMPTS = 40;
const TARGET_PX = 25; // what is smaller cannot be hit with a finger
const MOST_LINKS = 12;
const MANY_FILES = 2000;
const HEAD = 24;

const boxed = ({ x, y, width, height }) => ({
  left: `${100 * x}%`,
  top: `${100 * y}%`,
  width: `${100 * width}%`,
  height: `${100 * height}%`,
});
const last = (path) => path.split("/").pop();

/** Draw the map into a panel; a part shows its imports when pointed at, and opens when clicked. */
export function moduleMap(panel, project) {
  const trail = h("nav", { class: "trail", "aria-label": "Folder" });
  const field = h("div", { class: "treemap", role: "group", "aria-label": "Parts of the project by size" });
  const links = h("div", { class: "links", "aria-live": "polite" });
  let shown = { at: "", parts: [] };
  let imports = null;
  let counted = false;
  let first = 0; // the first part that is drawn; those before it were left for a look at the small ones
  fill(
    panel,
    h(
      "h2",
      {},
      "Module map",
      h("small", {}, "sized by code, without data and fixtures; point at a part to see its imports, click to go inside"),
    ),
    trail,
    h("div", { class: "map" }, field, links),
  );

  async function open(under, byKey = false) {
    fill(links, loadingState("…"));
    try {
      shown = await get(`projects/${project.id}/map`, { under });
      imports = null;
      first = 0;
      draw();
      if (byKey) field.querySelector("button")?.focus();
      if (counted || shown.parts.reduce((sum, part) => sum + part.files, 0) <= MANY_FILES)
        await countImports();
      else
        fill(
          links,
          h(
            "p",
            { class: "muted" },
            "In a project of this size it takes some seconds to count what imports what.",
          ),
          button("Count imports", () => countImports().catch(tell)),
        );
    } catch (problem) {
      tell(problem);
    }
  }

  async function countImports() {
    const at = shown.at;
    fill(links, loadingState("Counting imports …"));
    const answer = await get(`projects/${project.id}/imports`, { under: at });
    if (at !== shown.at) return;
    imports = answer;
    counted = true;
    const pointed = field.querySelector("[data-path]:hover, [data-path]:focus-visible");
    if (pointed) choose(pointed.dataset.path);
    else overview();
  }

  function tell(problem) {
    if (problem.code !== "OFFLINE") fill(links, errorState(problem));
  }

  /** The largest parts that are big enough to click; one cell groups the rest and links to them. */
  function draw() {
    const wide = field.clientWidth || 760;
    const high = field.clientHeight || 400;
    const parts = shown.parts.slice(first);
    const byCode = shown.parts.some((part) => part.code);
    const sizes = parts.map((part) => (byCode ? part.code : part.chunks));
    const total = sizes.reduce((sum, value) => sum + value, 0) || parts.length;
    const fits = (spots) => spots.every((spot) => Math.min(spot.width * wide, spot.height * high) >= TARGET_PX);
    let number = 0;
    let places = [];
    for (let attempt = 0; attempt < ATTEMPTS && !(places.length && fits(places)); attempt += 1) {
      number = Math.max(1, Math.min(parts.length, MOST) - Math.floor(attempt / 2));
      const smallest = SMALLEST * total * GROWTH ** attempt;
      const values = sizes.slice(0, number).map((value) => Math.max(value, smallest));
      if (number < parts.length) values.push(smallest);
      places = treemap(values, wide, high);
    }
    fill(
      field,
      places.map((spot, index) =>
        index < number
          ? cell(parts[index], spot, sizes[index], [wide, high])
          : others(parts.length - number, spot, first + number),
      ),
    );
    const names = shown.at ? shown.at.split("/") : [];
    fill(
      trail,
      h("button", { type: "button", class: "small", onclick: () => open("") }, "All"),
      names.map((name, index) => [
        h("span", { "aria-hidden": "true" }, "/"),
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-current": index === names.length - 1 ? "true" : null,
            onclick: () => open(names.slice(0, index + 1).join("/")),
          },
          visible(name),
        ),
      ]),
    );
  }

  function others(number, spot, next) {
    const show = () => {
      first = next;
      draw();
    };
    const label = `${number} more`;
    return h(
      "button",
      { type: "button", class: "cell others", style: boxed(spot), title: `Show ${label}`, onclick: show },
      h("span", { class: "cell-name" }, label),
    );
  }

  function cell(part, spot, size, box) {
    const style = boxed(spot);
    const name = last(part.path) + (part.folder ? "/" : "");
    const about = ` ${size === 1 ? "chunk" : "chunks"} of code in ${count(part.files, "file")}, mostly ${part.language}`;
    const point = () => choose(part.path);
    return h(
      "button",
      {
        type: "button",
        class: `cell ${part.folder ? "folder" : "single"}`,
        "data-path": part.path,
        style,
        title: `${name} ${size.toLocaleString("en")}${about}`,
        onpointerenter: point,
        onfocus: point,
        onclick: (event) => enter(part, event.detail === 0),
      },
      h(
        "span",
        { class: "cell-head" },
        h("span", { class: "cell-name" }, visible(name)),
        " ",
        h(
          "span",
          { class: "cell-figure" },
          size.toLocaleString("en"),
          h("span", { class: "unseen" }, about),
        ),
      ),
      inner(part, spot, size, box),
    );
  }

  /** What is inside a folder, hinted at where there is room. */
  function inner(part, place, size, box) {
    const wide = box[0] * place.width;
    const high = box[1] * place.height - HEAD;
    if (part.inside.length < 2 || wide < 70 || high < 40) return null;
    const rest = size - part.inside.reduce((sum, [, inside]) => sum + inside, 0);
    const values = [...part.inside.map(([, inside]) => inside), ...(rest > 0 ? [rest] : [])];
    return h(
      "span",
      { class: "inner", "aria-hidden": "true" },
      treemap(values, wide, high).map((spot, index) => {
        const roomy = spot.width * wide > 46 && spot.height * high > 20;
        const named = roomy && part.inside[index];
        return h(
          "span",
          { class: named ? "named" : "", style: boxed(spot) },
          named ? visible(part.inside[index][0]) : null,
        );
      }),
    );
  }

  function enter(part, byKey) {
    if (part.folder) open(part.path, byKey);
    else openFile(project.id, { path: part.path, startLine: 1, endLine: 1 });
  }

  function choose(path) {
    if (!imports) return;
    const to = imports.links.filter((link) => link.from === path);
    const from = imports.links.filter((link) => link.to === path);
    const targets = new Set(to.map((link) => link.to));
    const sources = new Set(from.map((link) => link.from));
    for (const one of field.querySelectorAll("[data-path]")) {
      one.classList.toggle("chosen", one.dataset.path === path);
      one.classList.toggle("imported", targets.has(one.dataset.path));
      one.classList.toggle("importing", sources.has(one.dataset.path));
    }
    fill(
      links,
      h("h3", {}, visible(last(path))),
      list("Imports", to, (link) => link.to, "imported"),
      list("Imported by", from, (link) => link.from, "importing"),
    );
  }

  function list(title, found, end, kind) {
    const rows = found.slice(0, MOST_LINKS);
    return h(
      "div",
      { class: "link-list" },
      h(
        "p",
        { class: "muted" },
        h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }),
        found.length ? title : `${title}: nothing here`,
      ),
      h(
        "ul",
        {},
        rows.map((link) =>
          h(
            "li",
            {},
            h("span", {}, end(link) ? visible(last(end(link))) : h("em", {}, "elsewhere")),
            h("span", { class: "figure" }, link.count.toLocaleString("en")),
          ),
        ),
      ),
    );
  }

  function overview() {
    const inside = imports.links.filter((link) => link.from && link.to);
    fill(
      links,
      h("h3", {}, "Most imports"),
      inside.length
        ? h(
            "ul",
            { class: "link-list" },
            inside
              .slice(0, MOST_LINKS)
              .map((link) =>
                h(
                  "li",
                  {},
                  h(
                    "span",
                    {},
                    visible(last(link.from)),
                    h("span", { class: "muted" }, " → "),
                    visible(last(link.to)),
                  ),
                  h("span", { class: "figure" }, link.count.toLocaleString("en")),
                ),
              ),
          )
        : h("p", { class: "muted" }, "No imports between these parts."),
    );
  }

  const redraw = new ResizeObserver(() => shown.parts.length && draw());
  redraw.observe(field);
  open("");
}
