"""The figures of docs/campaigns.md, from the results of the last full runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.page import inside, renew
from tests.campaigns.kills import rules
from tests.campaigns.mutation import judged
from tests.campaigns.registry import CAMPAIGNS
from tests.campaigns.result import KEPT, ROOT, added, load

PAGE = ROOT / "docs" / "campaigns.md"
#: Names of the parts of the page that are made here.
PARTS = ("figures", "counts", "survivors")


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join(lines)


def figures(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the table of campaigns: what was tried, and what was found."""
    rows = []
    for name, campaign in CAMPAIGNS.items():
        runs = kept.get(name, [])
        if not runs:
            rows.append([f"`{name}`", f"not run yet; full size {campaign.full:,}", "", "", ""])
            continue
        total = added(runs)
        found = ", ".join(f"{count} {kind}" for kind, count in total["faults"].items())
        if name == "mutation":
            found = score(total)
        if name == "kills":
            found = f"{_without(found)}; {_rules_hit(total)}"
        minutes = sum(one["seconds"] for one in runs) / 60
        tried = f"{total['tried']:,} {campaign.unit}"
        if total["tried"] < campaign.full:
            tried += f" of {campaign.full:,}"
        rows.append([f"`{name}`", tried, found, f"{minutes:.0f} min", len(runs)])
    return _table(["campaign", "tried", "faults", "time", "runs"], rows)


def _without(found: str) -> str:
    """Return faults without the one that several runs together decide."""
    return ", ".join(part for part in found.split(", ") if "never hit" not in part)


def _rules_hit(total: Mapping[str, Any]) -> str:
    """Return how many rules were running when a kill came, and which were not."""
    known = rules()
    hit = {text.removeprefix("at rule: ") for text in total["counts"]} & known
    missed = ", ".join(sorted(known - hit))
    return f"{len(hit)} of {len(known)} rules hit" + (f" (not {missed})" if missed else "")


def counts(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return what became of the attempts of each campaign."""
    parts = []
    for name in CAMPAIGNS:
        found = added(kept.get(name, []))["counts"]
        if found:
            listed = "; ".join(f"{text} {count:,}" for text, count in found.items())
            parts.append(f"* `{name}`: {listed}.")
    return "\n".join(parts)


def survivors(kept: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the score of the mutants, and those that no test catches, with their verdicts."""
    runs = kept.get("mutation", [])
    if not runs:
        return "Not run yet."
    total = added(runs)
    rows = [[f"`{name}`", verdict, reason] for name, verdict, reason in verdicts(total)]
    text = f"{score(total)}."
    return text + "\n\n" + _table(["survivor", "verdict", "why"], rows) if rows else text


def verdicts(total: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return survivors with their verdicts and the reasons, as they are now."""
    known, found = judged(), []
    for name in sorted({one["mutant"] for one in total["details"].get("survivors", [])}):
        one = known.get(name, {"verdict": "not judged", "reason": ""})
        found.append((name, one["verdict"], one["reason"]))
    return found


def score(total: Mapping[str, Any]) -> str:
    """Return the share of mutants that are caught, without and with equivalent ones."""
    caught = total["counts"].get("caught", 0)
    same = sum(verdict == "equivalent" for _, verdict, _ in verdicts(total))
    share = caught / max(1, total["tried"] - same)
    return (
        f"{caught} of {total['tried']} mutants caught; {same} of the others are equivalent, so the "
        f"score is {share:.0%}"
    )


def parts() -> dict[str, str]:
    """Return the parts of the page that are made from the results."""
    kept = load(KEPT)
    return {"figures": figures(kept), "counts": counts(kept), "survivors": survivors(kept)}


def write() -> None:
    """Renew the page."""
    for name, text in parts().items():
        renew(PAGE, name, text)


def stale() -> list[str]:
    """Return the parts of the page that are not those of the results."""
    return [name for name, text in parts().items() if inside(PAGE, name) != text.strip()]
