"""Siconos' fc3d NSGS on a contact problem in a file, run by the interpreter that has it; prints one line of JSON.

Sparse block storage, the fastest of its local solvers (the semismooth Newton method; the default, its hybrid with
projections, takes half as long again or more), and its default way to evaluate the error. Only the call of the solver
is timed (CPU time).
"""

import json
import sys
import time

import numpy as np
import siconos.numerics as sn


def solve(problem, tol, max_sweeps, local):
    """Return CPU seconds, sweeps, Siconos' own error and the impulses."""
    options = sn.SolverOptions(sn.SICONOS_FRICTION_3D_NSGS)
    options.dparam[sn.SICONOS_DPARAM_TOL] = tol
    options.iparam[sn.SICONOS_IPARAM_MAX_ITER] = max_sweeps
    if local != "default":
        sn.solver_options_update_internal(options, 0, getattr(sn, f"SICONOS_FRICTION_3D_ONECONTACT_{local}"))
    P, u = np.zeros(3 * problem.numberOfContacts), np.zeros(3 * problem.numberOfContacts)
    began = time.process_time()
    sn.fc3d_driver(problem, P, u, options)
    seconds = time.process_time() - began
    error = float(options.dparam[sn.SICONOS_DPARAM_RESIDU])
    return seconds, int(options.iparam[sn.SICONOS_IPARAM_ITER_DONE]), error, P


if __name__ == "__main__":
    file, tol, max_sweeps, local, result = sys.argv[1:]
    seconds, sweeps, error, P = solve(sn.frictionContact_new_from_filename(file), float(tol), int(max_sweeps), local)
    np.save(result, P)
    print(json.dumps({"seconds": seconds, "sweeps": sweeps, "error": error}))
