# Each target makes its own virtual environment when there is none.
PYTHON ?= python3
PROFILE ?= mini
NOTEBOOK ?= notebooks/08_factuality.ipynb
export OMP_NUM_THREADS ?= 1
# Kernels run in notebooks/: a folder given relative to this one is made absolute for them.
export IRCOT_DATA := $(abspath $(IRCOT_DATA))
export IRCOT_FIGURES := $(abspath $(IRCOT_FIGURES))

.PHONY: figures test lab annotate bench notebooks
READY = .venv/ready

figures: $(READY)          ## every figure and table, offline, on the mini profile (PROFILE=sample for another)
	.venv/bin/ircotlib figures --profile $(PROFILE) $(if $(filter mini,$(PROFILE)),--jobs 2)

test: $(READY)             ## style, unit tests, and every notebook
	.venv/bin/ruff check .
	.venv/bin/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder

lab: $(READY)              ## JupyterLab on the notebooks
	.venv/bin/jupyter lab --notebook-dir=. $(if $(filter 0,$(shell id -u)),--allow-root)

annotate: $(READY)         ## the page for those who judge chains, without code (NOTEBOOK=… for other runs, docs/annotate.md)
	.venv/bin/python -c "import voila" 2>/dev/null || .venv/bin/pip install --quiet -c constraints.txt -e '.[annotate]'
	.venv/bin/python -m voila $(NOTEBOOK) --preheat_kernel=True \
		--TagRemovePreprocessor.enabled=True --TagRemovePreprocessor.remove_cell_tags=results

bench: $(READY)            ## the benchmarks behind the README's claims of speed
	.venv/bin/python -m bench.batching
	.venv/bin/python -m bench.retrieval
	.venv/bin/python -m bench.reading
	.venv/bin/python -m bench.systems

notebooks: $(READY)        ## run the mini profile and keep the executed notebooks
	.venv/bin/ircotlib figures --save --jobs 2

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	.venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(READY)
