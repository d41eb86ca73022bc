# The study of unstated settings: simulate -> search -> confirm -> infer, then the figure as for any study.
from experiments.inference.design import parts

PARTS = {study: parts(design) for study, design in DESIGNS.items()}


rule simulate:
    output:
        f"{OUT}/inference/{{study}}/simulated/{{part}}.npz",
    log:
        f"{OUT}/logs/simulate/{{study}}/{{part}}.log",
    benchmark:
        f"{OUT}/benchmarks/simulate/{{study}}/{{part}}.tsv"
    params:
        part=lambda w: PARTS[w.study][w.part],
        design=lambda w: DESIGNS[w.study],
        code=fingerprint(sources("simulate")),
    script:
        "../scripts/simulate.py"


rule search:
    input:
        lambda w: publish.simulated_parts(PLAN, w.study),
    output:
        f"{OUT}/inference/{{study}}/search.parquet",
    log:
        f"{OUT}/logs/search/{{study}}.log",
    benchmark:
        f"{OUT}/benchmarks/search/{{study}}.tsv"
    params:
        design=lambda w: DESIGNS[w.study],
        code=fingerprint(sources("search")),
    script:
        "../scripts/search.py"


rule confirm:
    input:
        f"{OUT}/inference/{{study}}/search.parquet",
    output:
        f"{OUT}/inference/{{study}}/confirmed/{{kind}}-{{rank}}.parquet",
    log:
        f"{OUT}/logs/confirm/{{study}}/{{kind}}-{{rank}}.log",
    benchmark:
        f"{OUT}/benchmarks/confirm/{{study}}/{{kind}}-{{rank}}.tsv"
    params:
        design=lambda w: DESIGNS[w.study],
        code=fingerprint(sources("confirm")),
    script:
        "../scripts/confirm.py"


rule infer:
    input:
        search=f"{OUT}/inference/{{study}}/search.parquet",
        confirmed=lambda w: expand(
            f"{OUT}/inference/{w.study}/confirmed/{{kind}}-{{rank}}.parquet",
            kind=["printed", "sentences"],
            rank=range(DESIGNS[w.study]["naming"]["candidates"]),
        ),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/infer/{{study}}.log",
    benchmark:
        f"{OUT}/benchmarks/infer/{{study}}/table.tsv"
    wildcard_constraints:
        study="|".join(DESIGNS) or "none",
    params:
        design=lambda w: DESIGNS[w.study],
        code=fingerprint(sources("infer")),
    script:
        "../scripts/infer.py"
