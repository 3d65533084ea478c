"""Generated source -> LLVM IR: the small part of Python in which model functions are written, statement by statement.

The same text runs interpreted (modules.py) and compiled, to the same bits: no fast math, no contraction, the C library
behind `math`, Python's meaning of `%`, `//`, `min`, `max`, comparisons and `and`/`or`. Two things differ, as they do
in numba: where Python raises (x / 0.0, sqrt(-1.0), exp(1e9)) the result is the inf or NaN of IEEE 754, and no index is
checked.

Values have one of five kinds: F a float, I a whole number of 64 bits, B a truth, A a vector (an address and a length),
and the name of a unit type, such as FORCE, for a function that is handed over. A unit is compiled with numba's
convention: int32 f(ret*, exc*, words...), which gives back 0 or the status of a failed call.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import importlib.util
import math
import struct
from collections.abc import Callable
from typing import ClassVar, NamedTuple

from saltus.compile.parsing import parsed

# arguments of the units of a model, as types.py declares them; all of them give back a whole number
UNIT_KINDS = {
    "MASS": "FAAA", "FORCE": "FAAAA", "JACOBIAN": "FAAAAA", "GAP": "FAAA", "KINEMATICS": "FAAAA",
    "CURVATURE": "FAAAA", "RATE": "AAAA", "RETRACT": "AA", "SWITCH": "FAAAA", "SURFACE": "FAAAA", "RESET": "IFAAA",
    "INSTANT": "FAAAA", "INSTANTS": "IAAAAA", "TANGENT": "FAAAAAFAAAA", "TANGENTS": "IIAAAAAAAAA",
    "LOOP": "FAAAIAA", "REDUCE": "IFAAAAA",
}  # fmt: skip
INTRINSICS = {"sqrt": "llvm.sqrt.f64", "abs": "llvm.fabs.f64", "copysign": "llvm.copysign.f64"}
# Python gives whole numbers here, of which none is a negative zero
ROUNDED = {"floor": "llvm.floor.f64", "ceil": "llvm.ceil.f64", "trunc": "llvm.trunc.f64"}
LIBRARY = frozenset({"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "erf", "erfc", "exp",
                     "expm1", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh"})  # fmt: skip
NUMBER_NAMES = {"inf": math.inf, "nan": math.nan}
CHOICES = {"min": "olt", "smaller": "olt", "max": "ogt", "larger": "ogt"}  # the second one where it compares so
IR_TYPES = {"F": "double", "I": "i64", "B": "i1"}
ARITHMETIC_CODES: dict[type, tuple[str, str]] = {
    ast.Add: ("fadd", "add"),
    ast.Sub: ("fsub", "sub"),
    ast.Mult: ("fmul", "mul"),
}
COMPARISONS: dict[type, tuple[str, str]] = {
    ast.Lt: ("olt", "slt"), ast.LtE: ("ole", "sle"), ast.Gt: ("ogt", "sgt"), ast.GtE: ("oge", "sge"),
    ast.Eq: ("oeq", "eq"), ast.NotEq: ("une", "ne"),
}  # fmt: skip
SIMPLE_NODES = (ast.Constant, ast.Name)
KNOWN_MODULES = frozenset({"math", *(f"saltus.compile.{name}" for name in ("seam", "types", "views", "loops"))})
# no errno, no exceptions: a call with the same arguments need not be made twice
PURE = "attributes #0 = { nounwind willreturn memory(none) }\n"


class NotLowered(Exception):
    """The source contains what generated source never does; the message shows it."""


class Value(NamedTuple):
    """A value in the IR: its kind and the text of its operand; vectors also have that of their length."""

    kind: str
    text: str
    length: str = ""


@dataclasses.dataclass(frozen=True)
class Signature:
    """How a function is called: its symbol, the kinds of its arguments and of its result."""

    symbol: str
    arguments: tuple[str, ...]
    result: str

    @property
    def is_unit(self) -> bool:
        """Whether it has the convention of units: a status comes back, the result through a pointer."""
        return self.result == "I"

    @property
    def is_public(self) -> bool:
        """Whether others than this module call it."""
        return self.symbol.startswith("unit.")


@dataclasses.dataclass(frozen=True)
class Lowered:
    """IR of a module, its units by name, and the symbols that others define."""

    text: str
    units: dict[str, str]  # name -> symbol
    library: frozenset[str]  # functions of the C library, as symbols "libm.sin"
    outside: dict[str, str]  # units of other modules: name -> symbol


def lower(text: str) -> Lowered:
    """Return the IR of a generated module."""
    return _Module(text).lowered()


class _Module:
    """The functions of one generated module, and those of saltus that they call."""

    def __init__(self, text: str):
        self.library: set[str] = set()
        self.intrinsics: dict[str, int] = {}
        self.outside: dict[str, str] = {}
        self._parts: list[str] = []
        self._signatures: dict[str, Signature] = {}
        self._definitions: dict[str, ast.FunctionDef] = {}
        self._constants: dict[str, float] = {}
        self._own: list[str] = []
        for node in parsed(text).body:
            if isinstance(node, ast.FunctionDef):
                self._definitions[node.name] = node
                self._own.append(node.name)
            elif isinstance(node, ast.ImportFrom):
                self._import(node)

    def _import(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            name = alias.asname or alias.name
            if node.module == "saltus.compile.differences":
                functions, constants = _source_of(node.module)
                self._definitions.update(functions)
                self._constants.update(constants)
            elif node.module not in KNOWN_MODULES:
                self.outside[name] = f"outside.{name}"
                self._signatures[name] = Signature(self.outside[name], tuple(UNIT_KINDS["FORCE"]), "I")

    def lowered(self) -> Lowered:
        units = {}
        for name in self._own:
            signature = self.signature(name)
            if signature is not None and signature.is_public:
                units[name] = signature.symbol
        declared = [f"declare double @{name}({', '.join(['double'] * n)})\n" for name, n in self.intrinsics.items()]
        declared += [f"declare double @{name} #0\n" for name in sorted(self.library)]
        for symbol in self.outside.values():
            words = ", ".join(_words(tuple(UNIT_KINDS["FORCE"])))
            declared.append(f"declare i32 @{symbol}(ptr, ptr, {words})\n")
        text = "".join([*declared, PURE, *self._parts])
        return Lowered(text, units, frozenset(name.split("(")[0] for name in self.library), self.outside)

    def constant(self, name: str) -> float | None:
        return NUMBER_NAMES.get(name, self._constants.get(name))

    def signature(self, name: str) -> Signature | None:
        """Return how a function is called; its body is lowered when it is asked for the first time."""
        if name not in self._signatures and name in self._definitions:
            node = self._definitions[name]
            made = self._signatures[name] = _declared(node)
            self._parts.append(_Function(self, node, made).text())
        return self._signatures.get(name)


@functools.cache
def _source_of(module: str) -> tuple[dict[str, ast.FunctionDef], dict[str, float]]:
    """Return the functions and the numbers of a file of saltus."""
    spec = importlib.util.find_spec(module)
    source = spec.loader.get_source(module) if spec is not None and spec.loader is not None else None
    if source is None:
        raise NotLowered(f"the source of {module} is not available")
    functions, constants = {}, {}
    for node in parsed(source).body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            functions[node.name] = node
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            constants[node.targets[0].id] = node.value.value
    return functions, constants


def _declared(node: ast.FunctionDef) -> Signature:
    """Return the signature that @unit(...) declares; a function with the type of a unit is one of the model."""
    declared = node.decorator_list[0].args[0]
    if isinstance(declared, ast.Name):
        return Signature(f"unit.{node.name}", tuple(UNIT_KINDS[declared.id]), "I")
    kinds = tuple(kind.id for kind in declared.args)
    return Signature(f"helper.{node.name}", kinds, declared.func.id)


def _words(kinds: tuple[str, ...]) -> list[str]:
    """Return the types of the words that arguments are passed as."""
    return [word for kind in kinds for word in (("ptr", "i64") if kind == "A" else (IR_TYPES.get(kind, "ptr"),))]


def _bits(number: float) -> str:
    """Return a float as IR writes it, to the last bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


