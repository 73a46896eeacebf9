// How values are written: thin-space thousands, units, words. Unknown is a dash, never 0.

// How states are called and coloured, as the server has it (console/rules/states.py).
const { states, signs, sure, stale_ms } = JSON.parse(document.getElementById("vocabulary").textContent);
export const STALE_MS = stale_ms;

const DASH = "–";
const THIN = "\u202f"; // the narrow no-break space

export function whole(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return DASH;
  const sign = value < 0 ? "−" : "";
  return sign + Math.abs(Math.round(value)).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

// `1 topic`, `3 000 topics`.
export const counted = (value, noun) => `${whole(value)} ${value === 1 ? noun : noun + "s"}`;

function scaled(value, units, base) {
  let unit = 0;
  while (value >= base && unit < units.length - 1) { value /= base; unit += 1; }
  const digits = value >= 100 || unit === 0 ? 0 : value >= 10 ? 1 : 2;
  return value.toFixed(digits) + THIN + units[unit];
}

// How many brokers run of those that are known; with none known, nobody can say.
export const ofBrokers = ({ brokers_online: online, brokers_total: total }) => (total ? `${whole(online)} of ${whole(total)}` : "unknown");

export function bytes(value) {
  return value === null || value === undefined ? DASH : scaled(value, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
}

export function byteRate(value) {
  return value === null || value === undefined ? DASH : bytes(value) + "/s";
}

export function rate(value) {
  if (value === null || value === undefined) return DASH;
  return (value >= 100 || value === 0 ? whole(value) : value.toFixed(value >= 10 ? 0 : 1)) + "/s";
}

export function slot(ms) {
  return ms < 1000 ? ms + THIN + "ms" : ms / 1000 + THIN + "s";
}

export function duration(ms) {
  if (ms === null || ms === undefined) return DASH;
  const s = ms / 1000;
  if (s < 10) return s.toFixed(1) + THIN + "s";
  if (s < 120) return Math.round(s) + THIN + "s";
  const [size, unit] = [[86400, "days"], [3600, "h"], [60, "min"]].find(([least]) => s >= 2 * least);
  return whole(s / size) + THIN + unit;
}

export const seconds = (s) => (s === null || s === undefined ? DASH : duration(s * 1000));

// Lag in time with how sure it is: the record's own age, an estimate, or a bound.
export const behind = (value) => (typeof value.lag_s === "number" ? (sure[value.lag_basis] || "") + seconds(value.lag_s) : DASH);

// Of a partition: see `kept`, `held`, `furthest_behind` and `preference` on the server.
export function kept({ log_end_offset: told, high_watermark: committed, log_start_offset: start }) {
  const end = told ?? committed;
  return end === null ? DASH : whole(end - (start ?? 0));
}
export const held = ({ high_watermark: high, last_stable_offset: stable }) => counted(high === null || stable === null ? null : Math.max(high - stable, 0), "offset");
export function furthestBehind({ replicas, log_end_offset: end }) {
  const followers = replicas.filter((one) => !one.is_leader);
  const ends = followers.map((one) => one.log_end_offset).filter((told) => told !== null);
  if (end === null || !ends.length) return DASH;
  const unmeasured = followers.length - ends.length;
  return measured(Math.max(end - Math.min(...ends), 0) || (unmeasured ? null : 0), "whole", { unmeasured });
}
export function preference({ leader, preferred_leader: preferred }) {
  if (leader === null || preferred === null) return "";
  return leader === preferred ? "preferred" : `${preferred} is preferred`;
}
export const replicaWords = ({ replicas }) =>
  replicas.map((one) => `broker ${one.broker_id} ${one.is_leader ? "leads" : one.in_isr ? "in sync" : "out of the ISR"}`).join(", ");

// A sum over the partitions whose leaders tell of their logs: where others do not, there is at least so much.
export function measured(found, way, { unmeasured }) {
  const words = way === "bytes" ? bytes(found) : whole(found);
  return unmeasured && words !== DASH ? "≥" + THIN + words : words;
}

// A percentile read from a histogram is its bucket's upper bound.
export const bound = (value) => (value === null || value === undefined ? DASH : "≤" + THIN + (value < 10 ? value.toFixed(1) : whole(value)) + THIN + "ms");
// What a request's time is made of: queued + on the loop + waiting for others + sent.
export function stages(value) {
  if (value === null || value === undefined) return "";
  const parts = [value.request_queue, value.local, value.remote, value.response_send];
  return parts.map((ms) => (ms < 10 ? ms.toFixed(1) : whole(ms))).join(" + ") + THIN + "ms";
}

export const text = (value) => (value === null || value === undefined || value === "" ? DASH : String(value));
export const list = (value) => (Array.isArray(value) ? (value.length ? value.join(", ") : "none") : DASH);

// A signed share; nothing where it is unknown: it only stands under a figure.
export function percent(value) {
  if (value === null || value === undefined) return "";
  const rounded = Math.round(value * 100);
  return (rounded > 0 ? "+" : "") + whole(rounded) + THIN + "%";
}

// A share of a hundred that was measured; a dash where it is unknown.
export const share = (value) => (value === null || value === undefined ? DASH : whole(value) + THIN + "%");

export const count = (value) => (Array.isArray(value) ? whole(value.length) : whole(value));

// Of each broker that has any: `2: 14`.
export function byBroker(value) {
  if (value === null || value === undefined) return DASH;
  return Object.entries(value).filter(([, number]) => number).map(([broker, number]) => `${broker}: ${whole(number)}`).join(", ") || "none";
}

export function clock(ms) {
  return ms === null || ms === undefined ? DASH : new Date(ms).toISOString().slice(11, 19);
}

// The level and the words of a state.
export const state = (value) => states[value] || ["off", text(value)];

// The shape that goes with a level.
export const sign = (level) => signs[level] || signs.unknown;

// Of one broker's replica: its log end, or how many records it lacks of its leader's.
export function ofReplica(partition, broker, field) {
  const end = partition.replicas.find((one) => one.broker_id === broker)?.log_end_offset;
  if (field !== "behind") return whole(end);
  return end === null || end === undefined || partition.log_end_offset === null ? "–" : whole(Math.max(partition.log_end_offset - end, 0));
}
