# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX models of networks, and the manifest that a policy folder carries."""
