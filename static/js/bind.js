// Binds values to elements: data-key names the value, data-field a path in it, data-as the way it is written.

import * as format from "./format.js";

const WAYS = { whole: format.whole, bytes: format.bytes, byteRate: format.byteRate, rate: format.rate, duration: format.duration, seconds: format.seconds,
  bound: format.bound, text: format.text, list: format.list, percent: format.percent, share: format.share, count: format.count, clock: format.clock };

export function paint(key, value, root = document) {
  for (const holder of root.querySelectorAll(`[data-key="${CSS.escape(key)}"]`)) paintHolder(holder, value);
}

export function paintHolder(holder, value) {
  if (holder.dataset.field) paintField(holder, value);
  for (const element of holder.querySelectorAll("[data-field]")) {
    if (element.closest("[data-key]") === holder) paintField(element, value);
  }
}

export function read(value, path) {
  return path.split(".").reduce((found, name) => (found === null || found === undefined ? found : found[name]), value);
}

function paintField(element, value) {
  const found = read(value, element.dataset.field);
  const way = element.dataset.as || "text";
  if (way === "state") return paintState(element, found);
  if (way === "worst") return paintState(element, format.worst(value));
  if (way === "behind") { setText(element, format.behind(value)); return; }
  if (way === "measured-whole" || way === "measured-bytes") { setText(element, format.measured(found, way.slice(9), value)); return; }
  if (way === "bar") return paintBar(element, found);
  if (way === "hidden-unless") { element.hidden = !found; return; }
  if (way === "process") { element.dataset.process = found ?? ""; return; }
  if (way === "level") return paintLevel(element, found);
  const words = (WAYS[way] || format.text)(found);
  if (element.dataset.badAbove !== undefined) level(element, found, "badAbove", "bad");
  else if (element.dataset.warnBelow !== undefined) mark(element, found < read(value, element.dataset.warnBelow) ? "warn" : "");
  else if (element.dataset.warnAbove !== undefined) level(element, found, "warnAbove", "warn");
  setText(element, words);
}

function level(element, found, name, word) {
  mark(element, typeof found === "number" && found > Number(element.dataset[name]) ? word : "");
}

function mark(element, word) {
  (element.closest(".figure, .count") || element).dataset.level = word;
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
  element.hidden = !progress?.total;
  element.setAttribute("aria-valuenow", Math.round(share * 100));
  element.firstElementChild.style.width = `${share * 100}%`;
}

// A box that opens a page with a sentence: its colour and sign follow a state's level.
function paintLevel(element, found) {
  const [levelName] = format.state(found);
  element.dataset.level = levelName;
  const sign = element.querySelector(".sign");
  if (sign) sign.textContent = format.SIGNS[levelName] || format.SIGNS.unknown;
}

// A verdict is {level, text, parts: [{text, about}]}, `about` as `topic/orders` or `brokers`: the word that names the thing is a link.
export function paintVerdict(box, verdict) {
  if (!verdict || box.dataset.text === verdict.text) return;
  box.dataset.text = verdict.text;
  box.dataset.level = verdict.level;
  box.querySelector(".sign").textContent = format.SIGNS[verdict.level] || format.SIGNS.unknown;
  const words = box.querySelector(".words");
  const parts = verdict.parts?.length ? verdict.parts : [{ text: verdict.text, about: null }];
  const held = words.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  words.replaceChildren(...parts.flatMap((one, index) => (index ? [" ", ...pieces(one)] : pieces(one))));
  if (held) [...words.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus({ preventScroll: true });
}

const PLACES = { topic: "/topics/", group: "/groups/" };
const WORD = { topics: /[\d\u202f]+ partitions?|partitions?|topics/, brokers: /[Bb]rokers? \d+(?:(?:, | and )\d+)*|preferred broker/ };

function pieces({ text, about }) {
  if (!about) return [text];
  const [kind, ...rest] = about.split("/");
  const name = rest.join("/");
  const found = name ? named(text, name) : WORD[kind]?.exec(text);
  const link = document.createElement("a");
  link.href = rest.length ? PLACES[kind] + encodeURIComponent(name) : `/${kind}`;
  link.textContent = found ? found[0] : text;
  return found ? [text.slice(0, found.index), link, text.slice(found.index + found[0].length)] : [link];
}

// Words of an advice, {text, about, form}: a choice leads to the form that it is made in.
export function advised({ text, about, form }) {
  if (!about) return text;
  const [kind, ...rest] = about.split("/");
  const link = document.createElement("a");
  link.href = (rest.length ? PLACES[kind] + encodeURIComponent(rest.join("/")) : `/${kind}`) + (form ? `#${form}` : "");
  link.textContent = text;
  return link;
}

// Where a topic's or group's name stands in a text, with the partition's number if one follows.
function named(text, name) {
  const index = text.indexOf(name);
  return index < 0 ? null : { index, 0: name + /^(?:-\d+)?/.exec(text.slice(index + name.length))[0] };
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
