# One command per task; `make` alone lists them. Needs GNU make and Python 3.11 or later with pip;
# everything else is installed into .venv from the lock in requirements/.

PYTHON ?= python3
VENV ?= .venv
# Test workers, and jobs of the workflow at once. Each runs one BLAS thread.
WORKERS ?= 2
CORES ?= all

# Windows puts the programs of an environment elsewhere.
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
# The workflow's scripts and shell commands find the environment's python first on the path.
SNAKEMAKE = PATH="$(abspath $(BIN)):$$PATH" "$(BIN)/snakemake"
LOCKS := requirements/build.txt requirements/dev.txt
DOCS := $(VENV)/.stamp-docs
SLURM := $(VENV)/.stamp-slurm
# Two stamps: a changed lock rebuilds the environment (a minute or two), a changed pyproject.toml
# only reinstalls the project (seconds). A .venv without stamps was not made by this file, or only in
# part, so it is rebuilt.
LOCKED := $(VENV)/.stamp-lock
READY := $(VENV)/.stamp-project

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
.PHONY: help env test check audit docs dist figures preview inference pays arena trust smoke slurm-test compare campaign bench bench-scale peers lock sbom clean

# One BLAS thread everywhere: results and timings do not depend on the number of cores, and
# parallelism comes from processes.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export BLIS_NUM_THREADS := 1
export VECLIB_MAXIMUM_THREADS := 1
export NUMEXPR_NUM_THREADS := 1
# No display is needed for figures.
export MPLBACKEND := Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo "Variables: PYTHON (builds the environment, default python3), VENV (default .venv), WORKERS (of tests, default 2), CORES (of the workflow, default all)"

env: $(READY) ## Build the environment in .venv from the lock

