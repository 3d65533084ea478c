// ---- clock: screen time tau from 0 to 1 = (1 - a) (share of the span) + a (share of the jumps so far)
function makeClock(head, jumps) {
  const [begin, end] = head.span;
  const inner = Array.from(jumps).filter(t => t > begin && t < end);
  const knots = Float64Array.from([begin, ...inner, end]), n = knots.length - 1;
  const clock = { knots, stretch: 0, marks: new Float64Array(n + 1), span: end - begin || 1 };  // a run that failed in its first step has no span
  clock.setStretch = a => {
    clock.stretch = a;
    for (let i = 0; i <= n; i++) clock.marks[i] = (1 - a) * ((knots[i] - begin) / clock.span) + a * (i / n);
  };
  clock.tau = t => {
    const i = Math.min(Math.max(upper(knots, t) - 1, 0), n - 1);
    if (t >= knots[n]) return 1;
    if (t === knots[i]) return clock.marks[i];
    const s = (t - knots[i]) / (knots[i + 1] - knots[i]);
    return clock.marks[i] + s * (clock.marks[i + 1] - clock.marks[i]);
  };
  clock.time = tau => {
    const i = Math.min(Math.max(upper(clock.marks, tau) - 1, 0), n - 1);
    if (tau >= clock.marks[n]) return knots[n];
    if (tau === clock.marks[i]) return knots[i];
    const s = (tau - clock.marks[i]) / (clock.marks[i + 1] - clock.marks[i]);
    return Math.min(knots[i] + s * (knots[i + 1] - knots[i]), knots[i + 1]);
  };
  clock.setStretch(0);
  return clock;
}
