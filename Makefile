# Needs make and Python >= 3.11; everything else goes into .venv, from PyPI.

PYTHONS := $(PYTHON) python3.11 python3.12 python3.13 python3
BIN := .venv/bin
CHECKED := tests/frontend tests/lattice tests/dialect tests/test_project.py lit_tests

# Tests start many processes, which would compile tadc each, and pytest its own form of the tests.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo check test sweep times stress frameworks lint package release site browse-site bench test-gpu bench-gpu gpu-kit aarch64 clean

demo: .venv/plot.stamp .venv/scipy.stamp
	$(BIN)/python examples/demo.py

PYTEST := $(BIN)/python -m pytest -q -n 2 --dist worksteal

# What one runs while editing.
check: .venv/lint.stamp
	@echo "the front end, the lattice, the dialect and the passes' text: a minute"
	$(BIN)/ruff check
	$(PYTEST) $(CHECKED)

test: .venv/test.stamp
	@echo "tests: about five minutes on two cores (make check: one; make sweep: the long ones and the many alike)"
	$(PYTEST) --durations=5

# What `make test` leaves out: long tests, and most of many that are alike.
sweep: .venv/test.stamp
	@echo "the sweep: about a quarter of an hour on two cores"
	$(PYTEST) -m 'sweep and not slow' --durations=5

# How long tests take: `tests/cpu_seconds.txt`, by which they are in the one part or the other.
times: .venv/test.stamp
	$(PYTEST) -m '' -p tests.measured_times

# Tests of threads, forks and caches, fifty times each in random order; `make stress STRESS=tests/native` others.
STRESS := $(addprefix tests/backend/test_,pool.py turns.py jit.py kept_code.py disk_cache.py workspace.py) \
    $(addprefix tests/tadc/test_,threads.py forks.py cache.py)

stress: .venv/test.stamp
	$(PYTEST) -p randomly --count 50 -m 'not slow' $(STRESS)

# PyTorch's build without CUDA; and the oldest JAX and llvmlite, whose versions are those which the package asks for,
# in the newest Python, where what depends on these is tested too.
TORCH := 2.13.0
CPU_WHEELS := https://download.pytorch.org/whl/cpu
OLDEST_JAX := $(subst $() ,,$(subst $(shell echo ,),.,$(shell sed -n 's/^OLDEST = (\(.*\))/\1/p' tadc/jax/__init__.py)))
OLDEST_LLVMLITE := $(shell sed -n 's/^ *"llvmlite>=\([0-9.]*\),.*/\1/p' pyproject.toml)
JAX_BIN := .venv-jax/bin
# The last two are what `jax.export` of an old JAX imports.
TESTERS := pytest pytest-xdist hypothesis lit filecheck matplotlib flatbuffers absl-py
NEWEST := 3.13
NEWEST_PYTHONS := $(NEWEST_PYTHON) python$(NEWEST) $(wildcard $(HOME)/.pyenv/versions/$(NEWEST).*/bin/python)
NEWEST_CHECKED := tests/building/test_diagnostics.py tests/tadc/test_forks.py lit_tests \
    $(addprefix tests/backend/test_,lowering.py rocm.py jit.py vector_functions.py)

frameworks: .venv/test.stamp .venv/torch.stamp .venv-jax/$(OLDEST_JAX).stamp
	@echo "PyTorch $(TORCH); JAX $(OLDEST_JAX), llvmlite $(OLDEST_LLVMLITE) and others in" \
	    "$$($(JAX_BIN)/python --version): four minutes on two cores"
	$(PYTEST) -m 'not slow' tests/torch tests/importing tests/tadc/test_foreign_arrays.py 'tests/test_pages.py::test_page[pytorch]'
	$(JAX_BIN)/python -m pytest -q -n 2 --dist worksteal -m 'not slow' tests/jax
	$(JAX_BIN)/python -m pytest -q -n 2 --dist worksteal $(NEWEST_CHECKED)

