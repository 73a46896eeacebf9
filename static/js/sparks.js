// The last minutes of a list's rows, drawn by the server and had after the page: once for rows that are new, every minute for all.

const EVERY_MS = 60_000;
const drawn = new Map();

function place() {
  for (const cell of document.querySelectorAll("[data-spark]")) {
    const picture = drawn.get(cell.dataset.spark);
    if (picture && cell.firstElementChild !== picture) cell.replaceChildren(picture);
  }
}

async function ask(names, url) {
  const query = new URLSearchParams(names.map((name) => ["topic", name]));
  const answer = await fetch(`${url}?${query}`, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return;
  const found = document.createElement("template");
  found.innerHTML = await answer.text();
  for (const picture of found.content.querySelectorAll("[data-spark-of]")) drawn.set(picture.dataset.sparkOf, document.importNode(picture, true));
  place();
}

function shown() { return [...document.querySelectorAll("[data-spark]")].map((cell) => cell.dataset.spark); }

function look(all) {
  const url = document.querySelector("[data-sparks]")?.dataset.sparks;
  const names = shown().filter((name) => all || !drawn.has(name));
  if (url && names.length && !document.hidden) ask(names, url).catch(() => {});
}

// Called once; what htmx brings later is filled before it is painted.
export function sparks() {
  look(false);
  document.addEventListener("htmx:afterSwap", () => { place(); look(false); });
  setInterval(() => look(true), EVERY_MS);
}
