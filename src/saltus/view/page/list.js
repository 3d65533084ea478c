// ---- list: the table of events, filtered by kind and contact; a row is a place to go
const MOST_ROWS = 400;

function filtered(run) {
  const kind = document.getElementById("kind").value, contact = document.getElementById("contact").value, made = [];
  const { event_kind: K, event_contact: C, event_t: T } = run.blocks;
  for (let i = 0; i < T.length; i++) if ((kind === "" || K[i] === +kind) && (contact === "" || C[i] === +contact)) made.push(i);
  return made;
}

function eventName(run, i) {
  const c = run.blocks.event_contact[i], n = run.head.contacts.length;
  return c < 0 ? "" : c < n ? run.head.contacts[c].name : run.head.event_names[c - n];
}

function fillList(run) {
  const all = run.listed = filtered(run), body = document.querySelector("#list tbody"), b = run.blocks;
  const from = Math.max(0, Math.min(all.length - MOST_ROWS, all.findIndex(i => b.event_t[i] >= run.view.t) - MOST_ROWS / 4));
  const shown = all.slice(from, from + MOST_ROWS);
  body.replaceChildren(...shown.map(i => {
    const row = document.createElement("tr"), c = b.event_contact[i];
    const cells = [b.event_t[i].toPrecision(Math.min(17, 9 + run.more)), run.head.kinds[b.event_kind[i]] + (b.event_count[i] > 1 ? ` ×${b.event_count[i]}` : ""), eventName(run, i),
      run.strikes[i] ? `${number(b.event_u_minus[3 * i], 2)} → ${number(b.event_u_plus[3 * i], 2)}` : "", run.strikes[i] ? number(b.event_impulse[3 * i], 2) : "", b.event_energy[i] ? number(b.event_energy[i], 2) : ""];
    for (const text of cells) row.insertCell().textContent = text;
    row.cells[2].title = cells[2];
    row.dataset.event = i; if (run.head.blamed.includes(c)) row.classList.add("blamed");
    return row;
  }));
  const many = all.length.toLocaleString("en");
  document.getElementById("found").textContent = all.length > shown.length ? `${shown.length} of ${many}, around this time` : `${many} events`;
  run.rows = [...body.rows];
}

function markList(run) {
  if (!run.rows || run.look.tab !== "events") return;
  const T = run.blocks.event_t, a = lower(T, run.view.t), z = upper(T, run.view.t);
  let first = null;
  for (const row of run.rows) { const now = +row.dataset.event >= a && +row.dataset.event < z; row.classList.toggle("now", now); if (now && !first) first = row; }
  if (first && !run.view.playing) first.scrollIntoView({ block: "nearest" });
}
