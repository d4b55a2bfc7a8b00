# make demo    everything at demo scale, offline, then results/report.html
# make test    the test suite          make lint   style, types, workflow checks
# make bench   speed against plain code   make help   the other targets
# Each target first makes .venv from requirements.lock, once; those for development add
# requirements-dev.lock. PyTorch is without CUDA where there is no NVIDIA card and its CPU builds
# can be had; TORCH=cuda or TORCH=cpu says which, for a .venv that isn't there yet.

PYTHON ?= $(firstword $(foreach v,3.11 3.12 3.13,$(shell command -v python$(v))) python3.11)
TORCH  ?= auto
CORES  ?= all
SHELL  := /bin/bash -o pipefail
BIN    := .venv/bin
READY  := .venv/ready
DEV    := .venv/ready-dev
# No other environment that is active may be the one that uv fills.
unexport VIRTUAL_ENV

# Some images forbid Python to keep what it compiled; each job would compile all of PyTorch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test faults rehearsal clotho cluster container lint style types secrets format bench config wheel docs paintings experts networks small lock envs clean

help: ## list the targets
	@sed -n 's/^\([a-z ]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(READY) ## make .venv, with the command `triptych` in it (TORCH=cpu, TORCH=cuda: which PyTorch)

SYNC := $(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes

# An environment is of the folder that it was made in: a copied one runs the original's code.
ifneq ($(shell $(BIN)/python -c '' 2>/dev/null && cat $(READY)),$(CURDIR))
.PHONY: $(READY)
endif

$(READY): requirements.lock requirements-cpu.lock pyproject.toml
	$(if $(filter auto cpu cuda,$(TORCH)),,$(error TORCH is $(TORCH); expected auto, cpu or cuda))
	@bash envs/venv.sh $(PYTHON)
	@torch=$$(bash envs/torch.sh $(BIN)/uv requirements.lock $(TORCH)) && if [ "$$torch" = cpu ]; then \
	  $(SYNC) requirements-cpu.lock && $(BIN)/uv pip install --quiet --compile-bytecode --torch-backend cpu \
	    $$(grep -oE '^torch(vision)?==[0-9.]*' requirements.lock) --constraints requirements-cpu.lock; \
	  else $(SYNC) requirements.lock; fi
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	-$(BIN)/triptych weights
	@echo $(CURDIR) >$@

$(DEV): $(READY) requirements-dev.lock
	$(BIN)/uv pip install --quiet --compile-bytecode --require-hashes --requirements requirements-dev.lock
	@touch $@

demo: $(READY) ## everything at demo scale: results/report.html
	@echo "Style transfer, audio retrieval and offline-RL pruning at demo scale, offline: images"
	@echo "optimised, networks trained, a video, sounds, real MuJoCo physics, tables, figures, claims."
	@echo "About 7 minutes on two cores, less on more. Finished results are kept. First come"
	@echo "a picture, results/style/stylised/swirls/china.png, and a table, results/tables/rl_table1.md."
	@PYTHONPATH=workflow_scripts/triptych/apps/logger \
	  $(BIN)/snakemake --cores $(CORES) --logger triptych \
	  --prioritize results/style/stylised/swirls/runs.csv
	@echo
	@echo "Done. Open results/report.html in a browser."
	@echo "Tables: results/tables. Figures: results/figures. What next: $(BIN)/triptych --help"

test: $(DEV) ## the test suite, the longest files first (PYTEST="-m 'not slow'": the fast ones)
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder $(PYTEST)

LONG := $(BIN)/python -m pytest -q -o faulthandler_timeout=0

faults: $(DEV) ## kills at many random moments, damaged inputs
	TRIPTYCH_MOMENTS=10 $(LONG) -n auto --dist loadfile tests/faults
	$(LONG) -m long tests

rehearsal: $(DEV) ## every rule of papers and beyond at full shapes, synthetic inputs (REHEARSAL=--broken: some break)
	$(BIN)/python tests/rehearsal/run.py results/rehearsal --cores $(CORES) $(REHEARSAL)

clotho: $(DEV) ## the same of config/clotho.yaml and config/projection.yaml alone
	$(BIN)/python tests/rehearsal/run.py results/rehearsal_clotho --cores $(CORES) --scale paper \
	  --overlay config/clotho.yaml --overlay config/projection.yaml audio

cluster: $(DEV) ## the offline-RL study on a private SLURM, as root: pre-empted, timed out, cancelled
	TRIPTYCH_CLUSTER=1 $(LONG) tests/cluster

container: ## build the Dockerfile's image; a table and a picture in it, as root and another user, offline
	bash tests/container/run.sh

lint: style types secrets ## ruff, snakefmt, snakemake --lint, mypy, secrets, advisories (-j2)

style: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile workflow rules makers/Snakefile
	$(BIN)/snakemake --lint

types: $(DEV)
	$(BIN)/mypy

secrets: $(DEV)
	git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --exclude-files 'requirements.*lock|docs/results/' \
	  --exclude-lines '^ *(revision|md5|sha256|sha256_start): ' # of public files
	$(BIN)/python envs/audit.py

format: $(DEV) ## rewrite code in the house's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile workflow rules makers/Snakefile

bench: $(READY) ## each study's speed and memory against plain code
	$(BIN)/python -m benchmarks

docs: $(DEV) ## write the pages' figures, build docs/ as a site: site/index.html
	$(BIN)/python docs/commands.py
	$(BIN)/python docs/published.py
	$(BIN)/python docs/front_page.py
	$(BIN)/python docs/figures.py
	$(BIN)/zensical build --strict

config: $(READY) ## config/README.md: every key, type, range, the demo's and the papers' values
	$(BIN)/python docs/config_reference.py

wheel: $(READY) ## dist/triptych-*.whl: the library with the workflow inside
	$(BIN)/uv build --quiet --wheel --no-build-isolation --out-dir dist .

paintings experts networks small: $(READY) ## make what resources/ ships anew (makers/README.md)
	$(BIN)/snakemake --snakefile makers/Snakefile --cores $(CORES) $@
	cp -r results/made/. resources/

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url pyproject.toml

lock: $(READY) ## compile the locks from pyproject.toml, for Linux and macOS, Python 3.11 to 3.13
	$(COMPILE) --upgrade --extra setup --output-file requirements.lock
	$(COMPILE) --extra setup --constraints requirements.lock --output-file requirements-cpu.lock \
	  --overrides <(printf '%s ; sys_platform == "never"\n' torch torchvision) \
	  --no-emit-package torch --no-emit-package torchvision
	$(COMPILE) --upgrade --extra dev --constraints requirements.lock --output-file requirements-dev.lock

envs: $(DEV) ## write the conda environments' pins from requirements-dev.lock
	$(BIN)/python envs/pin.py

clean: ## remove results and Snakemake's records, not the downloads of pip
	rm -rf results/* .snakemake
	git checkout --quiet results/README.md