lint: .venv/lint.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/python .ci/show_layers.py
	$(BIN)/pyright
	cd build/lib && ../../$(BIN)/lint-imports ../../pyproject.toml

# The wheel and the sdist, tried in an environment of their own.
package: | $(BIN)/python
	$(BIN)/python .ci/try_package.py

# The same for a release, in the oldest and the newest Python that is here; publishes nothing, and says how to.
release: | $(BIN)/python
	$(BIN)/python .ci/release.py

# The pages of docs/ with the API and the errors as a static site; strict, with all links looked at.
site: .venv/site.stamp
	$(BIN)/python -m docs.site

# The site in Chromium, where there is one: no network, no errors, nothing that axe-core finds, few bytes and requests.
browse-site: site
	$(BIN)/python .ci/browse_site.py

bench: .venv/bench.stamp
	$(BIN)/python -m bench --publish

# On a machine with a GPU and without the compiler, Python with NumPy runs the bundles that are in build/gpu.
test-gpu bench-gpu: %-gpu:
	$(or $(wildcard $(BIN)/python),python3) -m bench.gpu $* build/gpu

# All that half an hour on somebody's GPU can tell, in three calls of at most eight minutes; what has been found is
# in a JSON and a table beside it, which are written as it goes.
gpu-kit:
	$(or $(wildcard $(BIN)/python),python3) -m bench.gpu test build/gpu
	$(or $(wildcard $(BIN)/python),python3) -m bench.gpu sanitize build/gpu
	$(or $(wildcard $(BIN)/python),python3) -m bench.gpu bench build/gpu

# Tests in an AArch64 Python under qemu: on Debian, as root; some minutes.
aarch64: .venv/test.stamp
	$(BIN)/python .ci/try_aarch64.py

clean:
	rm -rf .venv .venv-jax build *.egg-info

# A stamp per extra of pyproject.toml: the second run installs nothing.
.venv/%.stamp: pyproject.toml | $(BIN)/python
	@echo "installing the packages for '$*' from PyPI into .venv"
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$*]'
	@touch $@

# PyPI's PyTorch brings CUDA along, the other index has the build without; only this one package is looked for there.
.venv/torch.stamp: pyproject.toml | $(BIN)/python
	@echo "installing PyTorch $(TORCH) into .venv"
	@PIP_EXTRA_INDEX_URL="$${PIP_EXTRA_INDEX_URL:-$(CPU_WHEELS)}" \
	    $(BIN)/python -m pip install -q --retries 1 --disable-pip-version-check --no-deps torch==$(TORCH)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[torch]'
	@touch $@

.venv-jax/%.stamp: pyproject.toml | $(BIN)/python
	@for python in $(NEWEST_PYTHONS) $(BIN)/python; do \
	    if $$python -c 'import ensurepip, venv' 2>/dev/null; then break; fi; \
	done; \
	echo "setting up .venv-jax with JAX $* and $$($$python --version)"; \
	if [ $$python = $(BIN)/python ]; then \
	    echo "Python $(NEWEST) is not tested: there is none. Name one: make frameworks NEWEST_PYTHON=/path/to/python" >&2; \
	fi; \
	$$python -m venv --clear .venv-jax
	@$(JAX_BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[jax]' \
	    'jax==$*' 'llvmlite==$(OLDEST_LLVMLITE).*' $(TESTERS)
	@touch $@

# A python3.x on the PATH may be a shim that does not run, or lack venv: try each.
$(BIN)/python:
	@for python in $(PYTHONS); do \
	    if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	        echo "setting up .venv with $$($$python --version)"; \
	        exec $$python -m venv --clear .venv; \
	    fi; \
	done; \
	echo 'tadc needs Python 3.11 or newer with the venv module; found none on the PATH.' >&2; \
	echo 'Name one: make $(or $(MAKECMDGOALS),demo) PYTHON=/path/to/python3' >&2; \
	exit 1
