// A question before something that cannot be undone, or that the user has to agree to.

import { fill, h } from "./dom.js";

const dialog = document.getElementById("confirm");

/** Ask; true if the user agrees. */
export function confirmed(question, consequence, label, kind = "danger") {
  const close = (answer) => () => dialog.close(answer);
  fill(
    dialog,
    h("h2", { id: "confirm-title" }, question),
    h("p", { class: "muted" }, consequence),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", onclick: close(""), autofocus: true }, "Cancel"),
      h("button", { type: "button", class: kind, onclick: close("yes") }, label),
    ),
  );
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((answer) => {
    dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
  });
}
