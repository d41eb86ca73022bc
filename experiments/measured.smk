# Studies with jobs of their own (experiments/measured.py): measure -> gather, then figures as for any study, and a text.
for study in MEASURED.values():
    # before any work starts: names that lead nowhere, and packages that are absent
    study.check()


rule measure:
    output:
        f"{OUT}/{{kind}}/{{study}}/{{part}}.parquet",
    log:
        f"{OUT}/logs/measure/{{kind}}/{{study}}/{{part}}.log",
    benchmark:
        f"{OUT}/benchmarks/measure/{{kind}}/{{study}}/{{part}}.tsv"
    wildcard_constraints:
        kind="|".join(KINDS),
    params:
        part=lambda w: MEASURED[w.study].parts[w.part],
        design=lambda w: MEASURED[w.study].shared,
        code=lambda w: fingerprint(sources("measure", f"experiments.{w.kind}.measure")),
    script:
        "scripts/measure.py"


rule gather:
    input:
        lambda w: publish.measured_parts(PLAN, w.study),
    output:
        f"{OUT}/tables/{{study}}.parquet",
    log:
        f"{OUT}/logs/gather/{{study}}.log",
    wildcard_constraints:
        study="|".join(MEASURED) or "none",
    localrule: True
    params:
        design=lambda w: MEASURED[w.study].design,
    script:
        "scripts/gather.py"


if PAGE:

    rule page:
        input:
            PAGE["table"],
        output:
            update(PAGE["text"]),
        log:
            f"{OUT}/logs/page.log",
        localrule: True
        params:
            kind=PAGE["kind"],
            code=fingerprint(sources("page", f"experiments.report.{PAGE['kind']}")),
        script:
            "scripts/page.py"
