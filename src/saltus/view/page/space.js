// ---- space: WebGL 2, one instanced call per kind of solid
const VERTEX = `#version 300 es
layout(location=0) in vec3 corner; layout(location=1) in vec3 normal;
layout(location=2) in vec3 place; layout(location=3) in vec4 turn; layout(location=4) in vec3 size; layout(location=5) in vec3 tint; layout(location=6) in vec3 middle;
uniform mat4 camera; out vec3 N; out vec3 C;
vec3 rotate(vec4 q, vec3 v) { return v + 2.0 * cross(q.yzw, cross(q.yzw, v) + q.x * v); }
void main() { gl_Position = camera * vec4(place + rotate(turn, middle + corner * size), 1.0); N = rotate(turn, normal / max(size, vec3(1e-9))); C = tint; }`;
const FRAGMENT = `#version 300 es
precision highp float; in vec3 N; in vec3 C; out vec4 colour;
void main() { float light = 0.5 + 0.5 * max(0.0, dot(normalize(N), normalize(vec3(0.35, -0.5, 0.8)))); colour = vec4(C * light, 1.0); }`;
// what hides behind a floor: depth alone
const FLAT_VERTEX = `#version 300 es
layout(location=0) in vec3 corner; uniform mat4 camera; void main() { gl_Position = camera * vec4(corner, 1.0); }`;
const FLAT_FRAGMENT = `#version 300 es
precision mediump float; out vec4 colour; void main() { colour = vec4(0.0); }`;
const FLOATS = 16;  // of an instance

function cube() {
  const made = [];
  for (let face = 0; face < 6; face++) {
    const axis = face >> 1, sign = face & 1 ? 1 : -1, u = (axis + 1) % 3, w = (axis + 2) % 3;
    for (const [i, j] of [[-1, -1], [sign, -sign], [1, 1], [-1, -1], [1, 1], [-sign, sign]]) {  // seen from outside they go left round
      const p = [0, 0, 0], n = [0, 0, 0];
      p[axis] = sign / 2; p[u] = i / 2; p[w] = j / 2; n[axis] = sign; made.push(...p, ...n);
    }
  }
  return made;
}

function ball() {
  const made = [], rows = 14, cols = 24;
  const at = (i, j) => { const a = Math.PI * i / rows, b = 2 * Math.PI * j / cols; return [Math.sin(a) * Math.cos(b), Math.sin(a) * Math.sin(b), Math.cos(a)]; };
  for (let i = 0; i < rows; i++) for (let j = 0; j < cols; j++)
    for (const [di, dj] of [[0, 0], [1, 0], [1, 1], [0, 0], [1, 1], [0, 1]]) { const n = at(i + di, j + dj); made.push(...n.map(x => x / 2), ...n); }
  return made;
}

function cylinder() {
  const made = [], n = 32;
  for (let k = 0; k < n; k++) {
    const [a, b] = [k, k + 1].map(i => [Math.cos(2 * Math.PI * i / n), Math.sin(2 * Math.PI * i / n)]);
    for (const [p, z] of [[a, -1], [b, -1], [b, 1], [a, -1], [b, 1], [a, 1]]) made.push(p[0] / 2, p[1] / 2, z / 2, p[0], p[1], 0);
    for (const z of [-1, 1]) for (const p of z > 0 ? [[0, 0], a, b] : [[0, 0], b, a]) made.push(p[0] / 2, p[1] / 2, z / 2, 0, 0, z);
  }
  return made;
}

function mesh(solid) {
  const made = [];
  for (const face of solid.triangles) {
    const [a, b, c] = face.map(i => solid.points[i]), u = b.map((x, i) => x - a[i]), w = c.map((x, i) => x - a[i]);
    const n = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
    for (const p of [a, b, c]) made.push(...p, ...n);
  }
  return made;
}

function programOf(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind); gl.shaderSource(shader, source); gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

