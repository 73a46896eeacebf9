// Plots with plotly in the page's own colours; a series keeps its colour on every page. Times are UTC, bytes in binary units.

const STEP_MS = 10_000;
const MOST_POINTS = 90;
const TICKS = 4;
const colours = new Map();
const growing = new WeakMap();

function property(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

export function colourOf(name) {
  if (!colours.has(name)) colours.set(name, `--series-${(colours.size % 6) + 1}`);
  return property(colours.get(name));
}

// Tick values and their words: whole steps in the largest unit that fits, 1024 for bytes and 1000 for the rest.
export function ticks(high, unit) {
  const bytes = unit.startsWith("B");
  const units = bytes ? ["", "Ki", "Mi", "Gi", "Ti"] : ["", "k", "M", "G", "T"];
  const base = bytes ? 1024 : 1000;
  let power = 0;
  while (high >= base ** (power + 1) && power < units.length - 1) power += 1;
  const step = niceStep(high / base ** power / TICKS);
  const values = [];
  for (let value = 0; value <= high / base ** power + step * 0.999 && values.length <= 2 * TICKS; value += step) values.push(value);
  const digits = Math.min(3, (String(Number(step.toPrecision(3))).split(".")[1] || "").length);
  return { tickmode: "array", tickvals: values.map((value) => value * base ** power), ticktext: values.map((value) => words(value.toFixed(digits), units[power], unit)), range: [0, values.at(-1) * base ** power] };
}

function words(value, prefix, unit) {
  if (Number(value) === 0) return "0";
  return unit.startsWith("B") || unit.startsWith("/") ? `${value}\u202f${prefix}${unit}` : `${value}${prefix ? "\u202f" + prefix : ""}`;
}

function niceStep(rough) {
  if (!(rough > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 2.5, 5, 10].find((one) => one * power >= rough) * power;
}

function layout(element, series, unit) {
  const axis = { gridcolor: property("--line"), linecolor: property("--line-2"), zeroline: false, automargin: true, tickfont: { size: 12 }, fixedrange: true };
  const high = Math.max(TICKS, ...series.flatMap(({ y }) => y.filter((value) => value !== null)));
  const times = series.flatMap(({ t }) => (t.length ? [t[0], t.at(-1)] : []));
  const span = Math.max(...times) - Math.min(...times);
  const short = span < 5 * 60_000;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: property("--ink-2"), family: "system-ui, sans-serif" },
    margin: { l: 8, r: 20, t: 8, b: 28 }, hovermode: "x unified", showlegend: true, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    xaxis: { ...axis, type: "date", ...(span === 0 ? { range: [times[0] - 60_000, times[0] + 5_000].map((ms) => new Date(ms).toISOString().slice(0, 23)) } : {}), tickformat: short ? "%H:%M:%S" : "%H:%M", nticks: element.clientWidth < 480 ? 4 : 7, tickangle: 0, hoverformat: "%H:%M:%S" },
    yaxis: { ...axis, ...ticks(high, unit) },
    hoverlabel: { bgcolor: property("--raised"), bordercolor: property("--line-2"), font: { color: property("--ink") } }, uirevision: "keep",
  };
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

// series: [{name, t: [ms], y: [number|null], trace: further properties}]
export function draw(element, series, unit) {
  if (!window.Plotly) return;
  if (element.dataset.grow) growing.set(element, series);
  const traces = series.map(({ name, t, y, trace }) => ({
    type: "scatter", mode: t.length < 3 ? "markers" : "lines", ...trace, name, x: t.map((ms) => new Date(ms).toISOString().slice(0, 23)), y, line: { color: colourOf(name), width: 2 }, marker: { color: colourOf(name) }, connectgaps: false,
  }));
  window.Plotly.react(element, traces, themed(series.layout, layout(element, series, unit)), { displayModeBar: false, responsive: true });
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", series.map(({ name, y }) => `${name}: last ${y.length ? y[y.length - 1] : "none"}${unit ? " " + unit : ""}`).join("; ") || "no data");
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
