// ---- page: what the user does, and one frame
const $ = id => document.getElementById(id);
const began = performance.now();
const INK = ["paper", "panel", "line", "ink", "soft", "faint", "accent", "force", "impulse", "flash", "bad", "ground", "edge"];

function readInk(run) {
  const style = getComputedStyle(document.documentElement);
  run.ink = Object.fromEntries(INK.map(name => [name, style.getPropertyValue("--" + name).trim()]));
  run.rgb = { ground: rgb(run.ink.ground) };
  run.dark = matchMedia("(prefers-color-scheme: dark)").matches;
}

function twoSided(run, name) {
  const before = run.blocks[name + "_before"];
  return before ? { before, after: behind(before, run.blocks[name + "_behind"]), now: new Float64Array(before.columns) } : null;
}

// the scale of arrows: a force that few exceed, the largest impulse
function scales(run) {
  run.largestForce = run.largestImpulse = 1e-300;
  if (run.force) {
    const sizes = [], n = run.force.before.columns;
    for (const table of [run.force.before, run.force.after]) for (let i = 0; i < table.length; i += n) { const by = {}; run.head.rows.forEach(([c, r], j) => { if (r >= 0) by[c] = (by[c] || 0) + table[i + j] ** 2; }); for (const c in by) if (by[c] > 0) sizes.push(Math.sqrt(by[c])); }
    sizes.sort((a, b) => a - b);
    if (sizes.length) run.largestForce = sizes[Math.floor(0.98 * (sizes.length - 1))];
  }
  const P = run.blocks.event_impulse;
  run.strikes = Uint8Array.from(run.blocks.event_t, (_, i) => run.blocks.event_contact[i] < run.head.contacts.length && Math.hypot(P[3 * i], P[3 * i + 1], P[3 * i + 2]) > 0 ? 1 : 0);
  for (let i = 0; i < run.strikes.length; i++) if (run.strikes[i]) run.largestImpulse = Math.max(run.largestImpulse, Math.hypot(P[3 * i], P[3 * i + 1], P[3 * i + 2]));
}

function certificate(run, t, side) {
  const T = run.blocks.step_t, k = Math.min(Math.max(side === "+" ? upper(T, t) : lower(T, t), 1), T.length - 1), b = run.blocks;
  const values = [b.residual, b.violation, b.admissibility].map(all => k > 0 ? all[k - 1] : -1);
  return { step: k, steps: T.length - 1, values, red: values.some((x, i) => !(x >= 0 && x <= run.head.limits[i])) };
}

function frame(run) {
  const { view, motion, head } = run;
  moveTo(motion, view.t, view.side, motion.pose, run.look.tab === "phase" ? motion.rate : null);
  const { g, W, H } = fit($("drawing"));
  run.height = H; run.reach = Math.max(34, 0.2 * Math.min(W, H));
  (head.dimension === 2 ? drawPlane : drawSpace)(run, g, W, H);
  drawContacts(run, g);
  drawScales(run, g, W, H);
  if (run.look.tab === "curves") drawPlots(run);
  if (run.look.tab === "phase") drawPhase(run);
  drawTimeline(run); markList(run); say(run);
}

function drawScales(run, g, W, H) {
  const { head, look, ink } = run, shown = [];
  if (look.forces && run.force && run.largestForce > 1e-299) shown.push([ink.force, `${number(run.largestForce)} N`]);
  if (look.impulses && run.largestImpulse > 1e-299) shown.push([ink.impulse, `${number(run.largestImpulse)} N s`]);
  g.font = "11px system-ui, sans-serif"; g.textAlign = "left"; g.textBaseline = "alphabetic";
  shown.forEach(([colour, text], i) => {
    const y = H - 14 - 18 * (shown.length - 1 - i);
    g.strokeStyle = colour; g.globalAlpha = 0.75; g.lineWidth = 2; g.beginPath(); g.moveTo(12, y - 4); g.lineTo(12 + run.reach, y - 4); g.moveTo(12, y - 8); g.lineTo(12, y); g.moveTo(12 + run.reach, y - 8); g.lineTo(12 + run.reach, y); g.stroke(); g.globalAlpha = 1;
    const long = `${text}, lengths by square root`, room = W - $("notes").offsetWidth - 32 - run.reach;
    g.fillStyle = ink.soft; g.fillText(i < shown.length - 1 ? text : g.measureText(long).width < room ? long : `${text}, by √`, 20 + run.reach, y);
  });
}

