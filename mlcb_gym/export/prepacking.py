# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The choice whether ONNX Runtime packs the weights of a model when it loads it, measured once at the export.

Packed, a layer of 50 000 inputs and one output was five times slower than as PyTorch keeps it, and two times faster the other
way around; small layers do not care.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from mlcb_gym.regular_file import read_regular

QUESTIONS, GAIN = 50, 1.2


def gains_from_prepacking(model: Path, agent: Mapping[str, Any]) -> bool:
    """Return False where the model is faster without packing by a factor of ``GAIN`` at least; packing is ONNX Runtime's default."""
    feed = {t["name"]: np.zeros((1, *(_length(d) for d in t["shape"])), t["dtype"]) for t in agent["inputs"] if t["role"] != "mask"}
    contents = read_regular(model)
    packed, plain = (_session(contents, packs=packs) for packs in (True, False))
    feed = {i.name: feed[i.name] for i in packed.get_inputs()}
    seconds = [(_seconds(packed, feed), _seconds(plain, feed)) for _ in range(QUESTIONS)]
    fastest = np.min(seconds, axis=0)
    return bool(fastest[0] < GAIN * fastest[1])


def _length(dimension: int | Mapping[str, int]) -> int:
    return dimension if isinstance(dimension, int) else dimension["at_most"]


def _session(model: bytes, *, packs: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.disable_prepacking", str(int(not packs)))
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _seconds(session: onnxruntime.InferenceSession, feed: Mapping[str, np.ndarray]) -> float:
    started = time.perf_counter()
    session.run(None, dict(feed))
    return time.perf_counter() - started
