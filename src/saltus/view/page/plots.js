// ---- plots: gaps, a coordinate, its rate with vertical jumps, the energy ledger; all over the same screen time
const CURVE = ["#2f6fde", "#c2408c", "#0f9d9d", "#9a6bd8", "#b07d10", "#5c7a29", "#d0503f", "#667788"];
const LEFT = 68, RIGHT = 12, NAME_ROW = 14;  // NAME_ROW: height of a row of names

function number(x, digits = 3) {
  if (x === 0) return "0";
  const near = +x.toPrecision(digits), a = Math.abs(near);
  return (a >= 1e5 || a < 1e-3 ? near.toExponential() : String(near)).replaceAll("-", "−");
}

// a text that is wider than its place ends in three dots
function cut(g, text, wide) {
  if (g.measureText(text).width <= wide) return text;
  let n = text.length;
  while (n > 1 && g.measureText(text.slice(0, n) + "…").width > wide) n = Math.floor(0.9 * n);
  return text.slice(0, n) + "…";
}

function fit(canvas) {
  const ratio = devicePixelRatio || 1, W = canvas.clientWidth, H = canvas.clientHeight, w = Math.round(W * ratio), h = Math.round(H * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0); g.clearRect(0, 0, W, H);
  return { g, W, H };
}

// what does not change from frame to frame is drawn once
const layers = {};
function layer(id, key, draw) {
  const canvas = document.getElementById(id), { g, W, H } = fit(canvas);
  if (!W || !H) return null;
  const whole = [key, W, H, devicePixelRatio].join();
  if (!layers[id] || layers[id].key !== whole) {
    const copy = document.createElement("canvas"), ratio = devicePixelRatio || 1;
    copy.width = canvas.width; copy.height = canvas.height;
    const own = copy.getContext("2d"); own.scale(ratio, ratio);
    layers[id] = { key: whole, copy, made: draw(own, W, H) };
  }
  g.drawImage(layers[id].copy, 0, 0, W, H);
  return { g, W, H, made: layers[id].made };
}

function chosenRow(run) {
  const C = run.motion.columns, b = Math.floor(run.look.row / C), c = run.look.row % C;
  return { key: run.motion.keys[b], c, C, name: run.rowNames[run.look.row] };
}

// times and values of a coordinate or of its rate, two at a jump; over time few where an interval is narrow
function keyCurve(run, rate, overTime) {
  const { key, c, C } = chosenRow(run), T = key.t, t = [], y = [];
  for (let k = 0; k < T.length - 1; k++) {
    const h = T[k + 1] - T[k], i = k * C + c, j = i + C, wide = !overTime || run.clock.tau(T[k + 1]) - run.clock.tau(T[k]) > 0.004;
    const parts = wide ? 12 : 1, A = key.after[i], B = key.before[j], R = key.rateAfter[i], L = key.rateBefore[j];
    for (let m = 0; m <= parts; m++) {
      const s = m / parts, r = 1 - s;
      t.push(m === parts ? T[k + 1] : T[k] + s * h);
      y.push(rate ? (h > 0 ? 6 * s * r * (B - A) / h + r * (1 - 3 * s) * R + s * (3 * s - 2) * L : R) : (1 + 2 * s) * r * r * A + s * r * r * h * R + s * s * (3 - 2 * s) * B - s * s * r * h * L);
    }
  }
  return { t, y };
}

// screen times of all curves of tables, each twice: before and behind a jump
function tableTimes(run) {
  const T = run.blocks.curve_t, made = new Float64Array(2 * T.length);
  for (let i = 0; i < T.length; i++) made[2 * i] = made[2 * i + 1] = run.clock.tau(T[i]);
  return made;
}

function tableValues(table, c, less = 0) {
  const n = table.before.columns, made = new Float64Array(2 * table.before.length / n);
  for (let i = c, o = 0; i < table.before.length; i += n) { made[o++] = table.before[i] - less; made[o++] = table.after[i] - less; }
  return made;
}

