# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Policies in torch: raw observations in, logits out; the RLModules of each algorithm wrap the same network."""

import logging

# RLlib warns, on every construction, of its own deprecated constructor and of its new API stack being the default.
logging.getLogger("ray._common.deprecation").setLevel(logging.ERROR)
logging.getLogger("ray.rllib.algorithms.algorithm_config").setLevel(logging.ERROR)
