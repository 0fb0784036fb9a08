// The map of a project: its folders and files by size, coloured by layer, and what imports what among them.

import { get } from "./api.js";
import { desk, nameOf, readdress, route } from "./desk.js";
import { count, fill, h, visible } from "./dom.js";
import { notIndexed } from "./indexing.js";
import { errorState, loadingState } from "./states.js";
import { treemap } from "./treemap.js";
import { openFile } from "./viewer.js";

const MOST = 48;
const SMALLEST = 0.004;
const GROWTH = 1.12; // of the smallest part with each attempt to make all of them large enough
const ATTEMPTS = 40;
const TARGET_PX = 25; // what is smaller cannot be hit with a finger
const MOST_LINKS = 10;
const HEAD = 24;
const NAMED_PX = 62; // eight characters
const MOSTLY = 0.95; // of the program is in one folder: the map begins there

/** From what imports others to what others import; the share of its imports that lead to a part decides. */
const LAYERS = [
  ["top", "Top", "imports others"],
  ["upper", "Upper", ""],
  ["middle", "Middle", ""],
  ["lower", "Lower", ""],
  ["base", "Base", "others import it"],
];
const APART = { test: ["tests", "Tests"], alone: ["alone", "No imports"] };
const NO_CODE = /^(\.|licen[cs]e|copying|notice|authors)/i;

