# Each target makes its own virtual environment when there is none.
PYTHON ?= python3
PROFILE ?= mini
NOTEBOOK ?= notebooks/08_factuality.ipynb
export OMP_NUM_THREADS ?= 1
# Kernels run in notebooks/: a folder given relative to this one is made absolute for them.
absolute = $(if $(filter-out /%,$(firstword $1)),$(CURDIR)/)$1
export IRCOT_DATA := $(call absolute,$(IRCOT_DATA))
export IRCOT_FIGURES := $(call absolute,$(IRCOT_FIGURES))
define PYTHON_CHECK
import sys
if not (3, 11) <= sys.version_info < (3, 14):
    expected = "expected 3.11 to 3.13: install one, then add PYTHON=python3.12 to the command"
    sys.exit("found Python %d.%d, %s" % (sys.version_info[:2] + (expected,)))
try:
    import ensurepip
except ImportError:
    sys.exit("found no ensurepip in Python, expected it: on Debian, apt install python3-venv")
endef
export PYTHON_CHECK

.PHONY: figures quick test wheel docs lab annotate bench notebooks
READY = .venv/ready

figures: $(READY)          ## every figure and table, offline, on the mini profile (PROFILE=sample for another)
	.venv/bin/ircotlib figures --profile $(PROFILE) $(if $(filter mini,$(PROFILE)),--jobs 2)

quick: $(READY)            ## every figure from 10 questions at most: what there is, in minutes
	.venv/bin/ircotlib figures --profile quick --jobs 2

test: $(READY)             ## style, types, unit tests, and every notebook
	.venv/bin/ruff check .
	.venv/bin/ruff format --check --quiet .
	.venv/bin/mypy
	.venv/bin/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

wheel: $(READY)            ## the package, in dist/
	.venv/bin/python -m hatchling build -t wheel

docs: $(READY)             ## the site, in docs/_build/html, without the network
	.venv/bin/python -c "import sphinx" 2>/dev/null || .venv/bin/pip install --quiet -c constraints.txt -e '.[docs]'
	.venv/bin/python -m sphinx -q -c docs/site . docs/_build/html
	@echo "the site: file://$(CURDIR)/docs/_build/html/index.html"

lab: $(READY)              ## JupyterLab on the notebooks
	.venv/bin/jupyter lab notebooks/00_programs.ipynb --notebook-dir=. $(if $(filter 0,$(shell id -u)),--allow-root)

# a page that was closed leaves a kernel: it ends after half an hour
annotate: $(READY)         ## the page for those who judge chains, without code (NOTEBOOK=… for other runs, docs/annotate.md)
	.venv/bin/python -c "import voila" 2>/dev/null || .venv/bin/pip install --quiet -c constraints.txt -e '.[annotate]'
	.venv/bin/python -m voila $(NOTEBOOK) --preheat_kernel=True \
		--MappingKernelManager.cull_idle_timeout=1800 \
		--TagRemovePreprocessor.enabled=True --TagRemovePreprocessor.remove_cell_tags=results

bench: $(READY)            ## the benchmarks of speed
	.venv/bin/python -m bench.batching
	.venv/bin/python -m bench.retrieval
	.venv/bin/python -m bench.systems

notebooks: $(READY)        ## keep the executed notebooks: of mini, and of sample if its questions are in data/raw
	.venv/bin/ircotlib figures --save --jobs 2
	test ! -d data/raw || .venv/bin/ircotlib figures --save --profile sample

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c "$$PYTHON_CHECK"
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)
