// ---- plane: the scene on a canvas
const BODY = ["#4477aa", "#aa3377", "#3aa6c4", "#8a6fc0", "#b08d28", "#6b7a8f", "#5566cc", "#c25b8a"];
const colourOf = (head, b) => head.bodies[b].colour || BODY[b % BODY.length];

// where the scene is: the bodies over the whole run, and what is fixed as far as it is near them
function planeBox(run) {
  const { head, motion } = run, box = [Infinity, Infinity, -Infinity, -Infinity];
  const add = (x, y, r) => { box[0] = Math.min(box[0], x - r); box[1] = Math.min(box[1], y - r); box[2] = Math.max(box[2], x + r); box[3] = Math.max(box[3], y + r); };
  const place = ([b, x, y]) => b < 0 ? [x, y] : null;
  motion.keys.forEach((key, b) => {
    const stride = Math.max(1, Math.floor(key.t.length / 150)), shapes = (head.bodies[b].outlines || []).filter(one => one.kind !== "line");
    for (let i = 0; i < key.t.length; i += stride) {
      const [x, y, turn] = key.before.subarray(3 * i, 3 * i + 3), c = Math.cos(turn), s = Math.sin(turn);
      add(x, y, 0);
      for (const one of shapes) {
        const skip = Math.max(1, one.points.length >> 4);
        for (let k = 0; k < one.points.length; k += skip) { const [u, v] = one.points[k]; add(x + c * u - s * v, y + s * u + c * v, one.radius || 0); }
      }
    }
  });
  for (const spring of head.springs) for (const end of spring) { const p = place(end); if (p) add(p[0], p[1], 0); }
  const w = Math.max(box[2] - box[0], box[3] - box[1], 1e-9);
  for (const one of head.fixed) for (const [x, y] of one.points)
    if (x > box[0] - 0.3 * w && x < box[2] + 0.3 * w && y > box[1] - 0.3 * w && y < box[3] + 0.3 * w) add(x, y, one.radius || 0);
  const floor = 0.12 * w, dx = Math.max(0, floor - (box[2] - box[0])) / 2, dy = Math.max(0, floor - (box[3] - box[1])) / 2;
  return [box[0] - dx, box[1] - dy, box[2] + dx, box[3] + dy];
}

function reachOf(body) {
  let far = 0;
  for (const one of body.outlines || []) if (one.kind !== "line") for (const p of one.points) far = Math.max(far, Math.hypot(p[0], p[1]) + (one.radius || 0));
  for (const one of body.solids || []) far = Math.max(far, one.kind === "mesh" ? Math.max(...one.points.map(p => Math.hypot(...p))) : 0.5 * Math.hypot(...one.size));
  return far;
}

// scale and shift from metres to pixels: fit, then what the user did with wheel and drag, then the body that is followed
function planeCamera(run, W, H) {
  const { look } = run, [x0, y0, x1, y1] = run.box, top = 40, rest = 56;
  const scale = look.zoom * Math.min((W - 60) / (x1 - x0), (H - top - rest - 10) / (y1 - y0));
  let cx = (x0 + x1) / 2, cy = (y0 + y1) / 2;
  if (look.follow >= 0) { cx = run.motion.pose[3 * look.follow]; cy = run.motion.pose[3 * look.follow + 1]; }
  run.scale = scale;
  run.project = p => [W / 2 + look.x + scale * (p[0] - cx), top + (H - top - rest) / 2 + look.y - scale * (p[1] - cy)];
}

function spotOf(run, b, x, y) {
  if (b < 0) return [x, y];
  const p = run.motion.pose, o = 3 * b, c = Math.cos(p[o + 2]), s = Math.sin(p[o + 2]);
  return [p[o] + c * x - s * y, p[o + 1] + s * x + c * y];
}

function drawPlane(run, g, W, H) {
  const { head, ink } = run;
  planeCamera(run, W, H);
  for (const one of head.fixed) drawFixed(run, g, one, W, H);
  g.lineJoin = g.lineCap = "round";
  for (const [first, second] of head.springs) drawSpring(run, g, spotOf(run, ...first), spotOf(run, ...second));
  head.bodies.forEach((body, b) => drawBody(run, g, body, b));
  for (const [b, x, y, fixed] of head.pins) {
    const [px, py] = run.project(spotOf(run, b, x, y));
    if (fixed) { g.fillStyle = ink.edge; g.beginPath(); g.moveTo(px, py); g.lineTo(px - 8, py + 13); g.lineTo(px + 8, py + 13); g.closePath(); g.fill(); }
    g.fillStyle = ink.paper; g.strokeStyle = ink.ink; g.lineWidth = 1.4; g.beginPath(); g.arc(px, py, 3.6, 0, 7); g.fill(); g.stroke();
  }
}

// a plane of a body has no end: a piece of it is drawn
function pieceOf(run, [[x0, y0], [x1, y1]]) {
  const l = Math.hypot(x1 - x0, y1 - y0) || 1, half = Math.min(0.5, 0.07 * run.head.size / l), x = (x0 + x1) / 2, y = (y0 + y1) / 2;
  return [[x - half * (x1 - x0), y - half * (y1 - y0)], [x + half * (x1 - x0), y + half * (y1 - y0)]];
}

