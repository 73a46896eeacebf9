// A time that is typed is one of this browser's zone: its name stands at the field, and how far it is from UTC on that day goes with it.

const name = Intl.DateTimeFormat().resolvedOptions().timeZone || "local";

function ahead(moment) {
  const minutes = -moment.getTimezoneOffset(), size = Math.abs(minutes);
  const two = (number) => String(number).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

for (const input of document.querySelectorAll("[data-zoned]")) {
  const { zone, zone_name: named } = input.form.elements;
  const said = input.form.querySelector("[data-zone-words]");
  const tell = () => {
    const moment = new Date(input.value || Date.now());
    if (Number.isNaN(moment.getTime())) return;
    zone.value = ahead(moment);
    named.value = name;
    said.textContent = `${name}, ${zone.value}`;
  };
  input.addEventListener("input", tell);
  tell();
}
