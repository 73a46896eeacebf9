// A table that is wider than its place can be scrolled by keyboard: it is a stop of Tab while it has nothing else in it that is one.

const STOPS = "a[href], button, input, select, textarea, summary, [tabindex]";

function mark(box) {
  const wants = box.scrollWidth > box.clientWidth + 1 && !box.querySelector(STOPS);
  if (wants === box.hasAttribute("data-region")) return;
  if (!wants) { for (const name of ["data-region", "tabindex", "role", "aria-label"]) box.removeAttribute(name); return; }
  const table = box.querySelector("table");
  const named = table?.getAttribute("aria-label") || table?.caption?.textContent || box.closest("section, article, main")?.querySelector("h1, h2, h3")?.textContent;
  box.dataset.region = "";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", `${(named || "Table").trim()}, scrolls sideways`);
}

const sizes = typeof ResizeObserver === "undefined" ? null : new ResizeObserver((entries) => entries.forEach(({ target }) => { const box = target.closest(".table"); if (box) mark(box); }));

// Called again for what has come meanwhile.
export function regions() {
  sizes?.disconnect();
  for (const box of document.querySelectorAll(".table")) {
    mark(box);
    sizes?.observe(box);
    for (const table of box.querySelectorAll(":scope > table")) sizes?.observe(table);
  }
}
