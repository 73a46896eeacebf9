// Binds values to elements: data-key names the value, data-field a path in it, data-as the way it is written.

import * as format from "./format.js";

const WAYS = { whole: format.whole, bytes: format.bytes, byteRate: format.byteRate, rate: format.rate, duration: format.duration, seconds: format.seconds,
  bound: format.bound, text: format.text, list: format.list, percent: format.percent, share: format.share, count: format.count, byBroker: format.byBroker, stages: format.stages, clock: format.clock };

// Written from several fields of the value.
const OF_ALL = { behind: format.behind, kept: format.kept, held: format.held, furthestBehind: format.furthestBehind, preference: format.preference };

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
  if (way === "ofBrokers") { mark(element, value.brokers_online < value.brokers_total ? "warn" : ""); setText(element, format.ofBrokers(value)); return; }
  if (way === "counted") { setText(element, format.counted(found, element.dataset.noun)); return; }
  if (OF_ALL[way]) return setText(element, OF_ALL[way](value));
  if (way === "ofReplica") return setText(element, format.ofReplica(value, Number(element.dataset.broker), element.dataset.field));
  if (way === "dots") return paintDots(element, value);
  if (way === "measured-whole" || way === "measured-bytes") { setText(element, format.measured(found, way.slice(9), value)); return; }
  if (way === "unit") { setText(element, found ? (found.total === 1 ? found.unit.replace(/s$/, "") : found.unit) : ""); return; }
  if (way === "bar") return paintBar(element, found);
  if (way === "wheels") return paintWheels(element, found);
  if (way === "hidden-unless") { element.hidden = !found; return; }
  if (way === "present") { element.dataset.present = found ? "yes" : ""; return; }
  if (way === "process") { element.dataset.process = found ?? ""; return; }
  if (way === "level") return paintLevel(element, found);
  if (way === "line") return paintLine(element, found);
  const words = (WAYS[way] || format.text)(found);
  if (element.dataset.badAbove !== undefined) level(element, found, "badAbove", "bad");
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

// A shape and a number for each replica; the words are for who does not see them.
function paintDots(element, value) {
  const words = format.replicaWords(value);
  if (element.dataset.said === words) return;
  element.dataset.said = words;
  element.setAttribute("aria-label", words);
  element.replaceChildren(...value.replicas.map((one) => {
    const dot = document.createElement("span");
    dot.className = one.in_isr ? (one.is_leader ? "dot leads" : "dot") : "dot out";
    dot.textContent = `${one.in_isr ? "●" : "○"}${one.broker_id}`;
    return dot;
  }));
}

function paintBar(element, progress) {
  const share = progress && progress.total ? Math.min(1, progress.done / progress.total) : 0;
  element.hidden = !progress?.total;
  element.setAttribute("aria-valuenow", Math.round(share * 100));
  element.firstElementChild.style.width = `${share * 100}%`;
}

// A row a timing wheel: how long a slot is, and how many deadlines lie in all of them and in each.
function paintWheels(body, wheels) {
  const rows = (wheels ?? []).map(({ tick_ms, slots }) => {
    const row = document.createElement("tr");
    const sum = slots.reduce((a, b) => a + b, 0);
    const cells = [["th", format.slot(tick_ms), "", ""], ["td", format.whole(sum), "num", "deadlines"], ["td", slots.map((n) => n || "·").join(" "), "mono full", "slots"]];
    row.append(...cells.map(([tag, words, kind, label]) => {
      const cell = document.createElement(tag);
      if (tag === "th") cell.scope = "row";
      cell.className = kind;
      if (label) cell.dataset.label = label;
      cell.textContent = words;
      return cell;
    }));
    return row;
  });
  body.replaceChildren(...rows);
}

// A box that opens a page with a sentence: its colour and sign follow a state's level.
function paintLevel(element, found) {
  const [levelName] = format.state(found);
  element.dataset.level = levelName;
  const sign = element.querySelector(".sign");
  if (sign) sign.textContent = format.sign(levelName);
}

// A sentence of its own, {level, text}.
function paintLine(box, line) {
  box.hidden = !line;
  if (!line) return;
  box.dataset.level = line.level;
  for (const [part, text] of [[".sign", format.sign(line.level)], [".words", line.text]]) {
    const found = box.querySelector(part);
    if (found.textContent !== text) found.textContent = text;
  }
}

// A verdict is {level, text, parts: [{pieces}]}.
export function paintVerdict(box, verdict) {
  if (!verdict || box.dataset.text === verdict.text) return;
  box.dataset.text = verdict.text;
  box.dataset.level = verdict.level;
  box.querySelector(".sign").textContent = format.sign(verdict.level);
  const words = box.querySelector(".words");
  const parts = verdict.parts.length ? verdict.parts : [{ pieces: [{ text: verdict.text }] }];
  const held = words.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  words.replaceChildren(...parts.flatMap(({ pieces }, index) => [...(index ? [" "] : []), ...pieces.map(piece)]));
  if (held) [...words.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus({ preventScroll: true });
}

// The same in a line that every page has on top.
export function paintBrief(line, verdict) {
  if (!verdict) return;
  line.dataset.level = verdict.level;
  for (const [part, text] of [[".sign", format.sign(verdict.level)], [".words", verdict.brief]]) {
    const found = line.querySelector(part);
    if (found.textContent !== text) found.textContent = text;
  }
}

// Words of a sentence: a link where they name something or are a choice.
export function piece({ text, href }) {
  if (!href) return text;
  const link = document.createElement("a");
  link.href = (document.body.dataset.base || "") + href;
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
  sign.textContent = format.sign(event.level);
  sign.setAttribute("aria-label", event.level);
  const words = document.createElement("p");
  words.textContent = event.sentence;
  item.append(document.getElementById("look-back") ? then(event, time) : time, sign, words);
  return item;
}

function then(event, time) {
  const link = document.createElement("a");
  link.className = "then";
  link.href = `${document.body.dataset.base || ""}/at/${event.at_ms}${placeOf(event)}`;
  link.title = `As it was at ${format.clock(event.at_ms)} UTC`;
  link.append(time);
  return link;
}

// As console/rules/event_places.py does it.
function placeOf(event) {
  if (event.topic && ["topic_created", "topic_deleted", "topic_deleting"].includes(event.kind)) return "/topics";
  if (event.topic) return `/topics/${encodeURIComponent(event.topic)}${event.partition === null ? "" : `/${event.partition}`}`;
  if (event.group) return `/groups/${encodeURIComponent(event.group)}`;
  return event.broker_id === null ? "/" : `/brokers/${event.broker_id}`;
}
