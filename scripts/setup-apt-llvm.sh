#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Adds apt.llvm.org, for systems whose own packages have no LLVM 22, and the keys that setup-system.sh checks Debian's packages with.
set -euo pipefail

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
. /etc/os-release
as_root apt-get update -qq
as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ca-certificates curl debian-archive-keyring >/dev/null
curl -fsSL https://apt.llvm.org/llvm-snapshot.gpg.key | as_root tee /etc/apt/trusted.gpg.d/apt.llvm.org.asc >/dev/null
echo "deb https://apt.llvm.org/$VERSION_CODENAME/ llvm-toolchain-$VERSION_CODENAME-22 main" | as_root tee /etc/apt/sources.list.d/llvm-22.list >/dev/null
