"""Made-up directories of published files, for tests of the verdict and of its page."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.claims import Claim, Criterion, Judgement, to_table
from experiments.io import save_table
from experiments.registry import CV, of_protocol, split_protocol

#: Claims and whether their criteria hold, by protocol; real data and cost have none. Reproduced
#: under both, under one, under the other, and under neither; every verdict is there.
CLAIMS: dict[str, tuple[str, dict[str, list[bool]]]] = {
    "N1": ("Noise", {"printed": [True, True], "described": [True, True]}),
    "M2": ("Missing entries", {"printed": [True, False], "described": [True, True]}),
    "S1": ("Sizes", {"printed": [True], "described": [False]}),
    "H1": ("Hyperparameters", {"printed": [False, False], "described": [False, False]}),
    "A3": ("Algorithm", {"": [True]}),
    "W1": ("Swiss temperature", {"": []}),
}
#: The verdicts that each claim has.
VERDICTS = {
    "N1": "reproduced",
    "M2": "partly reproduced",
    "S1": "reproduced not_reproduced",
    "H1": "not_reproduced",
    "A3": "reproduced",
    "W1": "not_evaluated",
}
PROTOCOLS = ("printed", "described")
#: The specification that cross-validation is compared with.
SAME = "cv_fits_oracle"
#: What would break a page that does not escape it.
NASTY = '<script>alert("x")</script> & | `a` *b*'


def png(width: int = 40, height: int = 30) -> bytes:
    """A grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + b"\x80" * width) * height
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def claims(protocols: tuple[str, ...] = PROTOCOLS, **changes: Any) -> pd.DataFrame:
    """The table of claims; ``changes`` sets columns of all rows.

    A protocol that is not among those above has the answers of ``printed``.
    """
    judged = []
    for specification in ("figure", "cv", SAME):
        for name, (experiment, by) in CLAIMS.items():
            for protocol in protocols if "printed" in by else ("",):
                answers = by.get(protocol, by.get("printed", []))
                # by cross-validation all of M2 holds; oracle-tuned on the same fits, none of N1
                found = {("M2", "cv"): [True, True], ("N1", SAME): [False, False]}.get(
                    (name, specification), answers
                )
                made = _judged(name, experiment, specification, protocol, found)
                judged.append(made)
    return to_table(judged).assign(**changes)


def _judged(
    name: str, experiment: str, specification: str, protocol: str, found: list[bool]
) -> Judgement:
    hard = f"It follows from a definition. {NASTY}" * (name == "A3")
    claim = Claim(
        name, experiment, "Section V, Figure 2", f"The claim {name}. {NASTY}", hard_to_fail=hard
    )
    criteria = tuple(
        Criterion(
            f"criterion {k} of {name}", value, value - 0.01, value + 0.01, holds,
            "where it is weakest" * bool(k), timed=name == "A3", above=0.1, effect=0.15,
            power=0.625 + 0.25 * k if name == "N1" else None,
        )
        for k, holds in enumerate(found)
        for value in [0.25 + 0.1 * k + 0.4 * (protocol == "described")]
    )  # fmt: skip
    return Judgement(claim, specification, specification == "figure", criteria, protocol)


