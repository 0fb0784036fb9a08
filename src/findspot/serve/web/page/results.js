// The list of results: what each is, its place, and its best lines; those that are less likely on one line.

import { count, fill, h, pathParts, visible } from "./dom.js";
import { lineElements, marked, matcher } from "./highlight.js";

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
    show(found, { query, mode, offset, total, wanted }) {
      if (offset) finish();
      const match = matcher(query, mode);
      const kept = offset ? hits : [];
      const make = (hit, index) => hitItem(hit, kept.length + index, match);
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
        more.hidden = !found.length || hits.length >= total;
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
  const weak = hit.strength === "weak" && index > 0;
  return h(
    "li",
    { id: `hit-${index}`, role: "option", "aria-selected": "false", class: weak ? "hit weak" : "hit" },
    h(
      "div",
      { class: "hit-head" },
      hit.project && h("span", { class: "pill none" }, visible(hit.project.name)),
      hit.breadcrumb && h("bdi", { class: "symbol" }, marked(hit.breadcrumb.split(" > ").join("."), match)),
      pathParts(hit.path, `:${hit.startLine}–${hit.endLine}`),
      h("span", { class: "kind" }, hit.kind || "section"),
      score(hit),
    ),
    weak ? null : snippet(hit, match),
  );
}

function score(hit) {
  const percent = `${Math.round(100 * hit.score)}%`;
  return h(
    "span",
    { class: "score", title: hit.strength ? `Right with a probability of ${percent}` : "How well it fits" },
    h(
      "span",
      { class: `score-bar ${hit.strength || ""}`, "aria-hidden": "true" },
      h("span", { style: { width: percent } }),
    ),
    hit.strength || percent,
  );
}

/** The first line, and the best one with some around it; blank lines are left out. */
function snippet(hit, match) {
  const all = hit.text.split("\n");
  const best = Math.max(0, Math.min(hit.focusLine - hit.startLine, all.length - 1));
  const near = best < SNIPPET ? 1 : Math.min(best - 1, all.length - SNIPPET + 1);
  const shown = [0, ...Array.from({ length: SNIPPET - 1 }, (_, index) => near + index)].filter(
    (at) => at < all.length && all[at].trim(),
  );
  const dedent = Math.min(...shown.map((at) => all[at].length - all[at].trimStart().length));
  const lines = lineElements(hit.text, hit.language, { match, dedent: shown.length ? dedent : 0 });
  return h(
    "div",
    { class: "snippet" },
    shown.map((at) =>
      h("div", { class: at === best ? "row best" : "row", "data-line": hit.startLine + at }, lines[at]),
    ),
  );
}
