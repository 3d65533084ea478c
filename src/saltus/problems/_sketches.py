"""How problems written by hand look; sizes that a problem does not have are chosen so that it can be seen."""

from __future__ import annotations

from math import pi

from saltus.view.sketch import Sketch, wave


def ball(contact: str | None = "floor", *, radius: float = 0.08, way: float = 1.0) -> Sketch:
    """A ball whose lowest point is at the height q[0] above a floor of half width `way` [m]."""
    s = Sketch()
    made = s.circle(radius, at=(0.0, s.q[0] + radius), name="ball")
    s.ground((-0.6 * way, 0.0), (0.6 * way, 0.0))
    if contact is not None:
        s.contact(contact, made.at(0.0, -radius), normal=(0.0, 1.0))
    return s


def ball_on_table(amplitude: float, omega: float, phase: float, radius: float = 0.012) -> Sketch:
    """A ball on a table that swings up and down."""
    s = Sketch()
    made = s.circle(radius, at=(0.0, s.q[0] + radius), name="ball")
    s.box(0.12, 0.008, at=(0.0, wave(amplitude, omega, phase) - 0.004), name="table")
    s.contact("table", made.at(0.0, -radius), normal=(0.0, 1.0))
    return s


def ball_between_walls(width: float) -> Sketch:
    """A ball on a line between two walls; q[0] is the place of the point that strikes."""
    s, radius = Sketch(), 0.04 * width
    made = s.circle(radius, at=(s.q[0], 0.0), name="ball")
    s.ground((-radius, -0.2 * width), (-radius, 0.2 * width))
    s.ground((width + radius, 0.2 * width), (width + radius, -0.2 * width))
    s.contact("lower wall", made.at(-radius, 0.0), normal=(1.0, 0.0))
    s.contact("upper wall", made.at(radius, 0.0), normal=(-1.0, 0.0))
    return s


def oscillator(contact: str, wall: float, *, side: float, rest: float = 0.0, size: float = 0.3) -> Sketch:
    """A mass on a spring; side 1: the wall is on its left, its left face at q[0]; -1: the other way round."""
    s = Sketch()
    made = s.box(size, size, at=(s.q[0] + 0.5 * side * size, 0.0), name="mass")
    ends = (wall, -size), (wall, size)
    s.ground(*(ends if side > 0.0 else ends[::-1]))
    s.ground((-2.0, -0.5 * size), (2.0, -0.5 * size))
    s.spring(made.at(0.5 * side * size, 0.0), (rest + side * 2.0, 0.0))
    s.contact(contact, made.at(-0.5 * side * size, 0.0), normal=(side, 0.0))
    return s


def block_on_floor(contact: str, *, spring: float | None = None, size: float = 0.2) -> Sketch:
    """A block at q = (x, height) on a floor, on a spring from x = `spring` where that is given."""
    s = Sketch()
    made = s.box(1.5 * size, size, at=(s.q[0], s.q[1] + 0.5 * size), name="block")
    s.ground((-100.0, 0.0), (100.0, 0.0))
    if spring is not None:
        s.ground((spring, 0.0), (spring, 1.5 * size))
        s.spring((spring, 0.5 * size), made.at(-0.75 * size, 0.0))
    s.contact(contact, made.at(0.0, -0.5 * size), normal=(0.0, 1.0))
    return s


def beads(n: int, radius: float, *, upright: bool) -> Sketch:
    """Beads in a column on a floor, or in a row."""
    s = Sketch()
    made = [
        s.circle(radius, at=(0.0, s.q[i]) if upright else (s.q[i], 0.0), name=f"bead {i}") for i in range(n)
    ]  # fmt: skip
    along = (0.0, 1.0) if upright else (1.0, 0.0)
    if upright:
        s.ground((-6.0 * radius, 0.0), (6.0 * radius, 0.0))
        s.contact("floor", made[0].at(0.0, -radius), normal=along)
    for i in range(n - 1):
        s.contact(f"beads {i}-{i + 1}", made[i + 1].at(-radius * along[0], -radius * along[1]), normal=along)
    return s


