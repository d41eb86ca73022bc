"""Small faults for a module: changes of its syntax tree, one at a time."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_CALLS = {
    "max": "min", "min": "max", "any": "all", "all": "any", "argmax": "argmin", "argmin": "argmax",
    "maximum": "minimum", "minimum": "maximum", "sum": "max", "mean": "sum", "floor": "ceil",
    "ceil": "floor", "zeros": "ones", "ones": "zeros", "union": "intersection", "sqrt": "square",
    "nanmean": "nanmax", "triu": "tril", "flatnonzero": "atleast_1d",
}  # fmt: skip
#: Calls whose arguments are text for people.
_SPOKEN = ("warn", "print", "report")


@dataclass(frozen=True)
class Mutant:
    """A fault.

    Attributes
    ----------
    file, function : str
        Where it is; a function is named with its classes.
    change : str
        What was changed into what.
    number : int
        Which of the places in the function with the same change.
    line : int
        Its line.
    first, last : int
        Lines of the statement that it is part of; of its head, where that has a body.
    """

    file: str
    function: str
    change: str
    number: int
    line: int
    first: int
    last: int

    @property
    def key(self) -> str:
        """Name of the mutant that edits elsewhere in the file do not change."""
        return f"{self.file}::{self.function}::{self.change}::{self.number}"


class _Walk(ast.NodeTransformer):
    """Meet all places that can be changed, and change the one that is wanted."""

    def __init__(self, file: str, wanted: int | None = None) -> None:
        self.file, self.wanted = file, wanted
        self.found: list[Mutant] = []
        self.names: list[str] = []
        self._statement: ast.stmt | None = None
        self._same: Counter[tuple[str, str]] = Counter()

    def place(self, node: ast.AST, change: str) -> bool:
        """Note a place; whether it is the one to change."""
        function = ".".join(self.names) or "<module>"
        self._same[function, change] += 1
        number, line = self._same[function, change], getattr(node, "lineno", 0)
        self.found.append(Mutant(self.file, function, change, number, line, *self._lines(line)))
        return len(self.found) - 1 == self.wanted

    def visit(self, node: ast.AST) -> Any:
        """Visit a node, and remember the statement around it."""
        outer = self._statement
        if isinstance(node, ast.stmt):
            self._statement = node
        try:
            return super().visit(node)
        finally:
            self._statement = outer

    def _lines(self, line: int) -> tuple[int, int]:
        around = self._statement
        if around is None:
            return line, line
        body = getattr(around, "body", None)
        last = body[0].lineno - 1 if body else around.end_lineno
        return around.lineno, max(last or around.lineno, around.lineno)

    # -- what is left alone

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def _scope(self, node: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        self.names.append(node.name)
        node.body = [self.visit(child) for child in node.body]
        if isinstance(node, ast.FunctionDef):
            node.args = self.visit(node.args)
        self.names.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._scope(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return self._scope(node)

    # -- what is changed

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return node
        only_raises = all(isinstance(child, ast.Raise) for child in node.body)
        self.generic_visit(node)
        if not only_raises and self.place(node, "if x -> if not x"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        if self.place(node, "x if c -> x if not c"):
            node.test = ast.UnaryOp(ast.Not(), node.test)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        for k, operator in enumerate(node.ops):
            other = _COMPARE[type(operator)]
            if self.place(node, f"{type(operator).__name__} -> {other.__name__}"):
                node.ops[k] = other()
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        text = isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)
        other = None if text else _BINARY.get(type(node.op))
        if other and self.place(node, f"{type(node.op).__name__} -> {other.__name__}"):
            node.op = other()
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        other = _BINARY.get(type(node.op))
        if other and self.place(node, f"{type(node.op).__name__}= -> {other.__name__}="):
            node.op = other()
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        if self.place(node, "and <-> or"):
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.UAdd):
            return node
        return node.operand if self.place(node, f"{type(node.op).__name__} x -> x") else node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        value = node.value
        if isinstance(value, bool):
            if self.place(node, f"{value} -> {not value}"):
                return ast.copy_location(ast.Constant(not value), node)
        elif isinstance(value, int):
            if self.place(node, f"{value} -> {value + 1}"):
                return ast.copy_location(ast.Constant(value + 1), node)
        elif isinstance(value, float) and value == value and abs(value) != float("inf"):
            new = 3.0 * value if value else 1.0
            if self.place(node, f"{value} -> {new}"):
                return ast.copy_location(ast.Constant(new), node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func
        name = getattr(function, "attr", getattr(function, "id", ""))
        if name in _SPOKEN:
            return node
        self.generic_visit(node)
        other = _CALLS.get(name)
        if other and self.place(node, f"{name} -> {other}"):
            if isinstance(function, ast.Attribute):
                function.attr = other
            elif isinstance(function, ast.Name):
                function.id = other
        return node

    def visit_Continue(self, node: ast.Continue) -> ast.AST:
        return (
            ast.copy_location(ast.Break(), node) if self.place(node, "continue -> break") else node
        )

    def visit_Break(self, node: ast.Break) -> ast.AST:
        return (
            ast.copy_location(ast.Continue(), node)
            if self.place(node, "break -> continue")
            else node
        )


def _parsed(root: Path, file: str) -> ast.Module:
    return ast.parse((root / file).read_text(encoding="utf-8"))


def mutants(root: Path, file: str) -> list[Mutant]:
    """Return all faults of a file, in order."""
    walk = _Walk(file)
    walk.visit(_parsed(root, file))
    return walk.found


def compiled(root: Path, mutant: Mutant) -> CodeType:
    """Return the code of a file with a fault."""
    wanted = mutants(root, mutant.file).index(mutant)
    tree = _Walk(mutant.file, wanted).visit(_parsed(root, mutant.file))
    return compile(ast.fix_missing_locations(tree), str(root / mutant.file), "exec")


def lines_of(root: Path, file: str) -> Iterator[str]:
    """Yield the lines of a file."""
    yield from (root / file).read_text(encoding="utf-8").splitlines()