function say(run) {
  const { view, head } = run, here = certificate(run, view.t, view.side), [residual, violation, outside] = here.values, size = x => x < 0 ? "?" : x === 0 ? "0" : x.toExponential(1);
  $("clock").textContent = `t = ${view.t.toPrecision(Math.min(17, 12 + run.more))} s ${view.side === "+" ? "+" : "−"}`;
  const parts = [`step ${here.step.toLocaleString("en")}/${here.steps.toLocaleString("en")}`, `residual ${size(residual)}`, `violation ${size(violation)} m`, `admissibility ${size(outside)}`];
  parts.forEach((text, i) => { $("badge").children[i].textContent = text; });  // a narrow page breaks it between parts
  $("badge").className = here.red ? "bad" : "";
  $("side").textContent = view.side === "+" ? "+" : "−";
  const T = run.blocks.event_t, a = lower(T, view.t), z = upper(T, view.t), b = run.blocks, told = [];
  for (let i = a; i < Math.min(z, a + 4); i++) told.push(`${head.kinds[b.event_kind[i]]} ${eventName(run, i)}` + (run.strikes[i] ? ` ${number(b.event_u_minus[3 * i])} → ${number(b.event_u_plus[3 * i])} m/s, ${number(b.event_impulse[3 * i])} N s` : ""));
  if (z > a + 4) told.push(`and ${z - a - 4} more`);
  $("what").textContent = told.join(" · "); $("what").title = told.join("\n");
  if (run.ledger) {
    curveAt(b.curve_t, run.ledger.before, run.ledger.after, view.t, view.side, run.ledger.now);
    const [kinetic, work, lost, defect] = run.ledger.now, first = run.ledger.before[0];
    [first, work, -lost, defect, kinetic].forEach((x, i) => { run.cells[i].textContent = `${i > 0 && i < 4 && x > 0 ? "+" : ""}${number(x, 5)} J`; });
  }
}

function seek(run, t, side) {
  const [begin, end] = run.head.span;
  run.view.t = Math.min(Math.max(t, begin), end); run.view.side = side || run.view.side; run.view.since = undefined;
  frame(run);
}

function step(run, way) {
  const T = run.stops, { t } = run.view;
  const i = way > 0 ? upper(T, t) : lower(T, t) - 1;
  pause(run); seek(run, T[Math.min(Math.max(i, 0), T.length - 1)], "+");
}

const ICON = { play: "M4 2v12l10-6z", pause: "M3 2h3.5v12H3zM9.5 2H13v12H9.5z", previous: "M2 2h2.5v12H2zM14 2v12L5 8z", next: "M11.5 2H14v12h-2.5zM2 2v12l9-6z" };
function icon(id, name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 16 16"); path.setAttribute("d", ICON[name]); svg.append(path); $(id).replaceChildren(svg);
}

function pause(run) { run.view.playing = false; icon("play", "play"); run.view.since = undefined; }