def rocking_block(half_width: float, half_height: float) -> Sketch:
    """A block that tilts by q[0] about one of its corners; the problem does not tell which."""
    s = Sketch()
    corners = ((0.0, 0.0), (0.0, 2.0 * half_height), (-2.0 * half_width, 2.0 * half_height), (-2.0 * half_width, 0.0))
    made = s.polygon(corners, angle=-s.q[0], name="block")
    s.ground((-5.0 * half_width, 0.0), (3.0 * half_width, 0.0))
    s.contact("floor", made.at(-2.0 * half_width, 0.0), normal=(0.0, 1.0))
    return s


def slider_crank(l1: float, l2: float, a: float, b: float, c: float) -> Sketch:
    """Crank, rod and slider by their angles; the slider between two guides."""
    s = Sketch()
    crank = s.bar(l1, angle=s.q[0], name="crank")
    rod = s.bar(l2, at=crank.end, angle=s.q[1], name="rod")
    slider = s.box(2.0 * a, 2.0 * b, at=rod.end, angle=s.q[2], name="slider")
    near, far = l2 - l1 - 1.3 * a, l2 + l1 + 1.3 * a
    s.ground((far, b + c), (near, b + c))
    s.ground((near, -b - c), (far, -b - c))
    for name, across in (("upper", 1.0), ("lower", -1.0)):
        for end, along in (("rear", -1.0), ("front", 1.0)):
            place = slider.at(along * a, across * b)
            s.contact(f"{name} {end}", place, normal=(0.0, -across), tangent=(1.0, 0.0))
    return s


def four_bar(lengths: tuple[float, float, float], ground: float) -> Sketch:
    """Three bars by the poses of their centres."""
    s = Sketch()
    for k, (name, length) in enumerate(zip(("crank", "coupler", "rocker"), lengths, strict=True)):
        s.bar(length, at=(s.q[3 * k], s.q[3 * k + 1]), angle=s.q[3 * k + 2], middle=True, name=name)
    for x in (0.0, ground):
        s.ground((x - 0.1 * ground, -0.06 * ground), (x + 0.1 * ground, -0.06 * ground))
    return s


def pendulum(lengths: tuple[float, ...], wall: float | None = None, contacts: tuple[str, ...] = ()) -> Sketch:
    """Rods in a row that hang from the origin, by their angles from the downward vertical; a wall on the right."""
    s, last = Sketch(), None
    reach = sum(lengths)
    for k, length in enumerate(lengths):
        at = (0.0, 0.0) if last is None else last.end
        last = s.bar(length, at=at, angle=s.q[k] - 0.5 * pi, name=f"rod {k + 1}" if len(lengths) > 1 else "rod")
        s.circle(0.05 * reach, at=last.end, angle=s.q[k], name=f"mass {k + 1}" if len(lengths) > 1 else "mass")
        if k < len(contacts):
            s.contact(contacts[k], last.end, normal=(-1.0, 0.0))
    if wall is not None:
        s.ground((wall, 0.3 * reach), (wall, -1.2 * reach))
    return s


