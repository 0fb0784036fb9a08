// The MCP servers behind Findspot and their tools: agree to a server, enable it, log in, try its tools.

import { follow, get, post } from "./api.js";
import { confirmed } from "./confirm.js";
import { homely } from "./desk.js";
import { ago, count, fill, h, say, size, visible } from "./dom.js";
import { lineElements } from "./highlight.js";
import { button, emptyState, errorState, loadingState, ticked } from "./states.js";

const EVERY_MS = 2000;
const REST_MS = 120;

const STATES = {
  agreed: ["Ready", "good"],
  new: ["Not agreed", "warn"],
  changed: ["Changed", "warn"],
  disabled: ["Disabled", "none"],
  failed: ["Failed", "bad"],
  listed: ["Listed only", "none"],
  removed: ["Removed", "none"],
  "needs login": ["Needs login", "warn"],
};
const REMARKS = {
  new: "Nothing of it runs before you agree.",
  changed: "Its entry is another one than you agreed to. It does not run before you agree again.",
  listed: "Its tools come from a file, so they cannot be called.",
  removed: "Its entry is gone from the configuration. `findspot tools index` forgets its tools.",
};
const ENDS = {
  ok: ["OK", "good"],
  "tool error": ["Tool error", "warn"],
  refused: ["Refused", "warn"],
  "timed out": ["Timed out", "bad"],
  cancelled: ["Cancelled", "none"],
  failed: ["Failed", "bad"],
};
const COLUMNS = ["Tool", "When", "Client", "Result", "Time", "Sent", "Received"];

const pill = ([label, kind]) => h("span", { class: `pill ${kind}` }, label);
const stamped = (value) => JSON.stringify(value);

export function toolsPage(main) {
  const lead = h("p", { class: "lead" }, "MCP servers that assistants reach through Findspot.");
  const field = h("input", {
    type: "search",
    "data-search": "",
    placeholder: "Find a tool by what it does",
    "aria-label": "Find a tool",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      clearTimeout(resting);
      resting = setTimeout(find, REST_MS);
    },
  });
  const found = h("div", {});
  const list = h("div", { class: "servers" }, loadingState("Reading the catalogue …"));
  const calls = h("section", { class: "panel", "aria-label": "Latest calls", hidden: true });
  const known = new Map(); // server → how its part of the page is brought up to date
  let shownNames = "";
  let shownCalls = "";
  let resting = 0;
  fill(
    main,
    h("div", { class: "sheet" }, h("div", { class: "sheet-head" }, h("h1", {}, "Tools"), lead), field, found, list, calls),
  );
  field.hidden = true;

  async function look() {
    try {
      show(await get("servers"));
    } catch (problem) {
      shownNames = "";
      if (problem.code !== "OFFLINE") fill(list, errorState(problem, look));
    }
    return true;
  }

  /** What a person is filling in stays: only the servers that changed are drawn again. */
  function show({ servers, calls: latest, callsError }) {
    const names = servers.map((server) => server.name);
    if (stamped(names) !== shownNames) {
      shownNames = stamped(names);
      known.clear();
      for (const server of servers) known.set(server.name, serverPart(act));
      fill(
        list,
        names.length
          ? [...known.values()].map((part) => part.element)
          : emptyState("No servers yet", ticked("Run `findspot tools index .mcp.json` or `findspot tools add`.")),
      );
    }
    for (const server of servers) known.get(server.name).show(server);
    const tools = servers.reduce((sum, server) => sum + server.tools, 0);
    field.hidden = !tools;
    if (names.length) fill(lead, `${count(tools, "tool")} of ${count(names.length, "server")}, which assistants reach through Findspot`);
    if (stamped([latest, callsError]) === shownCalls) return;
    shownCalls = stamped([latest, callsError]);
    calls.hidden = !latest.length && !callsError;
    fill(calls, callsError ? errorState({ ...callsError, message: callsError.userMessage }, look) : callTable(latest));
  }

  /** Do something about a server or a tool, and show what became of it. */
  async function act(path, parameters) {
    const answer = await post(path, parameters);
    if (answer.servers) show(answer);
    return answer;
  }

  async function find() {
    const query = field.value.trim();
    list.hidden = Boolean(query);
    if (!query) {
      fill(found);
      return;
    }
    const answer = await get("tools", { q: query }).catch((problem) => problem);
    if (query !== field.value.trim()) return;
    if (answer instanceof Error) fill(found, errorState(answer, find));
    else if (!answer.tools.length) fill(found, emptyState("No tool does that", "Try other words."));
    else fill(found, h("div", { class: "panel tools", id: "found-tools" }, answer.tools.map((tool) => toolPart(tool, true))));
    say(answer.tools ? count(answer.tools.length, "tool") : "");
  }

  function onKey(event) {
    if (event.key !== "Escape" || document.querySelector("dialog[open]") || field.hidden) return;
    if (event.target !== field) field.focus();
    else if (field.value) {
      field.value = "";
      find();
    }
  }

  document.addEventListener("keydown", onKey);
  look();
  const stop = follow(look, EVERY_MS);
  return () => {
    stop();
    clearTimeout(resting);
    document.removeEventListener("keydown", onKey);
  };
}

