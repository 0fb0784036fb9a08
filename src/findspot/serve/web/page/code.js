// Code as it is shown at length: numbered lines, colours, the lines that answer marked.

import { h } from "./dom.js";
import { lineElements } from "./highlight.js";

const BLOCK = 200;

/** A scrolling region of numbered lines, the first of them `start`; `from` and `to` are the lines that answer, `best` decides. */
export function codeRegion(
  text,
  { language, start = 1, first = 0, last = Infinity, from = 0, to = -1, best = 0, match = null, label },
) {
  const rows = lineElements(text, language, { match, first, last }).map((line, index) => {
    const number = start + first + index;
    return h(
      "div",
      {
        class: `row${number >= from && number <= to ? " within" : ""}${number === best ? " best" : ""}`,
        "data-line": number,
      },
      line,
    );
  });
  const blocks = [];
  for (let first = 0; first < rows.length; first += BLOCK)
    blocks.push(h("div", { class: "block" }, rows.slice(first, first + BLOCK)));
  const digits = String(start + first + rows.length).length;
  return h(
    "div",
    {
      class: "code",
      tabindex: "0",
      role: "region",
      "aria-label": label,
      style: { "--digits": `${digits}ch` },
    },
    blocks,
  );
}

/** Bring a line to the upper third of its region; the one where its definition begins stays in sight if it can. */
export function scrollToLine(region, line, begin = line) {
  const row = region.querySelector(`[data-line="${line}"]`);
  if (!row) return;
  row.closest(".block").classList.add("shown"); // its height is known only then
  const below = row.getBoundingClientRect().top - region.getBoundingClientRect().top;
  region.scrollTop += below - region.clientHeight / 3;
  const head = region.querySelector(`[data-line="${begin}"]`);
  const above = head ? head.getBoundingClientRect().top - region.getBoundingClientRect().top : 0;
  if (above < 0 && -above < region.clientHeight / 2) region.scrollTop += above;
}