function panelsOf(run) {
  const made = [], { name } = chosenRow(run), x = tableTimes(run), own = rate => { const { t, y } = keyCurve(run, rate, true); return [{ name: "", x: Float64Array.from(t, run.clock.tau), y }]; };
  if (run.gap) made.push({ title: "gap [m]", curves: run.head.contacts.map((one, c) => ({ name: one.name, x, y: tableValues(run.gap, c), bad: run.head.blamed.includes(c) })) });
  made.push({ title: `${name[0]} [${name[1]}]`, curves: own(false) });
  made.push({ title: `${name[0]} rate [${name[1]}/s]`, curves: own(true) });
  // a wheel that turns keeps thousands of times what its impacts take: only changes can be seen beside each other
  if (run.ledger) made.push({ title: "energy [J]", curves: ["kinetic since start", "work", "dissipated", "defect"].map((title, c) => ({ name: title, x, y: tableValues(run.ledger, c, run.ledger.before[c]) })) });
  return made;
}

function drawPlots(run) {
  const drawn = layer("plot", ["plots", run.clock.stretch, run.look.row, run.dark].join(), (g, W, H) => {
    const panels = panelsOf(run), tall = H / panels.length;
    return panels.map((panel, p) => {
      g.font = "11px system-ui, sans-serif";
      const placed = placedNames(g, panel, W), rows = legendRows(placed, tall), title = p * tall + 16;
      const top = title + 8 + (rows - 1) * NAME_ROW, bottom = (p + 1) * tall - 10;
      drawLegend(run, g, placed, rows, title, W);
      drawPanel(run, g, panel, title, top, bottom, W);
      return [top, bottom];
    });
  });
  if (!drawn) return;
  const { g, W } = drawn, x = LEFT + (W - LEFT - RIGHT) * run.clock.tau(run.view.t);
  g.fillStyle = run.ink.ink;
  for (const [top, bottom] of drawn.made) g.fillRect(x - 0.5, top, 1, bottom - top);  // not through the titles
}

function drawPanel(run, g, panel, title, top, bottom, W) {
  const { ink } = run;
  let low = Infinity, high = -Infinity;
  for (const { y } of panel.curves) for (let i = 0; i < y.length; i++) { if (y[i] < low) low = y[i]; if (y[i] > high) high = y[i]; }
  if (!(high - low > 1e-5 * Math.max(Math.abs(low), Math.abs(high)))) { low -= 0.5 * Math.abs(low) || 0.5; high += 0.5 * Math.abs(high) || 0.5; }
  const room = 0.06 * (high - low), Y = y => bottom - (bottom - top) * (y - low + room) / (high - low + 2 * room);
  g.strokeStyle = ink.line; g.lineWidth = 1; g.strokeRect(LEFT + 0.5, top + 0.5, W - LEFT - RIGHT, bottom - top);
  if (low < 0 && high > 0) { g.beginPath(); g.moveTo(LEFT, Y(0)); g.lineTo(W - RIGHT, Y(0)); g.stroke(); }
  g.font = "11px system-ui, sans-serif"; g.textBaseline = "alphabetic"; g.fillStyle = ink.ink; g.textAlign = "left"; g.fillText(cut(g, panel.title, W - 8 - RIGHT), 8, title);
  g.fillStyle = ink.soft; g.textAlign = "right"; const digits = Math.max(3, Math.ceil(Math.log10(Math.max(Math.abs(low), Math.abs(high)) / (high - low))) + 2), tidy = x => number(Math.abs(x) < 1e-5 * (high - low) ? 0 : x, digits);
  g.fillText(tidy(high), LEFT - 6, Y(high) + 8); g.fillText(tidy(low), LEFT - 6, Y(low));
  g.save(); g.beginPath(); g.rect(LEFT, top, W - LEFT - RIGHT, bottom - top); g.clip(); g.lineJoin = "round";
  panel.curves.forEach(({ x, y, bad }, c) => {
    g.strokeStyle = bad ? ink.bad : CURVE[c % CURVE.length]; g.lineWidth = bad ? 2 : 1.2; g.beginPath();
    let u = NaN, v = NaN;
    for (let i = 0; i < y.length; i++) {
      const p = LEFT + (W - LEFT - RIGHT) * x[i], q = Y(y[i]);
      if (Math.abs(p - u) < 0.3 && Math.abs(q - v) < 0.3 && i < y.length - 1) continue;  // nobody sees it, and hundreds of curves take time
      if (i) g.lineTo(p, q); else g.moveTo(p, q);
      u = p; v = q;
    }
    g.stroke();
  });
  g.restore();
}

