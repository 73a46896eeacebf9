// Entry of every page: theme, feed, live values, ladders, plots, confirmations.

import { Feed } from "./feed.js";
import { checked } from "./checked.js";
import { eventItem, paint, paintBrief, paintVerdict, read } from "./bind.js";
import { Ladder } from "./ladder.js";
import { draw, grow, seriesOf, shownIn } from "./charts.js";
import { palette } from "./palette.js";
import { past } from "./past.js";
import { regions } from "./regions.js";
import { clock, duration } from "./format.js";
import { sparks } from "./sparks.js";
import { startTour } from "./tour.js";

const MOST_EVENTS = 200;
const ladders = new Map();
let feed = null;

function theme() {
  const stored = localStorage.getItem("theme");
  if (stored) document.documentElement.dataset.theme = stored;
  for (const button of document.querySelectorAll("[data-theme-set]")) {
    const mark = () => button.setAttribute("aria-pressed", String((localStorage.getItem("theme") || "auto") === button.dataset.themeSet));
    mark();
    button.addEventListener("click", () => {
      const name = button.dataset.themeSet;
      if (name === "auto") { localStorage.removeItem("theme"); delete document.documentElement.dataset.theme; }
      else { localStorage.setItem("theme", name); document.documentElement.dataset.theme = name; }
      document.querySelectorAll("[data-theme-set]").forEach((other) => other.setAttribute("aria-pressed", String(other === button)));
      plots();
    });
  }
}

function ladderOf(element) {
  if (!ladders.has(element)) ladders.set(element, new Ladder(element, () => feed?.now() ?? (Number(document.body.dataset.moment) || Date.now())));
  return ladders.get(element);
}

function startLadders(root = document) {
  for (const element of root.querySelectorAll("[data-ladder]")) {
    if (element.closest("[hidden]")) continue;
    const data = element.querySelector('script[type="application/json"]');
    const live = feed?.values.get(element.dataset.ladder);
    if (live || data) ladderOf(element).show(live || JSON.parse(data.textContent));
  }
}

function plots(root = document) {
  for (const element of root.querySelectorAll("[data-chart]")) {
    const data = document.getElementById(element.dataset.chart);
    if (data) draw(element, shownIn(element) || seriesOf(JSON.parse(data.textContent), element.dataset), element.dataset.unit || "");
  }
}

function onValues({ detail: { values, gone, first } }) {
  for (const [key, value] of Object.entries(values)) if (value !== null) show(key, value);
  for (const key of gone) {
    for (const element of document.querySelectorAll(`[data-key="${CSS.escape(key)}"], [data-ladder="${CSS.escape(key)}"]`)) element.classList.add("gone");
  }
  if (membership(values, gone, first)) stale();
}

function show(key, value) {
  if (key === "cluster") {
    showVerdict();
    document.querySelectorAll("[data-grow]").forEach((chart) => grow(chart, value));
  }
  if (key.startsWith("event/")) return addEvent(value);
  paint(key, value);
  noticeStale(key, value);
  for (const element of document.querySelectorAll(`[data-ladder="${CSS.escape(key)}"]`)) if (!element.closest("[hidden]")) ladderOf(element).show(value);
}

function showVerdict() {
  const verdict = feed.verdict();
  document.querySelectorAll("[data-verdict]").forEach((box) => paintVerdict(box, verdict));
  document.querySelectorAll("[data-brief]").forEach((line) => paintBrief(line, verdict));
}

// True when rows came or went that the page, rendered by the server, does not have: it is then fetched anew. What comes first is all there is.
function membership(values, gone, first) {
  const box = document.querySelector("[data-rows]");
  if (!box) return false;
  const prefix = box.dataset.rows;
  const shown = (key) => box.querySelector(`[data-key="${CSS.escape(key)}"], [data-ladder="${CSS.escape(key)}"]`);
  const rows = () => [...box.querySelectorAll("[data-key], [data-ladder]")].map((row) => row.dataset.key || row.dataset.ladder);
  const went = first ? rows().filter((key) => !(key in values)) : gone.filter(shown);
  return went.some((key) => key.startsWith(prefix)) || Object.keys(values).some((key) => key.startsWith(prefix) && values[key] !== null && !shown(key));
}

