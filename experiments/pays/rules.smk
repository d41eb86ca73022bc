# The study of real tables: measure -> gather, then the figure as for any study, and its text.
from experiments.pays.design import parts as pays_parts

MEASURED = {study: pays_parts(design) for study, design in PAYS.items()}
if PAYS:
    from experiments.pays.measure import check

    # before any work starts: names that lead nowhere, and packages that are absent
    for design in PAYS.values():
        check(design)


rule measure:
    output:
        f"{OUT}/pays/{{study}}/{{part}}.parquet",
    log:
        f"{OUT}/logs/measure/{{study}}/{{part}}.log",
    benchmark:
        f"{OUT}/benchmarks/measure/{{study}}/{{part}}.tsv"
    params:
        part=lambda w: MEASURED[w.study][w.part],
        design=lambda w: {k: PAYS[w.study][k] for k in ("seeds", "methods", "left_out")},
        code=fingerprint(sources("measure")),
    script:
        "../scripts/measure.py"


rule gather:
    input:
        lambda w: publish.measured_parts(PLAN, w.study),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/gather/{{study}}.log",
    wildcard_constraints:
        study="|".join(PAYS) or "none",
    params:
        design=lambda w: PAYS[w.study],
    script:
        "../scripts/gather.py"


if "figures/pays.parquet" in PUBLISHED:

    rule when_it_pays:
        input:
            "figures/pays.parquet",
        output:
            update("docs/when-it-pays.md"),
        log:
            f"{OUT}/logs/when_it_pays.log",
        params:
            code=fingerprint(sources("when_it_pays")),
        script:
            "../scripts/when_it_pays.py"