// where the names of curves stand: behind the title, then in further rows of their own
function placedNames(g, panel, W) {
  const placed = [];
  let x = 8 + g.measureText(panel.title).width + 16, row = 0;
  panel.curves.forEach((one, c) => {
    if (!one.name) return;
    const wide = g.measureText(one.name).width + 22;
    if (x + wide > W - RIGHT && x > 24) { row += 1; x = 24; }
    placed.push({ one, c, x, row });
    x += wide;
  });
  return placed;
}

// a panel of hundreds of contacts keeps most of its height for its curves: names beyond these rows are counted
function legendRows(placed, tall) {
  const rows = placed.length ? placed[placed.length - 1].row + 1 : 1;
  return Math.min(rows, Math.max(1, Math.floor(0.4 * tall / NAME_ROW)));
}

function drawLegend(run, g, placed, rows, y, W) {
  g.textAlign = "left";
  const shown = placed.filter(name => name.row < rows), left = placed.length - shown.length;
  if (left) shown.pop();
  for (const { one, c, x, row } of shown) {
    const line = y + row * NAME_ROW, wide = W - RIGHT - x - 13;
    g.fillStyle = one.bad ? run.ink.bad : CURVE[c % CURVE.length]; g.fillRect(x, line - 5, 10, 3);
    g.fillStyle = one.bad ? run.ink.bad : run.ink.soft; g.fillText(cut(g, one.name, wide), x + 13, line);
  }
  if (left) { const { x, row } = placed[shown.length]; g.fillStyle = run.ink.soft; g.fillText(`+${left + 1} more`, x, y + row * NAME_ROW); }
}

// phase plane: a coordinate and its rate; jumps are dashed
function drawPhase(run) {
  const { name } = chosenRow(run);
  const drawn = layer("plane", ["phase", run.look.row, run.dark].join(), (g, W, H) => {
    const { t, y: x } = keyCurve(run, false), { y } = keyCurve(run, true), box = [Infinity, Infinity, -Infinity, -Infinity];
    for (let i = 0; i < x.length; i++) { box[0] = Math.min(box[0], x[i]); box[2] = Math.max(box[2], x[i]); box[1] = Math.min(box[1], y[i]); box[3] = Math.max(box[3], y[i]); }
    const dx = 0.06 * (box[2] - box[0]) || 0.5, dy = 0.06 * (box[3] - box[1]) || 0.5, top = 30, bottom = H - 34;
    const X = v => LEFT + (W - LEFT - RIGHT) * (v - box[0] + dx) / (box[2] - box[0] + 2 * dx), Y = v => bottom - (bottom - top) * (v - box[1] + dy) / (box[3] - box[1] + 2 * dy);
    g.strokeStyle = run.ink.line; g.strokeRect(LEFT + 0.5, top + 0.5, W - LEFT - RIGHT, bottom - top);
    g.font = "11px system-ui, sans-serif"; g.fillStyle = run.ink.ink; g.textAlign = "left"; g.fillText(cut(g, `${name[0]} rate [${name[1]}/s]`, W - 8 - RIGHT), 8, top - 10);
    g.textAlign = "right"; g.fillText(cut(g, `${name[0]} [${name[1]}]`, W - 8 - RIGHT), W - RIGHT, H - 6);
    g.fillStyle = run.ink.soft; g.fillText(number(box[3]), LEFT - 6, Y(box[3]) + 4); g.fillText(number(box[1]), LEFT - 6, Y(box[1]) + 4);
    g.textAlign = "left"; g.fillText(number(box[0]), LEFT, bottom + 14); g.textAlign = "right"; g.fillText(number(box[2]), W - RIGHT, bottom + 14);
    for (const jump of [false, true]) {
      g.strokeStyle = jump ? run.ink.faint : CURVE[0]; g.setLineDash(jump ? [2, 3] : []); g.lineWidth = 1.1; g.beginPath();
      for (let i = 1; i < x.length; i++) if ((t[i] === t[i - 1]) === jump) { g.moveTo(X(x[i - 1]), Y(y[i - 1])); g.lineTo(X(x[i]), Y(y[i])); }
      g.stroke();
    }
    return { X, Y };
  });
  if (!drawn) return;
  const p = run.look.row, x = drawn.made.X(run.motion.pose[p]), y = drawn.made.Y(run.motion.rate[p]);
  drawn.g.fillStyle = run.ink.impulse; drawn.g.beginPath(); drawn.g.arc(x, y, 5, 0, 7); drawn.g.fill();
}
