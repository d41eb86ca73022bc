"""docs/extending.md: its files, written as they stand, and its commands do what the page says."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from experiments.io import load_arrays, load_table

PAGE = (Path(__file__).resolve().parents[3] / "docs/extending.md").read_text(encoding="utf-8")
#: Appended to the overrides of every command of the page, so that it is short.
TINY = (
    "replicates=2",
    "grid=tiny",
    "protocol.data.m=8",
    "protocol.data.n=12",
    "levels.noise=[0.01]",
    "levels.missing=[0.3]",
)
#: A run ends up to a timespan after its last job; the profile's is half a minute.
QUICK = ("--max-jobs-per-timespan", "100/1s")


def blocks(section):
    """Return (language, text) of the code blocks under a heading."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)[1]
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def files(section):
    """Return the files of a section: the first line of a block names its file."""
    named = [(re.match(r"# (\S+/\S+)\n", text), text) for _, text in blocks(section)]
    return {name[1]: text for name, text in named if name}


def commands(section):
    """Return the command lines of a section, each with the tiny settings added.

    `python -m experiments` takes them as they are. Snakemake takes them at the end of its list
    `overrides`, and a `run=` if it has none, since overrides change the name of the directory.
    """
    lines = [line for kind, text in blocks(section) if kind == "bash" for line in text.splitlines()]
    for words in map(shlex.split, lines):
        if words[:3] == ["python", "-m", "experiments"]:
            yield [sys.executable, *words[1:], *TINY]
            continue
        assert words[0] == "snakemake"
        first = words.index("--config") + 1
        last = next((k for k in range(first, len(words)) if words[k].startswith("-")), len(words))
        config = dict(word.split("=", 1) for word in words[first:last])
        config.setdefault("run", config["study"])
        config["overrides"] = json.dumps([*yaml.safe_load(config.get("overrides", "[]")), *TINY])
        given = [f"{key}={value}" for key, value in config.items()]
        yield [sys.executable, "-m", "snakemake", *QUICK, *words[1:first], *given, *words[last:]]


def follow(section, checkout):
    """Write the files of a section and run its commands; return what they print."""
    for name, text in files(section).items():
        path = checkout.root / name
        assert not path.exists(), f"{name} exists already"
        path.write_text(text, encoding="utf-8")
    return run(section, checkout)


def run(section, checkout):
    """Run the commands of a section; return what they print."""
    printed = []
    for command in commands(section):
        done = subprocess.run(
            command,
            cwd=checkout.root,
            env=checkout.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        printed.append(done.stdout)
    return printed


def shows(picture, color):
    """Say whether some point of a picture has a color."""
    return bool((np.abs(imread(picture)[..., :3] - to_rgb(color)) < 2 / 255).all(axis=-1).any())


def test_the_page_has_a_file_and_a_command_for_each_part():
    headings = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    assert headings == [
        "A model", "A metric", "A graph family", "A data set", "A figure", "A claim"
    ]  # fmt: skip
    for heading in headings[:-1]:
        kinds = {Path(name).suffix for name in files(heading)}
        assert kinds == ({".py"} if heading == "A metric" else {".py", ".yaml"})
        assert list(commands(heading))
    every = [block for heading in headings for block in blocks(heading)]
    assert len(every) == len(re.findall(r"^```\w+$", PAGE, re.MULTILINE))


def test_a_new_model(checkout):
    by_hand, _ = follow("A model", checkout)
    out = checkout.root / "results/partial"
    table, _ = load_table(out / "tables/fig2-described.parquet")
    models = table.groupby("data")["model"].unique()
    assert set(models["independent"]) == {"gl", "kgln", "partial"}
    mine = table[table["model"] == "partial"]
    grid = yaml.safe_load(files("A model")["conf/model/partial.yaml"])["grid"]["shrinkage"]
    assert set(mine["shrinkage"]) <= set(grid)
    assert table.loc[table["model"] == "kgln", "shrinkage"].isna().all()
    assert mine["psi"].isna().all()
    assert set(mine["metric"]) == {"aps", "aps_scores", "sse", "density", "n_iter", "converged"}
    drawn = pd.read_csv(out / "figures/fig2-described.csv")
    assert set(drawn.loc[drawn["data"] == "independent", "model"]) == {"gl", "kgln", "partial"}
    color = yaml.safe_load(files("A model")["conf/model/partial.yaml"])["style"]["color"]
    assert shows(out / "figures/fig2-described.png", color)
    assert "aps" in by_hand


def test_a_new_metric(checkout):
    parts = files("A metric")
    assert set(parts) == {"experiments/metrics.py", "experiments/registry.py"}
    function, row = parts.values()
    checkout.append("experiments/metrics.py", f"\n\n{function}")
    start = "METRICS: dict[str, Metric] = {\n"
    checkout.replace("experiments/registry.py", start, start + row)
    run("A metric", checkout)
    (path,) = checkout.root.glob("results/one-off/*/*/table.parquet")
    table, _ = load_table(path)
    mine = table[table["metric"] == "max_degree"]
    assert set(mine["replicate"]) == {0, 1}
    # the weights of a graph sum to the number of its nodes, so the mean degree is 1
    assert (mine["value"] > 1).all()
    assert set(mine["selected_by"]) == set(table["selected_by"])


def test_a_new_family(checkout):
    follow("A graph family", checkout)
    out = checkout.root / "results/ws"
    table, _ = load_table(out / "tables/fig2-described.parquet")
    assert set(table["graph"]) == {"ws"}
    assert set(pd.read_csv(out / "figures/fig2-described.csv")["graph"]) == {"ws"}
    arrays, record = load_arrays(out / "data/ws-independent-described.npz", "noise-0.01")
    # rewiring keeps the number of links: m nodes with two neighbours each
    assert ((arrays["W"] > 0).sum(axis=(1, 2)) == 2 * 8).all()
    graph = record["settings"]["noise-0.01"]["graph"]
    assert graph["family"] == "experiments.families.watts_strogatz"
    # independent and dependent data share their graphs
    other, _ = load_arrays(out / "data/ws-dependent-described.npz", "noise-0.01")
    assert (arrays["W"] == other["W"]).all()


def test_a_new_data_set(checkout):
    follow("A data set", checkout)
    out = checkout.root / "results/outages"
    arrays, _ = load_arrays(out / "data/sbm-outages.npz", "missing-0.3")
    gaps = np.isnan(arrays["Y"])
    assert (gaps.sum(axis=1) == round(0.3 * 12)).all()
    # one stretch each, which may go on from the last to the first observation
    assert ((gaps != np.roll(gaps, 1, axis=1)).sum(axis=1) == 2).all()
    table, _ = load_table(out / "tables/outages.parquet")
    assert set(table["data"]) == {"outages"}
    scored = table[(table["metric"] == "mse_out") & (table["selected_by"] == "mse_out")]
    assert set(scored["model"]) == {"gl2step", "kglo", "kgl"}
    assert (out / "figures/outages.png").exists()


def test_a_new_figure(checkout):
    follow("A figure", checkout)
    out = checkout.root / "results/bars"
    drawn = pd.read_csv(out / "figures/bars.csv")
    assert list(drawn["model"]) == ["gl", "kgln", "kgl"]
    assert shows(out / "figures/bars.png", "#0072B2")
    assert (out / "figures/bars.pdf").exists()
    page = (checkout.root / "report.html").read_text(encoding="utf-8")
    assert "graphs at noise variance 1." in page
