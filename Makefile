# Everything a newcomer needs: `make demo`, `make test`, `make test-all`, `make lint`, `make docs`, `make bench`, `make fuzz`; and for research
# `make encoder`, `make release`, `make reproduce`.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
INSTALLED = $(VENV)/.installed
# What the tests use; the demo needs the extra train alone.
EXTRAS ?= train,baselines,plots,mcp,docs,dev

MINUTES ?= 10

# The tests and the demo need no network; a model hub is never asked.
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.PHONY: demo test test-slow test-all lint format docs bench fuzz encoder reproduce release clean

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[$(EXTRAS)]"
	touch $(INSTALLED)

$(VENV)/.installed-train: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e ".[train]"
	touch $@

# All extras will do, too.
demo: $(if $(wildcard $(INSTALLED)),$(INSTALLED),$(VENV)/.installed-train)
	$(BIN)/turnlens demo --output demo-output --force

# Two processes, each of which takes up to 2 GB. All quick tests, or those in TESTS.
test: $(INSTALLED)
	$(BIN)/python -m pytest -n 2 --dist worksteal -rs -m "not slow" $(TESTS)

# Those that start processes, train from end to end, or need a browser, Ray, notebooks or benchmarks: the longest first,
# and three at a time, since they often wait, each with one thread.
test-slow: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal --durations=15 -rs -m slow \
	$(or $(TESTS),tests/test_*.py tests/*/)

test-all: test test-slow

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file docs/research-log/studies/mypy.ini
	$(BIN)/lint-imports

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# `make bench QUICK=1` takes seconds for each; the tests do that too.
bench: $(INSTALLED)
	failed=0; for benchmark in benchmarks/bench_*.py; do echo "== $$benchmark"; \
	$(BIN)/python $$benchmark $(if $(QUICK),--quick) || failed=1; done; exit $$failed

fuzz: $(INSTALLED)
	$(BIN)/python -m fuzz --minutes $(MINUTES)

# Needs $TURNLENS_DATA and the package chitchat-dataset; about 40 minutes of one core, with BF16=1 on processors made for it 20.
encoder: $(INSTALLED)
	$(BIN)/python examples/make_encoder.py $(if $(BASE),--base $(BASE)) $(if $(BF16),--bf16)

# Needs $TURNLENS_DATA. The papers' own schedules, to the last epoch, and ours for an epoch beside them: days of two
# cores, so take one paper (PAPERS=triple), one seed (SEEDS=1), or a GPU. Interrupted, the same command goes on.
PAPERS ?= triple dialoguecse dial2vec
SEEDS ?= 3
OF_triple = --data-sets dailydialog --methods ccl,c3l,ccl-paper,c3l-paper
OF_dialoguecse = --data-sets ecd,sgd --methods dialogue-cse-adapted,dialogue-cse-paper
OF_dial2vec = --data-sets sgd --methods dial2vec,dial2vec-paper
reproduce: $(INSTALLED) $(addprefix reproduce-,$(PAPERS))
reproduce-%:
	$(BIN)/turnlens papers bench $* --data $(TURNLENS_DATA) $(OF_$*) --no-studies --seeds $(SEEDS) \
	--set max_steps=none $(if $(BF16),--set bf16=true) --output reproduce/$*

# Into dist/: checked, installed into an empty environment, and tried there as the README says.
release:
	PYTHON=$(PYTHON) release/release.sh

clean:
	rm -rf $(VENV) demo-output build dist site