function play(run) {
  const { view, clock } = run;
  view.playing = true; icon("play", "pause");
  if (view.t >= run.head.span[1]) view.t = run.head.span[0];
  let tau = clock.tau(view.t), last = performance.now();
  const tick = now => {
    if (!view.playing) return;
    if (view.moved) { tau = clock.tau(view.t); view.moved = false; }
    tau += Math.max(0, now - last) / 1000 * 10 ** +$("speed").value / clock.span; last = now;
    const over = tau >= 1, before = view.t;
    view.t = clock.time(Math.min(tau, 1)); view.side = "+"; view.since = before;
    frame(run);
    if (over) { tau = 0; view.t = run.head.span[0]; }
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function wire(run) {
  const { head, view, look, clock } = run, redraw = () => frame(run);
  const onTime = (canvas, share) => { const go = e => { view.moved = true; const tau = Math.min(1, Math.max(0, share(e, canvas))); seek(run, snapped(run, tau, canvas.clientWidth), "+"); }; canvas.onpointerdown = e => { canvas.setPointerCapture(e.pointerId); go(e); }; canvas.onpointermove = e => { if (e.buttons) go(e); }; };
  onTime($("timeline"), (e, c) => e.offsetX / c.clientWidth);
  onTime($("plot"), (e, c) => (e.offsetX - LEFT) / (c.clientWidth - LEFT - RIGHT));
  $("next").onclick = () => step(run, 1); $("previous").onclick = () => step(run, -1);
  $("play").onclick = () => { if (view.playing) { pause(run); frame(run); } else play(run); };
  $("side").onclick = () => { pause(run); seek(run, view.t, view.side === "+" ? "-" : "+"); };
  const speed = () => { $("rate").textContent = `×${number(10 ** +$("speed").value, 2)}`; };
  $("speed").value = Math.min(1, Math.max(-4, Math.log10(clock.span / 10))); $("speed").oninput = speed; speed();
  $("stretch").oninput = e => { setStretch(run, +e.target.value); };
  $("magnify").oninput = e => { look.magnify = 10 ** +e.target.value; $("factor").textContent = `×${number(look.magnify, 2)}`; notes(run); redraw(); };
  for (const name of ["forces", "impulses"]) $(name).onchange = e => { look[name] = e.target.checked; redraw(); };
  $("follow").onchange = e => { look.follow = +e.target.value; look.x = look.y = 0; redraw(); };
  $("row").onchange = e => { look.row = +e.target.value; redraw(); };
  for (const name of ["kind", "contact"]) $(name).onchange = () => { fillList(run); markList(run); };
  document.querySelectorAll("nav button").forEach(button => { button.onclick = () => { look.tab = button.dataset.tab; document.querySelectorAll("nav button, .tab").forEach(one => one.classList.toggle("on", one === button || one.id === look.tab)); $("row").hidden = look.tab === "events"; if (look.tab === "events") fillList(run); redraw(); }; });
  document.querySelector("#list tbody").onclick = e => { const row = e.target.closest("tr"); if (row) { pause(run); seek(run, run.blocks.event_t[+row.dataset.event], "+"); } };
  wireScene(run);
  addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readInk(run); redraw(); });
  addEventListener("keydown", e => {
    const at = e.target, move = way => { pause(run); seek(run, clock.time(Math.min(1, Math.max(0, clock.tau(view.t) + way / 500))), "+"); };
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    // what was reached by tab keeps its own keys; behind a click space plays
    if (at.matches("select") && !/^[.,]$/.test(e.key) || at.matches("input[type=range]") && /^(Arrow|Home|End|Page)/.test(e.key)) return;
    if (at.matches("button:focus-visible, input[type=checkbox]:focus-visible") && e.key === " ") return;
    const keys = {
      " ": () => $("play").click(), ".": () => step(run, 1), ",": () => step(run, -1), s: () => $("side").click(),
      ArrowRight: () => move(1), ArrowLeft: () => move(-1), Home: () => { pause(run); seek(run, head.span[0], "+"); }, End: () => { pause(run); seek(run, head.span[1], "+"); },
      "+": () => zoom(run, 1.25), "-": () => zoom(run, 0.8), "0": () => whole(run),
    };
    const turn = { ArrowRight: [20, 0], ArrowLeft: [-20, 0], ArrowUp: [0, -20], ArrowDown: [0, 20] };
    const done = e.shiftKey && turn[e.key] ? () => drag(run, ...turn[e.key]) : keys[e.key];
    if (done) { e.preventDefault(); done(); }
  });
}

// a click within two pixels of a jump is that jump
function snapped(run, tau, W) {
  const { clock } = run, i = lower(clock.marks, tau);
  let best = -1, near = 2 / W;
  for (const k of [i - 1, i]) if (k >= 0 && k < clock.marks.length && Math.abs(clock.marks[k] - tau) < near) { near = Math.abs(clock.marks[k] - tau); best = k; }
  return best >= 0 ? clock.knots[best] : clock.time(tau);
}

