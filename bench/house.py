"""How the house stands: counts of lines, constants, long functions, hand-made memory and layers, from the syntax trees.

`python bench/house.py` prints one table, `--list` also what stands behind every count. Lines are counted in the folders
of the stepping core (schemes, flight, lasting, tables; once schemes, stages, events), or in those that are named:
`python bench/house.py schemes/hp_tdg flight`, below src/saltus. `--root DIR` counts another checkout, so that before
and after are counted by one script.

What is counted, and how:
- lines: all lines of a file, blank ones and comments included; beside them those that hold code or docstrings;
- constants: upper-case names that a module assigns at its top level (`A, B = range(2)` are two); a name has several
  meanings if modules give it different values. Numbers are compared by value, everything else by its source text, so
  that two meanings with one value go unseen: they are among the names that are assigned again. A record
  (`SCAN = _Scan()`) is one constant, its fields have names of their own. Both counts are printed: of all names, and
  without those of FORMS, which every file of a kind assigns for itself and which mean the same in each of them: the
  workspace, memory and settings of this kernel; the form that a law or a reproduction fills in;
- functions: `def` at any depth, from its first line (decorators excluded) to its last; `self` is no parameter. Those
  that users call, with a docstring that lists their parameters, are counted apart as well: they are long by what they
  explain;
- memory by hand: calls of vec, ivec, mat, part, remembered and own outside of compile/;
- size functions: named *_size, *_sizes, *_work or *_iwork;
- units: functions decorated with @unit; entry kernels are those that are reached through an interface, that is of
  step_type or of a type with a name of its own (PART, SOLVE, DECIDE ...), and the march itself;
- layers: those of the contract "down" of the import linter in pyproject.toml.
"""

from __future__ import annotations

import argparse
import ast
import io
import math
import pathlib
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

CORE = ("schemes", "flight", "lasting", "tables")
MOST_LINES, MOST_PARAMETERS = 60, 12
VIEWS = ("vec", "ivec", "mat", "part", "remembered", "own")
SIZES = ("_size", "_sizes", "_work", "_iwork")
FORMS = {  # name -> what it is in each of its files
    "WORK": "workspace of a kernel", "MEMORY": "what its state keeps", "SETTINGS": "its settings by name",
    "KIND": "law: its number", "NAME": "law: its name", "ROWS": "law: how many rows", "AXES": "law: their names",
    "KERNEL": "law: whose kernels", "FRICTIONS": "law: rows of each friction", "NUMBERS": "law: friction numbers",
    "WORDS": "law of impacts: how messages call it", "TITLE": "reproduction: its headline",
    "ROOM": "the kind of rooms, and the same as a type of numba",
}  # fmt: skip
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A file of the package: its path below src/saltus, its text and its tree."""

    path: str
    text: str
    tree: ast.Module


class Constant(NamedTuple):
    """An upper-case name of a module, with what it stands for."""

    name: str
    meaning: str
    place: str


class Count(NamedTuple):
    """One row of the table, and the places behind it."""

    what: str
    count: int
    places: list[str]


def modules(package: pathlib.Path) -> list[Module]:
    """Return all files of the package."""
    found = []
    for path in sorted(package.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        found.append(Module(path.relative_to(package).as_posix(), text, ast.parse(text)))
    return found


# ---- lines


def filled(text: str) -> int:
    """Return the lines that hold code or a docstring: neither blank nor comment alone."""
    nothing = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in nothing:
            rows = range(token.start[0], token.end[0] + 1)
            lines |= {k for k, line in zip(rows, token.line.splitlines(), strict=False) if line.strip()}
    return len(lines)


# ---- constants


def constants(module: Module) -> Iterator[Constant]:
    """Yield the upper-case names that a module assigns at its top level."""
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        for target in targets:
            for name, meaning in meanings(target, value):
                if name.isupper():
                    yield Constant(name, meaning, f"{module.path}:{statement.lineno}")


def meanings(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield names and what they stand for; tuples of names are taken apart with what is assigned to them."""
    if isinstance(target, ast.Name):
        yield target.id, meaning_of(value)
    elif isinstance(target, ast.Tuple | ast.List):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else None
        if values is not None and len(values) == len(target.elts):
            for part, one in zip(target.elts, values, strict=True):
                yield from meanings(part, one)
            return
        counted = count_of(value)
        for k, part in enumerate(target.elts):
            if isinstance(part, ast.Name):
                yield part.id, f"{float(counted[k])}" if counted else f"{ast.unparse(value)} [{k}]"