/** One server: what it runs, how it stands, what to do about it, and its tools. */
function serverPart(act) {
  const head = h("div", { class: "server-head" });
  const said = h("p", { class: "problem", role: "alert" });
  const tools = h("div", { class: "tools" });
  const summary = h("summary", {});
  const more = h("details", { ontoggle: () => more.open && readTools() }, summary, tools);
  const element = h("section", { class: "panel server" }, head, said, more);
  let server = {};
  let drawn = "";
  let listed = "";

  async function readTools() {
    const wanted = stamped([server.state, server.tools, server.disabledTools, server.changed]);
    if (wanted === listed) return;
    listed = wanted;
    const answer = await get("tools", { server: server.name }).catch((problem) => problem);
    if (answer instanceof Error) fill(tools, errorState(answer, () => readTools((listed = ""))));
    else fill(tools, answer.tools.map((tool) => toolPart(tool, false, toggle(tool.tool.name, !server.disabledTools.includes(tool.tool.name)))));
  }

  const toggle = (name, on) => action(on ? "Disable" : "Enable", `${on ? "Disable" : "Enable"} ${name}`, () => act(`servers/${encodeURIComponent(name)}/enable`, { on: on ? 0 : 1 }));

  /** A button that is pressed once: what it does may take as long as a server needs to start. */
  function action(label, about, work, kind = "") {
    const one = button(label, async () => {
      one.disabled = true;
      fill(said);
      await work().catch((problem) => fill(said, problem.message, " ", ticked(problem.hint)));
      one.disabled = false;
    }, `small ${kind}`);
    one.setAttribute("aria-label", about);
    return one;
  }

  async function agree() {
    const text = ["It is started as you, with your rights, when a tool is called.", ...server.runs.map((line) => line.trim())];
    const lines = text.map((line) => h("span", { class: "line" }, visible(line)));
    const question = server.runs[0].includes("calls:") ? `Let Findspot call “${server.name}”?` : `Let Findspot start “${server.name}”?`;
    if (await confirmed(question, lines, "Agree", "primary"))
      await act(`servers/${encodeURIComponent(server.name)}/agree`, { version: server.version });
  }

  async function logIn() {
    const { address } = await act(`servers/${encodeURIComponent(server.name)}/login`);
    fill(said, h("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, `Log in at ${new URL(address).host}`), ", then come back here.");
    said.querySelector("a").focus();
  }

  function actions() {
    const { name, state } = server;
    return [
      ["new", "changed"].includes(state) ? action("Agree …", `Agree to ${name}`, agree, "primary") : null,
      state === "needs login" ? action("Log in …", `Log in at ${name}`, logIn, "primary") : null,
      state === "failed" && server.version ? action("Try again", `Try again: ${name}`, () => act(`servers/${encodeURIComponent(name)}/agree`, { version: server.version }), "primary") : null,
      state === "removed" ? null : toggle(name, state !== "disabled"),
    ];
  }

  function draw() {
    const { name, state, runs = [], source, error, loginError, changed } = server;
    element.setAttribute("aria-label", `Server ${name}`);
    fill(
      head,
      h("div", { class: "card-head" }, h("h2", {}, h("bdi", {}, visible(name))), pill(STATES[state]), h("div", { class: "actions" }, actions())),
      runs.length ? h("p", { class: "place" }, visible(runs[0].replace(/^\s*\w+: /, ""))) : null,
      source ? h("p", { class: "muted" }, "From ", visible(homely(source))) : null,
      REMARKS[state] ? h("p", { class: "muted" }, ticked(REMARKS[state])) : null,
      changed.length ? h("p", { class: "warned" }, `New or changed since you agreed: ${changed.join(", ")}. A call asks first.`) : null,
      loginError || error ? h("p", { class: "problem" }, ticked(loginError || error)) : null,
    );
    const off = server.disabledTools.length;
    more.hidden = !server.tools;
    fill(summary, count(server.tools, "tool"), off ? `, ${off} disabled` : null);
    if (more.open) readTools();
  }

  return {
    element,
    show(now) {
      if (stamped(now) === drawn) return;
      const focused = head.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
      drawn = stamped(now);
      server = now;
      draw();
      if (focused) (head.querySelector(`[aria-label="${CSS.escape(focused)}"]`) || head.querySelector("button"))?.focus();
    },
  };
}

/** A tool on one line; opened, what it takes and a form that calls it. */
function toolPart({ tool, serverName, access }, withServer, ...actions) {
  const own = withServer ? tool.name : tool.name.slice(serverName.length + 2);
  const [first] = (tool.description || "No description.").split("\n");
  const body = h("div", { class: "tool-body" });
  const draw = () => !body.childElementCount && fill(body, toolBody(tool, access), actions.length ? h("div", { class: "actions" }, actions) : null);
  return h(
    "details",
    { class: "tool", ontoggle: draw },
    h("summary", {}, h("bdi", { class: "symbol" }, visible(own)), h("span", { class: "description" }, visible(first))),
    body,
  );
}

function toolBody(tool, access) {
  const schema = tool.inputSchema || {};
  const taken = Object.entries(schema.properties || {});
  const required = new Set(schema.required || []);
  const answer = h("div", { class: "answer", role: "status" });
  const inputs = taken.map(([name, about]) => [name, about || {}, inputOf(name, about || {}, required.has(name))]);
  const ready = access.state === "ready";

  async function call(confirmedNow) {
    fill(answer, loadingState("Calling …"));
    try {
      const values = inputs.map(([name, about, input]) => [name, valueOf(about, input)]).filter(([, value]) => value !== undefined);
      const asked = { arguments: JSON.stringify(Object.fromEntries(values)), confirmed: confirmedNow ? 1 : "" };
      const result = await post(`tools/${encodeURIComponent(tool.name)}/call`, asked);
      fill(answer, result.isError ? h("p", { class: "problem" }, "The tool says that it failed.") : null, code("Answer", ...shownResult(result)));
    } catch (problem) {
      if (problem.code !== "CONFIRMATION_NEEDED") {
        fill(answer, h("p", { class: "problem", role: "alert" }, visible(problem.message), " ", ticked(problem.hint || "")));
        return;
      }
      fill(answer);
      if (await confirmed(problem.message, "What it does cannot be taken back by Findspot.", "Call it")) await call(true);
    }
  }

  const submit = (event) => {
    event.preventDefault();
    call(false);
  };
  return [
    h("p", { class: "description" }, visible(tool.description || "No description.")),
    h(
      "form",
      { class: "arguments", onsubmit: submit },
      inputs.map(([name, about, input]) =>
        h(
          "label",
          {},
          h("span", { class: "argument" }, visible(name), " ", h("small", {}, typeOf(about), required.has(name) ? ", required" : null)),
          input,
          about.description ? h("small", { class: "muted" }, visible(String(about.description))) : null,
        ),
      ),
      ready ? h("div", { class: "actions" }, h("button", { class: "primary" }, "Call")) : h("p", { class: "muted" }, ticked(access.reason || "It cannot be called.")),
    ),
    answer,
    h("details", { class: "schema" }, h("summary", {}, "Input schema"), code("Input schema", JSON.stringify(schema, null, 2), "json")),
  ];
}

const code = (label, text, language) =>
  h(
    "div",
    { class: "code plain", tabindex: "0", role: "region", "aria-label": label },
    lineElements(text, language).map((line) => h("div", { class: "row" }, line)),
  );

/** A result as text; what is no text is shown as the protocol has it. */
function shownResult({ content = [], structuredContent }) {
  const texts = content.map((part) => part.text ?? part.resource?.text);
  if (texts.length && texts.every((text) => text !== undefined)) return [texts.join("\n"), ""];
  return [JSON.stringify(structuredContent ?? content, null, 2), "json"];
}

const isPlain = (about) => ["string", "number", "integer", "boolean"].includes(about.type) || about.enum;

function inputOf(name, about, required) {
  const choices = about.enum || (about.type === "boolean" ? [true, false] : null);
  const properties = { name, required: required && about.default === undefined, autocomplete: "off", spellcheck: "false" };
  if (choices)
    return h("select", properties, h("option", { value: "" }, "–"), choices.map((choice) => h("option", { value: String(choice) }, String(choice))));
  if (!isPlain(about)) return h("textarea", { ...properties, rows: "2", placeholder: "JSON" });
  const number = ["number", "integer"].includes(about.type);
  return h("input", { ...properties, type: number ? "number" : "text", step: number ? "any" : null, placeholder: about.default === undefined ? "" : String(about.default) });
}

/** What was typed, in the type that the tool wants; undefined where nothing was. */
function valueOf(about, input) {
  if (input.value === "") return undefined;
  if (about.enum) return about.enum.find((choice) => String(choice) === input.value);
  if (about.type === "string") return input.value;
  try {
    return JSON.parse(input.value);
  } catch {
    return input.value; // its server says what is wrong with it
  }
}

function typeOf(about) {
  if (about.enum) return about.enum.map(String).join(" | ");
  return [about.type || "any"].flat().join(" | ");
}

function callTable(calls) {
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
    h("h2", {}, "Latest calls", h("small", {}, "times and sizes only, no contents")),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Calls" },
      h(
        "table",
        { class: "calls" },
        h("thead", {}, h("tr", {}, COLUMNS.map((title) => h("th", { scope: "col" }, title)))),
        h("tbody", {}, calls.map(row)),
      ),
    ),
  ];
}

const duration = (ms) => (ms < 10_000 ? `${Math.round(ms).toLocaleString("en")} ms` : `${Math.round(ms / 1000)} s`);
