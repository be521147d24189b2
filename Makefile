# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The two commands to know: `make demo` and `make test`. Both do all set-up first, once.

VENV := .venv
PY := $(VENV)/bin/python
MLCB := $(VENV)/bin/mlcb
NATIVE := $(shell find native examples/task -name __pycache__ -prune -o -type f -print 2>/dev/null) CMakeLists.txt pyproject.toml mlcb_gym/__init__.py
CXX_FILES = $(shell find native tests/native tests/fuzz benchmarks/rtt examples -name "*.h" -o -name "*.cpp" -o -name "*.c")
NATIVE_TESTS := -DMLCB_TESTS=ON -DMLCB_LLVM=OFF -DMLCB_PYTHON=OFF -DPython_EXECUTABLE=$(abspath $(PY))
DEMO_MINUTES ?= 3
export OMP_NUM_THREADS ?= 1
export RAY_AUTH_MODE ?= disabled
# Ray's processes would wait for all tests that run beside them.
export RAY_worker_niceness ?= 0

.PHONY: demo test test-native playthroughs check check-sanitizers check-address check-thread check-thread-links check-address-programs check-faults check-attacks check-slow check-projects fuzz format lint study bench wheel docs bench-rtt build-bench setup clean
demo: setup
	$(MLCB) demo --minutes $(DEMO_MINUTES)

setup: $(VENV)/.built

$(VENV)/.system: scripts/setup-system.sh
	bash scripts/setup-system.sh
	mkdir -p $(VENV)
	touch $@

$(VENV)/.python: $(VENV)/.system scripts/setup-python.sh pyproject.toml constraints.txt
	bash scripts/setup-python.sh $(VENV)
	touch $@

$(VENV)/.built: $(VENV)/.python $(NATIVE)
	@echo "setup: building the native half (a few minutes)"
	$(PY) -m pip install -q --no-build-isolation --no-deps --config-settings=cmake.define.MLCB_EXTRA_TASKS=$(CURDIR)/examples/task -e .
	cp build/*/native/_native.pyi mlcb_gym/
	touch $@

# Files go to one process each, for their tests share what is costly to make; one more than there are cores, for some wait for Ray.
test: setup test-native
	$(PY) -m pytest -q -m "not slow and not alone" -n 3 --dist loadfile
	$(PY) -m pytest -q -m "alone and not slow"

test-native: setup
	cmake -G Ninja -S . -B build/tests $(NATIVE_TESTS) > build/tests-configure.log
	cmake --build build/tests
	ctest --test-dir build/tests --output-on-failure

playthroughs: setup
	$(PY) -m tests.support.playthroughs

format: setup
	$(VENV)/bin/ruff format .
	clang-format-22 -i $(CXX_FILES)

# clang-tidy reads every source by itself, so that what one includes is all that it needs.
lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	clang-format-22 --dry-run -Werror $(CXX_FILES)
	cmake -G Ninja -S . -B build/tidy -DMLCB_UNITY=OFF -DPython_EXECUTABLE=$(abspath $(PY)) > build/tidy-configure.log
	cp build/cp*/native/tensors.pb.h build/tidy/native/
	$(PY) -m scripts.tidy build/tidy

check: lint test

check-sanitizers: check-address check-thread check-thread-links check-address-programs

check-address: SANITIZERS := address,undefined
check-thread: SANITIZERS := thread
# What gRPC, ONNX Runtime and others do among themselves is not told to ThreadSanitizer, for they were built without it.
check-thread: export TSAN_OPTIONS := ignore_noninstrumented_modules=1 suppressions=$(CURDIR)/tests/native/thread.supp
check-address check-thread: check-%: setup
	cmake -G Ninja -S . -B build/$* $(NATIVE_TESTS) -DMLCB_SANITIZE=$(SANITIZERS) > build/$*-configure.log
	cmake --build build/$*
	ctest --test-dir build/$* --output-on-failure

# The threads of a thin link share the policies.
check-thread-links: export TSAN_OPTIONS := ignore_noninstrumented_modules=1
check-thread-links: setup
	cmake -G Ninja -S . -B build/thread-links -DMLCB_PYTHON=OFF -DPython_EXECUTABLE=$(abspath $(PY)) -DMLCB_SANITIZE=thread > build/thread-links-configure.log
	cmake --build build/thread-links
	$(PY) -m scripts.thin_link build/thread-links/native/libmlcb_llvm.so

