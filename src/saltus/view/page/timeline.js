// ---- timeline: marks of events; those closer than a pixel are one mark with its count
const MARK = { impact: "impulse", zeno: "bad", closing: "force", release: "accent", stick: "soft", slip: "edge", reversal: "edge", painleve: "bad", event: "accent", gain: "bad" };

function marksOf(run, W) {
  const made = new Map(), { event_t: T, event_kind: K } = run.blocks;
  for (let i = 0; i < T.length; i++) {
    const x = Math.round(W * run.clock.tau(T[i])), hard = run.strikes[i] ? 1 : 0, at = 2 * x + hard;
    const one = made.get(at) || { x, hard, count: 0, first: i, kind: K[i] };
    one.count++; made.set(at, one);
  }
  return [...made.values()];
}

function drawTimeline(run) {
  const drawn = layer("timeline", ["line", run.clock.stretch, run.dark].join(), (g, W, H) => {
    const marks = marksOf(run, W), { ink } = run;
    g.fillStyle = ink.line; g.fillRect(0, 24, W, 4);
    let free = -1;
    for (const one of marks.sort((a, b) => a.x - b.x || a.hard - b.hard)) {
      g.fillStyle = ink[MARK[run.head.kinds[one.kind]] || "soft"];
      const tall = one.hard ? Math.min(13, 6 + 2 * Math.log2(one.count)) : 7;
      g.fillRect(one.x - (one.count > 1 ? 1 : 0.5), one.hard ? 25 - tall : 27, one.count > 1 ? 2 : 1, tall);
      if (one.hard && one.count > 1) {
        const text = String(one.count); g.font = "10px system-ui, sans-serif"; const wide = g.measureText(text).width, left = Math.min(Math.max(one.x - wide / 2, 0), W - wide);
        if (left > free) { g.textAlign = "left"; g.fillStyle = ink.soft; g.fillText(text, left, 10); free = left + wide + 5; }
      }
    }
    g.font = "10px system-ui, sans-serif"; g.fillStyle = ink.soft; g.textAlign = "left"; const label = t => `${+t.toPrecision(6 + run.more)} s`.replaceAll("-", "−"); g.fillText(label(run.head.span[0]), 0, 43);
    g.textAlign = "right"; g.fillText(label(run.head.span[1]), W, 43);
    g.textAlign = "center"; g.fillText(run.clock.stretch > 0 ? "event time " + number(run.clock.stretch, 2) : "time", W / 2, 43);
    return marks;
  });
  if (!drawn) return;
  const x = drawn.W * run.clock.tau(run.view.t);
  drawn.g.fillStyle = run.ink.ink; drawn.g.fillRect(Math.min(Math.max(x - 1, 0), drawn.W - 2), 12, 2, 22);
  drawn.g.beginPath(); drawn.g.arc(Math.min(Math.max(x, 5), drawn.W - 5), 26, 5, 0, 7); drawn.g.fill();
}