$(LOCKED): $(LOCKS)
	@command -v "$(PYTHON)" >/dev/null || { \
	  echo "error: no '$(PYTHON)' here; name a Python 3.11 or later with: make env PYTHON=python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "error: '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1); kgl needs Python 3.11 or later." >&2; \
	  echo "       Name another one with: make env PYTHON=python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "error: '$(PYTHON)' cannot create environments (its modules venv and ensurepip are missing)." >&2; \
	  echo "       On Debian or Ubuntu install the package python3-venv, or choose another with PYTHON=..." >&2; exit 1; }
	@# --clear empties the directory, so never point it at one that is not an environment.
	@if [ -e "$(VENV)" ] && [ ! -e "$(VENV)/pyvenv.cfg" ] && [ -n "$$(ls -A "$(VENV)")" ]; then \
	  echo "error: '$(VENV)' exists and is not a Python environment; move it away or set VENV." >&2; exit 1; fi
	"$(PYTHON)" -m venv --clear "$(VENV)"
	@# The build tools first: the second step builds a source archive with them, without fetching others.
	"$(BIN)/python" -m pip install --quiet --require-hashes -r requirements/build.txt
	"$(BIN)/python" -m pip install --quiet --require-hashes --no-build-isolation -r requirements/dev.txt
	@touch "$@"

$(READY): $(LOCKED) pyproject.toml
	"$(BIN)/python" -m pip install --quiet --no-deps --no-build-isolation --editable .
	"$(BIN)/python" -m pip check
	@touch "$@"

test: $(READY) ## Run the tests and the doctests
	"$(BIN)/python" -m pytest -n $(WORKERS)

check: $(READY) ## Lint, formatting, types, import rules and known vulnerabilities
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/lint-imports" --no-logo
	"$(BIN)/snakefmt" --check Snakefile experiments/inference/rules.smk experiments/measured.smk
	@# The linter wants a container or a conda environment for each rule; here that is `make env`.
	@found=$$($(SNAKEMAKE) --lint 2>&1 || true); \
	  echo "$$found" | grep -q '^Lints for\|^Congratulations' || { echo "$$found"; exit 1; }; \
	  if echo "$$found" | grep '^ *\* ' | grep -v 'Specify a conda environment'; then exit 1; fi; \
	  echo "snakemake --lint: no other finding"
	@$(MAKE) --no-print-directory audit

# Says so, and does not fail, where the data base cannot be reached.
audit: $(READY) ## Known vulnerabilities of the locked packages
	@"$(BIN)/python" requirements/supply_chain.py audit

# On top of the environment, not beside it: examples and docstrings see what the tests see.
$(DOCS): requirements/docs.txt $(LOCKED) | $(READY)
	"$(BIN)/python" -m pip install --quiet --require-hashes -r requirements/docs.txt
	"$(BIN)/python" -m pip check
	@touch "$@"

# Every warning is an error; every example runs; every internal link and anchor is checked.
docs: $(READY) $(DOCS) ## Build the site in docs/_build/html
	"$(BIN)/python" -m sphinx --fail-on-warning --keep-going --quiet -c docs -d docs/_build/doctrees . docs/_build/html
	"$(BIN)/python" docs/_site/links.py docs/_build/html

# From a copy of what is committed, so that nothing else gets in. The wheel is built from the archive.
dist: $(READY) ## Build the source archive and the wheel of the last commit in dist/
	rm -rf build/dist dist
	mkdir -p build/dist dist
	git archive HEAD | tar -x -C build/dist
	cd build/dist && "$(abspath $(BIN))/python" -c 'from setuptools.build_meta import build_sdist; build_sdist("$(CURDIR)/dist")'
	"$(BIN)/python" -m pip wheel --quiet --no-deps --no-build-isolation --no-index --wheel-dir dist dist/*.tar.gz
	rm -rf build/dist

# A run that was stopped, even killed outright, goes on with the same command.
figures: $(READY) ## Run the whole replication: every figure, its table, the verdict and a report page
	$(SNAKEMAKE) --cores $(CORES)

preview: $(READY) ## Every figure of the paper at reduced size, in a few minutes, in results/preview
	$(SNAKEMAKE) --cores $(CORES) --max-jobs-per-timespan 1000/3s --config study=preview

inference: $(READY) ## Which unstated settings agree with the paper: an hour, not part of figures
	$(SNAKEMAKE) --cores $(CORES) --config study=inference

pays: $(READY) ## When does it pay: real tables against baselines; names the packages that it lacks
	$(SNAKEMAKE) --cores $(CORES) --config study=pays

arena: $(READY) ## Which package finds the graph: peers in environments of their own
	$(SNAKEMAKE) --cores $(CORES) --config study=arena

trust: $(READY) ## Regret of rules without a ground truth, reliability of edge probabilities
	$(SNAKEMAKE) --cores $(CORES) --config study=trust_prepared
	$(SNAKEMAKE) --cores $(CORES) --config study=trust

# A run ends up to a timespan after its last job: see profiles/default.
smoke: $(READY) ## The same at a tiny size: every rule and all six models, in about two minutes
	$(SNAKEMAKE) --cores $(CORES) --max-jobs-per-timespan 1000/3s --config study=smoke

# On top of the environment too; the two packages of the executor are in no lock.
$(SLURM): pyproject.toml | $(READY)
	"$(BIN)/python" -m pip install --quiet --no-build-isolation --editable ".[slurm]"
	"$(BIN)/python" -m pip check
	@touch "$@"

# Every campaign at its full size, an hour or two; docs/campaigns.md says what each does.
campaign: $(READY) ## Try to break it: random calls, damaged files, kills, mutants; renews docs/campaigns.md
	"$(BIN)/python" -m tests.campaigns all
	"$(BIN)/python" -m tests.campaigns page

# As root on Debian or Ubuntu: installs Slurm and munge where they are missing. All it starts is
# stopped at the end, and it works in copies of the checkout. STUDY=pays_tiny takes a few minutes.
slurm-test: $(SLURM) ## The smoke study through a real one-node Slurm whose node is lost twice: the same bytes?
	"$(BIN)/python" -m tests.cluster.run --study $(or $(STUDY),smoke)

compare: $(READY) ## Compare two runs: make compare FIRST=paper SECOND=fig2-1a2b3c4d
	@test -n "$(FIRST)" -a -n "$(SECOND)" || { \
	  echo "error: name two directories of results/: make compare FIRST=paper SECOND=fig2-1a2b3c4d" >&2; exit 1; }
	"$(BIN)/python" -m experiments.compare "$(FIRST)" "$(SECOND)"

bench: $(READY) ## Time kgl against the alternatives, one thread
	"$(BIN)/python" -m benchmarks.run

# Tasks that are done are not repeated; peers need packages that the page names.
bench-scale: $(READY) ## Time and memory over nodes and rows, and renew docs/scale.md
	"$(BIN)/python" -m benchmarks.scale

# Needs R with BDgraph; says how to install it.
peers: $(READY) ## Compare edge probabilities with those of BDgraph (R), and renew docs/benchmarks.md
	"$(BIN)/python" -m benchmarks.peers

# Universal: one file for every platform and every Python from 3.11, with one version per package.
# No index address, no find-links path and no command line of this machine end up in the files.
COMPILE = "$(BIN)/uv" pip compile --quiet --upgrade --universal --python-version 3.11 \
	--fork-strategy fewest --generate-hashes --no-emit-index-url --no-emit-find-links \
	--custom-compile-command "make lock"

lock: $(READY) ## Renew requirements/*.txt (the next make rebuilds the environment)
	$(COMPILE) pyproject.toml --extra dev --output-file requirements/dev.txt
	@# Constrained by the first, so that the second step of the installation changes nothing of the first.
	$(COMPILE) pyproject.toml --extra docs --constraint requirements/dev.txt --output-file requirements/docs.txt
	$(COMPILE) requirements/build.in --constraint requirements/dev.txt --output-file requirements/build.txt

sbom: $(READY) ## Write the bill of materials of the lock (CycloneDX) to build/sbom.cdx.json
	@"$(BIN)/python" requirements/supply_chain.py sbom build/sbom.cdx.json

clean: ## Remove caches and build products (keeps .venv, results and figures)
	rm -rf build dist docs/_build docs/gallery docs/reference *.egg-info .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -not -path './$(VENV)/*' -prune -exec rm -rf {} +