function makeSpace(run) {
  const gl = document.getElementById("solid").getContext("webgl2", { antialias: true });
  if (!gl) return;
  const program = programOf(gl, VERTEX, FRAGMENT);
  gl.enable(gl.DEPTH_TEST);
  const shapes = new Map(), add = (name, corners) => {
    const array = gl.createVertexArray(), own = gl.createBuffer(), instances = gl.createBuffer();
    gl.bindVertexArray(array); gl.bindBuffer(gl.ARRAY_BUFFER, own); gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 24, 0); gl.enableVertexAttribArray(1); gl.vertexAttribPointer(1, 3, gl.FLOAT, false, 24, 12);
    gl.bindBuffer(gl.ARRAY_BUFFER, instances);
    [[2, 3, 0], [3, 4, 12], [4, 3, 28], [5, 3, 40], [6, 3, 52]].forEach(([at, n, offset]) => { gl.enableVertexAttribArray(at); gl.vertexAttribPointer(at, n, gl.FLOAT, false, 4 * FLOATS, offset); gl.vertexAttribDivisor(at, 1); });
    const shape = { array, instances, count: corners.length / 6, members: [], closed: !name.startsWith("mesh") }; shapes.set(name, shape); return shape;
  };
  const makers = { box: cube, sphere: ball, cylinder };
  run.head.bodies.forEach((body, b) => (body.solids || []).forEach((solid, k) => {
    const name = solid.kind === "mesh" ? `mesh ${b} ${k}` : solid.kind;
    const shape = shapes.get(name) || add(name, solid.kind === "mesh" ? mesh(solid) : makers[solid.kind]());
    shape.members.push({ b, size: solid.kind === "mesh" ? [1, 1, 1] : solid.size, middle: solid.centre, tint: rgb(colourOf(run.head, b)) });
  }));
  for (const shape of shapes.values()) {
    shape.data = new Float32Array(FLOATS * shape.members.length);
    shape.members.forEach((one, i) => shape.data.set([...one.size, ...one.tint, ...one.middle], FLOATS * i + 7));  // only poses change
  }
  run.space = { gl, program, shapes, camera: gl.getUniformLocation(program, "camera"), floors: run.head.floors.length ? makeFloors(run, gl) : null };
}

// floors fill the picture. Without a GPU every pixel of WebGL costs, so they are drawn on a canvas below, anew only when
// the camera moves; here are the triangles that hide what is behind them
function makeFloors(run, gl) {
  const program = programOf(gl, FLAT_VERTEX, FLAT_FRAGMENT), corners = run.head.floors.flatMap(z => { const [a, b, c, e] = floorCorners(run, z); return [a, b, c, a, c, e]; });
  const array = gl.createVertexArray();
  gl.bindVertexArray(array); gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer()); gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners.flat()), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0); gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 12, 0);
  return { program, array, count: corners.length, camera: gl.getUniformLocation(program, "camera") };
}

function floorCorners(run, z) {
  const { centre: [x, y], size } = run.box, half = 1.2 * size;
  return [[x - half, y - half, z], [x + half, y - half, z], [x + half, y + half, z], [x - half, y + half, z]];
}

function drawFloors(run, camera, W, H) {
  const m = camera, key = [...m, W, H, devicePixelRatio, run.dark].join();
  if (run.space.floorKey === key) return;
  run.space.floorKey = key;
  const { g } = fit(document.getElementById("under")), near = 1e-3 * run.box.size / run.look.zoom;
  const at = p => [0, 1, 3].map(r => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r]);
  const path = (points, closed) => {  // as far as it is before the camera
    const all = points.map(at), made = [];
    all.forEach((b, i) => {
      const a = all[(i + all.length - 1) % all.length];
      if ((i || closed) && (a[2] > near) !== (b[2] > near)) { const s = (near - a[2]) / (b[2] - a[2]); made.push(a.map((x, c) => x + s * (b[c] - x))); }
      if (b[2] > near) made.push(b);
    });
    made.forEach(([x, y, w], i) => { const u = (1 + x / w) * W / 2, v = (1 - y / w) * H / 2; if (i) g.lineTo(u, v); else g.moveTo(u, v); });
  };
  const tone = share => `rgb(${run.rgb.ground.map(x => 255 * Math.min(1, share * x)).join()})`, cell = 10 ** Math.floor(Math.log10(run.box.size / 3));
  for (const z of [...run.head.floors].sort((a, b) => a - b)) {
    const [[x0, y0], , [x1, y1]] = floorCorners(run, z);
    g.fillStyle = tone(1); g.beginPath(); path(floorCorners(run, z), true); g.closePath(); g.fill();
    g.strokeStyle = tone(run.dark ? 1.25 : 0.86); g.lineWidth = 1; g.beginPath();
    for (let k = Math.ceil(x0 / cell); k * cell <= x1; k++) path([[k * cell, y0, z], [k * cell, y1, z]], false);
    for (let k = Math.ceil(y0 / cell); k * cell <= y1; k++) path([[x0, k * cell, z], [x1, k * cell, z]], false);
    g.stroke();
  }
}

// whether a floor hides a part of a body: one reaches below it, or it is seen from below
function floorsHide(run) {
  const { pose } = run.motion, top = Math.max(...run.head.floors), least = 2e-3 * run.box.size;
  if (run.eye[2] < top) return true;
  return run.head.bodies.some((body, b) => (body.solids || []).some(one => {
    const o = 7 * b, up = turned(pose, o + 3, one.centre)[2] + pose[o + 2];
    if (one.kind === "mesh") return one.points.some(p => pose[o + 2] + turned(pose, o + 3, p.map((x, c) => x + one.centre[c]))[2] < top - least);
    const low = one.kind === "sphere" ? one.size[2] / 2 : one.size.reduce((sum, x, c) => sum + Math.abs(turned(pose, o + 3, [+(c === 0), +(c === 1), +(c === 2)])[2]) * x / 2, 0);
    return up - low < top - least;
  }));
}

