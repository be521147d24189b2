# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints native/tasks/InlineFeatures.inc: the features of the inliner as LLVM's own header lists them, as declarations of this project."""

import re
import subprocess

from mlcb_gym import toolchain

HEADER = "llvm/Analysis/InlineModelFeatureMaps.h"
LICENCE = "// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
ORIGIN = f"// The features of {HEADER}, in its order; scripts/inline_features.py prints this file. They are C++ ints there."
PROBE = f"""
#include "{HEADER}"
#define FEATURE(TYPE, SHAPE, NAME, DOC) FEATURE TYPE | SHAPE | NAME | DOC ;
INLINE_COST_FEATURE_ITERATOR(FEATURE)
INLINE_FEATURE_ITERATOR(FEATURE)
"""
BOUNDS = "-2147483648.0, 2147483647.0"


def declarations() -> str:
    """The file's text."""
    include = subprocess.run([toolchain.tool("llvm-config"), "--includedir"], check=True, capture_output=True, text=True).stdout.strip()
    command = [str(toolchain.tool("clang")), "-E", "-P", "-x", "c++", "-std=c++20", f"-I{include}", "-"]
    expanded = subprocess.run(command, check=True, capture_output=True, text=True, input=PROBE).stdout
    lines = [LICENCE, ORIGIN]
    for feature in re.findall(r"FEATURE (.*?) ;", expanded, re.DOTALL):
        type_, shape, name, doc = (part.strip() for part in feature.split("|"))
        text = "".join(re.findall(r'"([^"]*)"', doc))
        lines.append(f'TENSOR({type_}, {name}, ({shape.strip("{}")}), {BOUNDS}, "{text}")')
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(declarations(), end="")
