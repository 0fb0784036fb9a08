// A link that opens a file in the user's editor, at its line.

import { desk } from "./desk.js";
import { h } from "./dom.js";

/** The link, or nothing where no editor is configured. */
export function editorLink(location, line) {
  if (!desk.editor || !location) return null;
  const [name, address] = desk.editor;
  const path = location.replaceAll("\\", "/").replace(/^\//, "");
  const written = path.split("/").map(encodeURIComponent).join("/").replaceAll("%3A", ":");
  const href = address.replaceAll("{path}", `/${written}`).replaceAll("{line}", String(line));
  return h("a", { class: "button small in-editor", href, title: `${location}:${line}` }, `Open in ${name}`);
}
