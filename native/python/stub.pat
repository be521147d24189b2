# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What nanobind leaves out of a stub by itself.
_native.__prefix__:
    __version__: str
