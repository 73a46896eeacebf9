// Plots with plotly in the page's own colours; a series keeps its colour on every page. Times are UTC, bytes in binary units.

const STEP_MS = 10_000;
const MOST_POINTS = 90;
const TICKS = 4;
const COLOURS = 6;
const DASHES = ["solid", "dash", "dot"];
const BURST = 8; // an axis is cut where the highest value is so many times what 95 of 100 values stay below
const CUT_FROM = 20; // points, below which nothing is called a burst
const growing = new WeakMap();
let loading;

function property(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

function hash(name) {
  let found = 2166136261;
  for (let at = 0; at < name.length; at += 1) found = Math.imul(found ^ name.charCodeAt(at), 16777619) >>> 0;
  return found;
}

// Colour and dash by the name itself, so a series looks alike on every page; of those shown together no two do, while there are so many looks.
export function looks(names) {
  const taken = new Set();
  const all = COLOURS * DASHES.length;
  const found = new Map();
  for (const name of [...names].sort()) {
    let look = hash(name) % COLOURS;
    for (let step = 0; taken.has(look) && step < all; step += 1) look = (look + 1) % all;
    taken.add(look);
    found.set(name, { color: property(`--series-${(look % COLOURS) + 1}`), dash: DASHES[Math.floor(look / COLOURS)] });
  }
  return found;
}

// What most values stay below, where a burst would flatten all the others; else null.
export function cutAt(values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  if (sorted.length < CUT_FROM) return null;
  const usual = sorted[Math.floor(sorted.length * 0.95)];
  return usual > 0 && sorted.at(-1) > BURST * usual ? usual * 1.5 : null;
}

// The largest unit that fits: 1024 for bytes, 60 for time and 1000 for the rest.
function scale(high, unit) {
  if (unit === "s") return high >= 7_200 ? { factor: 3_600, prefix: "h" } : high >= 120 ? { factor: 60, prefix: "min" } : { factor: 1, prefix: "s" };
  const base = unit.startsWith("B") ? 1024 : 1000;
  const prefixes = base === 1024 ? ["", "Ki", "Mi", "Gi", "Ti"] : ["", "k", "M", "G", "T"];
  let power = 0;
  while (high >= base ** (power + 1) && power < prefixes.length - 1) power += 1;
  return { factor: base ** power, prefix: prefixes[power] };
}

// Tick values and their words: whole steps in the largest unit that fits.
export function ticks(high, unit) {
  const { factor, prefix } = scale(high, unit);
  const step = niceStep(high / factor / TICKS);
  const values = [];
  for (let value = 0; value <= high / factor + step * 0.999 && values.length <= 2 * TICKS; value += step) values.push(value);
  const digits = Math.min(3, (String(Number(step.toPrecision(3))).split(".")[1] || "").length);
  return { tickmode: "array", tickvals: values.map((value) => value * factor), ticktext: values.map((value) => words(value.toFixed(digits), prefix, unit)), range: [0, values.at(-1) * factor] };
}

function words(value, prefix, unit) {
  if (Number(value) === 0) return "0";
  if (unit === "s") return `${value}\u202f${prefix}`;
  return unit.startsWith("B") || unit.startsWith("/") ? `${value}\u202f${prefix}${unit}` : `${value}${prefix ? "\u202f" + prefix : ""}`;
}

function niceStep(rough) {
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].find((one) => one * power >= rough) * power;
}

function layout(element, series, unit) {
  const axis = { gridcolor: property("--line"), linecolor: property("--line-2"), zeroline: false, automargin: true, tickfont: { size: 12 }, fixedrange: true };
  const values = series.flatMap(({ y }) => y.filter((value) => value !== null));
  const cut = cutAt(values);
  const high = cut ?? values.reduce((most, value) => Math.max(most, value), TICKS);
  const whole = element.dataset.from ? [Number(element.dataset.from), Number(element.dataset.to)] : [];
  const times = whole.length ? whole : series.flatMap(({ t }) => (t.length ? [t[0], t.at(-1)] : []));
  const span = Math.max(...times) - Math.min(...times);
  const short = span < 5 * 60_000;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: property("--ink-2"), family: "system-ui, sans-serif" },
    margin: { l: 8, r: 20, t: 8, b: 28 }, hovermode: "x unified", showlegend: series.length > 1 || !whole.length, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    annotations: cut === null ? [] : burst(series, ticks(high, unit).range[1], unit),
    xaxis: { ...axis, type: "date", ...(whole.length ? { range: whole.map((ms) => new Date(ms).toISOString().slice(0, 23)) } : span === 0 ? { range: [times[0] - 60_000, times[0] + 5_000].map((ms) => new Date(ms).toISOString().slice(0, 23)) } : {}), tickformat: short ? "%H:%M:%S" : "%H:%M", nticks: element.clientWidth < 480 ? 4 : 7, tickangle: 0, hoverformat: "%H:%M:%S" },
    yaxis: { ...axis, ...ticks(high, unit) },
    hoverlabel: { bgcolor: property("--raised"), bordercolor: property("--line-2"), font: { color: property("--ink") } }, uirevision: "keep",
  };
}