# Programs of known output by policies and random answers, and flipped modules, with a plugin and a worker that AddressSanitizer and UBSan were built
# into. A trial of the guard that fails is not kept, and fails no test, so that what is found is written down; in a sandbox nothing could be. LLVM
# itself has no sanitizer, and what it takes of an allocator is poisoned if we made the allocator's memory.
ADDRESS := $(CURDIR)/build/address-programs
check-address-programs: export ASAN_OPTIONS := detect_leaks=0:allow_user_poisoning=0:log_path=$(ADDRESS)/found
check-address-programs: export UBSAN_OPTIONS := print_stacktrace=1:log_path=$(ADDRESS)/found
check-address-programs: export MLCB_SANDBOX := none
check-address-programs: setup
	cmake -G Ninja -S . -B $(ADDRESS) -DMLCB_PYTHON=OFF -DPython_EXECUTABLE=$(abspath $(PY)) -DMLCB_SANITIZE=address,undefined \
	  > $(ADDRESS)-configure.log
	cmake --build $(ADDRESS)
	rm -f $(ADDRESS)/found.*
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libstdc++.so.6)" \
	  $(PY) -m pytest -q -n 2 --dist worksteal --native $(ADDRESS)/native -k "prints_the_same and not csmith and not another or flipped" \
	  tests/test_policies.py tests/test_function_programs.py tests/test_correctness.py tests/test_inliner.py tests/test_allocation.py \
	  tests/test_rl4real_allocator.py tests/test_loops.py tests/test_flipped_modules.py
	! cat $(ADDRESS)/found.*

FUZZED := bitstream json protobuf frames mlgo spec hello policy graph begin actions
FUZZ_SECONDS ?= 60
# Findings are kept in build/fuzz-corpus and start the next run; an input that crashed belongs in tests/fuzz/seeds.
fuzz: setup
	cmake -G Ninja -S . -B build/fuzz $(NATIVE_TESTS) -DMLCB_TESTS=OFF -DMLCB_FUZZ=ON -DMLCB_SANITIZE=address,undefined \
	  -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 > build/fuzz-configure.log
	cmake --build build/fuzz
	set -e; for name in $(FUZZED); do \
	  mkdir -p build/fuzz-corpus/$$name; \
	  MLCB_SERIALIZERS=build/fuzz/native build/fuzz/tests/fuzz/fuzz_$$name -max_total_time=$(FUZZ_SECONDS) -max_len=4096 -timeout=10 \
	    -artifact_prefix=build/fuzz-corpus/$$name- -verbosity=0 -print_final_stats=1 build/fuzz-corpus/$$name tests/fuzz/seeds/$$name; \
	done
	$(PY) -m tests.support.mutants --seconds $(FUZZ_SECONDS)

FAULT_REPEATS ?= 50
check-faults: setup
	set -e; for repeat in $$(seq $(FAULT_REPEATS)); do $(PY) -m pytest -q tests/test_faults.py; done

# Kills, connections and episodes by the thousand; 40 minutes on two cores that have nothing else to do.
check-attacks: setup
	$(PY) -m scripts.attacks -o docs/attacks.md

# What programs for other targets are linked with, and run by.
FOREIGN := qemu-user $(foreach of,libc6-dev libgcc-12-dev,$(of)-arm64-cross $(of)-riscv64-cross)
check-slow: setup
	bash scripts/setup-system.sh bubblewrap chromium iproute2 $(FOREIGN)
	$(PY) -m pytest -q -m slow -n 2 --dist worksteal

# Projects in their own build systems, stock and with policies; it goes on where it stopped.
check-projects: setup
	bash scripts/setup-system.sh nasm meson m4 libgmock-dev tcl
	$(PY) -m scripts.projects

# What learning brings, in cells of twenty minutes on a core; it goes on where it stopped.
STUDY_HOURS ?= 12
study: setup
	$(PY) -m scripts.study --hours $(STUDY_HOURS)

bench: build-bench
	$(PY) -m benchmarks

bench-rtt: build-bench
	$(PY) -m benchmarks rtt

build-bench: setup
	cmake -G Ninja -S . -B build/bench $(NATIVE_TESTS) -DMLCB_TESTS=OFF -DMLCB_BENCH=ON > build/bench-configure.log
	cmake --build build/bench

# The wheel and the sdist, in dist/.
wheel: setup
	$(PY) -m scripts.wheel

# The site, in build/site.
docs: setup
	$(PY) -m pip install -q --disable-pip-version-check -r docs/requirements.txt
	$(PY) -m scripts.site
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict -q -f build/mkdocs.yml

clean:
	rm -rf build $(VENV) .deps
