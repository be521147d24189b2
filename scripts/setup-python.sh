#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Makes the virtual environment $1 with everything pinned in constraints.txt.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1

fail() { echo "setup: $*" >&2; exit 1; }

python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than Python 3.11; set PYTHON to a newer one"
[ -x "$venv/bin/python" ] || "$python" -m venv "$venv" || fail "could not make a virtual environment; apt-get install python3-venv"
install() { "$venv/bin/python" -m pip install -q --disable-pip-version-check -c constraints.txt "$@" || fail "pip could not install $*"; }
echo "setup: installing Python packages into $venv (some minutes on a first run)"
# torch by itself first: asked for by another package, pip takes the newest build with gigabytes of CUDA.
install torch
install scikit-build-core nanobind ninja
install $("$venv/bin/python" scripts/requirements.py)
