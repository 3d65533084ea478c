"""A ball on a floor: the ten lines."""

import saltus as sl

ball = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")])
sol = sl.solve(ball, t_span=(0.0, 3.0), q0=1.0, v0=0.0, tol=1e-8)

for event in sol.events[:3]:
    before, after = event["u_minus"][0], event["u_plus"][0]
    print(f"t = {event['t']:.10f} s  {event['contact']}  {event['kind']}  {before:+.3f} -> {after:+.3f} m/s")
print(f"largest contact residual {sol.residual.max():.1e}, energy defect {abs(sol.energy.defect).max():.1e} J")

assert abs(sol.events["t"][0] - (2.0 / 9.81) ** 0.5) < 1e-12  # free fall from 1 m
