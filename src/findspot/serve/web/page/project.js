// One project: its health, what is in its index and what is not, and why it changed.

import { follow, get, post } from "./api.js";
import { barChart, partsChart } from "./charts.js";
import { confirmed } from "./confirm.js";
import { desk, go, homely, nameOf, route } from "./desk.js";
import { ago, count, fill, h, size, visible } from "./dom.js";
import { indexingButton, notIndexed } from "./indexing.js";
import { historyView } from "./history.js";
import { errorState, loadingState, progressBar, statePill } from "./states.js";

const BUSY_MS = 400;
const CALM_MS = 3000;

export function projectPage(main) {
  const id = route().rest[0] || desk.chosen?.id;
  const known = desk.projects.find((project) => project.id === id);
  const head = h("div", { class: "sheet-head" });
  const work = h("div", {});
  const health = h("section", { class: "panel", "aria-label": "Health" });
  const contents = h("div", { class: "panels" });
  const skipped = h("section", { class: "panel", "aria-label": "Left out", hidden: true });
  const past = h("section", { class: "panel", "aria-label": "History", hidden: true });
  const sheet = h("div", { class: "sheet" }, head, work, health, contents, skipped, past);
  let reason = "";
  let stamp = "";
  let wasBusy = false;
  let stop = () => {};
  fill(main, sheet);
  if (!known) {
    fill(sheet, h("h1", {}, "Project"), notIndexed(null, desk));
    return stop;
  }
  fill(health, loadingState("Reading the index …"));
  document.title = `${nameOf(known.path)} – Findspot`;

  async function look(disk) {
    try {
      show(await get(`projects/${encodeURIComponent(id)}`, disk ? { disk: 1 } : {}), disk);
    } catch (problem) {
      if (problem.code !== "OFFLINE")
        fill(
          sheet,
          h("h1", {}, nameOf(known.path)),
          errorState(problem, () => location.reload()),
        );
    }
  }

  function show(now, disk) {
    const busy = now.status === "indexing" || Boolean(now.run?.running);
    showHead(now, busy);
    showWork(now, busy);
    if (now.status === "not_found")
      fill(health, notIndexed({ ...known, status: busy ? "indexing" : "not_found" }, desk));
    else if (now.status === "failed")
      fill(
        health,
        errorState({
          message: "The index cannot be read.",
          hint: "Rebuild it: nothing but the index is lost.",
          code: "INDEX_CORRUPT",
          detail: now.lastError,
        }),
      );
    else showHealth(now, disk);
    const mark = `${now.lastUpdated} ${now.totalChunks}`;
    if (now.totalFiles !== undefined && now.status !== "not_found" && mark !== stamp) {
      stamp = mark;
      showContents(now);
      if (now.queryReady) showPast();
    }
    if (wasBusy && !busy) {
      desk.refresh();
      look(true);
    }
    if (busy !== wasBusy || stop === nothing) schedule(busy);
    wasBusy = busy;
  }

  const nothing = stop;
  function schedule(busy) {
    stop();
    stop = follow(() => look(false), busy ? BUSY_MS : CALM_MS);
  }

  function showHead(now, busy) {
    const again = (label, asked, kind) =>
      indexingButton({ id }, label, { asked, kind, onStarted: () => look(false) });
    fill(
      head,
      h(
        "div",
        { class: "title" },
        h("h1", {}, visible(nameOf(now.projectPath))),
        statePill(busy ? "indexing" : now.status),
      ),
      h("p", { class: "place" }, visible(homely(now.projectPath))),
      now.status === "not_found" || busy
        ? null
        : h(
            "div",
            { class: "actions" },
            h("a", { class: "button primary", href: `#/search?project=${encodeURIComponent(id)}` }, "Search"),
            h("a", { class: "button", href: `#/map?project=${encodeURIComponent(id)}` }, "Map"),
            again("Update", {}, ""),
            again("Rebuild", { force: 1 }, ""),
            h("button", { type: "button", onclick: () => remove(now) }, "Delete"),
          ),
    );
  }

  async function remove(now) {
    const name = nameOf(now.projectPath);
    const kept = "The project itself is not touched. To search it again, index it again.";
    const consequence = `${kept}${now.ownership ?? ""}`;
    if (!(await confirmed(`Delete the index of ${name}?`, consequence, "Delete the index"))) return;
    try {
      await post(`projects/${encodeURIComponent(id)}/delete`);
      go("projects");
    } catch (problem) {
      fill(work, errorState(problem));
    }
  }

  function showWork(now, busy) {
    const run = now.run;
    if (busy)
      fill(
        work,
        progressBar(
          run?.running ? run.progress : now.progress,
          run?.running && (() => post(`projects/${encodeURIComponent(id)}/cancel`)),
        ),
      );
    else if (run?.error)
      fill(
        work,
        h(
          "div",
          { class: "notice bad", role: "alert" },
          h("strong", {}, run.error.userMessage),
          " ",
          run.error.hint,
          run.error.code === "FILE_LIMIT_WARNING"
            ? indexingButton({ id }, "Index it all", { asked: { large: 1 }, onStarted: () => look(false) })
            : null,
        ),
      );
    else if (run?.report)
      fill(
        work,
        h(
          "p",
          { class: "notice good" },
          `Up to date: ${count(run.report.filesIndexed, "file")} indexed, ${run.report.filesUnchanged.toLocaleString("en")} unchanged, ${run.report.filesRemoved.toLocaleString("en")} removed, in ${run.report.duration}.`,
        ),
      );
    else fill(work);
  }

  function showHealth(now, disk) {
    const facts = [
      [
        "Code",
        `${count(now.totalFiles - now.totalDocs, "file")}, ${count(now.totalChunks - now.totalDocChunks, "chunk")}`,
      ],
      ["Docs", `${count(now.totalDocs, "file")}, ${count(now.totalDocChunks, "chunk")}`],
      ["Updated", [ago(now.lastUpdated), ", made ", ago(now.createdAt)]],
      ["Disk", freshness(now, disk)],
      ["Kept fresh", now.watcherActive ? `yes (${now.strategy})` : "not now: press Update, or let an assistant use it"],
      ["Model", h("code", {}, now.model || "–")],
      ["Index", h("code", {}, visible(homely(now.indexPath)))],
    ];
    fill(
      health,
      h("h2", {}, "Health"),
      h(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) =>
          h("div", { class: name === "Index" ? "wide" : "" }, h("dt", {}, name), h("dd", {}, value)),
        ),
      ),
      now.lastError && h("p", { class: "problem" }, now.lastError),
      (now.notes || []).map((note) => h("p", { class: "notice" }, note)),
    );
  }

  let lastFreshness = h("span", { class: "muted" }, "comparing …");
  function freshness(now, disk) {
    if (disk)
      lastFreshness = now.pendingChanges
        ? h("span", { class: "warned" }, `${count(now.pendingChanges, "file")} changed since`)
        : h("span", { class: "fine" }, "the index matches the files");
    return lastFreshness;
  }

  function showContents(now) {
    const left = Object.values(now.skipped || {}).reduce((sum, number) => sum + number, 0);
    fill(
      contents,
      h(
        "section",
        { class: "panel", "aria-label": "Languages" },
        h("h2", {}, "Languages", h("small", {}, "files")),
        barChart("Files by language", now.languages || {}),
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Index size" },
        h("h2", {}, "Index size", h("small", {}, size(now.storageBytes))),
        partsChart("Parts of the index", now.parts, size),
      ),
      h(
        "section",
        { class: "panel", "aria-label": "Left out by reason" },
        h("h2", {}, "Left out", h("small", {}, count(left, "entry", "entries"))),
        left
          ? barChart("Left out by reason", now.skipped, { onPick: pick, picked: reason })
          : h("p", { class: "muted" }, "Nothing was left out."),
      ),
    );
  }

  /** What stands on a whole index is drawn once there is something to draw. */
  function showPast() {
    if (!past.hidden) return;
    past.hidden = false;
    historyView(past, { id });
  }

  async function pick(next) {
    reason = reason === next ? "" : next;
    for (const one of contents.querySelectorAll(".bar-button"))
      one.setAttribute(
        "aria-pressed",
        String(one.querySelector(".bar-label").textContent === reason.replaceAll("_", " ")),
      );
    skipped.hidden = !reason;
    if (!reason) return;
    const answer = await get(`projects/${encodeURIComponent(id)}/skipped`, { reason });
    fill(
      skipped,
      h(
        "h2",
        {},
        `Left out: ${reason.replaceAll("_", " ")}`,
        h(
          "small",
          {},
          answer.total > answer.skipped.length
            ? `the first ${answer.skipped.length.toLocaleString("en")} of ${answer.total.toLocaleString("en")}`
            : count(answer.total, "entry", "entries"),
        ),
      ),
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "region", "aria-label": "Files left out" },
        h(
          "table",
          {},
          h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Path"), h("th", { scope: "col" }, "Detail"))),
          h(
            "tbody",
            {},
            answer.skipped.map((skip) =>
              h("tr", {}, h("td", {}, h("bdi", {}, visible(skip.path))), h("td", {}, visible(skip.detail))),
            ),
          ),
        ),
      ),
    );
  }

  look(false).then(() => look(true));
  return () => stop();
}
