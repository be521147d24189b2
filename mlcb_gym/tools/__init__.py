# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands that make anew the data that ships: vocabularies and action lists."""
