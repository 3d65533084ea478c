"""The impact oscillator in Siconos' event-driven simulation, run by the interpreter that has it; prints JSON.

LSODAR between events, Newton's law at impacts; the grid is coarse, so that most events are impacts.
"""

import json
import sys
import time

import siconos.kernel as sk

WALL, RESTITUTION = -0.5, 0.8  # the oscillator of saltus.problems.impact_oscillator


def simulate(t_end, step):
    """Return CPU seconds of the loop, the number of impacts, and the last state."""
    body = sk.LagrangianLinearTIDS([1.0], [0.0], [[1.0]], [[1.0]], [[0.0]])
    wall = sk.Interaction(sk.NewtonImpactNSL(RESTITUTION), sk.LagrangianLinearTIR([[1.0]], [-WALL]))
    model = sk.NonSmoothDynamicalSystem(0.0, t_end)
    model.insertDynamicalSystem(body)
    model.link(wall, body)
    integrator, impact, force = sk.LsodarOSI(), sk.LCP(), sk.LCP()
    run = sk.EventDriven(model, sk.TimeDiscretisation(0.0, step))
    run.insertIntegrator(integrator)
    run.insertNonSmoothProblem(impact, sk.SICONOS_OSNSP_ED_IMPACT)
    run.insertNonSmoothProblem(force, sk.SICONOS_OSNSP_ED_SMOOTH_ACC)
    run.initialize()
    impacts, events = 0, 0
    began = time.process_time()
    while run.hasNextEvent():
        run.advanceToEvent()
        before = float(body.velocity()[0])
        run.processEvents()
        events += 1
        impacts += abs(float(body.velocity()[0]) - before) > 1e-9
    return time.process_time() - began, impacts, events, [float(body.q()[0]), float(body.velocity()[0])]


if __name__ == "__main__":
    seconds, impacts, events, state = simulate(float(sys.argv[1]), float(sys.argv[2]))
    print(json.dumps({"seconds": seconds, "impacts": impacts, "events": events, "state": state}))
