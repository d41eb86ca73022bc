"""The protocols of the synthetic experiments: what each is, and its settings in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.registry import PROTOCOLS
from experiments.report.load import Gallery

__all__ = ["BANDWIDTHS", "described", "settings_of"]

#: Rules for the bandwidth, in words.
BANDWIDTHS = {
    "median_distance": "gamma = 1 / median distance",
    "median_distance_half": "gamma = 1 / 2 median distance",
    "median_sq": "gamma = 1 / median squared distance",
    "median_sq_half": "gamma = 1 / 2 median squared distance",
}


def described(gallery: Gallery) -> list[tuple[str, str]]:
    """Return each protocol of a report with what it is and its settings, where they are known.

    The settings are those of the provenance; a run of one protocol may have no name for it.
    """
    run = gallery.provenance.get("run", {})
    known: Mapping[str, Mapping[str, Any]] = run.get("protocols") or {}
    found = []
    for name in gallery.protocols or [""]:
        settings = known.get(name) or run.get("protocol")
        about = PROTOCOLS.get(name, "")
        words = f"{settings_of(settings)}." if settings else ""
        parts = [f"{about[:1].upper()}{about[1:]}." if about else "", words]
        if any(parts):
            found.append((name, " ".join(part for part in parts if part)))
    return found


def settings_of(protocol: Mapping[str, Any]) -> str:
    """Describe the settings of a protocol, as in a file of ``conf/protocol``."""
    data, fit, score = (protocol[name] for name in ("data", "fit", "score"))
    scale = data.get("scale", 1.0)
    rule = BANDWIDTHS.get(str(data["bandwidth"]), f"gamma by the rule {data['bandwidth']}")
    parts = [
        f"{data['m']} nodes and {data['n']} observations",
        f"K_x = {f'{scale:g} ' * (scale != 1.0)}(I + {data['alpha']:g} L)^-1"
        + ", scaled so that signals have variance 1" * bool(data["unit_variance"]),
        f"K_z with {rule}",
        f"noise levels are {_noise(data.get('noise_axis', 'variance'))}",
        f"smoothness {'averaged' if fit['average'] else 'summed'} over observations",
        f"weights {_rounded(fit.get('decimals'))}",
        f"density {data['density']:g}, {data['weights']} weights, "
        f"{'connected graphs only' if data['connected'] else 'graphs that need not be connected'}",
        f"SBM of {data['sbm_blocks']} blocks with {data['sbm_ratio']:g} times as many links inside",
        f"BA attachment {data['ba_attachment'] or 'nearest to the density'}",
        f"graph steps by {'the exact solver' if fit['solver'] == 'newton' else fit['solver']}",
        f"APS of {score['aps']}",
        "the best grid point "
        + ("of each replicate" if score["best"] == "replicate" else "on average"),
    ]
    return "; ".join(parts)


def _noise(axis: str) -> str:
    return "standard deviations" if axis == "deviation" else "variances"


def _rounded(decimals: int | None) -> str:
    return "not rounded" if decimals is None else f"rounded to {decimals} decimals"
