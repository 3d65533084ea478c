"""Syntax trees, one at a time: Python 3.11 counts the depth of its parser for all threads together.

Two threads that parse at once may end in "SystemError: AST constructor recursion depth mismatch".
"""

from __future__ import annotations

import ast
import threading

PARSING = threading.RLock()


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a module."""
    with PARSING:
        return ast.parse(text)


def parsed_expression(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    with PARSING:
        return ast.parse(text, mode="eval").body
