# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's default pipelines, as ``opt -passes`` reads them."""

O2 = "default<O2>"
O3 = "default<O3>"
OS = "default<Os>"
OZ = "default<Oz>"
