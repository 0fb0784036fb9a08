// The projects that a token is for. Everything shown is text: no markup is made from what the server sends.

const form = document.getElementById("sign-in");
const message = document.getElementById("message");
const table = document.getElementById("projects");
const ages = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const units = [["day", 86_400], ["hour", 3_600], ["minute", 60], ["second", 1]];

function age(time) {
  const seconds = Math.max(0, (Date.now() - Date.parse(time)) / 1000);
  if (Number.isNaN(seconds)) return "";
  const [unit, length] = units.find(([, length]) => seconds >= length) ?? units.at(-1);
  return ages.format(-Math.round(seconds / length), unit);
}

function cell(row, text, className = "") {
  const made = row.insertCell();
  made.textContent = text ?? "";
  made.className = className;
  return made;
}

function show(projects) {
  const body = table.tBodies[0];
  body.replaceChildren();
  for (const project of projects) {
    const row = body.insertRow();
    cell(row, project.name).title = project.path;
    cell(row, project.repository);
    cell(row, project.commit?.slice(0, 12), "code").title = project.commit ?? "";
    cell(row, project.status, project.queryReady ? "" : "bad");
    cell(row, project.totalFiles.toLocaleString(), "number");
    cell(row, project.storageSize, "number");
    cell(row, project.lastUpdated && age(project.lastUpdated)).title = project.lastUpdated ?? "";
  }
  table.hidden = projects.length === 0;
  message.textContent = projects.length ? `${projects.length} shown` : "No project is indexed that you may see.";
}

async function load(token) {
  message.textContent = "Loading…";
  try {
    const answer = await fetch("projects", { headers: token ? { Authorization: `Bearer ${token}` } : {} });
    const content = await answer.json();
    form.hidden = answer.ok;
    table.hidden = !answer.ok;
    if (answer.ok) show(content.projects);
    else message.textContent = answer.status === 401 && !token ? "" : `Not shown: ${content.error}.`;
  } catch {
    table.hidden = true;
    message.textContent = "The server cannot be reached.";
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  load(document.getElementById("token").value.trim());
});

load("");
