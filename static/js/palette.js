// Finding by keyboard: Ctrl-K asks for a part of a name and goes there, / leads to the page's own search, ? tells the keys.

const WAIT_MS = 60;
const SINGLE = "single-keys"; // "off": who speaks to the machine, or types past a field, is not led astray
let box = null, input = null, list = null, asked = null, timer = 0, at = -1;

const offers = () => [...list.querySelectorAll('[role="option"]')];
const typing = (target) => target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && !/^(checkbox|radio|button|submit)$/.test(target.type));

async function ask() {
  asked?.abort();
  asked = new AbortController();
  const url = `${input.dataset.url}?q=${encodeURIComponent(input.value)}`;
  try {
    const answer = await fetch(url, { headers: { "HX-Request": "true" }, signal: asked.signal });
    if (answer.status !== 200) throw new Error(answer.status === 204 ? "you are signed out" : `status ${answer.status}`);
    list.innerHTML = await answer.text();
  } catch (error) {
    if (error.name === "AbortError") return;
    list.textContent = `Nothing could be asked for: ${error.message}.`;
  }
  choose(0);
  const count = offers().length;
  box.querySelector('[data-part="count"]').textContent = count === 1 ? "1 found" : `${count} found`;
}

function choose(number) {
  const all = offers();
  at = all.length ? (number + all.length) % all.length : -1;
  all.forEach((one, index) => one.setAttribute("aria-selected", String(index === at)));
  if (at < 0) { input.removeAttribute("aria-activedescendant"); return; }
  input.setAttribute("aria-activedescendant", all[at].id);
  all[at].scrollIntoView({ block: "nearest" });
}

function open() {
  if (box.open || document.querySelector("dialog[open]")) return;
  input.value = "";
  box.showModal();
  input.focus();
  ask();
}

function onKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) { event.preventDefault(); choose(at + step); }
  else if (event.key === "Enter" && at >= 0) { event.preventDefault(); offers()[at].click(); }
}

function toSearch() {
  const field = [...document.querySelectorAll('main :is(input[type="search"], form.filters :is(input:not([type="hidden"]), select))')].find((one) => one.checkVisibility());
  if (!field) return open();
  field.focus();
  field.select?.();
}

function onPage(event) {
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey) { event.preventDefault(); open(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || document.querySelector("dialog[open]") || localStorage.getItem(SINGLE) === "off") return;
  if (event.key === "/") { event.preventDefault(); toSearch(); }
  if (event.key === "?") { event.preventDefault(); document.getElementById("keys").showModal(); }
}

export function palette() {
  box = document.getElementById("palette");
  if (!box) return;
  input = box.querySelector("input");
  list = box.querySelector('[role="listbox"]');
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, WAIT_MS); });
  input.addEventListener("keydown", onKey);
  box.addEventListener("click", (event) => { if (event.target === box) box.close(); });
  document.addEventListener("keydown", onPage);
  for (const button of document.querySelectorAll("[data-palette]")) button.addEventListener("click", (event) => { if (!event.ctrlKey && !event.metaKey && !event.shiftKey) { event.preventDefault(); open(); } });
  const single = document.querySelector("[data-single-keys]");
  single.checked = localStorage.getItem(SINGLE) !== "off";
  single.addEventListener("change", () => localStorage.setItem(SINGLE, single.checked ? "on" : "off"));
}