function setStretch(run, a) { run.clock.setStretch(a); run.view.moved = true; $("stretch").value = a; $("share").textContent = number(a, 2); frame(run); }

// the scene: drag moves it in the plane and turns it in space
function drag(run, dx, dy) {
  const { look } = run;
  if (run.head.dimension === 2) { look.x += dx; look.y += dy; } else { look.yaw -= 0.008 * dx; look.pitch = Math.min(1.5, Math.max(-0.3, look.pitch + 0.008 * dy)); }
  frame(run);
}

function zoom(run, factor) { const { look } = run; look.zoom *= factor; look.x *= factor; look.y *= factor; frame(run); }

function whole(run) { Object.assign(run.look, { zoom: 1, x: 0, y: 0 }); frame(run); }

function wireScene(run) {
  const scene = $("drawing");
  let from = null;
  scene.onpointerdown = e => { from = [e.clientX, e.clientY]; scene.setPointerCapture(e.pointerId); };
  scene.onpointerup = scene.onpointercancel = () => { from = null; };
  scene.onpointermove = e => { if (from) { const [x, y] = from; from = [e.clientX, e.clientY]; drag(run, e.clientX - x, e.clientY - y); } };
  scene.onwheel = e => { e.preventDefault(); zoom(run, Math.exp(-0.0012 * e.deltaY)); };
  scene.ondblclick = () => whole(run);
}

function metres(x) {
  for (const [factor, unit] of [[1, "m"], [1e3, "mm"], [1e6, "µm"], [1e9, "nm"]]) if (x * factor >= 1) return `${number(x * factor, 2)} ${unit}`;
  return `${number(x, 2)} m`;
}

function notes(run) {
  const drawn = `drawn to ±${metres(run.head.bound.length)}`;
  $("notes").innerHTML = "";
  if (run.look.magnify > 1) { const b = document.createElement("b"); b.textContent = `gaps ×${number(run.look.magnify, 2)}`; $("notes").append(b, document.createElement("br")); }
  $("notes").append(drawn);
}

function fillPage(run) {
  const { head } = run, option = (to, value, text) => { const one = document.createElement("option"); one.value = value; one.textContent = text; to.append(one); };
  document.title = head.title; $("title").textContent = head.title; const small = document.createElement("small"); small.textContent = head.scheme; $("title").append(small); $("title").title = head.title;
  if (!head.success) { $("failure").hidden = false; $("failure").textContent = head.message; }
  head.bodies.forEach((body, b) => { option($("follow"), b, body.name); });
  const axes = head.dimension === 2 ? [["x", "m"], ["y", "m"], ["angle", "rad"]] : [["x", "m"], ["y", "m"], ["z", "m"], ["w", "1"], ["i", "1"], ["j", "1"], ["k", "1"]];
  run.rowNames = head.bodies.flatMap(body => axes.map(([axis, unit]) => [`${body.name} ${axis}`, unit]));
  run.rowNames.forEach(([name], k) => option($("row"), k, name));
  run.look.row = liveliest(run); $("row").value = run.look.row;
  head.kinds.forEach((kind, k) => option($("kind"), k, kind));
  [...head.contacts.map(one => one.name), ...head.event_names].forEach((name, c) => option($("contact"), c, name));
  if (run.ledger) run.cells = ["at start", "work", "dissipated", "defect", "= kinetic"].map(name => { const cell = document.createElement("div"), dt = document.createElement("dt"), dd = document.createElement("dd"); dt.textContent = name; cell.append(dt, dd); $("ledger").append(cell); return dd; });
  else $("ledger").hidden = true;
  if (!head.contacts.length) for (const one of document.querySelectorAll(".key")) one.hidden = true;
  if (!run.gap) $("magnify").parentElement.hidden = true;
  icon("previous", "previous"); icon("play", "play"); icon("next", "next"); notes(run);
}

