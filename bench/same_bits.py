"""Same bits for interpreted, x86-64-v2 and x86-64-v3 kernels: 20 short runs over all schemes, ColouredNSGS included.

`python bench/same_bits.py` prints one row per run; `python bench/same_bits.py run` prints the hashes of this process.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import warnings

MODES = ("none", "x86-64-v2", "x86-64-v3")


def runs() -> dict:
    """Return the runs: name -> problem, options."""
    import saltus as sl

    p = sl.problems
    short = {"t_span": (0.0, 0.6)}
    return {
        "ball HpTDG": (p.zeno_ball(), {"scheme": sl.HpTDG(tol=1e-6), **short}),
        "ball MoreauJean": (p.zeno_ball(), {"scheme": sl.MoreauJean(), "h": 0.01}),
        "ball TDGPlus": (p.zeno_ball(), {"scheme": sl.TDGPlus(), "h": 0.05, **short}),
        "ball TDGMinus": (p.zeno_ball(), {"scheme": sl.TDGMinus(), "h": 0.05, **short}),
        "ball HalfExplicitTDG": (p.zeno_ball(), {"scheme": sl.HalfExplicitTDG(), "h": 0.05, **short}),
        "ball PaoliVelocity": (p.zeno_ball(), {"scheme": sl.PaoliVelocity(), "h": 0.01}),
        "ball GeneralizedAlpha": (p.zeno_ball(), {"scheme": sl.GeneralizedAlpha(), "h": 0.01}),
        "ball SchatzmanPaoli": (p.zeno_ball(), {"scheme": sl.SchatzmanPaoli(), "h": 0.01}),
        "ball Splitting": (p.zeno_ball(), {"scheme": sl.Splitting(), "h": 0.02, **short}),
        "ball EventDriven": (p.zeno_ball(), {"scheme": sl.EventDriven(), **short}),
        "ball StepDoubling": (p.zeno_ball(), {"scheme": sl.StepDoubling(sl.MoreauJean()), "h": 0.02}),
        "ball Extrapolated": (p.zeno_ball(), {"scheme": sl.Extrapolated(sl.MoreauJean()), "h": 0.02}),
        "ball AnyOrder": (p.zeno_ball(), {"scheme": sl.AnyOrder(), "h": 0.05, **short}),
        "belt HpTDG": (p.belt(), {"scheme": sl.HpTDG(tol=1e-4), "t_span": (0.0, 0.05)}),
        "slider crank MoreauJean": (p.slider_crank(), {"scheme": sl.MoreauJean(), "h": 1e-5, "t_span": (0.0, 5e-4)}),
        "slider crank HpTDG": (p.slider_crank(), {"scheme": sl.HpTDG(tol=1e-4), "t_span": (0.0, 2e-4)}),
        "tumbling box MoreauJean": (p.tumbling_box(), {"scheme": sl.MoreauJean(), "h": 1e-3, "t_span": (0.0, 0.1)}),
        "rod pendulum MoreauJean": (p.rod_pendulum(), {"scheme": sl.MoreauJean(), "h": 0.02, **short}),
        "incline MoreauJean": (p.incline_3d(), {"scheme": sl.MoreauJean(), "h": 0.01, "t_span": (0.0, 0.3)}),
        "rocking block MoreauJean": (p.rocking_block(), {"scheme": sl.MoreauJean(), "h": 1e-3, "t_span": (0.0, 0.1)}),
        "stack MoreauJean": (p.block_stack(), {"scheme": sl.MoreauJean(), "h": 1e-3, "t_span": (0.0, 0.003)}),
        "cradle MoreauJean": (p.newtons_cradle(), {"scheme": sl.MoreauJean(), "h": 1e-3, "t_span": (0.0, 0.2)}),
    }  # fmt: skip


def coloured() -> str:
    """Return the hash of a solution of ColouredNSGS: rigid bodies, in the vector instructions of compile/lanes.py."""
    import numpy as np

    import saltus as sl

    rng, bodies, contacts = np.random.default_rng(16), 6, 14
    W = np.zeros((6 * bodies, 3 * contacts))
    for k in range(contacts):
        for body in rng.permutation(bodies)[: 1 if k % 4 == 0 else 2]:
            W[6 * body : 6 * body + 6, 3 * k : 3 * k + 3] = rng.standard_normal((6, 3))
    M = np.diag(rng.uniform(0.5, 2.0, 6 * bodies))
    problem = sl.ContactProblem.from_global(M, W, rng.standard_normal(6 * bodies), mu=0.3, dim=3)
    made = sl.contact.ColouredNSGS(tol=1e-10).solve(problem)
    return hashlib.sha256(made.P.tobytes() + made.u.tobytes()).hexdigest()[:16]


def hashes() -> dict[str, str]:
    """Return the hash of t, q, v and impulses of every run, or what went wrong."""
    import saltus as sl

    warnings.simplefilter("ignore")
    found = {"contact problem ColouredNSGS": coloured()}
    for name, (problem, options) in runs().items():
        try:
            sol = sl.solve(problem, progress=False, **options)
            parts = (sol.t, sol.q, sol.v, sol.impulse)
            found[name] = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:16]
        except sl.SaltusError as error:
            found[name] = f"{type(error).__name__}: {error}"[:120]
    return found


def main() -> int:
    """Run every mode in a process of its own and compare."""
    results = {}
    for mode in MODES:
        environment = {**os.environ, "SALTUS_KERNELS": mode}
        command = [sys.executable, __file__, "run"]
        made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True)  # noqa: S603
        results[mode] = json.loads(made.stdout)
    same = 0
    for name in results[MODES[0]]:
        found = [results[mode][name] for mode in MODES]
        equal = len(set(found)) == 1 and ":" not in found[0]
        same += equal
        print(f"{name:<28} {'same' if equal else 'DIFFERENT ' + str(found)}")
    print(f"{same} of {len(results[MODES[0]])} runs have the same bits for {', '.join(MODES)}")
    return 0 if same == len(results[MODES[0]]) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        print(json.dumps(hashes()))
    else:
        sys.exit(main())
