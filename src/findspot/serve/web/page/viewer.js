// A whole file over the page, at the lines that were asked for. The address names both, so that they can be
// kept as a bookmark, and the browser's Back closes the file.

import { get } from "./api.js";
import { codeRegion, scrollToLine } from "./code.js";
import { desk, readdress, route } from "./desk.js";
import { fill, h, pathParts } from "./dom.js";
import { editorLink } from "./editor.js";
import { passageView } from "./passage.js";
import { errorState } from "./states.js";

const KEPT_FILES = 30;
const PLACE = /^(.+?):(\d+)(?:-(\d+))?$/;

const dialog = document.getElementById("viewer");
const files = new Map();
let shown = "";
let sides = null;
let given = {}; // what whoever opened the passage knows about it, and the address does not say

/** The lines of a file of a project; the latest files are kept. */
export function fileOf(project, path) {
  const key = `${project} ${path}`;
  if (!files.has(key)) {
    if (files.size >= KEPT_FILES) files.delete(files.keys().next().value);
    const answer = get(`projects/${project}/file`, { path });
    files.set(key, answer);
    answer.catch(() => files.delete(key));
  }
  return files.get(key);
}

/** Forget the files that were read: they may have changed. */
export const forgetFiles = () => files.clear();

/** Open a file at its `path`, `startLine` and `endLine`, and at the `focusLine` between them if there is one,
 * on one of its sides; `actions` makes further buttons for its head. */
export function openFile(project, place, { side = "", actions = () => null } = {}) {
  given = { symbol: place.symbol, actions };
  const lines = place.endLine > place.startLine ? `${place.startLine}-${place.endLine}` : place.startLine;
  const line = place.focusLine > place.startLine ? String(place.focusLine) : "";
  const changed = readdress(
    { open: `${place.path}:${lines}`, line, of: project === desk.chosen?.id ? "" : project, tab: side },
    { push: true, state: { viewer: true } },
  );
  if (changed || !dialog.open) followAddress();
}

/** Show the file that the address names, or close the one that is open. */
export async function followAddress() {
  const { parameters } = route();
  const wanted = parameters.get("open") || "";
  const [, path, start, end] = PLACE.exec(wanted) || [];
  if (!path) {
    shown = "";
    if (dialog.open) dialog.close();
    return;
  }
  const project = parameters.get("of") || desk.chosen?.id;
  const key = keyNow();
  if (key === shown && dialog.open) return;
  shown = key;
  const line = Number(parameters.get("line") || start);
  const place = { path, line, symbol: given.symbol, startLine: Number(start), endLine: Number(end || start) };
  const file = await fileOf(project, path).catch((problem) => problem);
  if (key === shown) draw(project, place, file);
}

const keyNow = () => ["open", "of", "tab"].map((name) => route().parameters.get(name) || "").join(" ");

function draw(project, place, file) {
  const failed = file instanceof Error;
  const lines = place.endLine > place.startLine ? `:${place.startLine}–${place.endLine}` : `:${place.line}`;
  const title = h("h2", { id: "viewer-title" }, pathParts(place.path, lines));
  const head = h(
    "header",
    { class: "pane-head" },
    h("div", { class: "heading" }, title),
    h(
      "div",
      { class: "actions" },
      failed ? null : editorLink(file.location, place.line),
      given.actions?.(),
      h(
        "button",
        { type: "button", class: "small", onclick: () => dialog.close() },
        "Close",
        h("kbd", { "aria-hidden": "true" }, "Esc"),
      ),
    ),
  );
  if (!dialog.open) dialog.showModal();
  sides = passageView({
    project,
    place,
    side: route().parameters.get("tab") || "code",
    code: (panel) => drawCode(panel, file, place),
    onOpen: (next, side) => openFile(project, next, { side }),
    onSide: () => (shown = keyNow()),
  });
  fill(dialog, head, failed ? errorState(file) : sides.element);
  if (failed) return;
  sides.show();
  (dialog.querySelector(".code") || dialog.querySelector("[aria-selected='true']")).focus();
}

function drawCode(panel, file, place) {
  const code = region(file, place);
  fill(panel, cutNotice(file), code);
  scrollToLine(code, place.line, place.startLine);
}

function cutNotice(file) {
  if (file.totalLines <= file.lines.length) return null;
  const [shownLines, total] = [file.lines.length, file.totalLines].map((n) => n.toLocaleString("en"));
  return h("p", { class: "notice" }, `The first ${shownLines} of ${total} lines.`);
}

/** The code; a click on a line number puts that line into the address. */
function region(file, place) {
  const code = codeRegion(file.lines.join("\n"), {
    language: file.language,
    from: place.startLine,
    to: place.endLine,
    best: place.line > place.startLine ? place.line : 0,
    label: `All of ${place.path}`,
  });
  code.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row || event.target !== row) return;
    readdress({ open: `${place.path}:${row.dataset.line}`, line: "" });
    given = {};
    followAddress();
  });
  return code;
}

dialog.addEventListener("close", () => {
  shown = "";
  sides = null;
  given = {};
  if (!route().parameters.get("open")) return;
  if (history.state?.viewer) history.back();
  else readdress({ open: "", line: "", of: "", tab: "" });
});

dialog.addEventListener("keydown", (event) => {
  if (/^[1-5]$/.test(event.key) && !event.altKey && !event.ctrlKey && !event.metaKey) sides?.pick(event.key);
});