// the coordinate whose rate jumps most, compared with what it is; where none jumps, the one that moves most. What moves
// less than the picture is drawn to is rounding
function liveliest(run) {
  const C = run.motion.columns, places = run.head.dimension, { length, angle } = run.head.bound;
  let best = 0, most = -1;
  run.motion.keys.forEach((key, b) => {
    for (let c = 0; c < 3; c++) {
      let jump = 0, size = 1e-300, low = Infinity, high = -Infinity;
      for (let i = c; i < key.before.length; i += C) {
        jump += Math.abs(key.rateAfter[i] - key.rateBefore[i]); size = Math.max(size, Math.abs(key.rateBefore[i]));
        low = Math.min(low, key.before[i]); high = Math.max(high, key.before[i]);
      }
      const way = c < places ? high - low : (high - low) * length / angle[b];  // angles as the ways of the outermost points
      const score = way <= 10 * length ? 0 : jump > 1e-9 * size ? 1 + jump / size : way / (way + run.head.size);
      if (score > most + 1e-9) { most = score; best = b * C + c; }
    }
  });
  return best;
}

unpack($("data").textContent).then(({ head, blocks }) => {
  const run = { head, blocks, motion: readMotion(head, blocks), clock: makeClock(head, blocks.jumps) };
  run.view = { t: head.success ? head.span[0] : head.span[1], side: "+", playing: false };
  run.look = { zoom: 1, x: 0, y: 0, yaw: -0.9, pitch: 0.42, follow: -1, magnify: 1, forces: true, impulses: true, row: 0, tab: "curves" };
  for (const name of ["gap", "force", "ledger"]) run[name] = twoSided(run, name);
  run.stops = Float64Array.from(new Set([head.span[0], ...blocks.event_t, head.span[1]]));
  run.more = Math.max(0, Math.ceil(Math.log10(Math.max(...head.span.map(Math.abs)) / run.clock.span)));  // digits that all times share
  scales(run); readInk(run);
  if (head.dimension === 2) run.box = planeBox(run); else { run.box = spaceBox(run); makeSpace(run); }
  fillPage(run); wire(run); frame(run);
  const state = (t, side = "+") => {
    const n = run.motion.pose.length, C = run.motion.columns, pose = new Float64Array(n), rate = new Float64Array(n), cut = all => Array.from({ length: n / C }, (_, b) => Array.from(all.slice(b * C, b * C + C)));
    moveTo(run.motion, t, side, pose, rate);
    const curve = one => one ? Array.from(curveAt(blocks.curve_t, one.before, one.after, t, side, new Float64Array(one.before.columns))) : null;
    return { t, side, pose: cut(pose), rate: cut(rate), gap: curve(run.gap), force: curve(run.force), ledger: curve(run.ledger), certificate: certificate(run, t, side) };
  };
  window.saltus = {
    state, head, jumps: () => Array.from(blocks.jumps), tau: t => run.clock.tau(t), time: tau => run.clock.time(tau),
    seek: (t, side) => seek(run, t, side), stretch: a => setStretch(run, a), play: () => play(run), pause: () => pause(run),
    look: given => { Object.assign(run.look, given); notes(run); frame(run); },
    film: (since, t) => { run.view.t = t; run.view.side = "+"; run.view.since = since; frame(run); return t; },
    place: p => run.project(p),  // pixels of a point [m]
    marks: () => marksOf(run, $("timeline").clientWidth),
    evaluate: times => { const at = performance.now(); for (const t of times) moveTo(run.motion, t, "+", run.motion.pose, null); return (performance.now() - at) / times.length; },
    frames: times => { const at = performance.now(); for (const t of times) { run.view.t = t; frame(run); if (run.space) run.space.gl.finish(); } return (performance.now() - at) / times.length; },
    ready: performance.now() - began,
  };
  document.documentElement.dataset.ready = "yes";
}).catch(error => { document.body.innerHTML = ""; const p = document.createElement("p"); p.style.margin = "2em"; p.textContent = `This page could not be opened: ${error.message}. It needs a browser of 2023 or later.`; document.body.append(p); throw error; });
