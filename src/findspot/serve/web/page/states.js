// What a page shows when it has nothing else to show.

import { h, count } from "./dom.js";

export function emptyState(title, text, ...actions) {
  return h(
    "div",
    { class: "state" },
    h("h2", {}, title),
    text && h("p", {}, text),
    actions.length ? h("div", { class: "actions" }, actions) : null,
  );
}

/** What went wrong, in the words of whoever knows, and what to do; nothing where the page's head says it already. */
export function errorState(problem, retry) {
  const lost = ["OFFLINE", "NOT_ADMITTED"].includes(problem.code);
  if (lost && !document.querySelector("dialog[open]")) return null;
  return h(
    "div",
    { class: "state error", role: "alert" },
    h("h2", {}, problem.message || "Something went wrong."),
    problem.hint && h("p", {}, ticked(problem.hint)),
    problem.code && h("p", { class: "detail" }, problem.detail || problem.code),
    retry &&
      h(
        "div",
        { class: "actions" },
        h("button", { type: "button", class: "primary", onclick: retry }, "Try again"),
      ),
  );
}

export function loadingState(what) {
  return h("p", { class: "state loading" }, what);
}

/** Text in which what stands in backticks is code. */
export function ticked(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

export function button(label, onclick, kind = "") {
  return h("button", { type: "button", class: kind, onclick }, label);
}

/** How far indexing is, as a bar with its figures. */
export function progressBar(progress, onCancel) {
  const { done = 0, total = 0, phase = "indexing" } = progress || {};
  const share = total ? Math.round((100 * done) / total) : 0;
  const text = total ? `${done.toLocaleString("en")} of ${count(total, "file")}` : "looking for files";
  const bar = total
    ? h("progress", { max: total, value: done, "aria-label": "Indexing progress" })
    : h("progress", { "aria-label": "Indexing progress" });
  return h(
    "div",
    { class: "progress" },
    h(
      "div",
      { class: "progress-text" },
      h("strong", {}, `${phase[0].toUpperCase()}${phase.slice(1)}`),
      h("span", {}, text),
      total ? h("span", { class: "figure" }, `${share}%`) : null,
      onCancel && button("Stop", onCancel, "small"),
    ),
    bar,
  );
}

export const STATES = {
  ready: ["Ready", "good"],
  indexing: ["Indexing", "busy"],
  incomplete: ["Incomplete", "warn"],
  failed: ["Damaged", "bad"],
  not_found: ["Not indexed", "none"],
};

export function statePill(status) {
  const [label, kind] = STATES[status] || [status, "none"];
  return h("span", { class: `pill ${kind}` }, label);
}
