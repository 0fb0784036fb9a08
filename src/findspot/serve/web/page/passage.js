// One passage from five sides: its code, who calls it and what it calls, its tests, what a change of it
// reaches, and the commits that shaped it. Each side is of exactly this definition.

import { get } from "./api.js";
import { readdress } from "./desk.js";
import { count, fill, h, pathParts, visible } from "./dom.js";
import { commitList } from "./history.js";
import { emptyState, errorState, loadingState } from "./states.js";

const SIDES = [
  ["code", "Code"],
  ["callers", "Callers"],
  ["tests", "Tests"],
  ["impact", "Impact"],
  ["history", "History"],
];
const SURE = 0.7;
let made = 0;

/** Tabs and what they show. `code(panel)` draws the lines; `onOpen(place, side)` follows what is found. */
export function passageView({ project, place, side, code, onOpen, onSide = () => {} }) {
  const mine = `passage-${++made}`;
  const sides = SIDES.filter(([name]) => !place.path.includes("://") || name === "code");
  const panel = h("div", { class: "side-panel", role: "tabpanel", id: `${mine}-panel` });
  const tabs = sides.map(([name, label], index) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `${mine}-${name}`,
        "data-side": name,
        "aria-controls": `${mine}-panel`,
        title: `Key ${index + 1}`,
        onclick: () => choose(name),
      },
      label,
    ),
  );
  const bar = h("div", { class: "sides", role: "tablist", "aria-label": "Sides of the passage", onkeydown: walk }, tabs);
  const subject = { path: place.path, line: place.startLine, symbol: place.symbol };
  const lines = place.endLine > 1 ? `:${place.startLine}-${place.endLine}` : "";
  let turn = 0;

  const dependents = (relation) => get(`projects/${project}/dependents`, { ...subject, relation });
  const asked = {
    callers: () => Promise.all(["callers", "callees"].map(dependents)),
    tests: () => dependents("tests"),
    impact: () => dependents("impact"),
    history: () => get(`projects/${project}/history`, { q: place.path + lines }),
  };
  const drawn = { callers: drawCalls, tests: drawTests, impact: drawImpact, history: commitList };

  function walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    const at = tabs.indexOf(document.activeElement);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next.focus();
    choose(next.dataset.side);
  }

  /** Show a side, and put it into the address. */
  function choose(name) {
    readdress({ tab: name === "code" ? "" : name });
    onSide(name);
    show(name);
  }

  async function show(name) {
    const now = ++turn;
    for (const tab of tabs) {
      const chosen = tab.dataset.side === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `${mine}-${name}`);
    panel.classList.toggle("listed", name !== "code");
    if (name === "code") {
      panel.removeAttribute("tabindex");
      code(panel);
      return;
    }
    panel.tabIndex = 0;
    fill(panel, loadingState("Following the code …"));
    const answer = await asked[name]().catch((problem) => problem);
    if (now === turn) fill(panel, answer instanceof Error ? failed(answer) : drawn[name](answer));
  }

  /** What cannot be answered about a passage, such as the past of lines that are not committed, is no fault. */
  const failed = (problem) =>
    problem.status === 400 ? emptyState(problem.message, problem.hint) : errorState(problem);

  function drawCalls([callers, callees]) {
    const drawn = (one) => entry(one, "callers", one.at);
    return [
      group(callers.subject ? "Called by" : "Imported by", ends(callers, "from"), drawn),
      callers.subject ? group("Calls", ends(callees, "to"), drawn) : null,
    ];
  }

  /** Each definition at one end of what was found, with the first line that refers to it and how often one does. */
  function ends({ nodes, edges }, end) {
    return nodes.filter((one) => one.hop).map((one) => {
      const own = edges.filter((edge) => edge[end] === one.id);
      const [first] = own;
      const at = first && { path: first.path, startLine: first.line, endLine: first.line };
      return { ...one, at, times: own.length, confidence: Math.max(...own.map((edge) => edge.confidence)) };
    });
  }

  function drawTests(answer) {
    const files = answer.nodes.filter((one) => one.kind === "file");
    if (!files.length) return emptyState("No test is known", "No test calls, imports or names it.");
    return files.map((file) =>
      h(
        "section",
        { class: "group", "aria-label": file.path },
        h("h3", {}, opener(file, "", pathParts(file.path))),
        h("p", { class: "muted" }, visible(file.why || "")),
        list(
          answer.nodes.filter((one) => one.path === file.path && one !== file),
          (one) => entry(one, "", "own"),
        ),
      ),
    );
  }

  function drawImpact(answer) {
    const reached = answer.nodes.filter((one) => one.hop);
    const groups = [
      ["Directly", reached.filter((one) => one.hop === 1 && !one.test)],
      ["Through these", reached.filter((one) => one.hop > 1 && !one.test)],
      ["Tests", reached.filter((one) => one.test)],
    ].filter(([, found]) => found.length);
    if (!groups.length) return emptyState("Nothing depends on it", "No reference to it is known.");
    const possible = (answer.possible || []).map((one) => ({ ...one, name: one.from, startLine: one.line, why: one.reason }));
    return [
      ...groups.map(([title, found]) => group(title, found, (one) => entry(one, "impact", null))),
      possible.length ? group("Possibly", possible, (one) => entry(one, "", null)) : null,
    ];
  }

  function group(title, found, draw) {
    const said = found.length ? count(found.length, "place") : "nothing that is known";
    return h("section", { class: "group", "aria-label": title }, h("h3", {}, title, h("small", {}, said)), list(found, draw));
  }

  const list = (found, draw) => h("ul", {}, found.map(draw));

  /** A definition that was found: it opens on the same side, and its line as code; "own" is said without its file. */
  function entry(one, next, line) {
    const unsure = one.confidence < SURE || one.why?.endsWith("likely") || one.why?.endsWith("possible");
    const where = line?.path ? line : { path: one.path, startLine: one.startLine, endLine: one.endLine || one.startLine };
    return h(
      "li",
      { class: unsure ? "unsure" : "" },
      opener(one, next, h("bdi", {}, visible(one.name)), "name"),
      opener(where, "", line === "own" ? `line ${one.startLine}` : pathParts(where.path, `:${where.startLine}`), "place"),
      one.times > 1 ? h("span", { class: "muted" }, `× ${one.times}`) : null,
      one.why ? h("span", { class: "muted" }, visible(one.why)) : unsure ? h("span", { class: "muted" }, "likely") : null,
    );
  }

  const opener = ({ path, startLine, endLine }, next, label, kind = "") =>
    h(
      "button",
      { type: "button", class: `bare ${kind}`, onclick: () => onOpen({ path, startLine, endLine: endLine || startLine }, next) },
      label,
    );

  return {
    element: [bar, panel],
    show: () => show(sides.some(([name]) => name === side) ? side : "code"),
    /** Show the side of a digit, if there is one. */
    pick(digit) {
      const name = sides[digit - 1]?.[0];
      if (name) choose(name);
      return Boolean(name);
    },
  };
}
