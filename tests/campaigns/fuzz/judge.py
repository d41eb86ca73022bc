"""What became of a call: refused clearly, a raw traceback, a changed input, a hang."""

from __future__ import annotations

import ast
import re
import signal
import traceback
import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

import kgl

#: Seconds after which a call counts as hanging.
LIMIT = 60
_KGL = Path(kgl.__file__).parent
#: Words of a remedy. A message without one tells what is wrong and not what to do.
_REMEDY = re.compile(
    r"\b(pass|give|use|choose|drop|must|set|raise|lower|reset|install|call|fit|replace|rename|"
    r"correct|leave|add|need|needs|required|reshape|allow|take|lower|convert|expected|fill|rescale|"
    r"remove|should|supply|at least|between|look for|nodes are|penalties are)\b",
    re.IGNORECASE,
)


class HangError(BaseException):
    """A call took longer than ``LIMIT``."""


@dataclass
class Call:
    """One call: what, with what, and what must hold of its result."""

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    check: Callable[[Any, list[str]], list[str]] | None = None
    #: Whether the same call twice must give the same; those that learn in place say no.
    repeat: bool = True

    def run(self) -> Any:
        return self.function(*self.args, **self.kwargs)


def _stop(*_: Any) -> None:
    raise HangError


@dataclass
class Verdict:
    """What became of a call."""

    #: "fine", "refused", "raw", "hang", "changed" or "wrong"
    kind: str
    what: str = ""


def judge(call: Call, *, twice: bool) -> Verdict:
    """Make a call and judge it."""
    before = fingerprint([call.args, call.kwargs])
    signal.signal(signal.SIGALRM, _stop)
    signal.alarm(LIMIT)
    try:
        found = _outcome(call, twice=twice)
    except HangError:
        return Verdict("hang", f"more than {LIMIT} s")
    finally:
        signal.alarm(0)
    if found.kind in ("fine", "refused") and fingerprint([call.args, call.kwargs]) != before:
        return Verdict("changed", "an argument is not what it was")
    return found


def _outcome(call: Call, *, twice: bool) -> Verdict:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call.run()
        except HangError:
            raise
        except BaseException as error:
            reason = raw(error)
            if reason:
                return Verdict("raw", f"{reason} {type(error).__name__}: {str(error)[:200]}")
            return Verdict("refused", str(error))
        try:
            messages = [str(one.message) for one in caught]
            problems = call.check(result, messages) if call.check else []
        except HangError:
            raise
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            return Verdict(
                "wrong", f"the check failed with {error!r} at {where.name}:{where.lineno}"
            )
        if problems:
            return Verdict("wrong", "; ".join(problems))
        if twice and call.repeat:
            first = fingerprint(result)
            if fingerprint(call.run()) != first:
                return Verdict("wrong", "a second call gives another result")
    return Verdict("fine")


# ------------------------------------------------------------------------------------- messages


def raw(error: BaseException) -> str:
    """Return why an error is a raw traceback, with its place; nothing if it is a clear refusal."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if _KGL in Path(f.filename).parents]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "no frame of kgl"
    plain = isinstance(error, ValueError | TypeError | MemoryError | ImportError)
    plain = plain and not isinstance(error, np.linalg.LinAlgError | UnicodeError)
    if not plain:
        return f"[{place}]"
    if not frames:
        return "[no traceback, no remedy]"
    last, path = frames[-1], Path(frames[-1].filename)
    if "sklearn" in path.parts and path.name in (
        "validation.py",
        "_param_validation.py",
        "base.py",
    ):
        return ""  # scikit-learn's own messages, as for any of its estimators
    if len(str(error)) < 20 or not _REMEDY.search(str(error)):
        return f"[{place}, no remedy]"
    if "unexpected keyword argument" in str(error) and not own:
        return ""
    if _KGL in path.parents and last.lineno in _raises(path):
        return ""
    return f"[{place}, from {path.name}:{last.lineno}]"


@cache
def _raises(path: Path) -> frozenset[int]:
    """Return the lines of a file that belong to `raise` statements."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


# --------------------------------------------------------------------------------- fingerprints


def fingerprint(value: Any, depth: int = 0) -> Any:
    """Return something that compares equal for equal values, to the bit."""
    if depth > 8:
        return "deep"
    kind = type(value).__name__
    if value is None or isinstance(value, str | bytes | bool | int | complex):
        return kind, repr(value)[:200]
    if isinstance(value, float | np.generic):
        return kind, repr(value)
    if isinstance(value, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(value)
        return kind, value.shape, value.data.tobytes(), mask.tobytes()
    if isinstance(value, np.ndarray):
        if value.dtype == object:
            return kind, value.shape, [fingerprint(v, depth + 1) for v in value.ravel()]
        return kind, str(value.dtype), value.shape, value.tobytes(), value.flags.writeable
    if sparse.issparse(value):
        coo = value.tocoo()
        return kind, value.shape, [c.tobytes() for c in coo.coords], coo.data.tobytes()
    if isinstance(value, pd.DataFrame):
        columns = [
            fingerprint(value.iloc[:, k].to_numpy(), depth + 1) for k in range(value.shape[1])
        ]
        return (
            kind,
            repr(list(value.columns)),
            repr(list(value.index)),
            repr(value.dtypes.tolist()),
            columns,
        )
    if isinstance(value, pd.Series | pd.Index):
        return kind, fingerprint(value.to_numpy(), depth + 1)
    if isinstance(value, Mapping):
        return kind, [(repr(k), fingerprint(v, depth + 1)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return kind, [fingerprint(v, depth + 1) for v in value]
    if isinstance(value, set | frozenset):
        return kind, sorted(map(repr, value))
    if isinstance(value, BaseEstimator):
        public = {k: v for k, v in vars(value).items() if not k.startswith("_")}
        return kind, fingerprint(public, depth + 1)
    if isinstance(value, np.random.Generator):
        return kind, "generator"
    if is_dataclass(value) and not isinstance(value, type):
        return kind, [fingerprint(getattr(value, f.name), depth + 1) for f in fields(value)]
    if hasattr(value, "adj") and hasattr(value, "nodes"):
        return kind, repr(value.nodes(data=True)), repr(value.edges(data=True))
    if isinstance(value, types.FunctionType | type):
        return kind, getattr(value, "__name__", "")
    return (kind,)
