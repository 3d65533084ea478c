// ---- motion: poses of all bodies by cubics between keys, exact at both sides of every jump
function readMotion(head, blocks) {
  const columns = head.dimension === 2 ? 3 : 7;
  const keys = head.keys.map((one, b) => {
    const steps = blocks["p" + b], n = steps.length / columns, before = new Float64Array(steps.length);
    const sum = new Array(columns).fill(0);
    const counts = new Float64Array(steps.length);
    for (let i = 0, o = 0; i < n; i++) for (let c = 0; c < columns; c++, o++) {
      sum[c] += steps[o]; counts[o] = sum[c]; before[o] = one.base[c] + one.step[c] * sum[c];
    }
    let after = before;
    if (one.resets) {
      after = new Float64Array(before.length);
      const add = blocks["r" + b];
      for (let i = 0, o = 0; i < n; i++) for (let c = 0; c < columns; c++, o++) after[o] = one.base[c] + one.step[c] * (counts[o] + add[o]);
    }
    const rate = blocks["v" + b];
    return { t: blocks["t" + one.times], before, after, rateBefore: rate, rateAfter: behind(rate, blocks["w" + b]), last: 0 };
  });
  return { keys, columns, pose: new Float64Array(keys.length * columns), rate: new Float64Array(keys.length * columns) };
}

// the interval of a time: from key k to k + 1; at a key its side decides
function interval(key, t, side) {
  const T = key.t, n = T.length;
  let k = key.last;
  const inside = side === "+" ? T[k] <= t && t < T[k + 1] : T[k] < t && t <= T[k + 1];
  if (!inside && side === "+" && t > T[k] && t < T[Math.min(k + 4, n - 1)]) { while (t >= T[k + 1]) k++; }  // a frame further on
  else if (!inside) k = Math.min(Math.max((side === "+" ? upper(T, t) : lower(T, t)) - 1, 0), n - 2);
  return key.last = k;
}

function moveTo(motion, t, side, pose, rate) {
  const C = motion.columns, keys = motion.keys;
  for (let b = 0; b < keys.length; b++) {
    const key = keys[b], k = interval(key, t, side), T = key.t, h = T[k + 1] - T[k], s = h > 0 ? (t - T[k]) / h : 0, r = 1 - s;
    const w0 = (1 + 2 * s) * r * r, w1 = s * r * r * h, w2 = s * s * (3 - 2 * s), w3 = -s * s * r * h;
    const A = key.after, B = key.before, L = key.rateBefore, R = key.rateAfter;
    for (let c = 0, i = k * C, j = i + C, o = b * C; c < C; c++, i++, j++, o++) {
      pose[o] = w0 * A[i] + w1 * R[i] + w2 * B[j] + w3 * L[j];
      if (rate) rate[o] = h > 0 ? 6 * s * r * (B[j] - A[i]) / h + r * (1 - 3 * s) * R[i] + s * (3 * s - 2) * L[j] : R[i];
    }
    if (C === 7) {
      const o = b * 7 + 3, size = Math.hypot(pose[o], pose[o + 1], pose[o + 2], pose[o + 3]) || 1;
      for (let c = 0; c < 4; c++) pose[o + c] /= size;
    }
  }
}

// a curve with two sides at common times, linear between them
function curveAt(T, before, after, t, side, out) {
  const n = before.columns, last = T.length - 1;
  let k = (side === "+" ? upper(T, t) : lower(T, t)) - 1;
  if (k >= last && side === "+") { for (let c = 0; c < n; c++) out[c] = after[last * n + c]; return out; }
  if (k < 0) { for (let c = 0; c < n; c++) out[c] = before[c]; return out; }
  k = Math.min(k, last - 1);
  const s = (t - T[k]) / (T[k + 1] - T[k]);
  for (let c = 0; c < n; c++) out[c] = (1 - s) * after[k * n + c] + s * before[(k + 1) * n + c];
  return out;
}