// A list made by the server is fetched anew when one of the figures it hangs on has changed.
function noticeStale(key, value) {
  for (const element of document.querySelectorAll(`[data-stale-key="${CSS.escape(key)}"]`)) {
    const now = element.dataset.staleOn.split(",").map((name) => read(value, name)).join();
    if (element.dataset.staleWas !== undefined && element.dataset.staleWas !== now) stale();
    element.dataset.staleWas = now;
  }
}

let staleTimer = null;
function stale() {
  if (staleTimer || document.querySelector("dialog[open]")) return;
  staleTimer = setTimeout(() => { staleTimer = null; document.body.dispatchEvent(new Event("stale")); }, 700);
}

function addEvent(event) {
  for (const list of document.querySelectorAll("[data-events]")) {
    if (list.querySelector(`[data-event="${event.id}"]`)) continue;
    if (list.dataset.topic && event.topic !== list.dataset.topic) continue;
    if (list.dataset.partition && event.partition !== Number(list.dataset.partition)) continue;
    if (list.dataset.group && event.group !== list.dataset.group) continue;
    if (list.dataset.broker && String(event.broker_id) !== list.dataset.broker) continue;
    list.querySelector(".none")?.remove();
    const after = [...list.children].find((item) => Number(item.dataset.event) < event.id);
    list.insertBefore(eventItem(event), after || null);
    while (list.children.length > Math.min(MOST_EVENTS, Number(list.dataset.most || MOST_EVENTS))) list.lastElementChild.remove();
  }
}

function showAge() {
  const box = document.querySelector(".feed");
  if (!box) return;
  const age = feed.currentAge();
  const aged = age === null ? "" : `, ${duration(age)} old`;
  const words = { connecting: "connecting", live: `live${age === null ? "" : ` · ${duration(age)} old`}`, stale: `feed silent${aged}`, partial: `${feed.values.get("cluster")?.source === "collector" ? "part not answered" : "part of the feed lost"}${aged}`, reconnecting: `reconnecting${aged}`, lost: "signed out" }[feed.state];
  if (box.dataset.state !== feed.state) box.dataset.state = feed.state;
  if (box.textContent !== words) box.textContent = words;
  showOld();
}

// Nothing new comes: the page is dimmed under a bar that says since when.
function showOld() {
  const bar = document.querySelector("[data-old-bar]");
  if (feed.owner === null && !bar.hidden) return;
  if (bar.hidden === feed.old) { bar.hidden = !feed.old; document.body.toggleAttribute("data-old", feed.old); }
  showVerdict();
  if (!feed.old) return;
  const silence = feed.silence();
  const why = feed.state === "reconnecting" ? "the console does not answer" : "the live feed is silent";
  const known = feed.owner === null ? "What is shown may be old." : `What is shown was last known at ${clock(feed.now() - silence)}.`;
  const words = `Nothing new for ${duration(silence)}: ${why}. ${known}`;
  if (bar.textContent !== words) bar.textContent = words;
}

function confirmations() {
  for (const dialog of document.querySelectorAll("dialog[data-again]")) {
    dialog.close();
    dialog.showModal();
    dialog.querySelector('[aria-invalid="true"]')?.focus();
  }
  openNamed();
  window.addEventListener("hashchange", openNamed);
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) { event.preventDefault(); document.getElementById(opener.dataset.dialog)?.showModal(); return; }
    if (event.target.closest("[data-close]")) event.target.closest("dialog").close();
  });
  document.addEventListener("input", (event) => {
    const input = event.target.closest("[data-must-be]");
    if (input) input.form.querySelector('[type="submit"]').disabled = input.value.trim() !== input.dataset.mustBe;
  });
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.matches("[hx-post],[hx-get]")) return;
    const button = event.submitter;
    if (button && !("stays" in button.dataset)) setTimeout(() => { button.disabled = true; }, 0);
  });
}

// An address may name a form: a dialog is opened, a setting or a button gets the focus.
function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (named?.tagName === "DIALOG" && !named.open) named.showModal();
  else if (named?.tagName === "BUTTON") named.focus();
}

// The boxes of a form that may stand anywhere on the page: all are checked, or none where all were.
function checkAll() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-check-all]");
    if (!button) return;
    const boxes = [...document.getElementById(button.dataset.checkAll).elements].filter((one) => one.type === "checkbox");
    const wanted = !boxes.every((one) => one.checked);
    for (const box of boxes) box.checked = wanted;
  });
}