function rgb(colour) {
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
  return Array.from(probe.getImageData(0, 0, 1, 1).data.slice(0, 3)).map(x => x / 255);
}

function spaceBox(run) {
  const { head, motion } = run, low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  motion.keys.forEach((key, b) => {
    const reach = reachOf(head.bodies[b]), stride = Math.max(1, Math.floor(key.t.length / 400));
    for (let i = 0; i < key.t.length; i += stride) for (let c = 0; c < 3; c++) { low[c] = Math.min(low[c], key.before[7 * i + c] - reach); high[c] = Math.max(high[c], key.before[7 * i + c] + reach); }
  });
  return { centre: low.map((x, c) => (x + high[c]) / 2), size: Math.hypot(...low.map((x, c) => high[c] - x)) || 1 };
}

function spaceCamera(run, W, H) {
  const { look, box } = run, centre = look.follow >= 0 ? Array.from(run.motion.pose.slice(7 * look.follow, 7 * look.follow + 3)) : box.centre;
  const far = 1.45 * box.size / look.zoom, cp = Math.cos(look.pitch), eye = [centre[0] + far * cp * Math.cos(look.yaw), centre[1] + far * cp * Math.sin(look.yaw), centre[2] + far * Math.sin(look.pitch)];
  const f = centre.map((x, i) => (x - eye[i]) / far), l = Math.hypot(f[0], f[1]) || 1, s = [f[1] / l, -f[0] / l, 0], u = [s[1] * f[2] - s[2] * f[1], s[2] * f[0] - s[0] * f[2], s[0] * f[1] - s[1] * f[0]];
  const k = 1 / Math.tan(0.32), near = far * 0.02, end = far * 30, aspect = W / H, a = (end + near) / (near - end), b = 2 * end * near / (near - end);
  const dot = v => v[0] * eye[0] + v[1] * eye[1] + v[2] * eye[2];
  const rows = [[s.map(x => x * k / aspect), -dot(s) * k / aspect], [u.map(x => x * k), -dot(u) * k], [f.map(x => -x * a), dot(f) * a + b], [f, -dot(f)]];
  const m = new Float32Array(16);
  rows.forEach(([v, t], i) => { m[i] = v[0]; m[4 + i] = v[1]; m[8 + i] = v[2]; m[12 + i] = t; });
  run.scale = H * k / (2 * far); run.eye = eye;
  run.project = p => { const w = m[3] * p[0] + m[7] * p[1] + m[11] * p[2] + m[15]; return [(1 + (m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12]) / w) * W / 2, (1 - (m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13]) / w) * H / 2]; };
  return m;
}

function turned(pose, o, v) {
  const w = pose[o], x = pose[o + 1], y = pose[o + 2], z = pose[o + 3];
  const a = y * v[2] - z * v[1] + w * v[0], b = z * v[0] - x * v[2] + w * v[1], c = x * v[1] - y * v[0] + w * v[2];
  return [v[0] + 2 * (y * c - z * b), v[1] + 2 * (z * a - x * c), v[2] + 2 * (x * b - y * a)];
}

function drawSpace(run, g, W, H) {
  const camera = spaceCamera(run, W, H), { space, ink, head } = run, pose = run.motion.pose;
  if (!space) { g.fillStyle = ink.bad; g.font = "13px system-ui"; g.fillText("This browser has no WebGL 2: solids cannot be drawn.", 20, H / 2); return; }
  const { gl } = space, ratio = devicePixelRatio || 1, canvas = gl.canvas, w = Math.round(W * ratio), h = Math.round(H * ratio);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  gl.viewport(0, 0, w, h); gl.clearColor(0, 0, 0, 0); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
  if (space.floors) {
    drawFloors(run, camera, W, H);
    if (floorsHide(run)) {
      const { floors } = space;
      gl.useProgram(floors.program); gl.uniformMatrix4fv(floors.camera, false, camera); gl.disable(gl.CULL_FACE); gl.bindVertexArray(floors.array);
      gl.colorMask(false, false, false, false); gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(1, 1);
      gl.drawArrays(gl.TRIANGLES, 0, floors.count);
      gl.disable(gl.POLYGON_OFFSET_FILL); gl.colorMask(true, true, true, true);
    }
  }
  gl.useProgram(space.program); gl.uniformMatrix4fv(space.camera, false, camera);
  for (const shape of space.shapes.values()) {
    const { data, members } = shape;
    for (let i = 0; i < members.length; i++) for (let c = 0, o = FLOATS * i, p = 7 * members[i].b; c < 7; c++) data[o + c] = pose[p + c];
    gl[shape.closed ? "enable" : "disable"](gl.CULL_FACE);  // the far side of a closed solid is never seen
    gl.bindVertexArray(shape.array); gl.bindBuffer(gl.ARRAY_BUFFER, shape.instances); gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    gl.drawArraysInstanced(gl.TRIANGLES, 0, shape.count, members.length);
  }
}
