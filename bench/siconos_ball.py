"""The bouncing ball in Siconos, run by the interpreter that has it; prints one line of JSON.

Moreau-Jean with theta = 1/2, LCP by Lemke, and the settings that cost Siconos least: linear Newton option,
the external force written in place. Only the loop is timed (CPU time), and nothing is recorded in it.
"""

import json
import sys
import time

import numpy as np
import siconos.kernel as sk
import siconos.numerics as sn

GRAVITY, RESTITUTION, T_END = 2.0, 0.5, 4.0  # the ball of saltus.problems.zeno_ball


class CallbackBall(sk.LagrangianDS):
    """A ball whose force is a Python method, called by Siconos through its director."""

    def __init__(self):
        sk.LagrangianDS.__init__(self, [1.0], [0.0], [[1.0]])
        self.setFExtPtr(np.zeros(1))
        self.force = self.fExt()  # a view of the vector that Siconos reads

    def computeFExt(self, t, *rest):  # the name is Siconos'
        self.force[0] = -GRAVITY


def plain_ball():
    """A ball whose constant force Siconos holds itself."""
    ball = sk.LagrangianLinearTIDS([1.0], [0.0], [[1.0]])
    ball.setFExtPtr([-GRAVITY])
    return ball


def simulate(make_ball, steps, keep):
    """Return CPU seconds of the loop and, if asked for, the positions and velocities at all steps."""
    ball = make_ball()
    floor = sk.Interaction(sk.NewtonImpactNSL(RESTITUTION), sk.LagrangianLinearTIR([[1.0]]))
    model = sk.NonSmoothDynamicalSystem(0.0, T_END)
    model.insertDynamicalSystem(ball)
    model.link(floor, ball)
    clock = sk.TimeDiscretisation(0.0, T_END / steps)
    run = sk.TimeStepping(model, clock, sk.MoreauJeanOSI(0.5), sk.LCP(sn.SICONOS_LCP_LEMKE))
    run.setNewtonOptions(sk.SICONOS_TS_LINEAR)
    states = []
    began = time.process_time()
    while run.hasNextEvent():
        run.computeOneStep()
        if keep:
            states.append([float(ball.q()[0]), float(ball.velocity()[0])])
        run.nextStep()
    return time.process_time() - began, states


if __name__ == "__main__":
    kind, steps, keep = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "keep"
    seconds, states = simulate(CallbackBall if kind == "callback" else plain_ball, steps, keep)
    print(json.dumps({"seconds": seconds, "states": states}))
