// Asking the server, and knowing whether it is there.

export class Problem extends Error {
  constructor(status, said) {
    super(said.userMessage);
    this.status = status;
    this.code = said.code;
    this.hint = said.hint || "";
    this.detail = said.developerMessage || "";
  }
}

const GONE = {
  code: "OFFLINE",
  userMessage: "Findspot does not answer.",
  hint: "It may have been stopped. Start it again with `findspot ui`, and open the address it prints.",
};
const UNKNOWN = {
  code: "NOT_ADMITTED",
  userMessage: "This browser was not let in since Findspot was started.",
  hint: "Open the address that `findspot ui` printed last. Then this page works again.",
};

let online = true;
const watchers = new Set();

/** Be told when the server goes away or comes back. */
export function onConnection(watcher) {
  watchers.add(watcher);
}

function noteConnection(now, problem) {
  if (now === online) return;
  online = now;
  for (const watcher of watchers) watcher(now, problem);
}

export async function get(path, parameters = {}, signal = undefined) {
  return ask("GET", path, parameters, signal);
}

export async function post(path, parameters = {}) {
  return ask("POST", path, parameters);
}

async function ask(method, path, parameters, signal) {
  const given = Object.entries(parameters).filter(
    ([, value]) => value !== "" && value !== undefined && value !== null,
  );
  const query = new URLSearchParams(given).toString();
  let response;
  try {
    response = await fetch(`api/${path}${query ? `?${query}` : ""}`, {
      method,
      signal,
      headers: { Accept: "application/json" },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw gone(0, GONE);
  }
  if (response.status === 403) throw gone(403, UNKNOWN);
  noteConnection(true);
  const said = await response.json();
  if (!response.ok) throw new Problem(response.status, said);
  return said;
}

function gone(status, said) {
  const problem = new Problem(status, said);
  noteConnection(false, problem);
  return problem;
}

/** Ask again and again while `wanted` says so; returns how to stop. */
export function follow(work, everyMs) {
  let timer = 0;
  let stopped = false;
  const turn = async () => {
    if (stopped) return;
    const next = document.hidden ? true : await work();
    if (!stopped && next !== false) timer = setTimeout(turn, everyMs);
  };
  timer = setTimeout(turn, everyMs);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
