"""A slider-crank of one's own dimensions that moves in a browser: one file, both sides of every impact."""

from __future__ import annotations

import tempfile
from pathlib import Path

import saltus as sl
from saltus.mechanics import Planar

w = Planar(9.81, name="my slider-crank")
crank = w.bar(0.12, mass=0.05, inertia=1e-4, name="crank")
rod = w.bar(0.40, mass=0.06, inertia=8e-4, name="rod")
slider = w.body(mass=0.1, inertia=5e-6, name="slider")
w.revolute(w.ground, crank.start)
w.revolute(crank.end, rod.start)
w.revolute(rod.end, slider)
w.guide(slider, clearance=5e-4, length=0.08, height=0.04, e=0.3, mu=0.02, name="guide")
w.start(crank, angle=0.0, speed=100.0)
w.start(slider, angle=0.0, speed=0.0)
sol = sl.solve(w, (0.0, 0.1), tol=1e-6)

folder = Path(tempfile.mkdtemp(prefix="saltus_"))
view = sol.view(folder / "slider_crank.html")

if __name__ == "__main__":
    impacts = sol.events[sol.events["kind"] == "impact"]
    print(f"{len(impacts)} impacts; open {folder / 'slider_crank.html'} in a browser")
    assert len(impacts) > 20 and (folder / "slider_crank.html").stat().st_size < 400_000
