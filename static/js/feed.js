// The websocket: one latest value per key, the age of the oldest part that what is shown rests on, and reconnecting by itself.

import { STALE_MS, clock } from "./format.js";

const BACKOFF_MS = [500, 10000];

export class Feed extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    this.values = new Map();
    this.state = "connecting";
    this.owner = null;
    this.oldest = null;
    this.late = null;
    this.ahead = 0;
    this.seenAt = performance.now();
    this.backoff = BACKOFF_MS[0];
    this.socket = null;
    this.ended = false;
    setInterval(() => this.tell(), 500);
    this.open();
    addEventListener("pageshow", (event) => { if (event.persisted) this.reopen(); });
    addEventListener("online", () => this.reopen());
  }

  open() {
    const socket = new WebSocket(new URL(this.url, location.href.replace(/^http/, "ws")));
    this.socket = socket;
    socket.onmessage = (event) => { if (socket === this.socket) this.receive(JSON.parse(event.data)); };
    socket.onclose = (event) => { if (socket === this.socket) this.closed(event); };
  }

  // Other rows are shown: they are asked for by a new connection.
  turn(url) {
    if (this.url === url || this.ended) return;
    this.url = url;
    clearTimeout(this.timer);
    leave(this.socket);
    this.open();
  }

  reopen() {
    if (this.ended || (this.socket && this.socket.readyState <= WebSocket.OPEN)) return;
    clearTimeout(this.timer);
    this.open();
  }

  closed(event) {
    if (event.code === 4401) { this.ended = true; this.set("lost"); location.reload(); return; }
    this.set("reconnecting");
    this.timer = setTimeout(() => this.open(), this.backoff * (0.7 + Math.random() * 0.6));
    this.backoff = Math.min(this.backoff * 2, BACKOFF_MS[1]);
  }

  receive(frame) {
    this.seenAt = performance.now();
    this.backoff = BACKOFF_MS[0];
    this.ahead = frame.now_ms - Date.now();
    if (frame.type === "beat") {
      [this.owner, this.oldest] = [frame.live_ms, frame.oldest_ms].map((ms) => (ms === null ? null : Math.max(0, frame.now_ms - ms)));
      this.late = frame.due_ms === null ? null : frame.now_ms - frame.due_ms;
      this.tell();
      return;
    }
    if (frame.type === "snapshot") this.snapshot(frame); else if (frame.type === "changes") this.changes(frame);
  }

  snapshot(frame) {
    const gone = [...this.values.keys()].filter((key) => !(key in frame.values));
    this.values = new Map(Object.entries(frame.values));
    this.dispatchEvent(new CustomEvent("values", { detail: { values: frame.values, gone, first: true } }));
  }

  changes(frame) {
    const gone = [];
    for (const [key, value] of Object.entries(frame.values)) {
      if (value === null) { this.values.delete(key); gone.push(key); } else this.values.set(key, value);
    }
    this.dispatchEvent(new CustomEvent("values", { detail: { values: frame.values, gone, first: false } }));
  }

  // Age in ms of the oldest part that the page rests on: what the server said, and the time since.
  currentAge() { return this.since(this.oldest); }

  // For how many ms nothing new has been written or has come; since the page was opened where nothing ever did.
  silence() { return this.owner === null ? performance.now() : this.since(this.owner); }

  since(age) { return age === null ? null : age + (performance.now() - this.seenAt); }

  // Nothing that is shown can be taken for what is true now.
  get old() { return this.state !== "lost" && this.silence() > STALE_MS; }

  // The cluster's verdict; of a feed that is silent it is what was last known. The server says so itself of an old snapshot.
  verdict() {
    const said = this.values.get("cluster")?.verdict;
    if (!said || !this.old || said.last_known_ms !== null) return said;
    const who = this.state === "reconnecting" ? "The console does not answer" : "The live feed is silent";
    const text = `${who}; last known${this.owner === null ? "" : ` at ${clock(this.now() - this.silence())}`}:`;
    const pieces = (words) => ({ pieces: [{ text: words }] });
    return { level: "unknown", brief: `Last known: ${said.brief}`, text: `${text} ${said.text}`, parts: [pieces(text), ...(said.parts.length ? said.parts : [pieces(said.text)])] };
  }

  // The server's clock, in ms since 1970.
  now() { return Date.now() + this.ahead; }

  set(state) { this.state = state; this.tell(); }

  tell() {
    if (this.state !== "lost" && this.socket && this.socket.readyState === WebSocket.OPEN) {
      const whole = this.since(this.late) <= 0 && this.values.get("cluster")?.feed?.state !== "partial";
      this.state = this.owner === null ? "connecting" : this.silence() > STALE_MS ? "stale" : whole ? "live" : "partial";
    }
    this.dispatchEvent(new Event("age"));
  }
}

// One that is still connecting is closed once it is open: closed before, it would be an error in the console.
function leave(socket) {
  if (socket.readyState === WebSocket.CONNECTING) socket.onopen = () => socket.close(); else socket.close();
}
