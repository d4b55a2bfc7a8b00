# make demo    everything at demo scale, offline, then results/report.html
# make test    the test suite          make lint   style, types, workflow checks
# make bench   speed against plain code   make help   the other targets
# Each target first makes .venv from requirements.lock, once.

PYTHON ?= $(firstword $(shell command -v python3.11 || command -v python3.12) python3.11)
CORES  ?= all
SHELL  := /bin/bash -o pipefail
BIN    := .venv/bin
READY  := .venv/ready

# Some images forbid Python to keep what it compiled; each job would compile all of PyTorch again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test faults rehearsal clotho cluster lint format bench gpu gpu_part gpu_docs plan house experts backbones networks small lock envs clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

setup: $(READY) ## make .venv, with the command `triptych` in it

$(READY): requirements.lock pyproject.toml
	@command -v $(PYTHON) >/dev/null || { \
	  echo "Triptych needs Python 3.11 (or 3.12, untested), and there is no $(PYTHON) here."; \
	  echo "Install it, or say where it is: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "Setting up .venv from requirements.lock: about 7 GB, PyTorch with CUDA being most of it."
	$(PYTHON) -m venv --clear .venv
	$(BIN)/pip install --quiet --disable-pip-version-check "$$(grep -o '^uv==[0-9.]*' requirements.lock)"
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes requirements.lock
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY) ## everything at demo scale: results/report.html
	@echo "Style transfer, audio retrieval and offline-RL pruning at demo scale, offline: images"
	@echo "optimised, networks trained, a video, sounds, real MuJoCo physics, tables, figures, claims."
	@echo "14 to 23 minutes on 2 cores, less on more. What is up to date already isn't made again."
	@echo "The first picture is there within two minutes: results/style/stylised/waves/china.png"
	@$(BIN)/snakemake --cores $(CORES) --quiet host reason rules
	@echo
	@echo "Done. Open results/report.html in a browser."
	@echo "Tables: results/tables. Figures: results/figures. What next: $(BIN)/triptych --help"

test: $(READY) ## the test suite, the longest files first
	$(BIN)/python -m pytest -q -n auto --dist loadfile --no-loadscope-reorder

faults: $(READY) ## what can go wrong, tried; the table of docs/reliability.md (after make cluster)
	rm -f results/reliability/*.jsonl
	$(BIN)/python -m pytest -q -n auto --dist loadfile --reliability results/reliability tests/faults
	$(BIN)/python tests/faults/reliability.py results/reliability docs/reliability.md

rehearsal: $(READY) ## the paper scale's every rule at full shapes, on synthetic inputs; evening, overnight
	$(BIN)/python tests/rehearsal/run.py results/rehearsal --cores $(CORES)
	$(BIN)/python tests/rehearsal/run.py results/rehearsal_evening --cores $(CORES) --scale evening rl
	$(BIN)/python tests/rehearsal/run.py results/rehearsal_overnight --cores $(CORES) --scale overnight rl style

clotho: $(READY) ## the same of config/clotho.yaml and config/projection.yaml alone
	$(BIN)/python tests/rehearsal/run.py results/rehearsal_clotho --cores $(CORES) \
	  --overlay config/clotho.yaml --overlay config/projection.yaml audio

cluster: $(READY) ## the offline-RL study on a private SLURM, as root: pre-empted, timed out, cancelled
	rm -rf results/reliability/cluster
	TRIPTYCH_CLUSTER=1 $(BIN)/python -m pytest -q --reliability results/reliability/cluster tests/cluster

lint: $(READY) ## ruff, snakefmt, snakemake --lint, mypy, secrets, advisories
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint
	$(BIN)/mypy
	git ls-files -z | xargs -0 $(BIN)/detect-secrets-hook --exclude-files requirements.lock \
	  --exclude-lines '^ *(revision|md5|sha256|sha256_start): ' # of public files
	$(BIN)/python envs/audit.py

format: $(READY) ## rewrite code in the house's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/snakefmt Snakefile rules

bench: $(READY) ## each study's speed and memory against plain code
	$(BIN)/snakemake --cores $(CORES) --quiet host reason rules \
	  --forcerun rl_bench style_bench audio_bench -- rl_bench style_bench audio_bench

gpu: ## measure the GPU here, in 3 parts of 9 minutes (PART=1, 2, 3); docs: PART=docs
	@test "$(PART)" = docs || nvidia-smi -L >/dev/null 2>&1 || test -e /dev/nvidiactl || test -e /dev/dxg || { \
	  echo "There is no NVIDIA GPU here (nvidia-smi finds none), and nothing was set up."; \
	  echo "Run this on a machine with one; in a container, start it with: docker run --gpus all"; exit 1; }
	@test "$(PART)" != docs || $(MAKE) --no-print-directory gpu_docs
	@failed=0; for part in $(filter-out docs,$(or $(PART),1 2 3)); do \
	  $(MAKE) --no-print-directory gpu_part PART=$$part BEGAN=$$(date +%s) || failed=1; \
	done; exit $$failed

gpu_part: $(READY)
	$(BIN)/triptych gpu $(PART) --configfile config/paper.yaml --began $(BEGAN)

gpu_docs: $(READY)
	$(BIN)/triptych gpu docs --configfile config/paper.yaml

house: $(READY) ## draw docs/house.svg: which part of the library imports which
	$(BIN)/python docs/house.py

plan: $(READY) ## what the scales take and settle: the tables of docs/paper-scale.md and docs/scales.md
	$(BIN)/triptych plan --configfile config/paper.yaml --write docs/paper-scale.md
	$(BIN)/triptych plan --scales --write docs/scales.md

experts: $(READY) ## train the experts of resources/experts anew (about 10 minutes)
	$(BIN)/snakemake --cores $(CORES) results/rl/experts/{hopper,walker2d,halfcheetah}{,-medium}.safetensors
	cp results/rl/experts/*.{safetensors,json} resources/experts/

backbones: $(READY) ## train the backbones of resources/style anew (about 20 minutes)
	$(BIN)/snakemake --cores $(CORES) results/style/backbones/narrow_{vgg,alexnet}.safetensors
	cp results/style/backbones/narrow_*.{safetensors,csv} resources/style/

networks: $(READY) ## train the network of resources/style/networks anew (about an hour)
	$(BIN)/snakemake --cores $(CORES) results/style/networks/hands/temporal/network.safetensors \
	  --configfile config/shipped.yaml
	made=results/style/networks/hands/temporal shipped=resources/style/networks/hands; \
	  cp $$made/network.safetensors $$shipped.safetensors; cp $$made/losses.csv $$shipped.csv; \
	  cp $$made/checkpoints.png $$shipped.png

small: $(READY) ## train the model of resources/audio/small anew (about 12 minutes)
	$(BIN)/snakemake --cores $(CORES) results/audio/small
	mkdir -p resources/audio/small
	cp results/audio/small/{model.safetensors,model.json,tokenizer.json,training.csv} resources/audio/small/

lock: $(READY) ## compile requirements.lock from pyproject.toml
	$(BIN)/uv pip compile --quiet --generate-hashes --extra dev --no-header --no-emit-index-url \
	  --upgrade --output-file requirements.lock pyproject.toml

envs: $(READY) ## write the conda environments' pins from requirements.lock
	$(BIN)/python envs/pin.py

clean: ## remove results and Snakemake's records, not the downloads of pip
	rm -rf results/* .snakemake
	git checkout --quiet results/README.md
