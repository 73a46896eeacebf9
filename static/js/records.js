// The page of a topic's records: its address names the search, arrows go from row to row, Enter opens one, its parts can be copied.

function keepAddress() {
  const found = document.getElementById("found");
  if (found && !new URLSearchParams(location.search).has("search")) history.replaceState(null, "", found.dataset.address);
}

function rows() {
  return [...document.querySelectorAll("#found a[data-record]")];
}

function step(event) {
  const all = rows(), at = all.indexOf(document.activeElement);
  if (at < 0 || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
  event.preventDefault();
  all[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
}

// Waits for the record in a dialog; without it the link leads to a page of its own.
async function open(event) {
  const link = event.target.closest("a[data-record]"), dialog = document.getElementById("record");
  if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const body = document.getElementById("record-body");
  body.textContent = "Reading…";
  dialog.showModal();
  await htmx.ajax("GET", link.getAttribute("href"), { target: body, swap: "innerHTML" });
}

async function copy(event) {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const part = document.getElementById(button.dataset.copy), words = button.firstChild;
  // Browsers give the clipboard to https and the loopback only: elsewhere the text is chosen, for the person to copy.
  if (navigator.clipboard) await navigator.clipboard.writeText(part.textContent);
  else getSelection().selectAllChildren(part);
  words.textContent = navigator.clipboard ? "Copied" : "Chosen: copy it";
  setTimeout(() => { words.textContent = "Copy"; }, 1500);
}

// Only what belongs to the chosen start can be filled in.
function starts() {
  const start = document.getElementById("s-start");
  const show = () => {
    for (const field of document.querySelectorAll("[data-for]")) {
      field.hidden = field.dataset.for !== start.value;
      field.querySelector("input").disabled = field.hidden;
    }
    if (start.value === "time") document.getElementById("more-filters").open = true;
  };
  start?.addEventListener("change", show);
  if (start) show();
}

// An address says only what differs: what is empty or stands as it is by itself is left out.
function brief(event) {
  for (const one of event.target.querySelectorAll("input, select")) {
    const usual = one.tagName === "SELECT" ? one.options[0].value : one.name === "count" ? "50" : "";
    if (one.value === usual) one.disabled = true;
  }
  setTimeout(() => { for (const one of event.target.querySelectorAll("input, select")) one.disabled = one.closest("[data-for]")?.hidden ?? false; }, 0);
}

keepAddress();
starts();
document.addEventListener("keydown", step);
document.addEventListener("click", open);
document.addEventListener("click", copy);
document.querySelector("form.search-records")?.addEventListener("submit", brief);