// A row's ladder is opened and shut by its button, and the address says which are.
function expanders() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-expand]");
    if (!button) return;
    const row = document.getElementById(button.getAttribute("aria-controls"));
    row.hidden = !row.hidden;
    button.setAttribute("aria-expanded", String(!row.hidden));
    startLadders(row);
    noteExpanded(button.dataset.expand, !row.hidden);
  });
}

function noteExpanded(number, isOpen) {
  const address = new URL(location.href);
  const numbers = (name) => new Set((address.searchParams.get(name) || "").split(",").filter(Boolean));
  const [open, shut] = [numbers("open"), numbers("shut")];
  if (isOpen) { shut.delete(number); if (!open.has("all")) open.add(number); } else { open.delete(number); shut.add(number); }
  for (const [name, set] of [["open", open], ["shut", shut]]) {
    if (set.size) address.searchParams.set(name, [...set].join(",")); else address.searchParams.delete(name);
  }
  history.replaceState(history.state, "", address.href.replaceAll("%2C", ","));
}

// The list of clusters closes as a menu does: by Escape, and by a press elsewhere.
function switcher() {
  const box = document.querySelector(".switcher");
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box?.open) return;
    box.open = false;
    box.querySelector("summary").focus();
  });
  document.addEventListener("click", (event) => { if (box?.open && !box.contains(event.target)) box.open = false; });
}

// On a narrow screen only the first filter is shown until the others are asked for.
function folds() {
  for (const button of document.querySelectorAll(".folds .fold")) {
    button.addEventListener("click", () => button.setAttribute("aria-expanded", String(button.closest(".folds").classList.toggle("open"))));
  }
}

function rail() {
  const toggle = document.querySelector(".more-nav button");
  toggle?.addEventListener("click", () => {
    const open = document.querySelector(".rail").classList.toggle("open");
    toggle.setAttribute("aria-expanded", String(open));
  });
}

function htmxHooks() {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const status = event.detail.xhr.status;
    keepOpen(event.target);
    if ([403, 409, 422].includes(status)) { event.detail.shouldSwap = true; event.detail.isError = false; }
  });
  document.addEventListener("htmx:afterSwap", (event) => { follow(event.target); reopen(event.target); startLadders(event.target); plots(event.target); repaint(event.target); regions(); });
  document.addEventListener("htmx:configRequest", (event) => {
    const token = document.cookie.split("; ").find((item) => item.startsWith("csrftoken="));
    if (token) event.detail.headers["X-CSRFToken"] = token.slice("csrftoken=".length);
    if (event.detail.verb === "get") leaveOutEmpty(event.detail.parameters);
  });
}

// A filter that is not set has no place in the address.
function leaveOutEmpty(parameters) {
  for (const [name, value] of [...parameters.entries()]) if (value === "") parameters.delete(name);
}

// A list that was fetched anew says which rows it shows.
function follow(root) {
  const url = root.querySelector("[data-live]")?.dataset.live;
  if (url) feed?.turn(url);
}

// What a person has opened or closed stays so when the list around it is fetched anew.
const opened = new Map();
const chosen = new Set();
function keepOpen(root) {
  chosen.clear();
  for (const one of root.querySelectorAll("input[type=checkbox][id]")) if (one.checked) chosen.add(one.id);
  for (const one of root.querySelectorAll("details[id]")) opened.set(one.id, one.open);
}

function reopen(root) {
  for (const one of root.querySelectorAll("details[id]")) if (opened.has(one.id)) one.open = opened.get(one.id);
  for (const one of root.querySelectorAll("input[type=checkbox][id]")) if (chosen.has(one.id)) one.checked = true;
}

function repaint(root) {
  if (!feed) return;
  for (const [key, value] of feed.values) if (!key.startsWith("event/")) paint(key, value, root);
}

theme();
rail();
folds();
switcher();
confirmations();
expanders();
checkAll();
htmxHooks();
checked();
const url = document.body.dataset.wsUrl;
if (url) {
  feed = new Feed(url);
  feed.addEventListener("values", onValues);
  feed.addEventListener("age", showAge);
  feed.addEventListener("age", () => { for (const [element, ladder] of ladders) if (element.isConnected) ladder.tick(); });
}
startLadders();
plots();
regions();
sparks();
palette();
past();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plots());
startTour();
document.documentElement.dataset.ready = "yes";
