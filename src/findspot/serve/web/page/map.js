// The module map: folders and files by size, and what imports what among them.

import { get } from "./api.js";
import { count, fill, h, visible } from "./dom.js";
import { button, errorState, loadingState } from "./states.js";
import { treemap } from "./treemap.js";
import { openFile } from "./viewer.js";

const MOST = 48;
const SMALLEST = 0.004;
const MOST_LINKS = 12;
const MANY_FILES = 2000;
const WIDE = 760;
const HIGH = 400;

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
  fill(
    panel,
    h(
      "h2",
      {},
      "Module map",
      h("small", {}, "by chunks; point at a part to see its imports, click to go inside"),
    ),
    trail,
    h("div", { class: "map" }, field, links),
  );

  async function open(under, byKey = false) {
    fill(links, loadingState("…"));
    try {
      shown = await get(`projects/${project.id}/map`, { under });
      imports = null;
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

  function draw() {
    const kept = shown.parts.slice(0, MOST);
    const rest = shown.parts.slice(MOST);
    const total = shown.parts.reduce((sum, part) => sum + part.chunks, 0);
    const values = kept.map((part) => Math.max(part.chunks, SMALLEST * total));
    if (rest.length)
      values.push(
        Math.max(
          SMALLEST * total,
          rest.reduce((sum, part) => sum + part.chunks, 0),
        ),
      );
    const places = treemap(values, WIDE, HIGH);
    fill(
      field,
      places.map((place, index) => cell(kept[index], place, rest.length)),
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

  function cell(part, place, rest) {
    const style = boxed(place);
    if (!part)
      return h(
        "div",
        { class: "cell others", style, title: `${rest} more` },
        h("span", { class: "cell-name" }, `${rest} more`),
      );
    const name = last(part.path) + (part.folder ? "/" : "");
    const about = ` ${part.chunks === 1 ? "chunk" : "chunks"} in ${count(part.files, "file")}, mostly ${part.language}`;
    const point = () => choose(part.path);
    return h(
      "button",
      {
        type: "button",
        class: `cell ${part.folder ? "folder" : "single"}`,
        "data-path": part.path,
        style,
        title: `${name} ${part.chunks.toLocaleString("en")}${about}`,
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
          part.chunks.toLocaleString("en"),
          h("span", { class: "unseen" }, about),
        ),
      ),
      inner(part, place),
    );
  }

  /** What is inside a folder, hinted at where there is room. */
  function inner(part, place) {
    const wide = WIDE * place.width;
    const high = HIGH * place.height - HEAD;
    if (part.inside.length < 2 || wide < 70 || high < 40) return null;
    const rest = part.chunks - part.inside.reduce((sum, [, chunks]) => sum + chunks, 0);
    const values = [...part.inside.map(([, chunks]) => chunks), ...(rest > 0 ? [rest] : [])];
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
    else
      openFile(project, { path: part.path, startLine: 1, endLine: 0 }, (path) =>
        get(`projects/${project.id}/file`, { path }),
      );
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

  open("");
}