function drawBody(run, g, body, b) {
  const colour = colourOf(run.head, b), outlines = body.outlines || [];
  if (!outlines.length) {
    const [x, y] = run.project(spotOf(run, b, 0, 0));
    g.fillStyle = colour; g.beginPath(); g.arc(x, y, 3, 0, 7); g.fill();
    return;
  }
  const shapes = outlines.filter(one => one.kind !== "line");
  for (const one of outlines) {
    const points = (one.kind === "line" ? pieceOf(run, one.points) : one.points).map(p => run.project(spotOf(run, b, p[0], p[1]))), radius = (one.radius || 0) * run.scale;
    g.beginPath();
    if (one.kind === "circle") {
      g.arc(points[0][0], points[0][1], radius, 0, 7);
    } else if (one.kind === "capsule") {
      const [[x0, y0], [x1, y1]] = points, r = Math.max(radius, 3), a = Math.atan2(y1 - y0, x1 - x0);
      g.arc(x0, y0, r, a + Math.PI / 2, a - Math.PI / 2); g.arc(x1, y1, r, a - Math.PI / 2, a + Math.PI / 2); g.closePath();
    } else {
      points.forEach((p, i) => i ? g.lineTo(...p) : g.moveTo(...p));
      if (one.kind === "polygon") g.closePath();
    }
    if (one.kind !== "line" && !one.hollow) { g.fillStyle = colour; g.globalAlpha = 0.3; g.fill(); g.globalAlpha = 1; }
    g.strokeStyle = colour; g.lineWidth = one.kind === "line" ? 2.5 : 1.6; g.stroke();
    if (one.kind === "circle" && !one.hollow && radius > 4) {  // or nobody sees it turn
      const turn = -run.motion.pose[3 * b + 2];
      g.lineWidth = 1; g.beginPath(); g.moveTo(...points[0]); g.lineTo(points[0][0] + radius * Math.cos(turn), points[0][1] + radius * Math.sin(turn)); g.stroke();
    }
  }
  if (shapes.length > 1) {  // parts of one body belong together
    g.strokeStyle = colour; g.globalAlpha = 0.5; g.lineWidth = 1.2;
    for (const one of shapes) {
      const n = one.points.length, x = one.points.reduce((a, p) => a + p[0], 0) / n, y = one.points.reduce((a, p) => a + p[1], 0) / n;
      g.beginPath(); g.moveTo(...run.project(spotOf(run, b, 0, 0))); g.lineTo(...run.project(spotOf(run, b, x, y))); g.stroke();
    }
    g.globalAlpha = 1;
  }
}

// a line of the ground, shaded on its right, where it is solid; a long one is drawn where it is seen
function drawFixed(run, g, one, W, H) {
  const points = one.points.map(run.project), { ink } = run;
  g.lineWidth = 1.4; g.strokeStyle = ink.edge; g.fillStyle = ink.ground;
  g.beginPath();
  if (one.kind === "circle") { g.arc(points[0][0], points[0][1], one.radius * run.scale, 0, 7); if (!one.hollow) g.fill(); g.stroke(); return; }
  if (one.kind === "line") {
    const [[x0, y0], [x1, y1]] = points, l = Math.hypot(x1 - x0, y1 - y0) || 1, deep = 11;
    const nx = -(y1 - y0) / l * deep, ny = (x1 - x0) / l * deep;
    g.moveTo(x0, y0); g.lineTo(x1, y1); g.lineTo(x1 + nx, y1 + ny); g.lineTo(x0 + nx, y0 + ny); g.closePath(); g.fill();
    g.beginPath(); g.moveTo(x0, y0); g.lineTo(x1, y1); g.stroke();
    return;
  }
  if (one.kind === "capsule") { g.lineWidth = Math.max(6, 2 * one.radius * run.scale); g.moveTo(...points[0]); g.lineTo(...points[1]); g.stroke(); return; }
  points.forEach((p, i) => i ? g.lineTo(...p) : g.moveTo(...p));
  g.closePath(); if (!one.hollow) g.fill(); g.stroke();
}

function drawSpring(run, g, from, to) {
  const [x0, y0] = run.project(from), [x1, y1] = run.project(to), l = Math.hypot(x1 - x0, y1 - y0);
  if (l < 1) return;
  const ax = (x1 - x0) / l, ay = (y1 - y0) / l, wide = Math.min(8, 3 + 0.05 * l), turns = 14;
  g.strokeStyle = run.ink.edge; g.lineWidth = 1.2; g.beginPath(); g.moveTo(x0, y0);
  for (let i = 0; i <= turns; i++) {
    const s = l * (0.12 + 0.76 * i / turns), w = i === 0 || i === turns ? 0 : (i % 2 ? wide : -wide);
    g.lineTo(x0 + ax * s - ay * w, y0 + ay * s + ax * w);
  }
  g.lineTo(x1, y1); g.stroke();
}
