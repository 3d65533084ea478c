"""Bifurcation diagram of an oscillator that strikes a stop, up and down; python bifurcation.py diagram.png draws it."""

import sys

import numpy as np

import saltus as sl
from saltus import sweep

p = sl.Parameters(w=2.6, e=0.8)
stop = sl.Contact(lambda q: -q[0], e=p.e, name="stop")
oscillator = sl.System(M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[stop])


def diagram(count: int, transient: int = 150) -> sweep.Bifurcation:
    """Return the diagram for so many frequencies."""
    w, section = np.linspace(2.5, 3.2, count), sweep.Strobe(lambda: 2.0 * np.pi / p.w)
    return sweep.bifurcation(oscillator, -0.5, 0.0, w=w, section=section, transient=transient, direction="both")


if __name__ == "__main__":
    picture = sys.argv[1] if len(sys.argv) > 1 and sys.argv[1].endswith(".png") else None
    made = diagram(300 if picture else 15)
    w, periods = made.dataset["w"].values, made.periods()
    for k in range(0, len(w), max(1, len(w) // 15)):
        print(f"w = {w[k]:.4f}: period {periods[0][k] or 'none'} up, {periods[1][k] or 'none'} down")
    # the orbit of one impact per period doubles at w = 2.65334772786 (closed form)
    settled = (w < 2.64) | ((w > 2.67) & (w < 2.70))
    assert np.array_equal(periods[0][settled], np.where(w < 2.65334772786, 1, 2)[settled])
    if picture:
        made.plot("q0", alpha=0.5).figure.savefig(picture, dpi=150)
