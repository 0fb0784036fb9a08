// Why a result ranks where it does: in words, and as bars for those who want the figures.

import { h } from "./dom.js";

const SIGNALS = {
  keyword: ["Words", "How well its words match, against the best of all"],
  semantic: ["Meaning", "How near its meaning is, against the best of all"],
  fused: ["Both", "Words and meaning, mixed by the kind of question"],
  definition: ["Defines it", "It defines, or is headed by, what the question names"],
  fileName: ["File name", "The file is called like what it defines"],
  path: ["Path", "File or folder say what the question asks about"],
  mentioned: ["Mentioned", "The question names this file"],
  coherence: ["Same file", "Other parts of the file match as well"],
};
const FACTORS = {
  roleFactor: ["Kind of file", "Tests, examples, declarations and data count less"],
  placeFactor: ["Place", "Which passage of the file answers"],
  sameFileFactor: ["Again", "The file has better results already"],
};
const EVIDENCE = {
  words: ["Its words", "How well it holds the question's words: about 1 if it has each of them once"],
  cosine: ["Likeness", "Of its meaning to the question's, from 0 to 1"],
};

export function whyBars(hit) {
  if (!hit.why) return null;
  const most = Math.max(1, ...Object.keys(SIGNALS).map((name) => hit.why[name] || 0));
  const given = (table, kind, scale, form) =>
    Object.entries(table)
      .filter(([name]) => hit.why[name] !== undefined && !(kind === "factor" && hit.why[name] === 1))
      .map(([name, [label, what]]) => bar(label, what, hit.why[name], scale, form(hit.why[name]), kind));
  return h(
    "section",
    { class: "why", "aria-label": "Why this rank" },
    h("h3", {}, "Why this rank"),
    h("p", { class: "why-words" }, reasons(hit.why).join(" ")),
    h(
      "details",
      { open: localStorage.getItem(OPENED) === "1", ontoggle: remember },
      h("summary", {}, "Figures"),
      h(
        "ul",
        { class: "bars" },
        given(SIGNALS, "signal", most, (value) => value.toFixed(2)),
        given(FACTORS, "factor", 1, (value) => `× ${value.toFixed(2)}`),
        given(EVIDENCE, "evidence", 1, (value) => value.toFixed(2)),
      ),
    ),
  );
}

const OPENED = "findspot-figures";
const remember = (event) => localStorage.setItem(OPENED, event.target.open ? "1" : "0");

/** The signals as sentences, those that count most first. */
function reasons(why) {
  const sentences = [];
  if (why.definition > 0) sentences.push("It defines what the question names.");
  if (why.mentioned > 0) sentences.push("The question names this file.");
  if (why.words >= 0.8) sentences.push("It contains nearly all words of the question.");
  else if (why.words >= 0.3) sentences.push("It contains some words of the question.");
  else if (why.words !== undefined) sentences.push("It contains few words of the question.");
  if (why.cosine >= 0.55) sentences.push("The text means something similar.");
  else if (why.cosine >= 0.35) sentences.push("The text is about something related.");
  else if (why.cosine !== undefined) sentences.push("The text is only loosely related.");
  if (why.fileName > 0 || why.path > 0) sentences.push("The file or folder has this name.");
  if (why.coherence > 0) sentences.push("Other parts of the file match as well.");
  if (why.roleFactor < 1) sentences.push("It counts less because it is a test, an example, a declaration or data.");
  if (why.sameFileFactor < 1) sentences.push("It counts less because the file has better results already.");
  return sentences.length ? sentences : ["It matches the pattern."];
}

function bar(label, what, value, scale, text, kind) {
  const width = `${Math.max(0, Math.min(100, (100 * value) / scale)).toFixed(1)}%`;
  return h(
    "li",
    { class: kind, title: what },
    h("span", { class: "bar-label" }, label),
    h("span", { class: "bar", "aria-hidden": "true" }, h("span", { style: { width } })),
    h("span", { class: "figure" }, text),
  );
}
