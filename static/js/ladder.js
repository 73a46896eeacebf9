// The replica ladder: one row a replica, leader on top; solid = below the high watermark, hatched = above it.

import * as format from "./format.js";
import { piece } from "./bind.js";

const LEFT_SHARE = 0.3; // of the width lies below the lowest replica's end, so that a bar is always seen
const LEAST_SPAN = 8; // records; otherwise one record of difference would look like a gulf

export class Ladder {
  constructor(element, now) {
    this.element = element;
    this.now = now; // the server's clock, ms
    this.rungs = new Map();
    this.last = null;
  }

  show(value) {
    this.element.dataset.level = format.state(value.state)[0];
    this.header(value);
    const scale = scaleOf(value);
    const ordered = [...value.replicas].sort((a, b) => (b.is_leader - a.is_leader) || a.broker_id - b.broker_id);
    const box = this.element.querySelector(".rungs");
    for (const replica of ordered) this.rung(box, replica, value, scale);
    for (const [id, row] of this.rungs) {
      if (!ordered.some((replica) => replica.broker_id === id)) { row.remove(); this.rungs.delete(id); }
    }
    ordered.forEach((replica, index) => {
      const row = this.rungs.get(replica.broker_id);
      if (box.children[index] !== row) box.insertBefore(row, box.children[index] || null);
    });
    this.words(value);
    this.last = value;
  }

  header(value) {
    const put = (name, words) => { const found = this.element.querySelector(`[data-part="${name}"]`); if (found && found.textContent !== words) found.textContent = words; };
    put("epoch", format.whole(value.leader_epoch));
    put("hw", format.whole(value.high_watermark));
    put("leo", format.whole(value.log_end_offset));
    const begun = value.epochs.map(({ epoch, start_offset }) => `epoch ${epoch} began at ${format.whole(start_offset)}`).join(", ");
    const epoch = this.element.querySelector('[data-part="epoch"]');
    if (epoch.title !== begun) epoch.title = begun;
    const state = this.element.querySelector('[data-part="state"]');
    const [level, words] = format.state(value.state);
    state.dataset.level = level;
    if (state.textContent !== words) state.textContent = words;
  }

  rung(box, replica, value, scale) {
    let row = this.rungs.get(replica.broker_id);
    if (!row) {
      row = make();
      this.rungs.set(replica.broker_id, row);
      box.append(row);
    }
    const end = replica.log_end_offset;
    const unknown = end === null || end === undefined;
    const past = replica.last_seen_ms !== null && replica.last_seen_ms !== undefined;
    // Where no log end is told at all: who is in the ISR has all that is committed, by what the high watermark is.
    const held = unknown && replica.in_isr && value.log_end_offset === null && value.leader !== null ? value.high_watermark ?? 0 : 0;
    row.className = `rung${replica.in_isr && !past ? "" : " out"}${past ? " last-known" : ""}${unknown && !held ? " gone" : ""}`;
    part(row, "who").innerHTML = `<i aria-hidden="true">${replica.in_isr ? "●" : "○"}</i>`;
    part(row, "who").append(`${replica.broker_id}${replica.is_leader ? " leader" : ""}`);
    part(row, "in").textContent = replica.in_isr ? "ISR" : "out";
    const committed = Math.min(unknown ? held : end, value.high_watermark ?? end ?? 0);
    place(part(row, "fill"), 0, scale(committed));
    place(part(row, "over"), scale(committed), unknown ? 0 : scale(end) - scale(committed));
    part(row, "hw").style.left = `${scale(value.high_watermark ?? 0) * 100}%`;
    part(row, "hw").hidden = value.high_watermark === null;
    const sized = unknown && replica.size_bytes !== null && replica.size_bytes !== undefined;
    part(row, "leo").textContent = sized ? format.bytes(replica.size_bytes) : format.whole(end);
    const gap = unknown || value.log_end_offset === null || replica.is_leader ? 0 : value.log_end_offset - end;
    part(row, "gap").textContent = gap > 0 ? `−${format.whole(gap)}` : "";
    part(row, "why").classList.toggle("right", !unknown && scale(end) < 0.5);
    this.why(row, replica);
    this.notches(row, value, scale);
    row.setAttribute("aria-label", describe(replica, value, gap));
  }

  // Why a replica is out, and how old its last known end is.
  why(row, replica) {
    const why = part(row, "why");
    const words = [replica.in_isr ? "" : replica.reason || "out of the ISR", seenAgo(replica, this.now())].filter(Boolean).join(", ");
    why.hidden = !words;
    if (why.textContent !== words) why.title = why.textContent = words;
  }

  // Time passes although nothing is said.
  tick() {
    for (const replica of this.last?.replicas ?? []) {
      const row = this.rungs.get(replica.broker_id);
      if (row && replica.last_seen_ms) this.why(row, replica);
    }
  }

  notches(row, value, scale) {
    const track = row.querySelector(".track");
    track.querySelectorAll(".notch").forEach((notch) => notch.remove());
    for (const { epoch, start_offset } of value.epochs) {
      const at = scale(start_offset);
      if (at <= 0) continue;
      const notch = document.createElement("span");
      notch.className = "notch";
      notch.title = `epoch ${epoch} began at ${format.whole(start_offset)}`;
      notch.style.left = `${at * 100}%`;
      track.append(notch);
    }
  }

  words(value) {
    const box = this.element.querySelector(".words");
    const joined = value.remarks.map((one) => one.text).join("");
    if (box.dataset.said === joined) return;
    box.dataset.said = joined;
    box.replaceChildren(...value.remarks.map(piece));
  }
}

function seenAgo(replica, now) {
  return replica.last_seen_ms ? `last seen ${format.duration(Math.max(0, now - replica.last_seen_ms))} ago` : "";
}

function logWords(replica) {
  if (replica.log_end_offset === null && replica.size_bytes) return `${format.bytes(replica.size_bytes)} on disk, log end not available`;
  return `${replica.last_seen_ms ? "last known log end" : "log end"} ${replica.log_end_offset ?? "unknown"}`;
}

function describe(replica, value, gap) {
  return `Broker ${replica.broker_id}, ${replica.is_leader ? "leader" : "follower"}, ${replica.in_isr ? "in sync" : "out of sync"}, ${logWords(replica)}` + (gap > 0 ? `, ${gap} behind` : "");
}

// Offsets to shares of the track: from a little below the lowest end (or the log's start) to the highest one.
function scaleOf(value) {
  const ends = value.replicas.map((replica) => replica.log_end_offset).filter((end) => end !== null && end !== undefined);
  if (value.high_watermark !== null && value.high_watermark !== undefined) ends.push(value.high_watermark);
  if (!ends.length) return () => 0;
  const high = Math.max(...ends);
  const span = Math.max(LEAST_SPAN, high - Math.min(...ends));
  const left = Math.max(value.log_start_offset ?? 0, high - span / (1 - LEFT_SHARE));
  const width = Math.max(1, (high - left) * 1.02);
  return (offset) => Math.max(0, Math.min(1, (offset - left) / width));
}

function place(element, left, width) {
  element.style.left = `${left * 100}%`;
  element.style.width = `${Math.max(0, width) * 100}%`;
}

function part(row, name) { return row.querySelector(`.${name}`); }

function make() {
  const row = document.createElement("div");
  row.setAttribute("role", "listitem");
  row.innerHTML = '<span class="who"></span><span class="in"></span><span class="track" aria-hidden="true"><span class="fill"></span><span class="over"></span><span class="hw"></span></span><span class="leo"></span><span class="gap"></span><span class="why" hidden></span>';
  return row;
}
