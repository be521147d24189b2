/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What a policy compiled ahead of time shows. mlcb_gym/export/aot.py compiles it with this header, AotPolicy loads it. */
#ifndef MLCB_AOT_ABI_H
#define MLCB_AOT_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The inputs of an agent in declared order, the mask and those that are not read among them, and of each the lengths of its axes now; then a
 * float for each choice, or one. */
/* NOLINTNEXTLINE(modernize-use-using): also C */
typedef void (*mlcb_aot_model)(const void *const *inputs, const int64_t *const *shapes, float *output);

struct mlcb_aot_agent {
  mlcb_aot_model model;
  const unsigned char *reads; /* for each input, whether the model looks at it */
};

struct mlcb_aot_policy {
  const char *manifest; /* policy.json */
  size_t manifest_size;
  const struct mlcb_aot_agent *agents; /* in declared order */
  size_t agent_count;
};

/* The one symbol of the shared object, a struct mlcb_aot_policy. Whoever changes a struct changes its name. */
#define MLCB_AOT_SYMBOL mlcb_aot_policy_v2

#endif
