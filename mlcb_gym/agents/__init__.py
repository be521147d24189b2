# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of policies in PyTorch, from raw observations to logits or values, and the RLModules that wrap them.

``MaskedPolicyGradient`` (PPO, IMPALA), ``MaskedAppo`` and ``MaskedDqn`` take the place of RLlib's own module in any config:

```python
RLModuleSpec(module_class=MaskedPolicyGradient, model_config={"network": {"hidden": [256, 256]}})
```

They never choose what the mask forbids, and standardise their inputs themselves, so that an exported policy takes what the compiler sends.
``model_config("PosetRL-v0", hidden=[256, 256])`` has the kinds of the task's features, too. ``BatchEnvRunner`` samples the vector environments of
this package with less work than RLlib's own runner: ``config.env_runners(env_runner_cls=BatchEnvRunner, gym_env_vectorize_mode=...)``. Importing
this registers every environment with Ray.
"""

import logging

from mlcb_gym.agents.architecture import model_config
from mlcb_gym.agents.batch_env_runner import BatchEnvRunner
from mlcb_gym.agents.masked_appo import MaskedAppo
from mlcb_gym.agents.masked_dqn import MaskedDqn
from mlcb_gym.agents.masked_pg import MaskedPolicyGradient
from mlcb_gym.agents.ray_registration import register_environments

__all__ = ["BatchEnvRunner", "MaskedAppo", "MaskedDqn", "MaskedPolicyGradient", "model_config", "register_environments"]

# RLlib warns, on every construction, of its own deprecated constructor and of its new API stack being the default.
logging.getLogger("ray._common.deprecation").setLevel(logging.ERROR)
logging.getLogger("ray.rllib.algorithms.algorithm_config").setLevel(logging.ERROR)

register_environments()
