// A field is marked as wrong while the line that describes it says why.

export function checked() {
  document.addEventListener("htmx:afterSettle", () => {
    for (const line of document.querySelectorAll("p.wrong[id]")) {
      const field = document.querySelector(`[aria-describedby~="${CSS.escape(line.id)}"]`);
      if (!field) continue;
      if (line.textContent) field.setAttribute("aria-invalid", "true"); else field.removeAttribute("aria-invalid");
    }
  });
}
