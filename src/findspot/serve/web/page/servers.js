// The servers of the catalogue: whether each may be started, and the latest calls to their tools.

import { follow, get } from "./api.js";
import { homely } from "./desk.js";
import { ago, count, fill, h, size, visible } from "./dom.js";
import { emptyState, errorState, loadingState, ticked } from "./states.js";

const EVERY_MS = 2000;
const SHOWN_CALLS = 50;

const STATES = {
  agreed: ["Agreed", "good"],
  new: ["Not agreed", "warn"],
  changed: ["Changed", "warn"],
  disabled: ["Disabled", "none"],
  failed: ["Failed", "bad"],
  listed: ["Listed only", "none"],
  removed: ["Removed", "none"],
  "needs login": ["Needs login", "warn"],
};
const REMEDIES = {
  new: "Nobody agreed to start it. Run `findspot tools index`.",
  changed: "Its entry changed after you agreed to it. Run `findspot tools index`.",
  listed: "Its tools come from a JSON file, so they cannot be called.",
};
const ENDS = {
  ok: ["OK", "good"],
  "tool error": ["Tool error", "warn"],
  refused: ["Refused", "warn"],
  "timed out": ["Timed out", "bad"],
  cancelled: ["Cancelled", "none"],
  failed: ["Failed", "bad"],
};

export function serversPage(main) {
  const lead = h("p", { class: "lead" });
  const cards = h("div", {});
  const calls = h("section", { class: "panel", "aria-label": "Latest calls" });
  let shown = "";
  fill(
    main,
    h("div", { class: "sheet" }, h("div", { class: "sheet-head" }, h("h1", {}, "Servers"), lead), cards, calls),
  );
  fill(cards, loadingState("Reading the catalogue …"));
  calls.hidden = true;

  async function look() {
    try {
      const answer = await get("servers", { limit: SHOWN_CALLS });
      const stamp = JSON.stringify(answer);
      if (stamp !== shown) show(answer);
      shown = stamp;
    } catch (problem) {
      shown = "";
      if (problem.code !== "OFFLINE") fill(cards, errorState(problem, look));
    }
    return true;
  }

  function show({ servers, calls: latest, callsError }) {
    fill(lead, count(servers.length, "server"));
    fill(
      cards,
      servers.length
        ? h("ul", { class: "cards" }, servers.map(card))
        : emptyState("No servers yet", ticked("Run `findspot tools index .mcp.json` or `findspot tools add`.")),
    );
    calls.hidden = false;
    fill(calls, callsError ? errorState({ ...callsError, message: callsError.userMessage }, look) : callTable(latest));
  }

  look();
  return follow(look, EVERY_MS);
}

const pill = ([label, kind]) => h("span", { class: `pill ${kind}` }, label);

function card(server) {
  const remedy = REMEDIES[server.state];
  return h(
    "li",
    { class: "card" },
    h(
      "div",
      { class: "card-head" },
      h("h2", {}, h("bdi", {}, visible(server.name))),
      pill(STATES[server.state]),
    ),
    server.launch && h("p", { class: "place" }, visible(server.launch)),
    h(
      "p",
      {},
      server.tools
        ? h("a", { href: `#/tools?server=${encodeURIComponent(server.name)}` }, count(server.tools, "tool"))
        : "No tools known",
      server.disabledTools.length ? `, ${server.disabledTools.length} disabled` : null,
    ),
    server.source && h("p", { class: "muted" }, "From ", visible(homely(server.source))),
    remedy && h("p", { class: "muted" }, ticked(remedy)),
    server.error && h("p", { class: "problem" }, visible(server.error)),
  );
}

const COLUMNS = ["Tool", "When", "Client", "Result", "Time", "Sent", "Received"];

function callTable(calls) {
  const heading = h("h2", {}, "Latest calls", h("small", {}, "times and sizes only, no contents"));
  if (!calls.length) return [heading, h("p", { class: "muted" }, "No calls have been logged.")];
  const row = (call) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("bdi", {}, visible(call.tool))),
      h("td", {}, ago(call.time)),
      h("td", {}, visible(call.client)),
      h("td", {}, pill(ENDS[call.outcome])),
      h("td", { class: "figure" }, duration(call.durationMs)),
      h("td", { class: "figure" }, size(call.argumentBytes)),
      h("td", { class: "figure" }, size(call.answerBytes)),
    );
  return [
    heading,
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Calls" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, COLUMNS.map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, calls.map(row)),
      ),
    ),
  ];
}

const duration = (ms) => (ms < 10_000 ? `${Math.round(ms).toLocaleString("en")} ms` : `${Math.round(ms / 1000)} s`);
