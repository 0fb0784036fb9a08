// The chosen result beside the list: its lines with what is around them, and why it ranks where it does.

import { codeRegion, scrollToLine } from "./code.js";
import { fill, h, pathParts, say, visible } from "./dom.js";
import { matcher } from "./highlight.js";
import { editorLink } from "./editor.js";
import { passageView } from "./passage.js";
import { fileOf, openFile } from "./viewer.js";
import { whyBars } from "./why.js";

const AROUND = 12;
const REST_MS = 90;
const SETTLE_MS = 60;

/** The pane of the chosen result; a result of several projects says which one it is of. */
export function preview(pane, { project, onLike }) {
  let shown = null;
  let sides = null;
  let picked = ""; // the side that was chosen while a newer result waited to be drawn
  let timer = 0;
  const projectOf = (hit) => hit.project?.id || project.id;

  /** At once where the reader moved through the list; while someone types, not before the typing rests. */
  function show(hit, about) {
    shown = hit;
    picked = "";
    clearTimeout(timer);
    timer = setTimeout(() => draw(hit, about), about.typing ? REST_MS : 0);
  }

  /** Typing goes on: what was to be drawn is out of date. */
  function hold() {
    clearTimeout(timer);
  }

  function draw(hit, about) {
    const inSides = document.activeElement?.closest(".sides") && pane.contains(document.activeElement);
    sides = passageView({
      project: projectOf(hit),
      place: hit,
      side: picked || about.tab,
      code: (panel) => drawCode(panel, hit, matcher(about.query, about.mode)),
      onOpen: (place, side) => openFile(projectOf(hit), place, { side }),
      onSide: (name) => {
        picked = name;
      },
    });
    fill(pane, head(hit), sides.element);
    sides.show();
    if (inSides) pane.querySelector('.sides [aria-selected="true"]').focus();
  }

  function drawCode(panel, hit, match) {
    const region = codeRegion(hit.text, {
      language: hit.language,
      start: hit.startLine,
      from: hit.startLine,
      to: hit.endLine,
      best: hit.focusLine,
      match,
      label: `Lines ${hit.startLine} to ${hit.endLine} of ${hit.path}`,
    });
    fill(panel, region, whyBars(hit));
    scrollToLine(region, hit.focusLine, hit.startLine);
    timer = setTimeout(() => withContext(hit, match, region), SETTLE_MS);
  }

  async function withContext(hit, match, region) {
    const file = await fileOf(projectOf(hit), hit.path).catch(() => null);
    if (!file || shown !== hit) return;
    const known = pane.querySelector(".pane-head .in-editor");
    if (!known) pane.querySelector(".open-file")?.after(editorLink(file.location, hit.focusLine) || "");
    const wider = codeRegion(file.lines.join("\n"), {
      language: file.language,
      first: Math.max(0, hit.startLine - 1 - AROUND),
      last: hit.endLine + AROUND,
      from: hit.startLine,
      to: hit.endLine,
      best: hit.focusLine,
      match,
      label: region.getAttribute("aria-label"),
    });
    const focused = document.activeElement === region;
    region.replaceWith(wider);
    if (focused) wider.focus();
    scrollToLine(wider, hit.focusLine, hit.startLine);
  }

  function head(hit) {
    return h(
      "header",
      { class: "pane-head" },
      h(
        "div",
        { class: "heading" },
        h("h2", {}, visible(hit.symbol || hit.breadcrumb || hit.path.split("/").pop())),
        h("p", { class: "crumb" }, pathParts(hit.path, `:${hit.startLine}–${hit.endLine}`)),
      ),
      h(
        "div",
        { class: "actions" },
        action("Open file", "Enter", () => open(hit), "open-file"),
        action("Copy place", "c", copy),
        onLike && action("More like this", "m", () => onLike(hit)),
      ),
    );
  }

  function action(label, key, onclick, kind = "") {
    return h(
      "button",
      { type: "button", class: `small ${kind}`, onclick },
      label,
      h("kbd", { "aria-hidden": "true" }, key),
    );
  }

  function open(hit) {
    openFile(projectOf(hit), hit, { actions: () => onLike && action("More like this", "", () => onLike(hit)) });
  }

  async function copy() {
    if (!shown) return;
    const place = `${shown.path}:${shown.startLine}`;
    const done = await navigator.clipboard.writeText(place).then(
      () => true,
      () => false,
    );
    say(done ? `Copied ${place}` : "Copying is not allowed here");
    const button = [...pane.querySelectorAll("button")].find((one) => one.textContent.startsWith("Cop"));
    if (button && done) {
      button.firstChild.textContent = "Copied";
      setTimeout(() => {
        button.firstChild.textContent = "Copy place";
      }, 1200);
    }
  }

  const pick = (digit) => Boolean(sides?.pick(digit));

  return { show, hold, open, copy, pick };
}
