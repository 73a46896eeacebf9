// The form of settings: filters as one types, marks what differs, counts it, and asks before it is left with changes.

const form = document.querySelector("[data-settings]");
const search = document.getElementById("q"), found = document.getElementById("found-settings");
const rows = [...form.querySelectorAll("[data-setting]")];

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of rows) {
    const title = row.closest("[data-group]").querySelector("h2").textContent;
    const text = `${row.dataset.setting} ${title}`.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
    if (!row.hidden) shown += 1;
  }
  for (const group of form.querySelectorAll("[data-group]")) group.hidden = !group.querySelector("[data-setting]:not([hidden])");
  found.textContent = `${shown} of ${found.dataset.total} settings`;
}

function fieldOf(row) {
  return row.querySelector('[name^="v:"]');
}

function differs(row) {
  const field = fieldOf(row), reset = row.querySelector('[name="unset"]');
  if (reset?.checked) return true;
  if (!field) return false;
  if (field.tagName === "SELECT") return [...field.options].some((one) => one.selected !== one.defaultSelected);
  return field.value.trim() !== field.defaultValue;
}

function count() {
  let changed = 0;
  for (const row of rows) {
    const is = differs(row);
    row.classList.toggle("differs", is);
    if (is) changed += 1;
  }
  const said = form.querySelector("[data-changed]");
  if (said) said.textContent = changed ? `${changed} changed. The difference is shown before anything is saved.` : "Nothing is changed yet.";
  return changed;
}

let leaving = false;
search.addEventListener("input", filter);
search.form.addEventListener("submit", (event) => event.preventDefault());
search.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !search.value) return;
  search.value = "";
  filter();
});
form.addEventListener("input", count);
form.addEventListener("submit", () => { leaving = true; });
addEventListener("beforeunload", (event) => {
  if (!leaving && count()) event.preventDefault();
});
addEventListener("pageshow", () => { leaving = false; count(); });
form.querySelector('[aria-invalid="true"]')?.focus();
