// Binds values to elements: data-key names the value, data-field a path in it, data-as the way it is written.

import * as format from "./format.js";

const WAYS = { whole: format.whole, bytes: format.bytes, byteRate: format.byteRate, rate: format.rate, duration: format.duration, seconds: format.seconds,
  millis: format.millis, text: format.text, list: format.list, percent: format.percent, count: format.count, clock: format.clock };

export function paint(key, value, root = document) {
  for (const holder of root.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)) paintHolder(holder, value);
}

export function paintHolder(holder, value) {
  if (holder.dataset.field) paintField(holder, value);
  for (const element of holder.querySelectorAll("[data-field]")) {
    if (element.closest("[data-key]") === holder) paintField(element, value);
  }
}

function read(value, path) {
  return path.split(".").reduce((found, name) => (found === null || found === undefined ? found : found[name]), value);
}

function paintField(element, value) {
  const found = read(value, element.dataset.field);
  const way = element.dataset.as || "text";
  if (way === "state") return paintState(element, found);
  if (way === "bar") return paintBar(element, found);
  if (way === "hidden-unless") { element.hidden = !found; return; }
  const words = (WAYS[way] || format.text)(found);
  if (element.dataset.badAbove !== undefined) level(element, found, "badAbove", "bad");
  else if (element.dataset.warnAbove !== undefined) level(element, found, "warnAbove", "warn");
  setText(element, words);
}

function level(element, found, name, word) {
  const box = element.closest(".figure") || element;
  box.dataset.level = typeof found === "number" && found > Number(element.dataset[name]) ? word : "";
}

function setText(element, words) {
  if (element.textContent === words) return;
  element.textContent = words;
  if (element.dataset.quiet === undefined) {
    element.classList.remove("changed");
    void element.offsetWidth;
    element.classList.add("changed");
  }
}

function paintState(element, found) {
  const [levelName, words] = format.state(found);
  element.dataset.level = levelName;
  element.classList.add("state");
  setText(element, words);
}

function paintBar(element, progress) {
  const share = progress && progress.total ? Math.min(1, progress.done / progress.total) : 0;
  element.setAttribute("aria-valuenow", Math.round(share * 100));
  element.firstElementChild.style.width = `${share * 100}%`;
}

// A verdict is {level, text, parts: [{text, url|null}]}: words with links from the word to the thing.
export function paintVerdict(box, verdict) {
  if (!verdict || box.dataset.text === verdict.text) return;
  box.dataset.text = verdict.text;
  box.dataset.level = verdict.level;
  box.querySelector(".sign").textContent = format.SIGNS[verdict.level] || format.SIGNS.unknown;
  const words = box.querySelector(".words");
  const parts = verdict.parts?.length ? verdict.parts : [{ text: verdict.text, url: null }];
  words.replaceChildren(...parts.flatMap((one, index) => (index ? [" ", part(one)] : [part(one)])));
}

function part({ text, url }) {
  if (!url) return document.createTextNode(text);
  const link = document.createElement("a");
  link.href = url;
  link.textContent = text;
  return link;
}

export function eventItem(event) {
  const item = document.createElement("li");
  item.dataset.level = event.level;
  item.dataset.event = event.id;
  const time = document.createElement("time");
  time.dateTime = new Date(event.at_ms).toISOString();
  time.textContent = format.clock(event.at_ms);
  const sign = document.createElement("span");
  sign.className = "sign";
  sign.textContent = format.SIGNS[event.level] || format.SIGNS.unknown;
  sign.setAttribute("aria-label", event.level);
  const words = document.createElement("p");
  words.textContent = event.sentence;
  item.append(time, sign, words);
  return item;
}
