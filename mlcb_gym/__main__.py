# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`python -m mlcb_gym` is `mlcb`."""

from mlcb_gym.cli.main import main

if __name__ == "__main__":
    main()
