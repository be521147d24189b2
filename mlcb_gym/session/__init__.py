# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compilers that run episodes: how they are started, advised, watched and ended."""

from mlcb_gym._native import Compiler
from mlcb_gym.session.episode import Episode
from mlcb_gym.session.fleet import Fleet
from mlcb_gym.session.functions import FunctionSession
from mlcb_gym.session.measure import ModuleMeasure
from mlcb_gym.session.opening import open_session
from mlcb_gym.session.plugin import PluginSession
from mlcb_gym.session.relay import Relay
from mlcb_gym.session.remote import RemoteSession
from mlcb_gym.session.request import EpisodeRequest, Limits, Target
from mlcb_gym.session.sandbox import Sandbox
from mlcb_gym.session.server import ModelServer
from mlcb_gym.session.session import RunningEpisode, Session
from mlcb_gym.session.stock import EVICTION, INLINER, PRIORITY, StockSession
from mlcb_gym.session.worker import WorkerSession

__all__ = [
    "EVICTION",
    "INLINER",
    "PRIORITY",
    "Compiler",
    "Episode",
    "EpisodeRequest",
    "Fleet",
    "FunctionSession",
    "Limits",
    "ModelServer",
    "ModuleMeasure",
    "PluginSession",
    "Relay",
    "RemoteSession",
    "RunningEpisode",
    "Sandbox",
    "Session",
    "StockSession",
    "Target",
    "WorkerSession",
    "open_session",
]
