"""Files that were prepared to do harm, with a right checksum, and a judge that reads them one after the other.

`python tests/hostile.py FAMILY FOLDER FLIPS [SEED]` prepares the files of a family ("results", "scenes", "checkpoints",
"fclib") in a folder and prints one line of JSON per file: what became of it, how long it took, how much memory the
process had taken by then. A process of its own, because a file that wins may end it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import json
import os
import pathlib
import resource
import socket
import struct
import sys
import time
import warnings
from collections.abc import Callable

import h5py
import numpy as np

import saltus as sl
from saltus import mechanics as me
from saltus.contact import ContactProblem, read_fclib, write_fclib
from saltus.flight import frame
from saltus.io import format as file_format
from saltus.run import march

PATIENCE = 30.0  # seconds after which a file has won; the judge of the lines is stricter
Change = Callable[[h5py.File], object]


def ball() -> sl.System:
    """A bouncing ball with drag: implicit schemes factor a matrix and keep it."""
    floor = sl.Contact(lambda q: q[0], e=0.8, name="floor")
    return sl.System(M=1.0, f=lambda t, q, v: -9.81 - 0.1 * v[0] ** 3, contacts=[floor])


# ---- preparing


def sealed(image: bytes) -> bytes:
    """Return the image with the checksum that belongs to it."""
    at = image.find(file_format.MARK) + len(file_format.MARK)
    if at < len(file_format.MARK) or at + len(file_format.BLANK) > len(image):
        return image
    blank = image[:at] + file_format.BLANK + image[at + len(file_format.BLANK) :]
    return image[:at] + file_format._checksum(blank, at).encode() + image[at + len(file_format.BLANK) :]


def changed(source: bytes, change: Change) -> bytes:
    """Return a file after a change, sealed."""
    buffer = io.BytesIO(source)
    with h5py.File(buffer, "r+") as file:
        change(file)
    return sealed(buffer.getvalue())


def said(change: Callable[[dict], object]) -> Change:
    """Change what a file says in JSON."""

    def apply(file: h5py.File) -> None:
        about = json.loads(file["about/json"][()])
        change(about)
        spoken(json.dumps(about))(file)

    return apply


def spoken(text: str) -> Change:
    def apply(file: h5py.File) -> None:
        del file["about/json"]
        file.create_dataset("about/json", data=text, dtype=h5py.string_dtype())

    return apply


def put(name: str, **how) -> Change:
    """Put another dataset in the place of one."""

    def apply(file: h5py.File) -> None:
        del file[name]
        file.create_dataset(name, **how)

    return apply


def turned(name: str, turn: Callable[[np.ndarray], object]) -> Change:
    """Replace the numbers of a dataset by a function of them."""
    return lambda file: put(name, data=turn(file[name][()]))(file)


def linked(name: str, link: object) -> Change:
    def apply(file: h5py.File) -> None:
        del file[name]
        file[name] = link

    return apply


def virtual(name: str, other: str) -> Change:
    def apply(file: h5py.File) -> None:
        shape = file[name].shape
        layout = h5py.VirtualLayout(shape=shape, dtype="f8")
        layout[:] = h5py.VirtualSource(other, "q", shape=shape)
        del file[name]
        file.create_virtual_dataset(name, layout)

    return apply


def outside(name: str, other: str) -> Change:
    """Storage in another file."""
    return lambda file: put(
        name, shape=(s := file[name].shape), dtype="f8", external=[(other, 0, 8 * int(np.prod(s)))]
    )(file)


def headed(place: int, value: float) -> Change:
    """Change one number at the head of the dense output of every step."""

    def apply(file: h5py.File) -> None:
        starts = np.unique(file["extra/table"][:, 2]).astype(int)
        block = file["dense/block"][...]
        block[starts[starts < len(block)] + place] = value
        file["dense/block"][...] = block

    return apply


def scheme(description: object) -> Change:
    return said(lambda about: about["scheme"].__setitem__("description", description))


def nested(depth: int) -> object:
    made: object = 1
    for _ in range(depth):
        made = [made]
    return made


def repeated_texts(source: bytes) -> bytes:
    """Many references to one long text: little on disk, much in memory."""

    def change(file: h5py.File) -> None:
        del file["t"]
        file.create_dataset("t", shape=(2000,), dtype=h5py.string_dtype())[0] = "A" * 60000

    raw = bytearray(changed(source, change))
    at = raw.find(struct.pack("<I", 60000))
    while at >= 0 and raw[at + 16 : at + 32] != bytes(16):
        at = raw.find(struct.pack("<I", 60000), at + 1)
    raw[at : at + 16 * 2000] = bytes(raw[at : at + 16]) * 2000
    return sealed(bytes(raw))


def flipped(source: bytes, count: int, seed: int) -> dict[str, bytes]:
    """Return files with one byte changed and the checksum made right again."""
    random, made = np.random.default_rng(seed), {}
    for k in range(count):
        at = int(random.integers(len(source)))
        image = bytearray(source)
        image[at] ^= int(random.integers(1, 256))
        made[f"flip {k} at {at}"] = sealed(bytes(image))
    return made


# ---- results


def results(folder: pathlib.Path, flips: int, seed: int) -> dict[str, bytes | pathlib.Path]:
    """Prepared results; all of them must be refused, but those with one changed byte."""
    sl.solve(ball(), (0.0, 3.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-2).save(folder / "good.h5")
    sl.solve(ball(), (0.0, 3.0), 1.0, 0.0, tol=1e-8).save(folder / "adaptive.h5")
    good, adaptive = (folder / "good.h5").read_bytes(), (folder / "adaptive.h5").read_bytes()
    foreign, fifo = str(folder / "secret.bin"), str(folder / "fifo")
    other = str(folder / "adaptive.h5")
    write_fclib(ContactProblem([[1.0]], [1.0], kinds=["unilateral"]), folder / "p.hdf5")
    victim = str(folder / "victim.txt")
    write = {"class": "write_fclib", "settings": {
        "problem": {"class": "read_fclib", "settings": {"path": str(folder / "p.hdf5")}}, "path": victim,
    }}  # fmt: skip
    changes: dict[str, Change] = {
        "t of 1e11 numbers": put("t", shape=(10**11,), dtype="f8", chunks=(10**6,)),
        "q of 1e11 numbers": put("q", shape=(10**11, 1), dtype="f8", chunks=(10**6, 1)),
        "t packed": put("t", shape=(301,), dtype="f8", chunks=(301,), compression="gzip"),
        "t packed by lzf": put("t", shape=(301,), dtype="f8", chunks=(301,), compression="lzf"),
        "text of 24 GB": put("about/json", shape=(3 * 10**9,), dtype="f8", chunks=(10**6,)),
        "text bomb": put("about/json", shape=(2 * 10**9,), dtype="i1", chunks=(10**7,), compression="gzip"),
        "text of fixed length": put("about/json", shape=(1,), dtype=f"S{2**31 - 1}", chunks=(1,)),
        "text missing": lambda file: file.__delitem__("about/json"),
        "text is a group": lambda file: (file.__delitem__("about/json"), file.create_group("about/json")),
        "text is a list": spoken("[1]"),
        "text is no JSON": spoken("{'t': 1}"),
        "text is cut": spoken('{"variables": ["t"'),
        "text 1e5 deep": spoken("[" * 100_000),
        "text 1e5 deep in a name": said(lambda about: about.__setitem__("name", nested(900))),
        "text of three million values": spoken('{"a": [' + "[]," * 3_000_000 + "0]}"),
        "text of 20 MB": spoken('{"a": "' + 20_000_000 * "x" + '"}'),
        "name twice in the text": spoken('{"variables": [], "variables": ["t"]}'),
        "number of 400 digits": said(lambda about: about.__setitem__("status", 10**400)),
        "number of 5000 digits": spoken('{"variables": [], "status": ' + 5000 * "1" + "}"),
        "status unknown": said(lambda about: about.__setitem__("status", -999)),
        "status a text": said(lambda about: about.__setitem__("status", "0")),
        "message a number": said(lambda about: about.__setitem__("message", 7)),
        "work a text": said(lambda about: about.__setitem__("work", "x")),
        "work without steps": said(lambda about: about.__setitem__("work", {})),
        "work negative": said(lambda about: about["work"].__setitem__("steps", -1)),
        "rows of numbers": said(lambda about: about.__setitem__("rows", [1, 2])),
        "rows of nobody": said(lambda about: about.__setitem__("rows", [["ceiling", "N"]])),
        "rows too many": said(lambda about: about.__setitem__("rows", [["floor", "N"]] * 4)),
        "contacts of one number": said(lambda about: about["system"].__setitem__("contacts", [[1]])),
        "contacts twice": said(lambda about: about["system"].__setitem__("contacts", 2 * [["floor", 1.0, 0.0]])),
        "contact with a very long name": said(lambda about: (
            about["system"].__setitem__("contacts", [["x" * 10**7, 1.0, 0.0]]),
            about.__setitem__("rows", [["x" * 10**7, "N"]]),
        )),
        "joints a number": said(lambda about: about["system"].__setitem__("joints", 3)),
        "system missing": said(lambda about: about.__delitem__("system")),
        "scheme missing": said(lambda about: about.__delitem__("scheme")),
        "events of numbers": said(lambda about: about.__setitem__("events", [1, 2])),
        "kinds of numbers": said(lambda about: about.__setitem__("kinds", [1])),
        "switches a number": said(lambda about: about.__setitem__("switches", 7)),
        "switches with very long names": said(
            lambda about: about.__setitem__("switches", {"names": ["a"], "type": "<U999999999"})
        ),
        "switches of another type": said(
            lambda about: about.__setitem__("switches", {"names": ["a"], "type": "O"})
        ),
        "asked nonsense": said(lambda about: about.__setitem__("asked", {"t_span": "ab"})),
        "verification nonsense": said(lambda about: about.__setitem__("verification", {"by": 1})),
        "variables repeated": said(lambda about: about["variables"].extend(200_000 * ["t"])),
        "variables a text": said(lambda about: about.__setitem__("variables", "tq")),
        "variables a group": said(lambda about: about["variables"].append("events")),
        "variables outside": said(lambda about: about["variables"].append("../../../etc/passwd")),
        "variables of numbers": said(lambda about: about["variables"].append(7)),
        "variables without t": said(lambda about: about["variables"].remove("t")),
        "one dataset under many names": lambda file: (
            [file.__setitem__(f"again{k}", file["q"]) for k in range(200)],
            said(lambda about: about["variables"].extend(f"again{k}" for k in range(200)))(file),
        ),
        **{
            f"t of type {kind}": turned("t", lambda t, kind=kind: t.astype(kind))
            for kind in ("S3", "c16", "?", "i1", "f2", "f4", "i8")
        },
        "t of texts": put("t", data=["a"] * 301, dtype=h5py.string_dtype()),
        "t of records": put("t", data=np.zeros(301, dtype=[("a", "f8"), ("b", "i4")])),
        "t of arrays": put("t", shape=(301,), dtype=np.dtype(("f8", (1000,)))),
        "t of references": lambda file: put("t", data=[file["q"].ref] * 301, dtype=h5py.ref_dtype)(file),
        "t of regions": lambda file: put("t", data=[file["q"].regionref[0:1]] * 301, dtype=h5py.regionref_dtype)(file),
        "t of an enumeration": put("t", data=np.zeros(301, "i4"), dtype=h5py.enum_dtype({"a": 0})),
        "t of a named type": lambda file: (
            file.__setitem__("kind", np.dtype("f8")), put("t", shape=(301,), dtype=file["kind"])(file),
        ),
        "t empty": put("t", data=h5py.Empty("f8")),
        "t short": put("t", data=np.arange(3.0)),
        "t a number": put("t", data=1.0),
        "t a table": put("t", data=np.zeros((301, 2))),
        "t of no length": put("t", data=np.zeros(0)),
        "t nan": put("t", data=np.full(301, np.nan)),
        "t infinite": turned("t", lambda t: np.append(t[:-1], np.inf)),
        "t reversed": turned("t", lambda t: t[::-1]),
        "q nan": turned("q", lambda q: q * np.nan),
        "q a vector": turned("q", np.ravel),
        "v of another length": turned("v", lambda v: v[:-1]),
        "gap of another width": turned("gap", lambda gap: np.concatenate([gap, gap], axis=1)),
        **{
            f"{name} {value}": turned(name, lambda x, value=value: np.full(x.shape, value))
            for name, value in (
                ("events/contact", 10**9), ("events/contact", -5), ("events/contact", -1), ("events/kind", -1),
                ("events/kind", 0.5), ("events/count", -3), ("events/t", np.nan), ("reactions/table", 1e9),
                ("reactions/table", -1.0), ("reactions/table", 0.5), ("reactions/table", np.nan),
            )
        },
        **{
            f"events/{name} {value}": turned(f"events/{name}", lambda x, value=value: np.full(x.shape, value))
            for name in ("u_minus", "u_plus", "impulse", "energy") for value in (np.nan, -np.inf)
        },
        "events reversed": turned("events/t", lambda t: t[::-1]),
        **{
            f"contact with e = {e}, mu = {mu}": said(
                lambda about, e=e, mu=mu: about["system"].__setitem__("contacts", [["floor", e, mu]])
            )
            for e, mu in ((np.nan, 0.0), (7.0, 0.0), (-0.1, 0.0), (0.5, np.nan), (0.5, -1.0), ("0.5", 0.0), (True, 0.0))
        },
        "events are the whole file": lambda file: (file.__delitem__("events"), file.__setitem__("events", file["/"])),
        "links in a circle": lambda file: [
            linked(one, h5py.SoftLink(other))(file) for one, other in (("q", "/v"), ("v", "/q"))
        ],
        "events linked to the whole file": linked("events", h5py.SoftLink("/")),
        "twenty thousand names": lambda file: [file.__setitem__(f"again{k}", file["t"]) for k in range(20_000)],
        "three thousand attributes": lambda file: [file.attrs.create(f"word{k}", k) for k in range(3000)],
        "format of 60000 letters": lambda file: file.attrs.create("saltus_format", "x" * 60_000),
        "format of several texts": lambda file: file.attrs.create("saltus_format", ["results 1"] * 3),
        "format a reference": lambda file: file.attrs.create("saltus_format", file["q"].ref, dtype=h5py.ref_dtype),
        "format of broken bytes": lambda file: file.attrs.create("saltus_format", np.bytes_(b"\xff\xfe\x00")),
        **{
            f"q {name}": put("q", **{"data": np.ones((301, 1)), "chunks": (301, 1), **how})
            for name, how in {
                "rounded by a filter": {"scaleoffset": 3}, "shuffled": {"shuffle": True},
                "with a checksum of its own": {"fletcher32": True}, "without an end": {"maxshape": (None, None)},
            }.items()
        },
        "q of a chunk of 800 MB": put("q", shape=(301, 1), maxshape=(None, 1), dtype="f8", chunks=(10**8, 1)),
        "q never written": put("q", shape=(301, 1), dtype="f8", chunks=(301, 1), fillvalue=1.0),
        "t of sixteen bytes": turned("t", lambda t: t.astype(np.longdouble)),
        "reactions too narrow": turned("reactions/table", lambda table: table[:, :2]),
        "dense states too narrow": turned("dense/state", lambda state: np.zeros((2, 1))),
        "format a number": lambda file: file.attrs.__setitem__("saltus_format", 7),
        "format an array": lambda file: file.attrs.__setitem__("saltus_format", np.zeros(3)),
        "format missing": lambda file: file.attrs.__delitem__("saltus_format"),
        "format of the future": lambda file: file.attrs.__setitem__("saltus_format", "results 99"),
        "q a soft link to itself": linked("q", h5py.SoftLink("/q")),
        "q a soft link": linked("q", h5py.SoftLink("/v")),
        "q in another file": linked("q", h5py.ExternalLink(other, "/q")),
        "q in a device": linked("q", h5py.ExternalLink("/dev/zero", "/q")),
        "q in a pipe": linked("q", h5py.ExternalLink(fifo, "/q")),
        "group in another file": linked("events", h5py.ExternalLink(other, "/events")),
        "q stored in a secret file": outside("q", foreign),
        "q stored in the passwords": outside("q", "/etc/passwd"),
        "q stored in a pipe": outside("q", fifo),
        "q virtual": virtual("q", other),
        "dense": virtual("dense/block", other),
    }  # fmt: skip
    offsets = {
        f"dense output at {value}": turned(
            "extra/table", lambda x, value=value: np.where(np.arange(x.shape[1]) == 2, value, x)
        )
        for value in (1e18, -1.0, 0.5, np.nan)
    }
    made: dict[str, bytes | pathlib.Path] = {name: changed(good, change) for name, change in changes.items()}
    made |= {name: changed(adaptive, change) for name, change in offsets.items()}
    made |= {
        f"may load: dense header {place} is {value}": changed(adaptive, headed(place, value))
        for place in range(6) for value in (0.0, -1.0, 2.0, 0.5, 1e300, np.nan)
    }  # fmt: skip
    made["one text many times"] = repeated_texts(good)
    made["a folder"], made["a pipe"], made["a device"] = folder, folder / "fifo", pathlib.Path("/dev/zero")
    made["a socket"], made["a hollow file"] = folder / "socket", folder / "hollow"
    socket.socket(socket.AF_UNIX).bind(os.path.relpath(folder / "socket"))
    with open(folder / "hollow", "wb") as file:
        file.write(good)
        file.truncate(3 << 30)
    made["nothing"], made["signature only"] = b"", file_format.SIGNATURE
    made["superblock of another kind"] = sealed(good[:8] + b"\2" + good[9:])
    made["driver of another kind"] = sealed(good[:13] + b"\4" + good[14:])
    # settings of classes that are no settings: loaded without them, or refused, and nothing is called
    names = ["write_fclib", "read_fclib", "diagnose", "minimum_norm", "uniqueness", "ContactProblem", "ContactResult"]
    for name in (*names, "Diagnosis", "__getattr__", "importlib", "HOMES", "MoreauJean.__init__", "Solution", "system"):
        made[f"may load: scheme {name}"] = changed(good, scheme({"class": name, "settings": {"path": fifo}}))
    made["table of steps missing"] = changed(adaptive, said(lambda about: about["variables"].remove("extra/table")))
    made["may load: no message"] = changed(good, said(lambda about: about.__setitem__("message", "")))
    made["may load: scheme writes"] = changed(good, scheme(write))
    for name, described in {
        "deep": nested(40), "a number": 7, "settings 7": {"class": "MoreauJean", "settings": 7},
        "theta x": {"class": "MoreauJean", "settings": {"theta": "x"}},
        "degree 1e6": {"class": "TDGMinus", "settings": {"degree": 10**6}},
        "order 1e7": {"class": "Extrapolated", "settings": {"order": 10**7, "scheme": write}},
        "solver writes": {"class": "MoreauJean", "settings": {"solver": write}},
        "solver a scheme": {"class": "MoreauJean", "settings": {"solver": {"class": "HpTDG", "settings": {}}}},
    }.items():  # fmt: skip
        made[f"may load: scheme {name}"] = changed(good, scheme(described))
    flips_of = {
        "good": flipped(good, flips // 2, 5 * seed + 1),
        "adaptive": flipped(adaptive, flips - flips // 2, 5 * seed + 2),
    }
    made |= {f"may load: {name} {flip}": image for name, some in flips_of.items() for flip, image in some.items()}
    return made


def use_result(path: pathlib.Path) -> object:
    """Load a result and ask it everything; what it does not know it may refuse."""
    loaded = sl.load(path)
    middle, often = 0.5 * (loaded.t[0] + loaded.t[-1]), np.linspace(loaded.t[0], loaded.t[-1], 50)
    questions: tuple[Callable[[], object], ...] = (
        lambda: loaded(middle), lambda: loaded(often, side="-"), lambda: loaded.force_at(often),
        lambda: loaded.impulse_at(middle), lambda: loaded.force_at(middle),
        lambda: loaded.residual, lambda: loaded.energy, loaded.gaps, lambda: repr(loaded), lambda: loaded.v_minus,
        lambda: loaded.admissibility, lambda: loaded.step_rejections,
    )  # fmt: skip
    for ask in questions:
        with contextlib.suppress(sl.SettingError):
            ask()
    return loaded


# ---- scenes


def pendulum() -> me.Planar:
    """A rod on a worn pin beside a wheel, a spring and a floor: every kind of record of a scene."""
    w = me.Planar(gravity=9.81, name="pendulum")
    rod = w.bar(0.5, mass=0.2, angle=-1.0, name="rod")
    ball = w.body(me.Circle(0.05), mass=0.1, at=(1.0, 0.3), name="ball")
    w.revolute(w.ground, rod.start, clearance=1e-3, radius=5e-3, mu=0.1, name="pin")
    w.slot(w.ground.at(1.0, 0.0), ball, axis="y", name="slot")
    w.spring(w.ground, ball, k=10.0, length=0.5, name="spring")
    w.contact(ball, me.Plane(), e=0.5, name="floor")
    return w


def scenes(folder: pathlib.Path, flips: int, seed: int) -> dict[str, bytes | pathlib.Path]:
    """Prepared scenes of mechanisms; all of them must be refused, but those with one changed byte."""
    sl.solve(pendulum(), (0.0, 0.02), tol=1e-3).save(folder / "scene.h5")
    good = (folder / "scene.h5").read_bytes()

    def drawn(change: Callable[[dict], object]) -> Change:
        return said(lambda about: change(about["system"]["scene"]))

    def of(kind: str, place: int, **values: object) -> Change:
        return drawn(lambda scene: scene[kind][place].update(values))

    outline = {"kind": "circle", "points": [[0.0, 0.0]], "radius": 0.1}
    changes: dict[str, Change] = {
        "scene a list": said(lambda about: about["system"].update(scene=[])),
        "scene a text": said(lambda about: about["system"].update(scene="bodies")),
        "scene empty": said(lambda about: about["system"].update(scene={})),
        "scene of dimension 3": drawn(lambda scene: scene.update(dimension=3)),
        "scene of dimension 1e30": drawn(lambda scene: scene.update(dimension=10**30)),
        "name a number": drawn(lambda scene: scene.update(name=7)),
        "may load: name with a terminal escape": drawn(lambda scene: scene.update(name="\x1b[2J")),
        "gravity of one number": drawn(lambda scene: scene.update(gravity=[9.81])),
        "gravity NaN": drawn(lambda scene: scene.update(gravity=[0.0, float("nan")])),
        "no bodies": drawn(lambda scene: scene["bodies"].clear()),
        "bodies a number": drawn(lambda scene: scene.update(bodies=3)),
        "bodies of numbers": drawn(lambda scene: scene.update(bodies=[1, 2])),
        "one body a hundred thousand times": drawn(lambda scene: scene.update(bodies=100_000 * scene["bodies"][:1])),
        "two bodies of one name": of("bodies", 2, name="rod"),
        "a body called ground": of("bodies", 1, name="ground"),
        "a body without a name": of("bodies", 1, name=None),
        "a body of another number": of("bodies", 1, number=5),
        "coordinates behind the end": of("bodies", 2, first=4),
        "coordinates before the beginning": of("bodies", 1, first=-1),
        "coordinates at 1e30": of("bodies", 1, first=10**30),
        "coordinates a half": of("bodies", 1, first=0.5),
        "two bodies with the same coordinates": of("bodies", 2, first=0),
        "size 1 without a line": of("bodies", 1, size=1),
        "size 1e9": of("bodies", 1, size=10**9),
        "mass NaN": of("bodies", 1, mass=float("nan")),
        "mass infinite": of("bodies", 1, mass=float("inf")),
        "mass a text": of("bodies", 1, mass="1"),
        "inertia a list": of("bodies", 1, inertia=[1.0]),
        "points a list": of("bodies", 1, points=[[0.0, 0.0]]),
        "a point of three numbers": of("bodies", 1, points={"start": [0.0, 0.0, 0.0]}),
        "a point at infinity": of("bodies", 1, points={"start": [float("inf"), 0.0]}),
        "colour a number": of("bodies", 1, colour=7),
        "line to nowhere": of("bodies", 1, line=[0, [0.0, 0.0], [1.0, 0.0]]),
        "outline unknown": of("bodies", 2, outlines=[{"kind": "file:///etc/passwd", "points": [[0.0, 0.0]]}]),
        "outline without points": of("bodies", 2, outlines=[outline | {"points": []}]),
        "outline of a million points": of(
            "bodies", 2, outlines=[{"kind": "polygon", "points": 1_000_000 * [[0.0, 0.0]]}]
        ),
        "radius negative": of("bodies", 2, outlines=[outline | {"radius": -0.1}]),
        "radius NaN": of("bodies", 2, outlines=[outline | {"radius": float("nan")}]),
        "solid a text": of("bodies", 2, outlines=[outline | {"solid": "yes"}]),
        "joint of a ghost": of("joints", 0, bodies=[-1, 9]),
        "joint of one body": of("joints", 0, bodies=[0]),
        "joint of bodies -2": of("joints", 0, bodies=[-2, 0]),
        "two joints of one name": of("joints", 1, name="pin"),
        "joint with a foreign contact": of("joints", 0, contacts=["floor", "elsewhere"]),
        "joint with foreign rows": of("joints", 1, rows=[["elsewhere", 1]]),
        "joint with rows of a half": of("joints", 1, rows=[["slot", 0.5]]),
        "joint with one anchor": of("joints", 0, anchors=[[0.0, 0.0]]),
        "joint with an angle NaN": of("joints", 0, angle=float("nan")),
        "joint with a clearance of a text": of("joints", 0, clearance="1e-3"),
        "joints a text": drawn(lambda scene: scene.update(joints="pin")),
        "pair of a ghost": of("pairs", 0, bodies=[0, 7]),
        "pair with a foreign contact": of("pairs", 0, contacts=["elsewhere"]),
        "pair with an outline that is not there": of("pairs", 0, outlines=[5, 5]),
        "force on a ghost": of("forces", 0, bodies=[7, 0]),
        "force with too few places": of("forces", 0, anchors=[[0.0, 0.0]]),
        "forces a number": drawn(lambda scene: scene.update(forces=1)),
    }  # fmt: skip
    made: dict[str, bytes | pathlib.Path] = {name: changed(good, change) for name, change in changes.items()}
    return made | {f"may load: {flip}": image for flip, image in flipped(good, flips, 5 * seed + 9).items()}


def use_scene(path: pathlib.Path) -> object:
    """Load a run of a mechanism and ask for its bodies and joints."""
    loaded = use_result(path)
    for ask in (
        lambda: loaded.body("rod").pose, lambda: loaded.joint("pin").eccentricity, lambda: loaded.joint("slot").share,
        lambda: loaded.body("ball").point("centre"), lambda: loaded.events.of("pin"),
    ):  # fmt: skip
        try:
            ask()
        except sl.SaltusError:
            pass
    return loaded


# ---- checkpoints


def interrupted(path: pathlib.Path, **options) -> bytes:
    try:
        sl.solve(ball(), (0.0, 1.0), 0.2, 0.0, checkpoint=path, **options)
    except sl.errors.LimitError:
        return path.read_bytes()
    raise AssertionError("the run should have been stopped")


def at(name: str, place: int, turn: Callable[[float], float]) -> Change:
    def apply(file: h5py.File) -> None:
        file[name][place] = turn(file[name][place])

    return apply


def checkpoints(folder: pathlib.Path, flips: int, seed: int) -> dict[str, bytes | pathlib.Path]:
    """Prepared checkpoints: every counter, the clock, what the state remembers, tables and settings."""
    fixed = interrupted(folder / "fixed.h5", scheme=sl.MoreauJean(), h=1e-2, max_steps=40)
    free = interrupted(folder / "free.h5", tol=1e-6, max_steps=3)
    implicit = interrupted(folder / "implicit.h5", scheme=sl.TDGMinus(degree=2), h=1e-2, max_steps=40)
    values: dict[str, Callable[[float], float]] = {
        "+1": lambda x: x + 1, "-1": lambda x: x - 1, "1e9": lambda x: 10**9, "-1e9": lambda x: -(10**9),
    }  # fmt: skip
    made: dict[str, bytes | pathlib.Path] = {}
    for place in range(march.TALLY.size):
        for name, turn in values.items():
            made[f"counter {place} {name}"] = changed(fixed, at("march/tally", place, turn))
            # as a run may have left it; very many rejected steps are more than max_steps allows
            counter = march.TALLY.names[place]
            hidden = (counter == "rejected" and name != "-1e9") or (counter, name) == ("short", "+1")
            made[f"{'may load: ' * hidden}free counter {place} {name}"] = changed(free, at("march/tally", place, turn))
    for place in range(march.CLOCK.size):
        for name, turn in {"later": lambda x: x + 0.5, "1e300": lambda x: 1e300, "nan": lambda x: np.nan}.items():
            made[f"clock {place} {name}"] = changed(fixed, at("march/clock", place, turn))
            hidden = march.CLOCK.names[place] == "h" and name != "nan"  # a step of any length is cut at the end
            made[f"{'may load: ' * hidden}free clock {place} {name}"] = changed(free, at("march/clock", place, turn))
    remembered = frame.FLIGHT_MEMORY.fields["numbers"].names  # at the front of the memory
    for place in range(len(remembered) + 1):
        for name, value in {"-1": -1.0, "0.5": 0.5, "1e18": 1e18, "nan": np.nan}.items():
            any_size = (remembered.index("longest"), remembered.index("spent"))
            hidden = place in any_size and name not in ("-1", "nan")
            made[f"{'may load: ' * hidden}memory {place} {name}"] = changed(
                free, at("state/memory", place, lambda x, value=value: value)
            )
    settings: dict[str, object] = {
        "h": [0.0, -1.0, 1e-300, 1e300, "x", None, float("nan")], "keep": [0, -3, 10**18, "x", 1.5],
        "breaks": [[-1.0], [0.5, 0.4], [float("nan")], "x", [2.0]],
        "scheme": [7, {"class": "write_fclib", "settings": {}}],
        "control": [7, {"class": "Grid", "settings": 7}, {"class": "HpTDG", "settings": {}}],
        "start_tolerance": ["x"],
    }  # fmt: skip
    for key, wrong in settings.items():
        for value in wrong:  # type: ignore[attr-defined]
            made[f"{key} {value!r}"] = changed(
                fixed, said(lambda about, key=key, value=value: about["settings"].__setitem__(key, value))
            )
    for key, value in {"t_span": [1.0, 0.0], "q0": "x", "v0": [[1.0]], "model": 7, "events": 7}.items():
        made[f"{key} {value!r}"] = changed(
            fixed, said(lambda about, key=key, value=value: about["problem"].__setitem__(key, value))
        )
    for name in (
        "march/stage",
        "march/times",
        "march/tally",
        "state/q",
        "tables/t",
        "tables/events",
        "march/work",
        "march/iwork",
    ):
        made[f"{name} missing"] = changed(fixed, said(lambda about, name=name: about["variables"].remove(name)))
        made[f"{name} long"] = changed(fixed, put(name, data=np.zeros(100_000)))
    made["stage 7"] = changed(fixed, put("march/stage", data=7))
    made["stage -1"] = changed(fixed, put("march/stage", data=-1))
    made["stage done"] = changed(fixed, put("march/stage", data=2))
    made["state nan"] = changed(fixed, at("state/q", 0, lambda x: np.nan))
    made["state elsewhere"] = changed(fixed, at("state/q", 0, lambda x: x + 1.0))
    made["nodes nan"] = changed(fixed, turned("tables/v", lambda v: v * np.nan))
    made["nodes reversed"] = changed(fixed, turned("tables/t", lambda t: t[::-1]))
    made["reactions of nobody"] = changed(fixed, turned("tables/reactions", lambda table: table + 1e9))
    for place, value in ((0, np.nan), (1, 1e9), (1, -1.0), (2, 1e9), (2, 0.5), (12, -1.0)):
        made[f"event column {place} {value}"] = changed(fixed, at("tables/events", place, lambda x, value=value: value))
    for value in (10**12, -(10**12)):
        made[f"may load: workspace {value}"] = changed(
            free, turned("march/iwork", lambda x, value=value: 0 * x + value)
        )
        made[f"may load: implicit, workspace {value}"] = changed(
            implicit, turned("march/iwork", lambda x, value=value: 0 * x + value)
        )
    flips_of = {
        "fixed": flipped(fixed, flips // 2, 5 * seed + 3),
        "free": flipped(free, flips - flips // 2, 5 * seed + 4),
    }
    made |= {f"may load: {name} {flip}": image for name, some in flips_of.items() for flip, image in some.items()}
    return made


def use_checkpoint(path: pathlib.Path) -> object:
    return sl.resume(path, ball(), progress=False, max_steps=2000)


# ---- contact problems


def fclib(folder: pathlib.Path, flips: int, seed: int) -> dict[str, bytes | pathlib.Path]:
    """Prepared contact problems."""
    random = np.random.default_rng(0)
    W = random.standard_normal((6, 7))
    problem = ContactProblem.from_global(
        np.eye(6), W, random.standard_normal(6), mu=0.3, kinds=["coulomb_spatial", "bilateral", "coulomb_spatial"],
        names=["left", "pin", "right"],
    )  # fmt: skip
    reduced = ContactProblem(W.T @ W, np.ones(7), mu=0.3, kinds=["coulomb_spatial", "bilateral", "coulomb_spatial"])
    write_fclib(problem, folder / "global.hdf5")
    write_fclib(reduced, folder / "local.hdf5")
    whole, local = (folder / "global.hdf5").read_bytes(), (folder / "local.hdf5").read_bytes()
    foreign, fifo, base = str(folder / "secret.bin"), str(folder / "fifo"), "fclib_global"
    changes: dict[str, Change] = {
        "f in another file": linked(f"{base}/vectors/f", h5py.ExternalLink(str(folder / "local.hdf5"), "/x")),
        "f in a pipe": linked(f"{base}/vectors/f", h5py.ExternalLink(fifo, "/x")),
        "f a soft link": linked(f"{base}/vectors/f", h5py.SoftLink("/fclib_global/vectors/w")),
        "vectors in another file": linked(f"{base}/vectors", h5py.ExternalLink(str(folder / "local.hdf5"), "/x")),
        "all in another file": linked(base, h5py.ExternalLink(str(folder / "local.hdf5"), "/fclib_local")),
        "f stored in a secret file": outside(f"{base}/vectors/f", foreign),
        "f stored in a pipe": outside(f"{base}/vectors/f", fifo),
        "f virtual": virtual(f"{base}/vectors/f", str(folder / "local.hdf5")),
        "f of 1e11 numbers": put(f"{base}/vectors/f", shape=(10**11,), dtype="f8", chunks=(10**6,)),
        "f a bomb": put(f"{base}/vectors/f", shape=(10**9,), dtype="i1", chunks=(10**7,), compression="gzip"),
        "f in huge chunks": put(
            f"{base}/vectors/f", shape=(6,), maxshape=(None,), dtype="f8", chunks=(10**8,), compression="gzip"
        ),
        "f packed by lzf": put(f"{base}/vectors/f", data=np.ones(6), compression="lzf"),
        **{
            f"f of type {kind}": turned(f"{base}/vectors/f", lambda f, kind=kind: f.astype(kind))
            for kind in ("S3", "c16", "?")
        },
        "f of texts": put(f"{base}/vectors/f", data=["a"] * 6, dtype=h5py.string_dtype()),
        "f of records": put(f"{base}/vectors/f", data=np.zeros(6, dtype=[("a", "f8"), ("b", "i4")])),
        "f of arrays": put(f"{base}/vectors/f", shape=(6,), dtype=np.dtype(("f8", (3,)))),
        "f of references": lambda file: put(f"{base}/vectors/f", data=[file[base].ref] * 6, dtype=h5py.ref_dtype)(file),
        "f empty": put(f"{base}/vectors/f", data=h5py.Empty("f8")),
        "f short": put(f"{base}/vectors/f", data=np.ones(2)),
        "f nan": put(f"{base}/vectors/f", data=np.full(6, np.nan)),
        "f a group": lambda file: (file.__delitem__(f"{base}/vectors/f"), file.create_group(f"{base}/vectors/f")),
        "f a type": linked(f"{base}/vectors/f", np.dtype("f8")),
        "both forms": lambda file: file.create_group("fclib_local"),
        "no form": lambda file: file.__delitem__(base),
        "spacedim 7": put(f"{base}/spacedim", data=[7]),
        "spacedim a float": put(f"{base}/spacedim", data=[3.0]),
        **{
            f"{name} {value}": put(f"{base}/{name}", data=np.array([value], dtype=np.int64))
            for name in ("H/m", "H/n", "M/n", "G/n", "M/nz") for value in (-1, 2**31 - 1, 2**62)
            if (name, value) != ("M/nz", -1)
        },
        "H/m unsigned": put(f"{base}/H/m", data=np.array([2**63], dtype=np.uint64)),
        "p backwards": turned(f"{base}/H/p", lambda p: p[::-1]),
        "p too far": turned(f"{base}/H/p", lambda p: p * 1000),
        "i too far": turned(f"{base}/H/i", lambda i: i + 1000),
        "i negative": turned(f"{base}/H/i", lambda i: i - 1000),
        "i unsigned": turned(f"{base}/H/i", lambda i: i.astype("u8") + np.uint64(2**63)),
        "x nan": turned(f"{base}/H/x", lambda x: x * np.nan),
        "mu negative": turned(f"{base}/vectors/mu", lambda mu: -mu),
        "kinds 9": turned("saltus/kinds", lambda kinds: kinds + 9),
        "names short": put("saltus/names", data=["a"], dtype=h5py.string_dtype()),
        "names numbers": put("saltus/names", data=np.zeros(3)),
        "names a link": linked("saltus/names", h5py.ExternalLink(fifo, "/x")),
    }  # fmt: skip
    made: dict[str, bytes | pathlib.Path] = {}
    for name, change in changes.items():
        buffer = io.BytesIO(whole)
        with h5py.File(buffer, "r+") as file:
            change(file)
        made[name] = buffer.getvalue()
    buffer = io.BytesIO(local)
    with h5py.File(buffer, "r+") as file:
        put("fclib_local/R/n", data=np.array([2**31 - 1]))(file)
    made["R of 2e9 columns"] = buffer.getvalue()
    made["a folder"], made["a pipe"], made["a device"] = folder, folder / "fifo", pathlib.Path("/dev/zero")
    made["nothing"], made["text"] = b"", b"hello"
    made |= {f"may load: {flip}": image for flip, image in flipped(whole, flips, 5 * seed + 5).items()}
    return made


def use_problem(path: pathlib.Path) -> object:
    return read_fclib(path)


# ---- the judge

FAMILIES: dict[str, tuple[Callable, Callable]] = {
    "results": (results, use_result), "scenes": (scenes, use_scene), "checkpoints": (checkpoints, use_checkpoint),
    "fclib": (fclib, use_problem),
}  # fmt: skip


def judge(family: str, folder: pathlib.Path, flips: int, seed: int = 0) -> None:
    """Read every file of a family and print what became of it."""
    (folder / "secret.bin").write_bytes(np.arange(301.0).tobytes())
    (folder / "victim.txt").write_text("mine\n", encoding="utf-8")
    os.mkfifo(folder / "fifo")
    prepare, use = FAMILIES[family]
    files, path = prepare(folder, flips, seed), folder / "prepared.h5"
    warnings.simplefilter("ignore")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for name, image in files.items():
        if isinstance(image, bytes):
            path.write_bytes(image)
        print(json.dumps({"name": name}), flush=True)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        began = time.perf_counter()
        try:
            use(path if isinstance(image, bytes) else image)
            outcome = "used"
        except sl.SaltusError as error:
            outcome = "refused" if isinstance(error, sl.FileFormatError | sl.DamagedFileError) else "typed"
            message = f"{type(error).__name__}: {error}"
        except BaseException as error:
            outcome, message = "escaped", f"{type(error).__name__}: {error}"
        message = "" if outcome == "used" else message
        seconds, peak = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        faulthandler.cancel_dump_traceback_later()
        line = {"name": name, "outcome": outcome, "message": message[:300], "seconds": seconds, "MB": peak / 1024}
        print(json.dumps(line), flush=True)
    intact = (folder / "victim.txt").read_text(encoding="utf-8") == "mine\n"
    print(
        json.dumps(
            {"name": "victim", "outcome": "refused" if intact else "written", "message": "", "seconds": 0.0, "MB": 0.0}
        )
    )


if __name__ == "__main__":
    judge(sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3]), *map(int, sys.argv[4:]))
