/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A plain model in three lines: what does this block cost?   cost onnx:cost.onnx */
#include <mlcb/mlcb.h>
#include <stdio.h>
#include <string.h>

static const char TASK[] = "{\"task\": \"cost\","
                           " \"agents\": [{\"name\": \"model\","
                           "   \"inputs\": [{\"name\": \"counts\", \"dtype\": \"float32\", \"shape\": [4]}],"
                           "   \"advice\": {\"kind\": \"value\", \"name\": \"cycles\"}}]}";

static const float BLOCK[4] = {3, 2, 4, 1}; /* additions, loads, moves, branches */

int main(int argc, char **argv) {
  double cycles = 0;
  mlcb_runner *model = mlcb_open(argc > 1 ? argv[1] : "onnx:cost.onnx");
  int failed = mlcb_bind(model, TASK) != MLCB_OK;
  if (!failed) {
    memcpy(mlcb_tensor(model, 0, "counts", MLCB_FLOAT32), BLOCK, sizeof BLOCK);
    failed = mlcb_value(model, 0, &cycles) != MLCB_OK;
  }
  if (failed)
    fprintf(stderr, "cost: %s\n", mlcb_error(model));
  else
    printf("%g cycles\n", cycles);
  mlcb_close(model);
  return failed;
}
