"""Every pair of shapes: gaps against brute force, gradients against differences, collisions against a fine scan.

    python bench/mechanics_pairs.py [POSES] [COLLISIONS]       # 1000 and 300; writes bench/mechanics_pairs.md

The brute force is in tests/shape_pairs.py and uses nothing of the kernels. A collision is missed where the run and the
scan disagree about it, or see it more than 1e-6 s apart.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import shape_pairs as sp  # noqa: E402

SPAN, PLACES, STEP, CLOSE = 1.5, 1500, 1e-6, 1e-6  # s, -, of the differences, s


def look(pair, poses: int, collisions: int, rng) -> str:
    """Return the line of the table of one pair."""
    w, centres = sp.two_bodies(pair, e=0.5, mu=0.3)
    first, second, q = sp.SHAPES[pair[0]], sp.SHAPES[pair[1]], sp.random_poses(pair, rng, poses)
    brute = sp.brute_gap(first, second, pair[2], q[:, :3], q[:, 3:], centres)
    v = rng.uniform(-1.0, 1.0, q.shape)
    gaps, u = sp.compiled(w, q, v)
    nearest = gaps.argmin(axis=1)
    pick = np.arange(poses), nearest
    slopes = (sp.compiled(w, q + STEP * v, v)[0] - sp.compiled(w, q - STEP * v, v)[0])[pick] / (2.0 * STEP)
    wrong = np.abs(slopes - u[np.arange(poses), 2 * nearest])
    seen, missed, system, failed = 0, 0, w.system(), []
    late = 0.0
    for _ in range(collisions):
        start, speed = sp.flight(pair, rng)
        by_scan, by_run = (
            sp.scanned(pair, start, speed, centres, SPAN, PLACES),
            sp.struck(system, start, speed, SPAN, failed=failed),
        )
        if np.isfinite(by_scan) != np.isfinite(by_run) or abs(by_scan - by_run) > CLOSE:
            missed += 1
            print("missed", sp.pair_id(pair), by_scan, by_run, start.tolist(), speed.tolist(), flush=True)
        elif np.isfinite(by_scan):
            seen, late = seen + 1, max(late, abs(by_scan - by_run))
    cells = (
        sp.pair_id(pair), len(w.contact_rows), f"{np.abs(gaps.min(axis=1) - brute).max():.1e}", f"{wrong.max():.1e}",
        collisions, seen, missed, f"{late:.1e}", len(failed),
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    poses, collisions = (int(given) for given in (sys.argv[1:3] or ("1000", "300")))
    lines = [
        f"Pairs of shapes, {poses} random poses and {collisions} random flights each (bench/mechanics_pairs.py)",
        "",
        "| pair | rows | gap error [m] | gradient error | flights | collisions | missed | time error [s] | failed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for number, pair in enumerate(sp.PAIRS):
        lines.append(look(pair, poses, collisions, np.random.default_rng(number)))
        print(lines[-1], flush=True)
    (HERE / "mechanics_pairs.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
