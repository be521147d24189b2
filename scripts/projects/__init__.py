# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Real projects in their own build systems, with their own tests: what policies bring there, and what they cost.

    make check-projects

A project is built by stock clang and with the policies that ship, and nothing is chosen or trained by what comes out. Each build is measured once
and kept under ``build/projects`` as long as its policies and the plugin are the same, so that a run that was stopped goes on. A project has a core
for itself, on which its builds take turns. The page is written of those that are there in all ways.
"""
