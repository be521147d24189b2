# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m mlcb_gym` is `mlcb`."""

import sys
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":
    if find_spec("mlcb_gym._native") is None:
        sys.exit(f"mlcb: {Path(__file__).parent}: not built, expected make setup here, or another current folder")
    from mlcb_gym.cli.main import main

    main()
