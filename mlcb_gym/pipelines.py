# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM's default pipelines, as ``opt -passes`` reads them."""

O2 = "default<O2>"
O3 = "default<O3>"
OS = "default<Os>"
OZ = "default<Oz>"
LIGHT = (
    "inferattrs,function(lower-expect,simplifycfg<switch-range-to-icmp>,sroa,early-cse),recursion-to-loops,ipsccp,called-value-propagation,globalopt,"
    "function(mem2reg,simplifycfg<switch-range-to-icmp>),always-inline,"
    "cgscc(devirt<4>(inline,function-attrs,function(sroa,early-cse<memssa>,simplifycfg<switch-range-to-icmp>))),"
    "deadargelim,globalopt,elim-avail-extern,rpo-function-attrs,recursion-to-loops,function(tailcallelim),mergefunc,globaldce,constmerge"
)
"""The passes of ``-Oz`` over a whole module, with few of those over functions; ``recursion-to-loops`` is a pass of this project."""