def tumbling_box(half_sizes: tuple[float, float, float]) -> Sketch:
    """A box in space by its centre and a quaternion; its corners touch the floor."""
    s = Sketch(3)
    box = s.solid("box", [2.0 * half for half in half_sizes], at=(s.q[0], s.q[1], s.q[2]), turn=3, name="box")
    s.floor()
    for k in range(8):
        signs = [1 if k >> (2 - axis) & 1 else -1 for axis in range(3)]
        place = box.at(*(sign * half for sign, half in zip(signs, half_sizes, strict=True)))
        name = "corner " + "".join("+" if sign > 0 else "-" for sign in signs)
        s.contact(name, place, normal=(0.0, 0.0, 1.0), tangent=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    return s


def spinning_top(distance: float) -> Sketch:
    """A disc on a stem that stands on its tip in the origin, by a quaternion."""
    s = Sketch(3)
    at = (0.0, 0.0, 0.0)
    s.solid("cylinder", (1.6 * distance, 0.3 * distance), at=at, turn=0, centre=(0.0, 0.0, distance), name="disc")
    s.solid(
        "cylinder", (0.12 * distance, 1.6 * distance), at=at, turn=0, centre=(0.0, 0.0, 0.8 * distance), name="stem"
    )
    s.floor()
    return s


def block_on_plane() -> Sketch:
    """A block at q = (x, y, height) on a plane."""
    s = Sketch(3)
    s.solid("box", (0.2, 0.2, 0.1), at=(s.q[0], s.q[1], s.q[2] + 0.05), name="block")
    s.floor()
    return s


def rolling_ball(radius: float) -> Sketch:
    """A ball at q = (x, height, angle) on a floor."""
    s = Sketch()
    s.circle(radius, at=(s.q[0], s.q[1] + radius), angle=s.q[2], name="ball")
    lowest = s.point(at=(s.q[0], s.q[1]), name="lowest point")  # it does not turn with the ball
    s.ground((-100.0, 0.0), (100.0, 0.0))
    s.contact("floor", lowest.at(0.0, 0.0), normal=(0.0, 1.0))
    return s


def blocks(n: int, width: float, height: float) -> Sketch:
    """Blocks on each other by the poses of their centres."""
    s = Sketch()
    s.ground((-2.5 * width, 0.0), (2.5 * width, 0.0))
    for k in range(n):
        made = s.box(width, height, at=(s.q[3 * k], s.q[3 * k + 1]), angle=s.q[3 * k + 2], name=f"block {k + 1}")
        for side, sign in (("left", -0.5), ("right", 0.5)):
            s.contact(f"block {k + 1} {side}", made.at(sign * width, -0.5 * height), normal=(0.0, 1.0))
    return s


def walker() -> Sketch:
    """A stance leg from the origin and a swing leg from the hip; the ground is the slope itself."""
    s = Sketch()
    stance = s.bar(1.0, angle=s.q[0] + 0.5 * pi, name="stance leg")
    s.bar(1.0, at=stance.end, angle=s.q[0] - s.q[1] - 0.5 * pi, name="swing leg")
    s.circle(0.06, at=stance.end, name="hip")
    s.ground((-1.2, 0.0), (1.2, 0.0))
    return s


def rod_on_floor(length: float, *, turning: float, free: bool, contacts: tuple[str, ...]) -> Sketch:
    """A rod by (x, y, angle) or, on a vertical, by (y, angle); turning: sign of its angle; contacts at its ends."""
    s = Sketch()
    at = (s.q[0], s.q[1]) if free else (0.0, s.q[0])
    made = s.bar(length, at=at, angle=turning * s.q[2 if free else 1], middle=True, name="rod")
    s.ground((-2.0 * length, 0.0), (2.0 * length, 0.0))
    places = (made.end,) if len(contacts) == 1 else (made.start, made.end)
    for name, place in zip(contacts, places, strict=True):
        s.contact(name, place, normal=(0.0, 1.0))
    return s


def bead_on_circle(radius: float, *, inside: bool) -> Sketch:
    """A bead at q = (x, y) inside of a circle, or on it."""
    s = Sketch()
    s.circle(0.04 * radius, at=(s.q[0], s.q[1]), name="bead")
    s.ring(radius, hollow=inside)
    return s


def woodpecker(r_O: float, r_M: float, h_M: float, l_M: float, l_G: float, h_S: float, l_S: float) -> Sketch:
    """A sleeve on a pole and a bird on a spring; angles are small, as in the model."""
    s = Sketch()
    sleeve = s.box(2.0 * r_M, 2.0 * h_M, at=(0.0, s.q[0]), angle=s.q[1], name="sleeve")
    bird = s.polygon(
        ((0.0, 0.0), (l_G, -0.5 * h_S), (1.3 * l_G, 0.6 * h_S), (l_G - l_S + l_M, h_S), (0.6 * l_G, 0.4 * h_S)),
        at=sleeve.at(l_M, 0.0), angle=s.q[2], name="bird",
    )  # fmt: skip
    s.ground((r_O, 5.0 * h_S), (r_O, -30.0 * h_S))
    s.ground((-r_O, -30.0 * h_S), (-r_O, 5.0 * h_S))
    s.spring(sleeve.at(r_M, 0.0), bird.at(0.3 * l_G, 0.0))
    return s
