"""Content: everything that a page shows of a run, as numbers: poses, contacts, events, ledger, certificate."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.mechanics.scene import Scene
from saltus.results.instants import energy_at, loaded
from saltus.results.names import columns_of
from saltus.results.table import Table, table_of
from saltus.view.frames import FRAME_SIZE, frames_at
from saltus.view.keys import Motion, jump_times, motion_of, reaches
from saltus.view.pack import Pack
from saltus.view.picture import Picture, picture_of

if TYPE_CHECKING:
    from saltus.solution import Solution

MOST_TIMES = 6000  # of curves; more are thinned
MOST_BYTES = 40 << 20  # of a page: browsers take seconds to open more
FINEST = 1e-7  # step of stored poses [m, rad], or finer
ROUNDING = 1e-9  # of the largest value of a curve: smaller ones are drawn as zero
AXIS_NUMBERS = {"N": 0, "T": 1, "T1": 1, "T2": 2}
RESIDUAL_OF_TOLERANCE = 10.0  # of the tolerance of the run: the least limit of the residual


@dataclasses.dataclass(frozen=True)
class Options:
    """What a view may be told; see `Solution.view`."""

    scene: Any = None
    accuracy: float = 1e-5
    limits: tuple[float, float, float] | None = None
    title: str | None = None

    def __post_init__(self):
        if not isinstance(self.accuracy, int | float) or not 1e-9 <= self.accuracy <= 0.1:
            raise SettingError(f"accuracy is {self.accuracy!r}: give a share of the scene from 1e-9 to 0.1")
        if self.limits is not None:
            good = isinstance(self.limits, tuple | list) and len(self.limits) == 3
            if not good or not all(isinstance(one, int | float) and one > 0.0 for one in self.limits):
                raise SettingError(
                    f"limits are {self.limits!r}: give three positive numbers, of residual, violation, admissibility"
                )


@dataclasses.dataclass(frozen=True)
class Seen:
    """A run with what is drawn of it."""

    solution: Solution
    picture: Picture
    table: Table | None
    bound: float
    size: float

    def motion(self, form: Any = None) -> Motion:
        """Return the keys of all bodies."""
        return motion_of(self.solution, self.picture, self.bound, form)


def seen(solution: Solution, options: Options) -> Seen:
    """Return what there is to see of a run."""
    if len(solution.t) < 2 and solution.success:
        raise SettingError("the run has no step, so that nothing moves: there is nothing to see")
    table = table_of(solution)
    picture = picture_of(solution, options.scene, frames_of(solution))
    size = extent(solution, picture)
    return Seen(solution, picture, table, options.accuracy * size, size)


def frames_of(solution: Solution) -> np.ndarray | None:
    """Return the frames of the contacts of a mechanism at the times of `frame_times`."""
    if loaded(solution):
        model: Any = solution._model
        return model.frames
    if not isinstance(solution.system.scene, Scene) or not solution.system.contacts:
        return None
    return frames_at(solution, frame_times(solution))


def frame_times(solution: Solution) -> np.ndarray:
    """Return the times at which contacts of a mechanism are placed: those of jumps and many between them."""
    most = max(600, MOST_TIMES * 4 // max(4, len(solution.system.contacts)))
    jumps = thinned(jump_times(solution), most)
    return np.unique(np.concatenate([jumps, np.linspace(solution.t[0], solution.t[-1], 601)]))


def thinned(t: np.ndarray, most: int) -> np.ndarray:
    """Return at most so many of some times, evenly chosen, first and last among them."""
    return t if len(t) <= most else t[np.unique(np.linspace(0, len(t) - 1, most).round().astype(int))]


def extent(solution: Solution, picture: Picture) -> float:
    """Return how large the scene is [m]: the diagonal of what moves."""
    poses = picture.motion.poses(solution.t, solution.q)
    places, reach = poses[:, :, : picture.dimension], reaches(picture)[None, :, None]
    low, high = (places - reach).min(axis=(0, 1)), (places + reach).max(axis=(0, 1))
    return float(max(np.linalg.norm(high - low), 1e-9))


def packed(given: Seen, options: Options) -> str:
    """Return the text that the page unpacks."""
    solution, picture, pack = given.solution, given.picture, Pack()
    motion = given.motion()
    head = {
        "title": options.title or (solution.name or solution.system.name or "run").replace("_", " "),
        "scheme": solution.scheme.name,
        "dimension": picture.dimension,
        "span": [float(solution.t[0]), float(solution.t[-1])],
        "size": given.size,
        "bound": {"length": motion.length, "angle": list(motion.angle)},
        "success": bool(solution.success),
        "message": solution.message,
        "blamed": blamed(solution),
        "limits": list(options.limits or limits_of(solution)),
        "bodies": [_body(body) for body in picture.bodies],
        "fixed": [_outline(outline) for outline in picture.fixed],
        "floors": list(picture.floors),
        "springs": [[[end.body, *end.at] for end in spring] for spring in picture.springs],
        "pins": [[spot.body, *spot.at, int(fixed)] for spot, fixed in picture.pins],
        "contacts": [_contact(contact) for contact in picture.contacts],
        "rows": [
            [solution.system.contact_names.index(name), AXIS_NUMBERS.get(axis, -1)] for name, axis in solution.rows
        ],
        "names": [[one.name, one.units] for one in columns_of(solution) if one.kind != "r"],
    }  # fmt: skip
    head["keys"] = _keys(pack, motion)
    _events(pack, head, solution)
    _certificate(pack, solution)
    _curves(pack, head, given)
    text = pack.text(head)
    if len(text) > MOST_BYTES:
        raise SettingError(
            f"the page would have {len(text) / 1e6:.0f} MB, more than browsers open: give a larger accuracy= than "
            f"{options.accuracy:g}, or solve a shorter span"
        )
    return text


def limits_of(solution: Solution) -> tuple[float, float, float]:
    """Return what residual, violation and admissibility may be in a run of its tolerance."""
    tolerance = getattr(solution.scheme, "tol", None)
    if not isinstance(tolerance, float):
        tolerance = getattr(getattr(solution._asked, "control", None), "tol", None)
    tolerance = tolerance if isinstance(tolerance, float) else 0.0
    residual, violation, admissibility = 1e-5, 1e-6, 1e-6  # the second one in m
    return max(residual, RESIDUAL_OF_TOLERANCE * tolerance), max(violation, tolerance), max(admissibility, tolerance)


def blamed(solution: Solution) -> list[int]:
    """Return the numbers of the contacts that the message of a failed run names.

    Where a function of the user failed, what happened before is said behind it, and no contact is to blame.
    """
    if solution.success:
        return []
    said, _, rest = solution.message.partition("\n  in the step at ")
    listed = said.partition("; contacts: ")[2].split(". ")[0].split(", ") if not rest else []
    return [c for c, name in enumerate(solution.system.contact_names) if repr(name) in said or name in listed]


def _body(body: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": body.name}
    if body.colour:
        made["colour"] = body.colour
    if body.outlines:
        made["outlines"] = [_outline(outline) for outline in body.outlines]
    if body.solids:
        made["solids"] = [
            {"kind": one.kind, "size": one.size, "centre": one.centre}
            | ({"points": one.points, "triangles": one.triangles} if one.kind == "mesh" else {})
            for one in body.solids
        ]
    return made


def _outline(outline: Any) -> dict[str, Any]:
    made = {"kind": outline.kind, "points": [list(point) for point in outline.points]}
    if outline.radius:
        made["radius"] = outline.radius
    return made if outline.solid else {**made, "hollow": 1}


def _contact(contact: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"name": contact.name, "body": contact.body}
    if contact.frames is not None:
        return {**made, "moving": 1}
    if contact.normal:
        made |= {"at": contact.at, "normal": contact.normal, "tangents": contact.tangents}
    return {**made, "turning": 1} if contact.turning else made


def _keys(pack: Pack, motion: Motion) -> list[dict[str, Any]]:
    """Add the keys of all bodies: times shared where they are the same, poses as whole numbers of a fine step."""
    listed: list[dict[str, Any]] = []
    times: dict[bytes, int] = {}
    for b, keys in enumerate(motion.keys):
        same = times.setdefault(keys.t.tobytes(), b)
        if same == b:
            pack.add(f"t{b}", keys.t, "f8")
        base = keys.before.min(axis=0)
        reach = np.maximum(keys.before.max(axis=0), keys.behind.max(axis=0)) - np.minimum(base, keys.behind.min(axis=0))
        step = np.maximum(np.minimum(1e-3 * motion.length, FINEST), reach * 2.0**-29)
        pack.add(f"p{b}", np.diff(_steps(keys.before, base, step), axis=0, prepend=0), "i4")
        resets = bool(np.any(keys.before != keys.behind))
        if resets:
            pack.add(f"r{b}", _steps(keys.behind, base, step) - _steps(keys.before, base, step), "i4")
        before = keys.rate_before.astype("<f4")
        pack.add(f"v{b}", before, "f4")
        pack.add(f"w{b}", before.view("<u4") ^ keys.rate_behind.astype("<f4").view("<u4"), "u4")
        listed.append({"times": same, "base": base.tolist(), "step": step.tolist(), "resets": int(resets)})
    return listed


def _steps(values: np.ndarray, base: np.ndarray, step: np.ndarray) -> np.ndarray:
    return np.round((values - base) / step).astype(np.int64)


def _events(pack: Pack, head: dict[str, Any], solution: Solution) -> None:
    events = solution.events
    kinds, kind = np.unique(events["kind"], return_inverse=True)
    names = (*solution.system.contact_names, *solution.event_names)
    place = {name: k for k, name in enumerate(names)}
    head["kinds"], head["event_names"] = kinds.tolist(), list(solution.event_names)
    pack.add("event_t", events["t"], "f8")
    pack.add("event_kind", kind, "i4")
    pack.add("event_contact", [place.get(str(name), -1) for name in events["contact"]], "i4")
    pack.add("event_count", events["count"], "i4")
    for name in ("impulse", "u_minus", "u_plus", "energy"):
        pack.add(f"event_{name}", _finite(events[name]), "f4")
    pack.add("jumps", jump_times(solution), "f8")


def _certificate(pack: Pack, solution: Solution) -> None:
    pack.add("step_t", solution.t, "f8")
    for name in ("residual", "violation", "admissibility"):
        values = np.asarray(getattr(solution, name))
        pack.add(name, np.where(np.isnan(values), -1.0, values), "f4")  # nothing is known there


def _curves(pack: Pack, head: dict[str, Any], given: Seen) -> None:
    """Add gaps, forces and the ledger at common times, from both sides."""
    solution, table = given.solution, given.table
    jumps = jump_times(solution)
    start = solution.t if table is None else table.t
    others = thinned(np.setdiff1d(start, jumps), max(1200, MOST_TIMES - len(jumps)))
    t = np.unique(np.concatenate([others, thinned(jumps, MOST_TIMES), solution.t[[0, -1]]]))
    pack.add("curve_t", t, "f8")
    if table is not None and solution.system.contacts:
        _both(pack, "gap", table.gap_at(t, "-"), table.gap_at(t, "+"))
    if table is not None:
        _both(pack, "ledger", *(_ledger(solution, t, side) for side in ("-", "+")))
    if solution.rows and len(solution.t) > 1:  # before the first step no force is known
        _both(pack, "force", *(solution.force_at(t, side) for side in ("-", "+")))
    moving = [c for c, contact in enumerate(given.picture.contacts) if contact.frames is not None]
    head["moving"] = moving
    if moving:
        frames = np.stack([np.asarray(given.picture.contacts[c].frames) for c in moving], axis=1)
        pack.add("frame_t", frame_times(solution), "f8")
        pack.add("frames", frames.reshape(-1, len(moving) * FRAME_SIZE), "f4")


def _ledger(solution: Solution, t: np.ndarray, side: Any) -> np.ndarray:
    made = energy_at(solution, t, side)
    return np.column_stack([made.kinetic, made.work, made.dissipation.sum(axis=1), made.defect])


def _both(pack: Pack, name: str, before: np.ndarray, behind: np.ndarray) -> None:
    """Add curves from both sides, rounded to what can be seen of them: gzip packs the rest away."""
    before, behind = _finite(before), _finite(behind)
    least = ROUNDING * np.maximum(np.abs(before).max(axis=0), np.abs(behind).max(axis=0))
    first, second = (_short(np.where(np.abs(one) < least, 0.0, one)) for one in (before, behind))
    pack.add(f"{name}_before", first, "f4")
    pack.add(f"{name}_behind", first.view("<u4") ^ second.view("<u4"), "u4")


def _short(values: np.ndarray) -> np.ndarray:
    """Return floats with 16 bits behind the point, correctly rounded."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4").astype(np.uint64)
    return ((bits + 0x40) & 0xFFFFFF80).astype("<u4").view("<f4")


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)