class _Function:
    """One function, written from top to bottom.

    A name that is assigned once, outside of branches and loops, is a value; any other has a place on the stack, one
    per kind, which LLVM turns into values again.
    """

    def __init__(self, module: _Module, node: ast.FunctionDef, signature: Signature):
        self.module, self.node, self.signature = module, node, signature
        self.lines: list[str] = []
        self.places: dict[str, str] = {}  # symbol on the stack -> type
        self.names: dict[str, Value] = {}
        self.loaded: dict[tuple[str, str], str] = {}  # address and index -> what was read from there
        self.count, self.depth, self.block, self.is_open = 0, 0, "entry", True
        self.once = _assigned_once(node)
        self._head()
        for statement in node.body:
            self.statement(statement)

    def _head(self) -> None:
        words = ["ptr %ret", "ptr %exc"] if self.signature.is_unit else []
        for argument, kind in zip(self.node.args.args, self.signature.arguments, strict=True):
            name = f"%{argument.arg}"
            if kind == "A":
                words += [f"ptr {name}", f"i64 {name}.n"]
                self.names[argument.arg] = Value("A", name, f"{name}.n")
            else:
                words.append(f"{IR_TYPES.get(kind, 'ptr')} {name}")
                self.names[argument.arg] = Value(kind, name)
        result = "i32" if self.signature.is_unit else IR_TYPES[self.signature.result]
        scope = "" if self.signature.is_public else "internal "
        self.head = f"define {scope}{result} @{self.signature.symbol}({', '.join(words)}) {{\nentry:\n"

    def text(self) -> str:
        stack = "".join(f"  {place} = alloca {kind}\n" for place, kind in self.places.items())
        return f"{self.head}{stack}{''.join(self.lines)}}}\n"

    # ---- lines

    def line(self, code: str) -> None:
        self.lines.append(f"  {code}\n")

    def new(self, code: str) -> str:
        self.count += 1
        name = f"%.{self.count}"
        self.lines.append(f"  {name} = {code}\n")
        return name

    def label(self, name: str) -> None:
        """Begin a block; what was read in other blocks may not have been read on the way here."""
        self.lines.append(f"{name}:\n")
        self.block, self.is_open = name, True
        self.loaded = {}

    def labels(self, *names: str) -> list[str]:
        self.count += 1
        return [f"{name}{self.count}" for name in names]

    def jump(self, target: str) -> None:
        if self.is_open:
            self.line(f"br label %{target}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")

    # ---- statements

    def statement(self, node: ast.stmt) -> None:
        kind = type(node)
        if kind is ast.Assign:
            for target in node.targets:
                self.assign(target, node.value)
        elif kind is ast.AugAssign:
            self.assign(node.target, ast.BinOp(_read(node.target), node.op, node.value))
        elif kind is ast.If:
            self.choose(node)
        elif kind is ast.For:
            self.count_up(node)
        elif kind is ast.While:
            self.repeat(node)
        elif kind is ast.Return:
            self.give_back(self.value(node.value))
        elif kind is ast.Expr and isinstance(node.value, ast.Call):
            self.value(node.value)
        elif not (kind is ast.Expr and isinstance(node.value, ast.Constant)):  # a docstring
            raise _not_lowered(node)

    def assign(self, target: ast.expr, source: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple):
            values = [self.value(part) for part in source.elts]
            for part, value in zip(target.elts, values, strict=True):
                self.store(part, value)
        else:
            self.store(target, self.value(source))

    def store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Subscript):
            number = self.real(value)  # before the address: it may contain the same element
            self.line(f"store double {number}, ptr {self.element(target)}")
            self.loaded = {}
        elif not isinstance(target, ast.Name):
            raise _not_lowered(target)
        elif value.kind not in IR_TYPES or (self.depth == 0 and target.id in self.once):
            self.names[target.id] = value
        else:
            place = f"%{target.id}.{value.kind}"
            self.places[place] = IR_TYPES[value.kind]
            self.line(f"store {IR_TYPES[value.kind]} {value.text}, ptr {place}")
            self.names[target.id] = Value(f"place {value.kind}", place)

    def choose(self, node: ast.If) -> None:
        yes, no, after = self.labels("yes", "no", "after")
        self.branch(self.truth(self.value(node.test)), yes, no if node.orelse else after)
        self.body(yes, node.body, after)
        if node.orelse:
            self.body(no, node.orelse, after)
        self.label(after)

    def body(self, label: str, statements: list[ast.stmt], after: str) -> None:
        self.label(label)
        self.depth += 1
        for statement in statements:
            self.statement(statement)
        self.depth -= 1
        self.jump(after)

    def repeat(self, node: ast.While) -> None:
        test, loop, after = self.labels("test", "loop", "after")
        self.jump(test)
        self.label(test)
        self.branch(self.truth(self.value(node.test)), loop, after)
        self.body(loop, node.body, test)
        self.label(after)

    def count_up(self, node: ast.For) -> None:
        """for name in range(stop)"""
        called = node.iter
        if not (isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "range"):
            raise _not_lowered(node.iter)
        (stop,) = (self.whole(self.value(argument)) for argument in called.args)
        test, loop, after = self.labels("test", "loop", "after")
        place = f"%{node.target.id}.{self.count}"
        self.places[place] = "i64"
        self.line(f"store i64 0, ptr {place}")
        self.jump(test)
        self.label(test)
        at = self.new(f"load i64, ptr {place}")
        self.branch(self.new(f"icmp slt i64 {at}, {stop}"), loop, after)
        self.names[node.target.id] = Value("place I", place)
        self.label(loop)
        self.depth += 1
        for statement in node.body:
            self.statement(statement)
        self.depth -= 1
        following = self.new(f"add i64 {self.new(f'load i64, ptr {place}')}, 1")
        self.line(f"store i64 {following}, ptr {place}")
        self.jump(test)
        self.label(after)

    def give_back(self, value: Value) -> None:
        if self.signature.is_unit:
            self.line(f"store i64 {self.whole(value)}, ptr %ret")
            self.line("ret i32 0")
        else:
            self.line(f"ret double {self.real(value)}")
        self.is_open = False

    # ---- expressions

    def value(self, node: ast.expr) -> Value:
        return self._VALUES.get(type(node), _Function.unknown)(self, node)

    def unknown(self, node: ast.expr) -> Value:
        raise _not_lowered(node)

    def literal(self, node: ast.Constant) -> Value:
        value = node.value
        if value is True or value is False:
            return Value("B", "true" if value else "false")
        if isinstance(value, int):
            return Value("I", str(value))
        return Value("F", _bits(value))

    def name(self, node: ast.Name) -> Value:
        known = self.names.get(node.id)
        if known is None:
            number = self.module.constant(node.id)
            if number is not None:
                return Value("F", _bits(number))
            signature = self.module.signature(node.id)
            if signature is None:
                raise _not_lowered(node)
            return Value("unit", f"@{signature.symbol}")
        if known.kind.startswith("place "):
            kind = known.kind[-1]
            return Value(kind, self.new(f"load {IR_TYPES[kind]}, ptr {known.text}"))
        return known

    def subscript(self, node: ast.Subscript) -> Value:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return Value("I", self.value(node.value.value).length)
        vector, index = self.value(node.value), self.whole(self.value(node.slice))
        key = vector.text, index
        known = self.loaded.get(key)
        if known is None:
            address = self.new(f"getelementptr double, ptr {vector.text}, i64 {index}")
            known = self.loaded[key] = self.new(f"load double, ptr {address}")
        return Value("F", known)

    def element(self, node: ast.Subscript) -> str:
        vector, index = self.value(node.value), self.whole(self.value(node.slice))
        return self.new(f"getelementptr double, ptr {vector.text}, i64 {index}")

    def binary(self, node: ast.BinOp) -> Value:
        a, b, op = self.value(node.left), self.value(node.right), type(node.op)
        if a.kind == b.kind == "I":
            if op in ARITHMETIC_CODES:
                return Value("I", self.new(f"{ARITHMETIC_CODES[op][1]} i64 {a.text}, {b.text}"))
            if op is ast.FloorDiv and b.text.isdigit() and int(b.text) > 0:
                return self.floor_divide(a.text, b.text)
        x, y = self.real(a), self.real(b)
        if op in ARITHMETIC_CODES:
            return Value("F", self.new(f"{ARITHMETIC_CODES[op][0]} double {x}, {y}"))
        if op is ast.Div:
            return Value("F", self.new(f"fdiv double {x}, {y}"))
        if op is ast.Mod:
            return self.remainder(x, y)
        raise _not_lowered(node)

    def floor_divide(self, a: str, b: str) -> Value:
        """a // b of whole numbers, b > 0: machines round towards zero."""
        quotient, rest = self.new(f"sdiv i64 {a}, {b}"), self.new(f"srem i64 {a}, {b}")
        below = self.new(f"icmp slt i64 {rest}, 0")
        return Value("I", self.new(f"add i64 {quotient}, {self.new(f'sext i1 {below} to i64')}"))

    def remainder(self, x: str, y: str) -> Value:
        """x % y has the sign of y, also where it is zero."""
        rest = self.new(f"frem double {x}, {y}")
        negative_y, negative = self.new(f"fcmp olt double {y}, 0.0"), self.new(f"fcmp olt double {rest}, 0.0")
        opposite = self.new(f"xor i1 {negative_y}, {negative}")
        moved = self.new(f"select i1 {opposite}, double {self.new(f'fadd double {rest}, {y}')}, double {rest}")
        is_zero = self.new(f"fcmp oeq double {rest}, 0.0")
        zero = self.intrinsic("llvm.copysign.f64", "0.0", y)
        return Value("F", self.new(f"select i1 {is_zero}, double {zero}, double {moved}"))

    def unary(self, node: ast.UnaryOp) -> Value:
        operand = node.operand
        if isinstance(node.op, ast.USub) and isinstance(operand, ast.Constant):
            return self.literal(ast.Constant(-operand.value))
        value = self.value(operand)
        if isinstance(node.op, ast.Not):
            return Value("B", self.new(f"xor i1 {self.truth(value)}, true"))
        if not isinstance(node.op, ast.USub):
            raise _not_lowered(node)
        if value.kind == "I":
            return Value("I", self.new(f"sub i64 0, {value.text}"))
        return Value("F", self.new(f"fneg double {self.real(value)}"))

    def compare(self, node: ast.Compare) -> Value:
        if len(node.ops) != 1:
            raise _not_lowered(node)
        a, b = self.value(node.left), self.value(node.comparators[0])
        of_floats, of_wholes = COMPARISONS[type(node.ops[0])]
        if a.kind == b.kind == "I":
            return Value("B", self.new(f"icmp {of_wholes} i64 {a.text}, {b.text}"))
        return Value("B", self.new(f"fcmp {of_floats} double {self.real(a)}, {self.real(b)}"))

    def conditional(self, node: ast.IfExp) -> Value:
        """Only the branch that is taken is computed, unless there is nothing to compute."""
        condition = self.truth(self.value(node.test))
        if isinstance(node.body, SIMPLE_NODES) and isinstance(node.orelse, SIMPLE_NODES):
            a, b = self.alike(self.value(node.body), self.value(node.orelse))
            word = IR_TYPES[a.kind]
            return Value(a.kind, self.new(f"select i1 {condition}, {word} {a.text}, {word} {b.text}"))
        yes, no, after = self.labels("yes", "no", "after")
        before = self.loaded
        self.branch(condition, yes, no)
        ends = []
        for label, part in ((yes, node.body), (no, node.orelse)):
            self.label(label)
            self.loaded = dict(before)
            value = self.value(part)
            value = value if value.kind == "B" else Value("F", self.real(value))
            ends.append((value, self.block))
            self.jump(after)
        (a, from_a), (b, from_b) = ends
        if a.kind != b.kind:
            raise _not_lowered(node)
        self.label(after)
        self.loaded = before
        return Value(a.kind, self.new(f"phi {IR_TYPES[a.kind]} [{a.text}, %{from_a}], [{b.text}, %{from_b}]"))

    def alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        return (a, b) if a.kind == b.kind else (Value("F", self.real(a)), Value("F", self.real(b)))

    def logical(self, node: ast.BoolOp) -> Value:
        """a and b, a or b: all of them are computed, because comparisons cost less than branches."""
        if any(isinstance(part, ast.Call) for value in node.values[1:] for part in ast.walk(value)):
            return self.short_cut(node)
        word = "and" if isinstance(node.op, ast.And) else "or"
        made = self.truth(self.value(node.values[0]))
        for part in node.values[1:]:
            made = self.new(f"{word} i1 {made}, {self.truth(self.value(part))}")
        return Value("B", made)

    def short_cut(self, node: ast.BoolOp) -> Value:
        """The same where a later part calls functions: it is computed only if the first ones leave it open."""
        decided, (after,) = "false" if isinstance(node.op, ast.And) else "true", self.labels("after")
        before, ends = self.loaded, []
        for part in node.values[:-1]:
            made = self.truth(self.value(part))
            ends.append((decided, self.block))
            (following,) = self.labels("next")
            self.branch(made, *((following, after) if decided == "false" else (after, following)))
            self.label(following)
            self.loaded = dict(before)
        ends.append((self.truth(self.value(node.values[-1])), self.block))
        self.jump(after)
        self.label(after)
        self.loaded = before
        return Value("B", self.new(f"phi i1 {', '.join(f'[{value}, %{block}]' for value, block in ends)}"))

    def call(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name) or node.keywords:
            raise _not_lowered(node)
        name = node.func.id
        arguments = [self.value(argument) for argument in node.args]
        if name in self.names or self.module.signature(name) is not None:
            return self.call_function(name, arguments)
        if name == "call_at":
            return self.call_address(arguments)
        if name == "vec":
            vector, offset, length = arguments
            address = self.new(f"getelementptr double, ptr {vector.text}, i64 {self.whole(offset)}")
            return Value("A", address, self.whole(length))
        if name in ("int", "whole"):
            (number,) = arguments
            return number if number.kind == "I" else Value("I", self.new(f"fptosi double {number.text} to i64"))
        if name == "float":
            return Value("F", self.real(arguments[0]))
        numbers = [self.real(argument) for argument in arguments]
        if name in INTRINSICS:
            return Value("F", self.intrinsic(INTRINSICS[name], *numbers))
        if name in ROUNDED:
            return Value("F", self.new(f"fadd double {self.intrinsic(ROUNDED[name], *numbers)}, 0.0"))
        if name in CHOICES:
            a, b = numbers
            better = self.new(f"fcmp {CHOICES[name]} double {b}, {a}")
            return Value("F", self.new(f"select i1 {better}, double {b}, double {a}"))
        if name in LIBRARY:
            self.module.library.add(f"libm.{name}({', '.join(['double'] * len(numbers))})")
            given = ", ".join(f"double {number}" for number in numbers)
            return Value("F", self.new(f"call double @libm.{name}({given}) #0"))
        raise _not_lowered(node)

    def intrinsic(self, name: str, *numbers: str) -> str:
        self.module.intrinsics[name] = len(numbers)
        return self.new(f"call double @{name}({', '.join(f'double {number}' for number in numbers)})")

    def call_address(self, arguments: list[Value]) -> Value:
        """Call a loop over rows at an address, which is a float without fraction (loops.py)."""
        number = self.new(f"fptosi double {self.real(arguments[0])} to i64")
        address = self.new(f"inttoptr i64 {number} to ptr")
        self.names["call_at.address"] = Value("LOOP", address)
        return self.call_function("call_at.address", arguments[1:])

    def call_function(self, name: str, arguments: list[Value]) -> Value:
        """Call a helper, a unit, or a function that was handed over; a unit that fails ends this one too."""
        handed = self.names.get(name)
        signature = (
            self.module.signature(name)
            if handed is None
            else Signature(handed.text[1:], tuple(UNIT_KINDS[handed.kind]), "I")
        )
        sign = "@" if handed is None else "%"
        words = []
        for value, kind in zip(arguments, signature.arguments, strict=True):
            if kind == "A":
                words += [f"ptr {value.text}", f"i64 {value.length}"]
            elif kind in IR_TYPES:
                text = self.real(value) if kind == "F" else self.whole(value)
                words.append(f"{IR_TYPES[kind]} {text}")
            else:
                words.append(f"ptr {value.text}")
        if not signature.is_unit:
            return Value("F", self.new(f"call double {sign}{signature.symbol}({', '.join(words)})"))
        self.places["%result"] = "i64"
        called = f"{sign}{signature.symbol}(ptr %result, ptr %exc, {', '.join(words)})"
        status = self.new(f"call i32 {called}")
        failed, fine = self.labels("failed", "fine")
        self.branch(self.new(f"icmp ne i32 {status}, 0"), failed, fine)
        self.label(failed)
        self.line(f"ret i32 {status}")
        self.label(fine)
        return Value("I", self.new("load i64, ptr %result"))

    _VALUES: ClassVar[dict[type, Callable]] = {
        ast.Constant: literal, ast.Name: name, ast.Subscript: subscript, ast.BinOp: binary, ast.UnaryOp: unary,
        ast.Compare: compare, ast.IfExp: conditional, ast.BoolOp: logical, ast.Call: call,
    }  # fmt: skip

    # ---- conversions

    def real(self, value: Value) -> str:
        if value.kind == "F":
            return value.text
        if value.kind == "I":
            literal = value.text.lstrip("-").isdigit()
            return _bits(float(value.text)) if literal else self.new(f"sitofp i64 {value.text} to double")
        if value.kind == "B":
            return self.new(f"uitofp i1 {value.text} to double")
        raise NotLowered(f"a {value.kind} stands where a number is expected")

    def whole(self, value: Value) -> str:
        if value.kind != "I":
            raise NotLowered(f"a value of kind {value.kind} stands where a whole number is expected")
        return value.text

    def truth(self, value: Value) -> str:
        if value.kind != "B":
            raise NotLowered(f"a value of kind {value.kind} stands where a condition is expected")
        return value.text


def _assigned_once(node: ast.FunctionDef) -> frozenset[str]:
    """Return the names that a function assigns in one place only."""
    count: dict[str, int] = {argument.arg: 1 for argument in node.args.args}
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            count[part.id] = count.get(part.id, 0) + 1
    return frozenset(name for name, times in count.items() if times == 1)


def _read(target: ast.expr) -> ast.expr:
    """Return the value of what is about to be assigned."""
    if isinstance(target, ast.Subscript):
        return ast.Subscript(target.value, target.slice, ast.Load())
    if isinstance(target, ast.Name):
        return ast.Name(target.id, ast.Load())
    raise _not_lowered(target)


def _not_lowered(node: ast.AST) -> NotLowered:
    return NotLowered(f"`{ast.unparse(node)}` has no meaning in a model function: the emitter must not write it")
