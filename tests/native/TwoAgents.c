/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiled policy of two agents by hand, as mlcb_gym/export/aot.py writes one: AotTest.cpp seals and asks it. */
#include "runner/AotAbi.h"

#define INPUT(type, index) ((const type *)inputs[index])

/* Prefers whatever comes last. */
static void pick(const void *const *inputs, const int64_t *const *shapes, float *output) {
  (void)shapes;
  for (int i = 0; i < 3; i++)
    output[i] = INPUT(float, 0)[i] + i;
}

static void judge(const void *const *inputs, const int64_t *const *shapes, float *output) {
  (void)shapes;
  output[0] = 2.0f * INPUT(int, 1)[0];
}

static const unsigned char picked[] = {1, 0}, judged[] = {0, 1};
static const struct mlcb_aot_agent agents[] = {{pick, picked}, {judge, judged}};
static const char manifest[] = "{\"format\":1,\"task\":\"two\",\"parameters\":{},\"digest\":\"25b037149ac87c917fd2835341fcf8eb\","
                               "\"agents\":{\"picker\":\"picker.onnx\",\"judge\":\"judge.onnx\"},\"spec\":"
                               "{\"task\":\"two\",\"agents\":["
                               "{\"name\":\"picker\",\"inputs\":[{\"name\":\"x\",\"dtype\":\"float32\",\"shape\":[3]},"
                               "{\"name\":\"legal\",\"dtype\":\"int8\",\"shape\":[3],\"role\":\"mask\"}],"
                               "\"advice\":{\"kind\":\"argmax\",\"name\":\"choice\",\"choices\":3}},"
                               "{\"name\":\"judge\",\"inputs\":[{\"name\":\"unread\",\"dtype\":\"float32\"},{\"name\":\"y\",\"dtype\":\"int32\"}],"
                               "\"advice\":{\"kind\":\"value\",\"name\":\"cost\"}}]}}";

__attribute__((visibility("default"))) const struct mlcb_aot_policy MLCB_AOT_SYMBOL = {manifest, sizeof manifest - 1, agents, 2};
