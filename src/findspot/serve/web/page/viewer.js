// A whole file over the page, at the line that was asked for.

import { codeRegion, scrollToLine } from "./code.js";
import { fill, h, pathParts } from "./dom.js";
import { errorState } from "./states.js";

const dialog = document.getElementById("viewer");

/** Show a file; `lines` fetches it, `onClosed` is told when the reader is done. */
export async function openFile(project, place, lines, onClosed = () => {}) {
  const close = h(
    "button",
    { type: "button", class: "small", onclick: () => dialog.close() },
    "Close",
    h("kbd", { "aria-hidden": "true" }, "Esc"),
  );
  const head = h(
    "header",
    { class: "pane-head" },
    h(
      "div",
      { class: "heading" },
      h("h2", { id: "viewer-title" }, pathParts(place.path, `:${place.startLine}`)),
    ),
    h("div", { class: "actions" }, close),
  );
  const file = await lines(place.path).catch((problem) => problem);
  if (file instanceof Error) fill(dialog, head, errorState(file));
  else {
    const region = codeRegion(file.lines.join("\n"), {
      language: file.language,
      from: place.startLine,
      to: place.endLine ?? place.startLine,
      label: `All of ${place.path}`,
    });
    const cut =
      file.totalLines > file.lines.length
        ? h(
            "p",
            { class: "notice" },
            `The first ${file.lines.length.toLocaleString("en")} of ${file.totalLines.toLocaleString("en")} lines.`,
          )
        : null;
    fill(dialog, head, cut, region);
  }
  dialog.addEventListener("close", onClosed, { once: true });
  dialog.showModal();
  const region = dialog.querySelector(".code");
  if (region) {
    scrollToLine(region, place.startLine);
    region.focus();
  }
}
