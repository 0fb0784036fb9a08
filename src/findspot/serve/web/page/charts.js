// Figures as bars: readable as text first, and as a picture beside it.

import { h } from "./dom.js";

const MOST_ROWS = 12;

/** Horizontal bars, largest first; with `onPick` each is a button. */
export function barChart(
  label,
  values,
  { form = (value) => value.toLocaleString("en"), onPick, picked } = {},
) {
  const sorted = Object.entries(values).sort((one, other) => other[1] - one[1]);
  const rest = sorted.slice(MOST_ROWS).reduce((sum, [, value]) => sum + value, 0);
  const rows = rest ? [...sorted.slice(0, MOST_ROWS), [`${sorted.length - MOST_ROWS} more`, rest]] : sorted;
  const most = Math.max(1, ...rows.map(([, value]) => value));
  return h(
    "ul",
    { class: "bars chart", "aria-label": label },
    rows.map(([name, value]) => {
      const parts = [
        h("span", { class: "bar-label" }, name.replaceAll("_", " ")),
        h(
          "span",
          { class: "bar", "aria-hidden": "true" },
          h("span", { style: { width: `${(100 * value) / most}%` } }),
        ),
        h("span", { class: "figure" }, form(value)),
      ];
      const known = name in values;
      return h(
        "li",
        { class: "signal" },
        onPick && known
          ? h(
              "button",
              {
                type: "button",
                class: "bar-button",
                "aria-pressed": String(picked === name),
                onclick: () => onPick(name),
              },
              parts,
            )
          : parts,
      );
    }),
  );
}

/** One bar made of parts, with a legend that tells each. */
export function partsChart(label, values, form) {
  const entries = Object.entries(values);
  const total = entries.reduce((sum, [, value]) => sum + value, 0) || 1;
  return h(
    "div",
    { class: "parts" },
    h(
      "div",
      { class: "parts-bar", "aria-hidden": "true" },
      entries.map(([, value], index) =>
        h("span", { class: `part-${index}`, style: { width: `${(100 * value) / total}%` } }),
      ),
    ),
    h(
      "ul",
      { "aria-label": label },
      entries.map(([name, value], index) =>
        h(
          "li",
          {},
          h("span", { class: `swatch part-${index}`, "aria-hidden": "true" }),
          h("span", {}, name),
          h("span", { class: "figure" }, form(value)),
        ),
      ),
    ),
  );
}
