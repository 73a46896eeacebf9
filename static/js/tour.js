// The tour: a card that points at one control after another, over several pages. Offered once a user; how far it is, the browser remembers.

const POINTED = "tour-target";
let card = null, steps = [], key = "";

const part = (name) => card.querySelector(`[data-part="${name}"]`);
const seen = (element) => element.checkVisibility() && !element.closest("dialog");
const at = () => { const said = localStorage.getItem(key); return /^\d+$/.test(said ?? "") ? Math.min(Number(said), steps.length - 1) : null; };
const here = (step) => location.pathname === step.url || (step.url !== "/" && location.pathname.startsWith(`${step.url}/`));
const target = (step) => here(step) ? step.targets.flatMap((selector) => [...document.querySelectorAll(selector)].filter(seen).slice(0, 1))[0] : undefined;

export function startTour() {
  card = document.getElementById("tour");
  if (!card) return;
  steps = JSON.parse(document.getElementById("tour-steps").textContent);
  key = `tour:${card.dataset.user}`;
  part("skip").addEventListener("click", end);
  part("back").addEventListener("click", () => go(at() - 1));
  part("next").addEventListener("click", () => (at() + 1 < steps.length ? go(at() + 1) : end()));
  part("go").addEventListener("click", () => sessionStorage.setItem(key, "came"));
  card.addEventListener("keydown", (event) => { if (event.key === "Escape") end(); });
  document.addEventListener("htmx:afterSwap", () => at() !== null && point());
  for (const button of document.querySelectorAll("[data-tour-start]")) button.addEventListener("click", () => go(0));
  invite();
  if (at() !== null) show(sessionStorage.getItem(key) === "came");
  sessionStorage.removeItem(key);
}

function invite() {
  const box = document.querySelector("[data-tour-invite]");
  if (!box || localStorage.getItem(key) !== null) return;
  box.hidden = false;
  box.querySelector("[data-tour-refuse]").addEventListener("click", () => { end(); document.getElementById("content").focus(); });
}

// To a step, on its own page unless what it points at is here.
function go(number) {
  localStorage.setItem(key, String(number));
  const step = steps[number];
  if (target(step)) return show(true);
  sessionStorage.setItem(key, "came");
  if (here(step)) show(true);
  else location.assign(step.url);
}

function show(focus) {
  const number = at(), step = steps[number];
  document.querySelectorAll("[data-tour-invite]").forEach((box) => { box.hidden = true; });
  part("count").textContent = `Tour · ${number + 1} of ${steps.length}`;
  card.querySelector("#tour-title").textContent = step.title;
  card.querySelector("#tour-words").textContent = step.words;
  part("back").hidden = number === 0;
  part("next").textContent = number + 1 < steps.length ? "Next" : "Done";
  card.hidden = false;
  document.body.dataset.tour = "";
  const found = point();
  if (focus) {
    found?.scrollIntoView({ block: "center" });
    card.focus({ preventScroll: true });
  }
}

// Marks what the step points at; where that is on another page, the card leads there.
function point() {
  const step = steps[at()], found = target(step);
  document.querySelectorAll(`.${POINTED}`).forEach((element) => element !== found && element.classList.remove(POINTED));
  found?.classList.add(POINTED);
  part("away").hidden = here(step);
  part("go").href = step.url;
  part("go").textContent = `Show it on ${step.label}`;
  return found;
}

function end() {
  localStorage.setItem(key, "done");
  document.querySelectorAll("[data-tour-invite]").forEach((box) => { box.hidden = true; });
  const focused = card.contains(document.activeElement), found = document.querySelector(`.${POINTED}`);
  found?.classList.remove(POINTED);
  card.hidden = true;
  delete document.body.dataset.tour;
  if (focused) document.getElementById("content").focus({ preventScroll: true });
}
