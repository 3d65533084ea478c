"""A periodic orbit with an impact, its multipliers, and where it doubles its period; with an argument, a picture."""

import sys

import numpy as np

import saltus as sl
from saltus import sweep

p = sl.Parameters(w=2.6, e=0.8)
stop = sl.Contact(lambda q: -q[0], e=p.e, name="stop")
oscillator = sl.System(M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[stop])

near = sl.solve(oscillator, (0.0, 150.0), -0.5, 0.0, tol=1e-9)
orbit = sweep.periodic_orbit(oscillator, period=lambda: 2 * np.pi / p.w, start=near)
print(orbit)
assert orbit.stable
assert abs(np.prod(orbit.multipliers) - p["e"] ** 2) < 1e-10

doubled = orbit.find("period doubling", w=(2.6, 2.7))
print(f"the period doubles at w = {doubled.parameters['w']:.11f}")
assert abs(doubled.parameters["w"] - 2.65334772786) < 1e-9

frequencies = np.linspace(2.5, 2.75, 26 if len(sys.argv) > 1 else 2)
branch = [orbit]
for w in frequencies:
    branch.append(min(branch, key=lambda one: abs(one.parameters["w"] - w)).at(w=w))
    print(f"w = {w:.2f}: {np.round(branch[-1].multipliers, 6)}")

if len(sys.argv) > 1:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, (plane, circle) = pyplot.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
    orbit.plot(plane).set_title("orbit at w = 2.6: q and v")
    doubled.plot_multipliers(circle)
    for one in branch[1:]:
        colour = "C0" if one.stable else "C3"
        circle.plot(one.multipliers.real, one.multipliers.imag, ".", color=colour)
    circle.set_title("multipliers for w = 2.5 to 2.75, red: unstable")
    figure.savefig(sys.argv[1], dpi=120)
