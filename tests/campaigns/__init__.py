"""Campaigns against the project: many seeded attempts to break it, counted.

    python -m tests.campaigns fuzz --budget 2000 --seed 1 --out found.json
    python -m tests.campaigns all

``registry.py`` lists them. A campaign is a module with ``run(budget, seed)``, which returns what
``result.Tally.record`` does: how much was tried, the faults that must not occur, and examples of
those that did. docs/campaigns.md has the figures of the last full run.
"""
