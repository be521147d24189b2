#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs what the build needs from Debian, the packages named as arguments, and the headers of ONNX Runtime into .deps/. Does nothing where
# all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(llvm-22-dev clang-22 clang-format-22 clang-tidy-22 llvm-22-tools llvm-22-linker-tools lld-22 g++ ccache cmake ninja-build pkg-config nlohmann-json3-dev libexpected-dev
          libxxhash-dev libsimdjson-dev libprotobuf-dev protobuf-compiler libgrpc++-dev protobuf-compiler-grpc libgtest-dev libzstd-dev libseccomp-dev csmith libcsmith-dev time python3-dev python3-venv "$@")

fail() { echo "setup: $*" >&2; exit 1; }

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
if [ ${#missing[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || fail "missing ${missing[*]}; install them with your package manager"
  echo "setup: installing ${missing[*]}"
  as_root apt-get update -qq || fail "apt-get update failed; the packages ${missing[*]} are needed"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}; LLVM 22 for older Debian or Ubuntu: see apt.llvm.org"
fi

# The ONNX Runtime wheel has no headers; the package of the next Debian release does. Only its headers are taken.
headers=.deps/onnxruntime/include/onnxruntime_c_api.h
if [ -z "${ONNXRUNTIME_ROOT:-}" ] && [ ! -f "$headers" ]; then
  echo "setup: fetching the headers of ONNX Runtime"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  chmod 755 "$work"
  mkdir -p "$work/lists/partial" "$work/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${DEBIAN_MIRROR:-http://deb.debian.org/debian} trixie main" > "$work/sources.list"
  options=(-qq -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::Lists=$work/lists"
           -o "Dir::Cache::archives=$work/archives" -o "Dir::Cache::pkgcache=" -o "Dir::Cache::srcpkgcache=")
  apt-get "${options[@]}" update && (cd "$work" && apt-get "${options[@]}" download libonnxruntime-dev 2>/dev/null) ||
    fail "could not fetch libonnxruntime-dev; set ONNXRUNTIME_ROOT to a folder that has include/onnxruntime_c_api.h"
  dpkg -x "$work"/libonnxruntime-dev_*.deb "$work/tree"
  mkdir -p .deps/onnxruntime
  cp -r "$work/tree/usr/include/onnxruntime" .deps/onnxruntime/include
fi
