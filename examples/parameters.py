"""A bouncing ball for many restitutions: the model is traced once, every value is a new run."""

import numpy as np

import saltus as sl

p = sl.Parameters(gravity=9.81, e=0.8)
floor = sl.Contact(gap=lambda q: q[0], e=p.e, name="floor")
ball = sl.System(M=1.0, f=lambda q: [-p.gravity], contacts=[floor])

fall = np.sqrt(2.0 / p["gravity"])
for e in (0.0, 0.25, 0.5, 0.75, 1.0):
    sol = sl.solve(ball, t_span=(0.0, 1.2), q0=1.0, v0=0.0, tol=1e-8, parameters={"e": e})
    bounces = int(np.sum(sol.events["kind"] == "impact"))
    height = sol(fall * (1.0 + e)).q[0]  # half way between the first two impacts
    print(f"e = {sol.parameters['e']:.2f}: {bounces:3d} impacts, then {height:.6f} m high")
    assert abs(height - e**2) < 1e-8

moon = sl.solve(ball, t_span=(0.0, 2.0), q0=1.0, v0=0.0, tol=1e-8, parameters={"gravity": 1.62})
print(f"on the moon it lands after {moon.events['t'][0]:.6f} s")
assert abs(moon.events["t"][0] - np.sqrt(2.0 / 1.62)) < 1e-9
