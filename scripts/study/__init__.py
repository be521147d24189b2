# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The study of what learning brings: every task by every method, at the same price.

    make study

A cell is a task, a method and a seed. Those without a result are played, one on each core, each in a process of its own, and the page is written
anew after each. What a cell was trained as stays under ``build/study``; its result, a small file, is part of the repository.
"""