def curves(study: str, lift: float = 0.4, **more: Any) -> pd.DataFrame:
    """Average precision of KGL-N, ``lift`` above GL."""
    rows = [
        {"study": study, "graph": "sbm", "data": "independent", "sweep": "noise", "level": level,
         "noise": level, "model": model, "metric": "aps", "mean": mean - 0.1 * level,
         "p05": mean - 0.2, "p95": mean + 0.2, "runs": 10, **more}
        for level in (0.0, 1.0)
        for model, mean in (("gl", 0.4), ("kgln", 0.4 + lift))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def robustness() -> pd.DataFrame:
    """Two choices, two contrasts and two noise levels; one choice changes a sign."""
    rows = [
        {"kind": kind, "choice": label.lower(), "label": label, "data": "independent",
         "noise": noise, "contrast": contrast, "mean": mean, "low": mean - 0.02,
         "high": mean + 0.02, "default_mean": 0.5, "default_low": 0.45, "default_high": 0.55,
         "runs": 8, "same_sign": mean > 0}
        for label, kind in (("CVXPY", "solver"), ("four blocks", "graphs"))
        for contrast, less in (("kgln-gl", 0.0), ("kgl-kglo", 0.3))
        for noise in (0.0, 1.0)
        for mean in [0.2 + 0.2 * noise - less * (kind == "graphs")]
    ]  # fmt: skip
    return pd.DataFrame(rows)


def inference() -> pd.DataFrame:
    """The study of unstated settings: five specifications, three sentences, one met by none."""
    keys = {"alpha": 100.0, "n": 200.0, "kernel": "exact", "axis": "variance", "decimals": "4",
            "smoothness": "averaged", "bandwidth": "median_sq"}  # fmt: skip
    printed = [
        {
            **keys,
            "scale": s,
            "distance_printed": d,
            "p_value": p,
            "null_median": 0.036,
            "null_p95": 0.053,
        }
        for s, d, p in ((0.015, 0.043, 0.25), (0.05, 0.09, 0.06), (1.0, 0.2, 0.001))
    ]
    told = [{**keys, "scale": s, "distance_sentences": d, "met": m}
            for s, d, m in ((0.015, 2.5, 1), (1.0, 1.2, 2))]  # fmt: skip
    misses = {"p0": 0.0, "p1": 1.75, "p2": 0.2}
    both = [{**printed[k], **told[j], **misses, "name": name}
            for name, k, j in (("printed", 0, 0), ("described", 2, 1))]  # fmt: skip
    parts = {
        "printed": printed,
        "sentences": told,
        "confirmed_printed": [printed[0], printed[1]],
        "confirmed_sentences": [told[1]],
        "named": both,
        "front": [both[0], both[1]],
        "marginal": [
            {"factor": factor, "value": value, "prior": 0.5, "posterior": weight, "fit": fit}
            for fit, first in (("printed", 0.9), ("printed_near", 0.95), ("sentences", 0.2))
            for factor, value, weight in (
                ("decimals", "4", first), ("decimals", "none", 1 - first),
                ("scale", "0.015", first), ("scale", "1.0", 1 - first), ("n", "200.0", 0.5),
                ("n", "100.0", 0.5),
            )
        ],
        "predicted": [{"fitted_to": "printed", "predicted": "noise", "posterior": 2.0,
                       "prior": 3.0, "least": 1.0}],
        "statement": [
            {"claim": claim, "text": f"sentence {k} {NASTY}", "share": share, "nearest_miss": miss,
             "prior": 0.5, "posterior": 0.1, "penalty": miss}
            for k, (claim, share, miss) in enumerate(
                [("N2", 0.5, 0.0), ("N5", 0.0, 1.75), ("M3", 0.25, 0.0)]
            )
        ],
    }  # fmt: skip
    return pd.concat(
        [pd.DataFrame(rows).assign(table=name) for name, rows in parts.items()], ignore_index=True
    )


def pure_noise(less: float = 0.0) -> pd.DataFrame:
    """The control; KGL-N may have less on pure noise."""
    scores = {
        "independent": {"gl": 0.5, "kgln": 0.9, "kernel": 0.85},
        "pure_noise": {"gl": 0.3, "kgln": 0.8 - less, "kernel": 0.85},
    }
    rows = [
        {"graph": "sbm", "data": data, "model": model, "metric": "aps", "mean": mean,
         "low": mean - 0.01, "high": mean + 0.01, "p05": mean - 0.1, "p95": mean + 0.1}
        for data, models in scores.items()
        for model, mean in models.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


#: APS of K_x alone and of KGL-N with it, by kernel; GL has 0.3, chance is 0.2.
DEGRADED = {
    "oracle": (1.0, 0.9),
    "rewired-0.5": (0.6, 0.7),
    "covariates-1": (0.4, 0.5),
    "identity": (0.2, 0.3),
}


def degraded(gl: float = 0.3, **more: Any) -> pd.DataFrame:
    """The control with degraded kernels, of informativeness 1, 0.5, 0.25 and 0.

    Intervals are 0.03 wide for scores; for what is computed from them they grow by 0.01 below and
    0.02 above from kernel to kernel.
    """
    same = {"graph": "sbm", "data": "custom_kernel", **more}
    rows = [{**same, "level": "oracle", "model": "gl", "metric": "aps", "mean": gl}]
    for place, (side, (alone, own)) in enumerate(DEGRADED.items(), 1):
        gaps = {
            "gap_kept": (own - gl) / (DEGRADED["oracle"][1] - gl),
            "gap_over_best": own - max(gl, alone),
        }
        rows += [{**same, "level": side, "model": model, "metric": "aps", "mean": mean}
                 for model, mean in (("kernel", alone), ("kgln", own))]  # fmt: skip
        rows += [{**same, "level": side, "model": "kgln", "metric": metric, "mean": mean,
                  "low": mean - 0.01 * place, "high": mean + 0.02 * place}
                 for metric, mean in gaps.items()]  # fmt: skip
    found = pd.DataFrame(rows)
    for end, by in (("low", -0.015), ("high", 0.015)):
        found[end] = found[end].fillna(found["mean"] + by)
    return found


def facts(source: str = "real") -> pd.DataFrame:
    """Real K_x: of informativeness 0.5 for swiss, 0.375 for sushi."""
    known = {"swiss": (0.65, 0.3), "sushi": (0.5, 0.2)}
    rows = [
        {"files": files, "source": source, "key": key, "quantity": key, "value": value}
        for files, pair in known.items()
        for key, value in zip(("kx_aps", "kx_share"), pair, strict=True)
    ]
    return pd.DataFrame(rows)


#: What the paper does not state, as in the provenance of a run.
PROTOCOL: dict[str, Any] = {
    "data": {"m": 20, "n": 100, "alpha": 100.0, "bandwidth": "median_distance", "density": 0.3,
             "weights": "uniform", "connected": False, "unit_variance": False, "sbm_blocks": 2,
             "sbm_ratio": 5.0, "ba_attachment": None},
    "fit": {"average": True, "solver": "newton"},
    "score": {"aps": "weights", "best": "replicate"},
}  # fmt: skip


def printed() -> pd.DataFrame:
    return pd.DataFrame(
        {"data": "independent", "graph": "sbm", "model": "kgl", "psi": [1e-7, 1e-5],
         "paper": [0.39, 0.86], "mean": [0.49, 0.86], "p05": [0.4, 0.8], "p95": [0.5, 0.9],
         "inside": [False, True]}
    )  # fmt: skip


def synthetic(protocol: str) -> dict[str, pd.DataFrame]:
    """The tables of one protocol; ``described`` has other numbers than the others."""
    other = protocol == "described"
    cv = [curves("cv_noise", lift, selected_by=by) for by, lift in ((CV, 0.1), ("aps", 0.3))]
    return {
        "fig2": curves("fig2", 0.3 if other else 0.4),
        "fig3": curves("fig3", 0.2),
        "h1": printed(),
        "control_noise": pure_noise(0.25 if other else 0.0),
        "control_kx": degraded(),
        "cv_noise": pd.concat(cv),
    }


def publish(directory: Path, protocols: tuple[str, ...] = PROTOCOLS) -> Path:
    """Write a directory with one file of every kind."""
    directory.mkdir(parents=True, exist_ok=True)
    tables = {
        "claims": claims(protocols),
        "facts": facts(),
        "robustness": robustness(),
        "inference": pd.DataFrame([{"panel": "gap", "low": 0.05, "high": 0.5}]),
        "cost": pd.DataFrame(
            {"job": ["data", "fit independent, noise", "fit independent, n"],
             "jobs": [2, 3, 4], "minutes_in_all": [1.0, 2.0, 3.0],
             "seconds_longest": [9.0, 8.0, 7.0],
             "memory_mb_largest": [100, 200, 300]}
        ),
    }  # fmt: skip
    tables |= {
        of_protocol(study, protocol): table
        for protocol in protocols
        for study, table in synthetic(protocol).items()
    }
    for name, table in tables.items():
        table.to_csv(directory / f"{name}.csv", index=False)
    save_table(directory / "inference.parquet", inference(), {})
    drawn = ["fig2", "fig3", "h1", "control_noise", "cv_noise"]
    pictures = ["fig1", "swiss_map", "inference"]
    pictures += [of_protocol(name, protocol) for protocol in protocols for name in drawn]
    for name in pictures:
        (directory / f"{name}.png").write_bytes(png())
    captions = {
        name: {
            "title": f"Title of {split_protocol(name)[0]} {NASTY}",
            "caption": f"Title of {split_protocol(name)[0]} {NASTY}. What it shows. "
            "Settings: 10 replicates, m = 20.",
            "figure": int(split_protocol(name)[0][3:]) if name.startswith("fig") else None,
        }
        for name in pictures
    }
    state = {"commit": "0123456789abcdef", "dirty": False, "python": "3.11.7", "numpy": "2.4.6"}
    machine = {"cores": 8, "cpu": "a processor", "memory_gb": 32.0, "platform": "Linux"}
    times = {"wall_seconds": 5400.0, "cpu_seconds": 40000.0, "started": "2026-01-02"}
    known = {name: PROTOCOL | {"data": PROTOCOL["data"] | {"n": 100 + 100 * k}}
             for k, name in enumerate(protocols)}  # fmt: skip
    provenance = {"code": [state], "run": {"overrides": [], "protocols": known}}
    files = {"captions": captions, "provenance": provenance, "run": {"machine": machine, **times}}
    for name, content in files.items():
        (directory / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return directory
