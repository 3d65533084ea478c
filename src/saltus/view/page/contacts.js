// ---- contacts: forces (green, N) and impulses (orange, N s) apart; gaps magnified; blamed contacts red
function contactFrame(run, c) {
  const one = run.head.contacts[c], flat = run.head.dimension === 2, pose = run.motion.pose;
  if (one.moving) {
    const T = run.blocks.frame_t, F = run.blocks.frames, j = run.head.moving.indexOf(c), w = F.columns, t = run.view.t;
    const k = Math.min(Math.max(upper(T, t) - 1, 0), T.length - 2), s = Math.min(1, Math.max(0, (t - T[k]) / (T[k + 1] - T[k])));
    const v = Array.from({ length: 6 }, (_, i) => (1 - s) * F[k * w + 6 * j + i] + s * F[(k + 1) * w + 6 * j + i]);
    return { at: spotOf(run, one.body, v[0], v[1]), rows: [[v[2], v[3]], [v[4], v[5]]] };
  }
  if (!one.normal) return null;
  let rows = [one.normal, ...one.tangents];
  if (flat) {
    if (one.turning && one.body >= 0) { const a = pose[3 * one.body + 2], q = Math.cos(a), s = Math.sin(a); rows = rows.map(([x, y]) => [q * x - s * y, s * x + q * y]); }
    return { at: spotOf(run, one.body, ...one.at), rows };
  }
  if (one.body < 0) return { at: one.at, rows };
  const o = 7 * one.body, arm = turned(pose, o + 3, one.at);
  if (one.turning) rows = rows.map(row => turned(pose, o + 3, row));
  return { at: arm.map((x, i) => x + pose[o + i]), rows };
}

// a vector of a contact by its rows in the fixed frame
const spread = (frame, values) => frame.at.map((_, i) => frame.rows.reduce((sum, row, r) => sum + row[i] * (values[r] || 0), 0));

function drawArrow(run, g, frame, vector, size, largest, colour, width) {
  if (!(size > 0)) return;
  const [x0, y0] = run.project(frame.at), reach = run.reach * Math.max(Math.sqrt(Math.min(1, size / largest)), 0.12);
  const tip = run.project(frame.at.map((x, i) => x + vector[i] / size * run.reach / run.scale));
  let dx = (tip[0] - x0) / run.reach * reach, dy = (tip[1] - y0) / run.reach * reach;
  const l = Math.hypot(dx, dy);
  if (l < 1e-6) return;
  const ax = dx / l, ay = dy / l, headSize = Math.min(10, 4 + 0.25 * l) + width / 2, x1 = x0 + dx, y1 = y0 + dy;
  g.strokeStyle = g.fillStyle = colour; g.lineWidth = width; g.lineCap = "butt";
  g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1 - 0.8 * headSize * ax, y1 - 0.8 * headSize * ay); g.stroke();
  g.beginPath(); g.moveTo(x1, y1); g.lineTo(x1 - headSize * ax - 0.5 * headSize * ay, y1 - headSize * ay + 0.5 * headSize * ax); g.lineTo(x1 - headSize * ax + 0.5 * headSize * ay, y1 - headSize * ay - 0.5 * headSize * ax); g.closePath(); g.fill();
}

function forcesNow(run) {
  const by = run.head.contacts.map(() => [0, 0, 0]);
  if (!run.force) return by;
  curveAt(run.blocks.curve_t, run.force.before, run.force.after, run.view.t, run.view.side, run.force.now);
  run.head.rows.forEach(([c, r], i) => { if (r >= 0) by[c][r] = run.force.now[i]; });
  return by;
}

// events whose impulse is drawn now: those at this very time on its right side; while playing, those since the last frame
function struckNow(run) {
  const { view } = run, T = run.blocks.event_t;
  const first = view.since === undefined ? lower(T, view.t) : upper(T, view.since);
  const last = view.side === "-" && view.since === undefined ? first : upper(T, view.t), made = [];
  for (let i = first; i < last; i++) if (run.strikes[i]) made.push(i);
  return made;
}

function drawContacts(run, g) {
  const { view, look, ink, head } = run, frames = head.contacts.map((_, c) => contactFrame(run, c));
  drawGaps(run, g, frames);
  if (look.forces) forcesNow(run).forEach((value, c) => { const f = frames[c]; if (f) drawArrow(run, g, f, spread(f, value), Math.hypot(...spread(f, value)), run.largestForce, ink.force, 2.5); });
  if (look.impulses) {
    drawFlashes(run, g, frames);
    for (const i of struckNow(run)) {
      const f = frames[run.blocks.event_contact[i]], P = run.blocks.event_impulse.subarray(3 * i, 3 * i + 3);
      if (f) { const v = spread(f, P); drawArrow(run, g, f, v, Math.hypot(...v), run.largestImpulse, ink.impulse, 4); }
    }
  }
  for (const c of head.blamed) if (frames[c]) {
    const [x, y] = run.project(frames[c].at);
    g.strokeStyle = ink.bad; g.lineWidth = 2.5; g.beginPath(); g.arc(x, y, 11, 0, 7); g.stroke();
    g.fillStyle = ink.bad; g.font = "600 12px system-ui, sans-serif"; g.textAlign = "left"; g.fillText(head.contacts[c].name, x + 15, y - 8);
  }
}

// a disc that fades after an impact
function drawFlashes(run, g, frames) {
  const { view, clock } = run, T = run.blocks.event_t, glow = 0.02, tau = clock.tau(view.t);
  let i = Math.max(lower(T, clock.time(Math.max(0, tau - glow))), upper(T, view.t) - 200);
  for (const end = upper(T, view.t); i < end; i++) {
    const f = frames[run.blocks.event_contact[i]];
    if (!run.strikes[i] || !f || (T[i] === view.t && view.side === "-")) continue;
    const age = Math.min(1, (tau - clock.tau(T[i])) / glow), [x, y] = run.project(f.at), P = Math.abs(run.blocks.event_impulse[3 * i]);
    g.globalAlpha = 0.55 * (1 - age); g.fillStyle = run.ink.flash;
    g.beginPath(); g.arc(x, y, 5 + 15 * Math.sqrt(Math.min(1, P / run.largestImpulse)), 0, 7); g.fill(); g.globalAlpha = 1;
  }
}

// the surface that a contact meets, drawn at k times its distance
function drawGaps(run, g, frames) {
  const k = run.look.magnify;
  if (k <= 1 || !run.gap) return;
  curveAt(run.blocks.curve_t, run.gap.before, run.gap.after, run.view.t, run.view.side, run.gap.now);
  frames.forEach((f, c) => {
    if (!f) return;
    const far = k * run.gap.now[c], shift = far * run.scale;
    if (!(Math.abs(shift) < 0.35 * run.height)) return;
    const n = f.rows[0], [x0, y0] = run.project(f.at), [x1, y1] = run.project(f.at.map((x, i) => x - far * n[i])), [xn, yn] = run.project(f.at.map((x, i) => x + n[i] * 30 / run.scale));
    const l = Math.hypot(xn - x0, yn - y0) || 1, tx = -(yn - y0) / l, ty = (xn - x0) / l;
    g.strokeStyle = run.ink.accent; g.lineWidth = 1; g.setLineDash([2, 3]); g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke(); g.setLineDash([]);
    g.lineWidth = 3; g.beginPath(); g.moveTo(x1 - 16 * tx, y1 - 16 * ty); g.lineTo(x1 + 16 * tx, y1 + 16 * ty); g.stroke();
    g.fillStyle = run.ink.accent; g.beginPath(); g.arc(x0, y0, 2.5, 0, 7); g.fill();
  });
}