// The highest value, told at its time where the axis is cut below it.
function burst(series, top, unit) {
  let highest = { value: -1 };
  for (const { t, y } of series) y.forEach((value, at) => { if (value !== null && value > highest.value) highest = { value, at: t[at] }; });
  const { factor, prefix } = scale(highest.value, unit);
  const text = `\u2191 ${words(String(Number((highest.value / factor).toPrecision(3))), prefix, unit)}`;
  return [{ x: new Date(highest.at).toISOString().slice(0, 23), y: top, yanchor: "top", text, showarrow: false, bgcolor: property("--raised"), font: { color: property("--ink") } }];
}

// The shapes that views give: {data, layout}: a plotly figure made by the server; {t, a, b}: a series per further name; {name: {t, pick}}: a series per name.
export function seriesOf(data, { pick, only, names }) {
  if (!data) return [];
  if (Array.isArray(data.data)) return Object.assign(data.data.map(({ name, x, y, ...trace }) => ({ name, t: x.map(Date.parse), y, trace })), { layout: data.layout });
  if (Array.isArray(data.t)) {
    const fields = only ? only.split(",") : Object.keys(data).filter((name) => name !== "t");
    const called = names ? names.split(",") : fields;
    return fields.map((field, index) => ({ name: called[index], t: data.t, y: data[field] || [] }));
  }
  return Object.entries(data).map(([name, value]) => ({ name, t: value.t, y: value[pick] || [] }));
}

// A server's figure in the page's colours and fonts: the page decides what both name.
function themed(given = {}, own) {
  return { ...given, ...own, xaxis: { ...given.xaxis, ...own.xaxis }, yaxis: { ...given.yaxis, ...own.yaxis, title: undefined } };
}

// The library is had once, by the first page or part of one that has a chart.
function load(element, then) {
  const source = element.closest("[data-plotly]")?.dataset.plotly;
  if (!source) return;
  loading ??= new Promise((resolve) => {
    const script = document.createElement("script");
    script.src = source;
    script.addEventListener("load", resolve);
    document.head.append(script);
  });
  loading.then(() => { if (element.isConnected) then(); });
}

// A line, and a dot for what has nothing known beside it and would not be seen.
function modeOf(values) {
  const known = (at) => values[at] !== null && values[at] !== undefined;
  const size = values.map((_, at) => (known(at) && !known(at - 1) && !known(at + 1) ? 6 : 0));
  return size.some(Boolean) ? { mode: "lines+markers", marker: { size } } : { mode: "lines" };
}

// series: [{name, t: [ms], y: [number|null], trace: further properties}]
export function draw(element, series, unit) {
  if (!window.Plotly) return void load(element, () => draw(element, series, unit));
  const look = looks(series.map(({ name }) => name));
  if (element.dataset.grow) growing.set(element, series);
  const traces = series.map(({ name, t, y, trace }) => ({
    type: "scatter", ...modeOf(y), ...trace, name, x: t.map((ms) => new Date(ms).toISOString().slice(0, 23)), y, line: { ...look.get(name), width: 2 }, marker: { ...modeOf(y).marker, color: look.get(name).color }, connectgaps: false,
  }));
  window.Plotly.react(element, traces, themed(series.layout, layout(element, series, unit)), { displayModeBar: false, responsive: true });
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", element.dataset.label || series.map(({ name, y }) => `${name}: last ${y.length ? y[y.length - 1] : "none"}${unit ? " " + unit : ""}`).join("; ") || "no data");
}

// What a growing chart shows now, the points it got since the page came included.
export const shownIn = (element) => growing.get(element);

// Adds a point each 10 s from the live value's fields named by data-grow, and drops those older than 15 minutes.
export function grow(element, value) {
  const series = growing.get(element);
  const last = series?.[0]?.t.at(-1) ?? 0;
  if (!series?.length || value.at_ms - last < STEP_MS) return;
  const fields = element.dataset.grow.split(",");
  const times = [...series[0].t, value.at_ms].slice(-MOST_POINTS);
  draw(element, series.map((one, index) => ({ ...one, t: times, y: [...one.y, value[fields[index]] ?? null].slice(-MOST_POINTS) })), element.dataset.unit || "");
}
