# The only door: what a newcomer, a developer and CI call. The work is in lib/build, CMakeLists.txt and tests/.
.DEFAULT_GOAL := help
SHELL := /bin/bash

# auto: what the NVIDIA driver serves, if there is one. system: nvcc on PATH. wheels: NVIDIA's pinned wheels of
# CUDA 13. wheels12: of CUDA 12.9, for drivers from R525 on. off: none.
CUDA ?= auto
# release (cpu or cuda, as CUDA says), dev, asan, tsan
PRESET ?= release
PREFIX ?= /usr/local

BUILD := lib/build/build.sh
VENV := .venv/bin

.PHONY: help doctor build demo demo-ddp test lint fmt gen gen-check docs size asan tsan bench test-torch torch-env gpu-check install \
        dist wheel setup clean distclean

help: ## this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo "  CUDA=auto|system|wheels|wheels12|off (auto: what the NVIDIA driver serves)   PRESET=dev builds quickly"

doctor: ## a tick or a cross for every tool, and the line that installs what is missing
	@python3 lib/build/doctor.py

setup:
	@lib/build/setup_venv.sh

build: ## the library, its tests and the Python extension, into build/
	@$(BUILD) $(PRESET) $(CUDA)

demo: ## train the digit classifier and print its accuracy and a memory report
	@$(BUILD) $(if $(filter release,$(PRESET)),demo,$(PRESET)) $(CUDA) flambeau flambeau_python
	@$(VENV)/python examples/python/digits.py

demo-ddp: ## the same in two processes on this machine, each with half of every batch
	@$(BUILD) $(if $(filter release,$(PRESET)),demo,$(PRESET)) $(CUDA) flambeau flambeau_python
	@$(VENV)/python -m flambeau.distributed.run --nproc-per-node 2 examples/python/ddp.py

test: ## everything: C++, C, Python, Rust, headers, ABI, lint, generated files; on cpu, sim and emu
	@python3 lib/build/doctor.py test
	@$(BUILD) $(PRESET) $(CUDA)
	@$(VENV)/python tests/run.py

lint: setup ## layers, file sizes, opening comments, formatting
	@$(VENV)/python bindings/generate --if-changed
	@$(VENV)/python tests/lint/lint.py

fmt: setup ## format C++, Python and Rust in place
	@$(VENV)/python tests/lint/lint.py --fix

gen: setup ## generate shims, bindings and reference from the headers, as each build does
	@$(VENV)/python bindings/generate

gen-check: setup ## fail where a generated file that git keeps is not current
	@$(VENV)/python bindings/generate --check

docs: setup ## the reference as a site for C, Python and Rust, into build/docs/site; works from files
	@lib/build/docs.sh

size: ## bytes of the library by section; with PRESET=dev, whose file keeps names, its largest symbols, too
	@$(BUILD) $(PRESET) $(CUDA) flambeau
	@size -A -d build/libflambeau.so.0 | sort -k2 -n -r | head -12
	@nm -S --size-sort -C -r build/libflambeau.so.0 2>/dev/null | head -20

asan: ## the C++ and C tests under the address and undefined-behaviour sanitizers
	@python3 lib/build/doctor.py test
	@$(BUILD) asan off
	@$(VENV)/ctest --test-dir build/asan --output-on-failure

tsan: ## the C++ and C tests under the thread sanitizer
	@python3 lib/build/doctor.py test
	@$(BUILD) tsan off
	@TSAN_OPTIONS="suppressions=$(CURDIR)/tests/harness/tsan.supp $$TSAN_OPTIONS" \
	  $(VENV)/ctest --test-dir build/tsan --output-on-failure

bench: ## time ops and training steps, beside PyTorch and NumPy where they are found
	@$(BUILD) $(PRESET) $(CUDA) bench flambeau flambeau_python
	@$(VENV)/python tests/bench/run.py

test-torch: ## every row of the op table beside PyTorch: TORCH_PYTHON's, else .venv-torch's
	@$(BUILD) $(PRESET) $(CUDA) flambeau flambeau_python
	@$(VENV)/python tests/torch/run.py

torch-env: setup ## PyTorch with pip into .venv-torch (some GB), for test-torch
	@$(VENV)/python -m venv .venv-torch
	@.venv-torch/bin/python -m pip install --disable-pip-version-check torch numpy expecttest

gpu-check: ## on a machine with a GPU: every suite on it, one JSON and a table in build/gpu_check (ARGS=: its options)
	@$$([ ! -x $(VENV)/python ] && echo python3 || echo $(VENV)/python) tests/gpu_check/run.py build/gpu_check $(ARGS)

install: ## library, headers, CMake package and pkg-config file into PREFIX (/usr/local)
	@$(BUILD) $(PRESET) $(CUDA) flambeau
	@$(VENV)/cmake --install build/$$(cat build/preset) --prefix $(PREFIX)

dist: setup ## the sources for users, who need no generator: the C archive and the sdist, into dist/
	@$(VENV)/python lib/build/dist.py dist
	@PATH=$(CURDIR)/$(VENV):$$PATH $(VENV)/python -m build --sdist -nx --outdir dist .

wheel: ## the Python wheel, into dist/: manylinux_2_28, Python 3.10 and newer; CUDA=wheels compiles CUDA in
	@CUDA_ARCH=$${CUDA_ARCH:-release} $(BUILD) release $(CUDA) flambeau flambeau_python
	@lib/build/wheel.sh dist

clean: ## remove what was built
	@rm -rf build dist bindings/rust/target

distclean: clean ## remove what was built and what was fetched
	@rm -rf .venv .venv-torch
