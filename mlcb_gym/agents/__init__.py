# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of policies in PyTorch, from raw observations to logits or values, and the RLModules that wrap them."""

import logging

# RLlib warns, on every construction, of its own deprecated constructor and of its new API stack being the default.
logging.getLogger("ray._common.deprecation").setLevel(logging.ERROR)
logging.getLogger("ray.rllib.algorithms.algorithm_config").setLevel(logging.ERROR)
