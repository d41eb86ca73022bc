"""Made-up directories of published files, for tests of the verdict and of its page."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pandas as pd

from experiments.claims import Claim, Criterion, Judgement, to_table
from experiments.registry import CV

#: Claims and whether their criteria hold: every verdict is there.
CLAIMS = {
    "N1": ("Noise", [True, True]),
    "M2": ("Missing entries", [True, False]),
    "H1": ("Hyperparameters", [False, False]),
    "A3": ("Algorithm", [True]),
    "W1": ("Swiss temperature", []),
}
VERDICTS = {
    "N1": "reproduced",
    "M2": "partly",
    "H1": "not_reproduced",
    "A3": "reproduced",
    "W1": "not_evaluated",
}
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


def claims(**changes: Any) -> pd.DataFrame:
    """The table of claims; ``changes`` sets columns of all rows."""
    judged = []
    for specification in ("figure", "cv", SAME):
        for name, (experiment, answers) in CLAIMS.items():
            # by cross-validation all of M2 holds; oracle-tuned on the same fits, none of N1
            found = {("M2", "cv"): [True, True], ("N1", SAME): [False, False]}.get(
                (name, specification), answers
            )
            hard = f"It follows from a definition. {NASTY}" * (name == "A3")
            claim = Claim(
                name, experiment, "Section V, Figure 2", f"The claim {name}. {NASTY}",
                hard_to_fail=hard,
            )  # fmt: skip
            criteria = tuple(
                Criterion(
                    f"criterion {k} of {name}", value, value - 0.01, value + 0.01, holds,
                    "where it is weakest" * bool(k), timed=name == "A3", above=0.1, effect=0.15,
                    power=0.625 + 0.25 * k if name == "N1" else None,
                )
                for k, holds in enumerate(found)
                for value in [0.25 + 0.1 * k]
            )  # fmt: skip
            judged.append(Judgement(claim, specification, specification == "figure", criteria))
    return to_table(judged).assign(**changes)


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


#: What specifications change, what they are compared with, and the verdict on H1.
SPECIFICATIONS = {
    "default": ("as in the figures", "default", "not_reproduced"),
    "alpha1000": ("alpha = 1000", "default", "reproduced"),
    "small": ("exact, in a small size", "small", "partly"),
    "cvxpy": ("CVXPY, in a small size", "small", "partly"),
}


def specifications() -> pd.DataFrame:
    """Two specifications in one size, two in another: in that N1 is not reproduced."""
    rows = [
        {"specification": name, "detail": "alpha", "choice": change, "default": name == "default",
         "base": base, "claim": claim,
         "verdict": h1 if claim == "H1" else "partly" if base == "small" else VERDICTS[claim],
         "held": 1, "criteria": 2, "h1_distance": 0.05}
        for name, (change, base, h1) in SPECIFICATIONS.items()
        for claim in ("N1", "M2", "H1")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def pure_noise() -> pd.DataFrame:
    scores = {
        "independent": {"gl": 0.5, "kgln": 0.9, "kernel": 0.85},
        "pure_noise": {"gl": 0.3, "kgln": 0.8, "kernel": 0.85},
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


def publish(directory: Path) -> Path:
    """Write a directory with one file of every kind."""
    directory.mkdir(parents=True, exist_ok=True)
    tables = {
        "claims": claims(),
        "fig2": curves("fig2"),
        "fig3": curves("fig3", 0.2),
        "h1": printed(),
        "specifications": specifications(),
        "control_noise": pure_noise(),
        "control_kx": degraded(),
        "facts": facts(),
        "cv_noise": pd.concat(
            [curves("cv_noise", lift, selected_by=by)
             for by, lift in ((CV, 0.1), ("aps", 0.3))]
        ),
        "cost": pd.DataFrame(
            {"job": ["data", "fit independent, noise", "fit independent, n"],
             "jobs": [2, 3, 4], "minutes_in_all": [1.0, 2.0, 3.0],
             "seconds_longest": [9.0, 8.0, 7.0],
             "memory_mb_largest": [100, 200, 300]}
        ),
    }  # fmt: skip
    for name, table in tables.items():
        table.to_csv(directory / f"{name}.csv", index=False)
    pictures = ["fig1", "fig2", "fig3", "h1", "swiss_map", "specifications"]
    pictures += ["control_noise", "cv_noise"]
    for name in pictures:
        (directory / f"{name}.png").write_bytes(png())
    captions = {
        name: {
            "title": f"Title of {name} {NASTY}",
            "caption": f"Title of {name} {NASTY}. What it shows. Settings: 10 replicates, m = 20.",
            "figure": int(name[3:]) if name.startswith("fig") else None,
        }
        for name in pictures
    }
    state = {"commit": "0123456789abcdef", "dirty": False, "python": "3.11.7", "numpy": "2.4.6"}
    machine = {"cores": 8, "cpu": "a processor", "memory_gb": 32.0, "platform": "Linux"}
    times = {"wall_seconds": 5400.0, "cpu_seconds": 40000.0, "started": "2026-01-02"}
    provenance = {"code": [state], "run": {"overrides": []}}
    files = {"captions": captions, "provenance": provenance, "run": {"machine": machine, **times}}
    for name, content in files.items():
        (directory / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return directory