const boxed = ({ x, y, width, height }) => ({
  left: `${100 * x}%`,
  top: `${100 * y}%`,
  width: `${100 * width}%`,
  height: `${100 * height}%`,
});
const last = (path) => path.split("/").pop();
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** A part shows its imports when pointed at, and opens when clicked. */
export function mapPage(main) {
  const project = desk.chosen;
  const lead = h("p", { class: "lead" });
  const title = h("div", { class: "sheet-head" }, h("h1", {}, "Map"), lead);
  if (!project?.queryReady) {
    fill(main, h("div", { class: "sheet" }, title, notIndexed(project, desk)));
    return null;
  }
  const trail = h("nav", { class: "trail", "aria-label": "Folder" });
  const field = h("div", { class: "treemap", role: "group", "aria-label": "Parts of the project by size" });
  const links = h("div", { class: "links", "aria-live": "polite" });
  let shown = { at: "", parts: [] };
  let imports = null;
  let first = 0; // the first part that is drawn; those before it were left for a look at the small ones
  fill(lead, "Sized by code, coloured by layer. Point at a part to see its imports, choose it to go inside.");
  fill(main, h("div", { class: "sheet wide" }, title, trail, h("div", { class: "map" }, field, links)));

  async function look(under) {
    const answer = await get(`projects/${project.id}/map`, { under });
    const code = answer.parts.some((part) => part.code);
    answer.parts = answer.parts.filter((part) => !code || (part.code && !NO_CODE.test(last(part.path))));
    return answer;
  }

  /** The folder that holds most of the program, since what is beside it says little about it. */
  async function begin() {
    let answer = await look("");
    for (;;) {
      const own = answer.parts.filter((part) => part.role === "source");
      const [largest] = own;
      if (!largest?.folder || largest.code < MOSTLY * sum(own.map((part) => part.code))) return answer;
      answer = await look(largest.path);
    }
  }

  async function open(under, { byKey = false, push = true } = {}) {
    try {
      shown = await (under === null ? begin() : look(under));
    } catch (problem) {
      if (problem.code !== "OFFLINE") fill(links, errorState(problem));
      return;
    }
    imports = null;
    first = 0;
    if (push) readdress({ under: shown.at || "/" }, { push: true });
    draw();
    if (byKey) field.querySelector("button")?.focus();
    await countImports();
  }

  async function countImports() {
    const { at } = shown;
    fill(links, loadingState("Counting imports …"));
    const answer = await get(`projects/${project.id}/imports`, { under: at }).catch((problem) => problem);
    if (at !== shown.at) return;
    if (answer instanceof Error) {
      if (answer.code !== "OFFLINE") fill(links, errorState(answer, countImports));
      return;
    }
    imports = answer.links;
    colour();
    const pointed = field.querySelector("[data-path]:hover, [data-path]:focus-visible");
    if (pointed) choose(pointed.dataset.path);
    else overview();
  }

  /** The layer of each part by the imports between the parts of the program; tests are no layer of it. */
  function layers() {
    const program = new Set(shown.parts.filter((part) => part.role !== "test").map((part) => part.path));
    const inside = imports.filter((link) => program.has(link.from) && program.has(link.to));
    const times = (end, path) => sum(inside.filter((link) => link[end] === path).map((link) => link.count));
    const layer = ({ path, role }) => {
      if (role === "test") return APART.test;
      const [to, from] = [times("to", path), times("from", path)];
      return to + from ? LAYERS[Math.min(LAYERS.length - 1, Math.floor((LAYERS.length * to) / (to + from)))] : APART.alone;
    };
    return new Map(shown.parts.map((part) => [part.path, layer(part)]));
  }

  function colour() {
    if (!imports) return;
    const known = layers();
    for (const one of field.querySelectorAll("[data-path]")) one.dataset.layer = known.get(one.dataset.path)[0];
  }

  /** The largest parts that are big enough to click; one cell groups the rest and links to them. */
  function draw() {
    const wide = field.clientWidth || 760;
    const high = field.clientHeight || 400;
    const parts = shown.parts.slice(first);
    const byCode = shown.parts.some((part) => part.code);
    const sizes = parts.map((part) => (byCode ? part.code : part.chunks));
    const total = sum(sizes) || parts.length;
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
    colour();
    const names = shown.at ? shown.at.split("/") : [];
    const step = (label, under, here) =>
      h(
        "button",
        { type: "button", class: "small", "aria-current": here ? "true" : null, onclick: () => open(under, { byKey: true }) },
        visible(label),
      );
    fill(
      trail,
      step(nameOf(project.path), "", !names.length),
      names.map((name, index) => [
        h("span", { "aria-hidden": "true" }, "/"),
        step(name, names.slice(0, index + 1).join("/"), index === names.length - 1),
      ]),
    );
  }

  function others(number, spot, next) {
    const show = () => {
      first = next;
      draw();
      field.querySelector("button")?.focus();
    };
    const label = `${number} more`;
    return h(
      "button",
      { type: "button", class: "cell others", style: boxed(spot), title: `Show ${label}`, onclick: show },
      h("span", { class: "cell-name" }, label),
    );
  }

  function cell(part, spot, size, box) {
    const name = last(part.path) + (part.folder ? "/" : "");
    const about = ` ${size === 1 ? "chunk" : "chunks"} of code in ${count(part.files, "file")}, mostly ${part.language}`;
    const point = () => choose(part.path);
    return h(
      "button",
      {
        type: "button",
        class: "cell",
        "data-path": part.path,
        style: boxed(spot),
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
    const rest = size - sum(part.inside.map(([, inside]) => inside));
    const inside = rest > 0 ? [...part.inside, ["more", rest]] : part.inside;
    const spots = treemap(inside.map(([, value]) => value), wide, high);
    return h(
      "span",
      { class: "inner", "aria-hidden": "true" },
      spots.map((spot, index) => {
        const named = spot.width * wide > NAMED_PX && spot.height * high > 20;
        return h("span", { class: named ? "named" : "", style: boxed(spot) }, named ? visible(inside[index][0]) : null);
      }),
    );
  }

  function enter(part, byKey) {
    if (part.folder) open(part.path, { byKey });
    else openFile(project.id, { path: part.path, startLine: 1, endLine: 1 });
  }

  function choose(path) {
    if (!imports) return;
    const to = imports.filter((link) => link.from === path);
    const from = imports.filter((link) => link.to === path);
    const targets = new Set(to.map((link) => link.to));
    const sources = new Set(from.map((link) => link.from));
    for (const one of field.querySelectorAll("[data-path]")) {
      one.classList.toggle("chosen", one.dataset.path === path);
      one.classList.toggle("imported", targets.has(one.dataset.path));
      one.classList.toggle("importing", sources.has(one.dataset.path));
    }
    const [, layer] = layers().get(path);
    fill(
      links,
      h("h2", {}, visible(last(path)), h("small", {}, layer)),
      list("Imports", to, (link) => link.to, "imported"),
      list("Imported by", from, (link) => link.from, "importing"),
      h("button", { type: "button", class: "small", onclick: overview }, "All layers"),
    );
  }

  function list(title, found, end, kind) {
    const more = found.length - MOST_LINKS;
    return h(
      "div",
      { class: "link-list" },
      h("p", { class: "muted" }, h("span", { class: `swatch ${kind}`, "aria-hidden": "true" }), found.length ? title : `${title}: nothing here`),
      h(
        "ul",
        {},
        found.slice(0, MOST_LINKS).map((link) =>
          row(end(link) ? visible(last(end(link))) : h("em", {}, "elsewhere"), link.count),
        ),
      ),
      more > 0 ? h("p", { class: "muted" }, `and ${more} more`) : null,
    );
  }

  const row = (label, number) =>
    h("li", {}, h("span", {}, label), h("span", { class: "figure" }, number.toLocaleString("en")));

  /** The legend: each layer with its parts, from the top to the base. */
  function overview() {
    for (const one of field.querySelectorAll("[data-path]")) one.classList.remove("chosen", "imported", "importing");
    const known = layers();
    const legend = [...LAYERS, APART.test, APART.alone].map(([key, label, meaning]) => {
      const names = shown.parts.filter((part) => known.get(part.path)[0] === key).map((part) => last(part.path));
      if (!names.length) return null;
      return [
        h("dt", {}, h("span", { class: "swatch", "data-layer": key, "aria-hidden": "true" }), label, meaning ? h("small", {}, meaning) : null),
        h("dd", {}, visible(names.join(", "))),
      ];
    });
    const inside = imports.filter((link) => link.from && link.to).slice(0, MOST_LINKS);
    fill(
      links,
      h("h2", {}, "Layers"),
      h("dl", { class: "legend" }, legend),
      inside.length ? h("h2", {}, "Most imports") : null,
      h(
        "ul",
        { class: "link-list" },
        inside.map((link) =>
          row([visible(last(link.from)), h("span", { class: "muted" }, " → "), visible(last(link.to))], link.count),
        ),
      ),
    );
  }

  const redraw = new ResizeObserver(() => shown.parts.length && draw());
  redraw.observe(field);
  const under = route().parameters.get("under");
  open(under === "/" ? "" : under, { push: false });
  return () => redraw.disconnect();
}
