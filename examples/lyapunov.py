"""Lyapunov exponents of a forced oscillator with a stop, over the frequency; with an argument, a picture."""

import sys

import numpy as np

import saltus as sl
from saltus import sweep

p = sl.Parameters(w=2.6, e=0.8)
stop = sl.Contact(lambda q: -q[0], e=p.e, name="stop")
oscillator = sl.System(M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[stop])

frequencies = np.linspace(2.6, 2.9, 25 if len(sys.argv) > 1 else 3)
found = [
    sweep.lyapunov(oscillator, -0.5, 0.0, impacts=200, transient=150.0, parameters={"w": w}, tol=1e-7)
    for w in frequencies
]
for w, one in zip(frequencies, found, strict=True):
    kind = "chaotic" if one.exponents[0] > 0.01 else "comes to rest at the stop" if one.lost else "regular"
    first, second = one.exponents
    print(f"w = {w:.4f}: {first:+.5f}, {second:+.5f} 1/s, {kind}; sum per impact {one.sum_per_impact:.12f}")
    # no damping: what an impact leaves of an area is e squared, unless bounces accumulate and nothing is left
    assert one.lost or abs(one.sum_per_impact - 2.0 * np.log(p["e"])) < 1e-10
    assert one.consistent
assert found[0].exponents[0] < 0.0

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (over, history) = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")
    over.plot(frequencies, [one.exponents for one in found], ".-", label=["first exponent", "second exponent"])
    resting = [w for w, one in zip(frequencies, found, strict=True) if one.lost]
    over.plot(resting, [-0.6] * len(resting), "vk", label="comes to rest: -inf")
    over.axhline(0.0, color="0.6", linewidth=0.8)
    over.axvline(2.65334772786, color="0.6", linestyle=":", label="period doubling")
    over.set(xlabel="frequency w [rad/s]", ylabel="exponent [1/s]", title="stop at 0, e = 0.8")
    over.legend()
    chaos = sweep.lyapunov(oscillator, -0.5, 0.0, impacts=2000, transient=150.0, parameters={"w": 2.8}, tol=1e-7)
    chaos.plot(history).set_title("w = 2.8")
    figure.savefig(sys.argv[1], dpi=120)