def count_of(value: ast.expr) -> range | None:
    """Return the numbers of `range(...)`, None for everything else."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "range":
        numbers = [number(argument) for argument in value.args]
        if all(one is not None for one in numbers):
            return range(*(int(one) for one in numbers if one is not None))
    return None


def meaning_of(value: ast.expr) -> str:
    """Return a number by its value, everything else by its source."""
    one = number(value)
    return ast.unparse(value) if one is None else f"{one}"


def number(value: ast.expr) -> float | None:
    """Return the value of arithmetic with numbers alone, None where there is more in it."""
    allowed = (ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop)
    if not all(isinstance(node, allowed) for node in ast.walk(value)):
        return None
    return calculated(value)


def calculated(value: ast.expr) -> float | None:
    if isinstance(value, ast.Constant):
        return float(value.value) if isinstance(value.value, int | float) else None
    if isinstance(value, ast.UnaryOp):
        one = calculated(value.operand)
        return -one if one is not None and isinstance(value.op, ast.USub) else None
    if isinstance(value, ast.BinOp):
        one, two = calculated(value.left), calculated(value.right)
        acts = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
                ast.Div: lambda a, b: a / b, ast.Pow: math.pow, ast.LShift: lambda a, b: a * 2.0**b}  # fmt: skip
        act = acts.get(type(value.op))
        return None if one is None or two is None or act is None else act(one, two)
    return None


# ---- functions


def functions(module: Module) -> Iterator[tuple[Function, bool]]:
    """Yield all functions of a module, and whether they are methods."""
    for node in ast.walk(module.tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                yield child, isinstance(node, ast.ClassDef)


def parameters(function: Function, method: bool) -> int:
    """Return the number of parameters, without that of the object."""
    given = function.args
    named = [*given.posonlyargs, *given.args]
    plain = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in function.decorator_list)
    own = 1 if method and named and not plain else 0
    stars = (given.vararg is not None) + (given.kwarg is not None)
    return len(named) - own + len(given.kwonlyargs) + stars


def is_public(module: Module, function: Function) -> bool:
    """Return whether users call it: what it takes is their interface, and its docstring explains every parameter."""
    explained = "Parameters\n" in (ast.get_docstring(function) or "") or module.path.startswith("problems/")
    return explained and not function.name.startswith("_") and unit_type(function) is None


def unit_type(function: Function) -> ast.expr | None:
    """Return the first argument of @unit(...), None for functions that are no units."""
    for one in function.decorator_list:
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id == "unit" and one.args:
            return one.args[0]
    return None


def is_entry(function: Function, kind: ast.expr) -> bool:
    """Return whether a unit is reached through an interface: a step, or a type with a name of its own (PART, SOLVE)."""
    return isinstance(kind, ast.Name) or "step_type" in ast.unparse(kind) or function.name == "march"


# ---- the table


def counts(root: pathlib.Path, folders: tuple[str, ...]) -> list[Count]:
    """Return all rows of the table."""
    package = root / "src" / "saltus"
    found = modules(package)
    return [*of_lines(found, folders), *of_constants(found), *of_functions(found), *of_memory(found), of_layers(root)]


def of_lines(found: list[Module], folders: tuple[str, ...]) -> Iterator[Count]:
    rows = []
    for folder in folders:
        inside = [module for module in found if module.path.startswith(f"{folder}/") or module.path == f"{folder}.py"]
        if not inside:
            raise SystemExit(f"src/saltus has no {folder}")
        sizes = {module.path: len(module.text.splitlines()) for module in inside}
        longest = [f"{size:5d} {path}" for path, size in sorted(sizes.items(), key=lambda item: -item[1])]
        rows.append((Count(f"lines in {folder}", sum(sizes.values()), longest), sum(filled(m.text) for m in inside)))
    yield from (row for row, _ in rows)
    yield Count(f"lines in {', '.join(folders)}: all", sum(row.count for row, _ in rows), [])
    yield Count("    without blank lines and comments", sum(code for _, code in rows), [])
    yield Count("lines in the package: all", sum(len(module.text.splitlines()) for module in found), [])


def of_constants(found: list[Module]) -> Iterator[Count]:
    made = [constant for module in found for constant in constants(module)]
    by_name: dict[str, list[Constant]] = {}
    for constant in made:
        by_name.setdefault(constant.name, []).append(constant)
    several, again = [], []
    for name, uses in sorted(by_name.items()):
        values: dict[str, list[str]] = {}
        for use in uses:
            values.setdefault(use.meaning, []).append(use.place)
        said = "; ".join(f"{meaning[:50]} ({', '.join(places)})" for meaning, places in values.items())
        if len(values) > 1:
            several.append(f"{name}: {said}")
        elif len(uses) > 1:
            again.append(f"{name}: {said}")
    by_file: dict[str, int] = {}
    for constant in made:
        file = constant.place.split(":")[0]
        by_file[file] = by_file.get(file, 0) + 1
    crowded = [f"{count:4d} {file}" for file, count in sorted(by_file.items(), key=lambda item: -item[1])]
    yield Count("constants of modules", len(made), crowded)
    yield Count("    their names", len(by_name), [])
    yield Count("    names with several meanings", len(several), several)
    clashes = [line for line in several if line.split(":")[0] not in FORMS]
    yield Count("        without the forms that every file of a kind fills in", len(clashes), clashes)
    yield Count("    constants without these forms", sum(constant.name not in FORMS for constant in made), [])
    yield Count("    names assigned again, same value", len(again), again)


def of_functions(found: list[Module]) -> Iterator[Count]:
    long, wide, silent, mute, units, total = [], [], [], [], 0, 0
    public_long, public_wide = 0, 0
    for module in found:
        for function, method in functions(module):
            total += 1
            place = f"{module.path}:{function.lineno} {function.name}"
            length = (function.end_lineno or function.lineno) - function.lineno + 1
            given = parameters(function, method)
            public = is_public(module, function)
            if length > MOST_LINES:
                long.append((length, place + (", public" if public else "")))
                public_long += public
            if given > MOST_PARAMETERS:
                wide.append((given, place + (", public" if public else "")))
                public_wide += public
            kind = unit_type(function)
            if kind is None:
                continue
            units += 1
            if ast.get_docstring(function) is None:
                (silent if is_entry(function, kind) else mute).append(place)
    listed = [[f"{size:4d} {place}" for size, place in sorted(some, reverse=True)] for some in (long, wide)]
    yield Count("functions", total, [])
    yield Count(f"    longer than {MOST_LINES} lines", len(long), listed[0])
    yield Count("        without public signatures and their docstrings", len(long) - public_long, [])
    yield Count(f"    with more than {MOST_PARAMETERS} parameters", len(wide), listed[1])
    yield Count("        without public signatures", len(wide) - public_wide, [])
    yield Count("units", units, [])
    yield Count("    entry kernels without docstring", len(silent), silent)
    yield Count("    other units without docstring", len(mute), mute)


def called(call: ast.Call) -> str:
    """Return the last name of what is called: vec of vec(...) and of seam.vec(...)."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def of_memory(found: list[Module]) -> Iterator[Count]:
    calls: dict[str, list[str]] = {name: [] for name in VIEWS}
    sizes = []
    for module in found:
        if module.path.startswith("compile/"):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and (name := called(node)) in calls:
                calls[name].append(f"{module.path}:{node.lineno}")
        named = (one for one, _ in functions(module) if one.name.endswith(SIZES))
        sizes += [f"{module.path}:{one.lineno} {one.name}" for one in named]
    yield Count("views by hand outside of compile/", sum(map(len, calls.values())), [])
    for name, places in calls.items():
        by_file = {place.split(":")[0]: 0 for place in places}
        for place in places:
            by_file[place.split(":")[0]] += 1
        yield Count(f"    {name}", len(places), [f"{count:4d} {file}" for file, count in by_file.items()])
    yield Count("functions that return sizes", len(sizes), sizes)


def of_layers(root: pathlib.Path) -> Count:
    linter = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = next((one["layers"] for one in linter["contracts"] if one["type"] == "layers"), [])
    return Count("layers of the import linter", len(layers), list(layers))


def main(words: list[str]) -> int:
    """Print the table, and what is behind it where that is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", default=CORE, help="whose lines count, below src/saltus")
    parser.add_argument("--list", action="store_true", help="print the places behind every count")
    here = pathlib.Path(__file__).resolve().parents[1]
    parser.add_argument("--root", type=pathlib.Path, default=here, metavar="DIR", help="another checkout")
    arguments = parser.parse_args(words)
    rows = counts(arguments.root, tuple(arguments.folders))
    print("| what | count |\n|---|---:|")
    for row in rows:
        print(f"| {row.what} | {row.count} |")
    for row in rows if arguments.list else ():
        if row.places:
            print(f"\n{row.what.strip()}: {row.count}")
            print("\n".join(f"  {place}" for place in row.places))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
