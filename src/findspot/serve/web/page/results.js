// The list of results: each with its place, what it is, and its best lines.

import { count, fill, h, pathParts, visible } from "./dom.js";
import { lineElements, marked, matcher } from "./highlight.js";

const BEFORE = 1;
const SNIPPET = 5;
const narrow = matchMedia("(max-width: 720px)"); // no room for the chosen result beside the list
const HIT_PX = 100; // few results are lower, so that as many as fill the window are drawn at first

/** A list that knows which result is chosen; `aside` is where to say something instead. */
export function resultList({ onChoose, onOpen, onMore }) {
  const items = h("ol", { id: "results", class: "results", role: "listbox", "aria-label": "Results" });
  const more = h("button", { type: "button", class: "more", hidden: true, onclick: onMore }, "More results");
  const aside = h("div", { class: "aside" });
  const element = h("div", { class: "result-list" }, items, more, aside);
  let hits = [];
  let at = -1;
  let finish = () => {};

  items.addEventListener("click", (event) => {
    const chosen = [...items.children].indexOf(event.target.closest(".hit"));
    if (chosen < 0) return;
    const known = chosen === at;
    if (!known) choose(chosen, false);
    if (known || narrow.matches) onOpen(hits[chosen]);
  });

  function choose(next, scroll = true, typing = false) {
    items.children[at]?.setAttribute("aria-selected", "false");
    at = next;
    const item = items.children[at];
    if (!item) {
      onChoose(null, null);
      return;
    }
    item.setAttribute("aria-selected", "true");
    if (scroll) item.scrollIntoView({ block: "nearest" });
    onChoose(hits[at], at, typing);
  }

  return {
    element,
    aside,
    get length() {
      return hits.length;
    },
    get chosen() {
      return hits[at] || null;
    },
    show(found, { query, mode, offset, total, tools, wanted }) {
      if (offset) finish();
      const match = matcher(query, mode);
      const kept = offset ? hits : [];
      const make = (hit, index) => (tools ? toolItem : hitItem)(hit, kept.length + index, match);
      hits = [...kept, ...found];
      const atOnce = Math.ceil(innerHeight / HIT_PX);
      if (!offset) {
        items.replaceChildren();
        fill(aside);
        element.parentElement.scrollTop = 0;
      }
      items.append(...found.slice(0, atOnce).map(make));
      items.hidden = !hits.length;
      element.closest(".columns")?.toggleAttribute("data-empty", !hits.length);
      items.dataset.query = query;
      more.hidden = true;
      finish = () => {
        finish = () => {};
        items.append(...found.slice(atOnce).map((hit, index) => make(hit, atOnce + index)));
        more.hidden = tools || !found.length || hits.length >= total;
        if (!more.hidden) more.textContent = `More results (${count(total - hits.length, "more", "more")})`;
      };
      const mine = finish;
      requestAnimationFrame(() => setTimeout(() => finish === mine && finish()));
      if (!offset) {
        at = -1;
        const named = wanted ? hits.findIndex((hit) => `${hit.path}:${hit.startLine}` === wanted) : -1;
        if (named >= atOnce) finish();
        choose(hits.length ? Math.max(0, named) : -1, named > 0, true);
      }
    },
    move(step) {
      finish();
      if (hits.length) choose(Math.max(0, Math.min(hits.length - 1, at + step)));
    },
    open() {
      if (hits[at]) onOpen(hits[at]);
    },
  };
}

function hitItem(hit, index, match) {
  const what = hit.signature || hit.breadcrumb || hit.symbols?.slice(0, 3).join(", ") || "";
  return h(
    "li",
    { id: `hit-${index}`, role: "option", "aria-selected": "false", class: "hit" },
    h(
      "div",
      { class: "hit-head" },
      hit.project && h("span", { class: "pill none" }, visible(hit.project.name)),
      pathParts(hit.path, `:${hit.focusLine}`),
      h("span", { class: "kind" }, hit.kind || "section"),
      score(hit),
    ),
    what && h("div", { class: "what" }, marked(what.split("\n")[0], match)),
    snippet(hit, match),
  );
}

function score(hit) {
  const percent = `${Math.round(100 * hit.score)}%`;
  return h(
    "span",
    { class: "score", title: hit.strength ? `Right with a probability of ${percent}` : "How well it fits" },
    h("span", { class: "score-bar", "aria-hidden": "true" }, h("span", { style: { width: percent } })),
    hit.strength || percent,
  );
}

/** The best line with some around it; blank lines at either end are left out. */
function snippet(hit, match) {
  const all = hit.text.split("\n");
  let first = Math.max(0, Math.min(hit.focusLine - hit.startLine - BEFORE, all.length - SNIPPET));
  let last = Math.min(all.length, first + SNIPPET);
  while (first < last - 1 && !all[first].trim()) first += 1;
  while (last > first + 1 && !all[last - 1].trim()) last -= 1;
  const indents = all
    .slice(first, last)
    .filter((line) => line.trim())
    .map((line) => line.length - line.trimStart().length);
  const lines = lineElements(hit.text, hit.language, {
    match,
    first,
    last,
    dedent: indents.length ? Math.min(...indents) : 0,
  });
  return h(
    "div",
    { class: "snippet" },
    lines.map((line, index) => h("div", { class: "row", "data-line": hit.startLine + first + index }, line)),
  );
}

function toolItem(tool, index, match) {
  return h(
    "li",
    { id: `hit-${index}`, role: "option", "aria-selected": "false", class: "hit tool" },
    h(
      "div",
      { class: "hit-head" },
      h("bdi", { class: "path" }, h("span", { class: "file" }, visible(tool.name))),
      h("span", { class: "kind" }, visible(tool.serverName)),
      tool.score === undefined ? null : score(tool),
    ),
    h("p", { class: "description" }, marked(tool.description.split("\n\n")[0], match)),
  );
}
