// Elements are made here and nowhere else, and text only ever becomes text nodes: what a repository
// holds cannot become markup. The page's content security policy forbids the other ways.

const SVG = "http://www.w3.org/2000/svg";

/** An element with properties and children; strings become text. */
export function h(tag, properties = {}, ...children) {
  return filled(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

function filled(element, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style")
      for (const [key, part] of Object.entries(value)) element.style.setProperty(key, part);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...kept(children));
  return element;
}

/** Give an element other children. */
export function fill(element, ...children) {
  element.replaceChildren(...kept(children));
  return element;
}

function kept(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;
const SPLIT = new RegExp(`(${INVISIBLE.source})`);

/** Text as nodes, with what would reorder or hide it spelled out. */
export function visible(text) {
  if (!INVISIBLE.test(text)) return [text];
  return text
    .split(SPLIT)
    .filter(Boolean)
    .map((part) => (INVISIBLE.test(part) ? spelled(part) : part));
}

function spelled(character) {
  const code = character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  return h("span", { class: "spelled", title: "A character that does not show" }, `U+${code}`);
}

/** A path, its folder quieter than its name. */
export function pathParts(path, lines = "") {
  const cut = path.lastIndexOf("/") + 1;
  return h(
    "bdi",
    { class: "path", title: path },
    h("span", { class: "dir" }, visible(path.slice(0, cut))),
    h("span", { class: "file" }, visible(path.slice(cut))),
    lines && h("span", { class: "lines" }, lines),
  );
}

/** Tell those who do not see the page. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

export const count = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

export function size(bytes) {
  let amount = bytes;
  for (const unit of ["B", "KB", "MB"]) {
    if (amount < 1024)
      return `${amount < 10 && unit !== "B" ? amount.toFixed(1) : Math.round(amount)} ${unit}`;
    amount /= 1024;
  }
  return `${amount.toFixed(1)} GB`;
}

const STEPS = [
  ["year", 31536000],
  ["month", 2592000],
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
];
const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** A moment as people say it, with the moment itself beside it. */
export function ago(moment) {
  if (!moment) return "never";
  const seconds = (Date.parse(moment) - Date.now()) / 1000;
  const step = STEPS.find(([, length]) => Math.abs(seconds) >= length);
  const said = step ? RELATIVE.format(Math.round(seconds / step[1]), step[0]) : "just now";
  return h("time", { datetime: moment, title: new Date(moment).toLocaleString("en") }, said);
}
