// Plots with plotly in the page's own colours; a series keeps its colour on every page.

const colours = new Map();

function property(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }

export function colourOf(name) {
  if (!colours.has(name)) colours.set(name, `--series-${(colours.size % 6) + 1}`);
  return property(colours.get(name));
}

function layout(unit) {
  const axis = { gridcolor: property("--line"), linecolor: property("--line-2"), zeroline: false, automargin: true, tickfont: { size: 12 } };
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: property("--ink-2"), family: "system-ui, sans-serif" },
    margin: { l: 56, r: 16, t: 8, b: 36 }, hovermode: "x unified", legend: { orientation: "h", y: -0.18 },
    xaxis: { ...axis, type: "date" }, yaxis: { ...axis, rangemode: "tozero", ticksuffix: unit ? ` ${unit}` : "" },
    hoverlabel: { bgcolor: property("--raised"), bordercolor: property("--line-2"), font: { color: property("--ink") } }, uirevision: "keep",
  };
}

// The shapes that views give: {t, a, b}: a series per further name; {name: {t, pick}}: a series per name.
export function seriesOf(data, { pick, only }) {
  if (!data) return [];
  if (Array.isArray(data.t)) {
    const names = only ? only.split(",") : Object.keys(data).filter((name) => name !== "t");
    return names.map((name) => ({ name, t: data.t, y: data[name] || [] }));
  }
  return Object.entries(data).map(([name, value]) => ({ name, t: value.t, y: value[pick] || [] }));
}

// series: [{name, t: [ms], y: [number|null]}]
export function draw(element, series, unit) {
  if (!window.Plotly) return;
  const traces = series.map(({ name, t, y }) => ({
    type: "scatter", mode: t.length < 3 ? "markers" : "lines", name, x: t.map((ms) => new Date(ms)), y, line: { color: colourOf(name), width: 2 }, marker: { color: colourOf(name) }, connectgaps: false,
  }));
  window.Plotly.react(element, traces, layout(unit), { displayModeBar: false, responsive: true });
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", series.map(({ name, y }) => `${name}: last ${y.length ? y[y.length - 1] : "none"}${unit ? " " + unit : ""}`).join("; ") || "no data");
}
