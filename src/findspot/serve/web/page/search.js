// The search page: a field, what to search, filters, the results and the one that is chosen.

import { follow, get } from "./api.js";
import { desk, readdress, route } from "./desk.js";
import { count, fill, h, say } from "./dom.js";
import { notIndexed } from "./indexing.js";
import { preview } from "./preview.js";
import { resultList } from "./results.js";
import { CORPORA, searchForm } from "./searchform.js";
import { startView } from "./start.js";
import { emptyState, errorState, progressBar } from "./states.js";

const PAGE = 20;
const BUSY_MS = 500;
const CALM_MS = 2000;
const REST_MS = 250;
const SETTLE_MS = 1000; // a question that stays as long as this gets its own entry in the history
const FOLLOW_MS = 200; // how often the list follows while keys come faster than answers

export function searchPage(main) {
  const { parameters } = route();
  const project = desk.chosen;
  const corpus = parameters.get("corpus") || "code";
  const everywhere = Boolean(project?.several);
  const state = { corpus, busy: false, again: false, wasBusy: false, drawn: 0, settled: true, left: false };
  const { form, field, corpora, filters, summary } = searchForm(project, parameters, (key) => setCorpus(key));
  const notice = h("div", { class: "notice-area" });
  const pane = h("section", { class: "pane", "aria-label": "Chosen result" });
  const list = resultList({
    onChoose: (hit, at, typing) => chosenNow(hit, at, typing),
    onOpen: (hit) => {
      writeAddress();
      panel.open(hit);
    },
    onMore: () => ask(list.length),
  });
  const columns = h("div", { class: "columns" }, h("div", { class: "found" }, list.element), pane);
  const panel = preview(pane, { project, onLike: everywhere ? null : (hit) => like(hit) });
  fill(main, h("h1", { class: "unseen" }, "Search"), form, notice, columns);

  let resting = 0;
  let unwritten = null; // a question that the address does not have yet
  let settling = 0;
  let speaking = 0;
  let similar = parameters.get("similar") || "";
  let wanted = parameters.get("result") || "";
  let tab = parameters.get("tab") || ""; // of the first result that is shown; later ones have that of the address

  function asked(offset = 0) {
    const values = { q: field.value.trim(), offset: offset || "", limit: PAGE, similar };
    const named = (name) => filters.querySelector(`[name=${name}]`).value.trim();
    const code =
      state.corpus === "code"
        ? { languages: named("languages"), tests: named("tests") === "auto" ? "" : named("tests") }
        : {};
    return {
      ...values,
      corpus: state.corpus,
      path: named("path"),
      mode: named("mode") === "hybrid" ? "" : named("mode"),
      ...code,
    };
  }

  /** One question at a time: the newest waits for the one under way, and the ones between are never asked. */
  async function ask(offset = 0) {
    const values = asked(offset);
    remember(values);
    if (!values.q && !similar) {
      state.again = false;
      return showNothingAsked();
    }
    if (state.busy) {
      state.again = true;
      return undefined;
    }
    if (!project) return showUnready();
    state.busy = true;
    const path = everywhere ? "search" : `projects/${project.id}/search`;
    const [answer, problem] = await get(path, everywhere ? { ...values, workspace: project.workspace } : values).then(
      (said) => [said, null],
      (failed) => [null, failed],
    );
    state.busy = false;
    if (state.left) return undefined;
    const newer = state.again;
    state.again = false;
    const next = newer ? ask() : undefined; // under way before an answer that is out of date is drawn
    const stillAsked = (field.value.trim() || similar) && state.corpus === values.corpus;
    if (problem && !newer) showProblem(problem);
    else if (answer && stillAsked && !(newer && performance.now() - state.drawn < FOLLOW_MS))
      showAnswer(answer, values, offset);
    return next;
  }

  function showAnswer(answer, values, offset) {
    state.drawn = performance.now();
    const { results: hits, totalResults: total } = answer;
    fill(notice, answer.warning && h("p", { class: "notice" }, answer.warning));
    const shown = offset + hits.length;
    fill(
      summary,
      similar ? h("span", {}, "Like ", h("code", {}, similar), " ") : null,
      total
        ? `${shown < total ? `${shown} of ` : ""}${count(total, "result")}`
        : "No results",
      h("span", { class: "took" }, ` · ${answer.searchTimeMs} ms`),
    );
    list.show(hits, { query: values.q, mode: values.mode || "hybrid", offset, total, wanted });
    if (!offset) wanted = tab = "";
    field.setAttribute("aria-expanded", String(hits.length > 0));
    if (!hits.length && !offset) showNoResults(values);
    clearTimeout(speaking);
    speaking = setTimeout(() => say(total ? count(total, "result") : "No results"), REST_MS);
    return undefined;
  }

  function chosenNow(hit, at, typing) {
    if (hit?.path && !typing) {
      writeAddress(); // the result belongs to the question that is on the page
      state.settled = true;
      readdress({ result: `${hit.path}:${hit.startLine}` });
    }
    if (at === null) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", `hit-${at}`);
    if (hit)
      panel.show(hit, {
        query: field.value.trim(),
        mode: filters.querySelector("[name=mode]").value,
        tab: typing ? tab : route().parameters.get("tab"),
        typing,
      });
  }

  function showNothingAsked() {
    list.show([], { query: "", offset: 0, total: 0 });
    fill(summary);
    fill(notice);
    if (!project?.queryReady) return showUnready();
    fill(pane);
    fill(list.aside, startView(project));
    return undefined;
  }

  function showUnready() {
    fill(pane);
    fill(list.aside, notIndexed(project, desk));
  }

  function showNoResults(values) {
    const loosened = values.languages || values.path || values.mode || values.tests;
    fill(notice);
    fill(pane);
    fill(
      list.aside,
      emptyState(
        "Nothing found",
        loosened
          ? "The filters may be too narrow."
          : "Other words may help: say what the code does rather than what it is called.",
        loosened && h("button", { type: "button", class: "primary", onclick: clearFilters }, "Clear filters"),
      ),
    );
  }

  function showProblem(problem) {
    list.show([], { query: field.value.trim(), offset: 0, total: 0 });
    fill(summary);
    fill(pane);
    if (problem.code === "INDEX_NOT_FOUND") showUnready();
    else if (problem.code === "DOCS_INDEX_NOT_FOUND")
      fill(list.aside, emptyState("No documentation is indexed here", problem.hint));
    else if (problem.status === 400)
      fill(list.aside, emptyState(problem.message, problem.hint || problem.detail.replace(/^[A-Z_]+: /, "")));
    else
      fill(
        list.aside,
        errorState(problem, () => ask()),
      );
  }

  function setCorpus(key) {
    state.corpus = key;
    similar = "";
    for (const button of corpora.children)
      button.setAttribute("aria-pressed", String(button.dataset.corpus === key));
    filters.classList.toggle("docs", key === "docs");
    fill(pane);
    ask();
  }

  function clearFilters() {
    for (const input of filters.querySelectorAll("input")) input.value = "";
    for (const input of filters.querySelectorAll("select")) input.selectedIndex = 0;
    field.focus();
    ask();
  }

  function like(hit) {
    similar = `${hit.path}:${hit.startLine}-${hit.endLine}`;
    field.value = "";
    ask();
  }

  /** The address follows once typing rests: to change it with every key would cost more than the search. */
  function remember(values) {
    clearTimeout(resting);
    unwritten = { values, before: route().parameters };
    resting = setTimeout(writeAddress, REST_MS);
  }

  /** A question that somebody rested on stays in the history; what was typed in between does not. What was
   * chosen for the question before it goes from the address, what was chosen since stays. */
  function writeAddress() {
    if (!unwritten) return;
    const { values, before } = unwritten;
    unwritten = null;
    const named = ["languages", "tests", "path", "mode", "similar", "q"].map((name) => [name, values[name] || ""]);
    const changes = { ...Object.fromEntries(named), corpus: state.corpus === "code" ? "" : state.corpus };
    const { parameters: now } = route();
    if (Object.entries(changes).every(([name, value]) => (now.get(name) || "") === value)) return;
    for (const name of ["result", "open", "line", "of", "tab"]) {
      if (now.get(name) === before.get(name)) changes[name] = "";
    }
    readdress(changes, { push: state.settled });
    state.settled = false;
    clearTimeout(settling);
    settling = setTimeout(() => {
      state.settled = true;
    }, SETTLE_MS);
  }

  function onKey(event) {
    const inField = event.target === field;
    if (event.altKey && /^[12]$/.test(event.key)) {
      event.preventDefault();
      setCorpus(CORPORA[event.key - 1][0]);
      return;
    }
    if (
      document.querySelector("dialog[open]") ||
      (event.target.matches("input, select") && !inField) ||
      event.ctrlKey ||
      event.metaKey
    )
      return;
    const inPane = event.target.closest(".pane");
    if (!inPane && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      list.move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter" && (inField || event.target.matches("body, main"))) {
      event.preventDefault();
      list.open();
    } else if (event.key === "Escape" && !inField) field.focus();
    else if (event.key === "Escape" && field.value) {
      event.preventDefault();
      field.value = "";
      similar = "";
      ask();
    } else if (!inField && /^[1-5]$/.test(event.key)) panel.pick(event.key);
    else if (!inField && event.key === "c") panel.copy();
    else if (!inField && event.key === "m" && list.chosen?.path && !everywhere) like(list.chosen);
  }

  field.addEventListener("input", () => {
    similar = "";
    panel.hold();
    ask();
  });
  filters.addEventListener("input", () => ask());
  document.addEventListener("keydown", onKey);
  setCorpus(state.corpus);
  if (!matchMedia("(pointer: coarse)").matches) field.focus();

  const stop = !project || everywhere
    ? () => {}
    : follow(
        async () => {
          const now = await get(`projects/${project.id}`).catch(() => null);
          if (!now) return true;
          const busy = now.status === "indexing" || now.run?.running;
          if (busy)
            fill(
              notice,
              progressBar(now.run?.running ? now.run.progress : now.progress),
              h("p", { class: "notice" }, "Answers come from what is indexed so far."),
            );
          else if (state.wasBusy) {
            fill(notice);
            await desk.refresh();
            Object.assign(project, desk.chosen);
            if (!field.value) showNothingAsked();
          }
          state.wasBusy = busy;
          return true;
        },
        project.queryReady ? CALM_MS : BUSY_MS,
      );

  return () => {
    state.left = true;
    stop();
    for (const timer of [resting, settling, speaking]) clearTimeout(timer);
    document.removeEventListener("keydown", onKey);
  };
}
