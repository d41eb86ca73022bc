"""Select grid points and write the table of one study."""

from experiments.io import distinct, load_arrays, logged, save_table, state_of
from experiments.score import score_study

study, params = snakemake.wildcards.study, snakemake.params
with logged(snakemake.log[0]) as report:
    loaded = [load_arrays(path) for path in snakemake.input.fits]
    report(f"{study}: {len(loaded)} cells")
    cells = [(label, fit) for label, (fit, _) in zip(params.labels, loaded, strict=True)]
    table = score_study(study, cells, params.score)
    names = [
        "/".join(str(path).removesuffix(".npz").split("/")[-3:]) for path in snakemake.input.fits
    ]
    settings = {
        "study": study,
        "score": dict(params.score),
        "fits": {name: record["digest"] for name, (_, record) in zip(names, loaded, strict=True)},
        # the fits may be older than this table
        "made_by": distinct([state_of(record) for _, record in loaded]),
    }
    report(f"{len(table)} rows")
    save_table(snakemake.output[0], table, settings)
