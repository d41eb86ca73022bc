"""Kernel specs by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kgl.kernels.base import Kernel
from kgl.kernels.graph import LaplacianKernel
from kgl.kernels.numeric import RBF, FunctionKernel, Linear, Precomputed

KERNELS: dict[str, type[Kernel]] = {
    "laplacian": LaplacianKernel,
    "linear": Linear,
    "precomputed": Precomputed,
    "rbf": RBF,
}
"""Kernel specs by name; :mod:`kgl.kernels.mixed`, which resolves names itself, adds its own."""


def as_kernel(spec: Kernel | str | Callable[..., Any], **options: Any) -> Kernel:
    """Resolve a kernel name, spec or function to a spec.

    A name is one of :data:`KERNELS`, `options` are the parameters of its spec; a spec is returned
    as it is; a function of two arrays becomes a :class:`FunctionKernel`.

    >>> as_kernel("rbf", bandwidth="unit")
    RBF(gamma=None, bandwidth='unit', scale=None)
    """
    names = ", ".join(repr(name) for name in sorted(KERNELS))
    if isinstance(spec, str):
        if spec.lower() not in KERNELS:
            raise ValueError(f"unknown kernel {spec!r}: choose one of {names}, or pass a spec")
        if spec.lower() == "laplacian" and "L" not in options:
            raise TypeError(
                "kernel 'laplacian' needs a graph: pass LaplacianKernel(L) or "
                "LaplacianKernel.from_adjacency(W)"
            )
        return KERNELS[spec.lower()](**options)
    if options:
        raise TypeError(
            f"options {sorted(options)} go with a kernel name, got {spec!r}: set them on the spec"
        )
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, type):
        raise TypeError(f"got the class {spec.__name__}: pass an instance, {spec.__name__}()")
    if callable(spec):
        return FunctionKernel(spec)
    raise TypeError(
        f"a kernel is a name ({names}), a spec such as RBF(), or a function; got "
        f"{type(spec).__name__}: for a kernel matrix use Precomputed()"
    )
