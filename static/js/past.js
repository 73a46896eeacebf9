// A page of the past: the slider leads to the moment it is left at; playing goes on by itself, step by step, until now.

import { clock } from "./format.js";

const STEP_MS = 10000;
const PAUSE_MS = 1500;
const PLAYING = "highwater.playing";

export function past() {
  const slider = document.querySelector("[data-slider]");
  if (!slider) { sessionStorage.removeItem(PLAYING); return; }
  const words = document.querySelector("[data-slider-words]");
  const go = (at) => location.assign(slider.dataset.slider.replace("{at}", at));
  slider.addEventListener("input", () => { words.value = clock(Number(slider.value)); slider.setAttribute("aria-valuetext", words.value); });
  slider.addEventListener("change", () => go(slider.value));
  play(slider, go);
}

function play(slider, go) {
  const button = document.querySelector("[data-play]");
  let timer = null;
  const show = (on) => { button.textContent = on ? "Pause" : "Play"; button.setAttribute("aria-pressed", String(on)); };
  const next = () => {
    const at = Number(slider.value) + STEP_MS;
    if (at > Number(slider.max)) { stop(); return; }
    timer = setTimeout(() => go(at), PAUSE_MS);
  };
  const stop = () => { clearTimeout(timer); sessionStorage.removeItem(PLAYING); show(false); };
  button.addEventListener("click", () => {
    if (sessionStorage.getItem(PLAYING)) { stop(); return; }
    sessionStorage.setItem(PLAYING, "yes");
    show(true);
    next();
  });
  if (sessionStorage.getItem(PLAYING)) { show(true); next(); }
}
