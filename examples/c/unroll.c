/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A compiler in C that asks by how much to unroll each loop:  unroll URI   (pipe:BASE, shm:PATH, grpc://HOST:PORT, onnx:POLICY, onnx:MODEL.onnx or default:) */
#include <mlcb/mlcb.h>
#include <stdio.h>

/* The compiler's own task: what is observed of a loop, and what is asked. */
static const char TASK[] = "{\"task\": \"unroll\","
                           " \"agents\": [{\"name\": \"unroller\","
                           "   \"inputs\": [{\"name\": \"trip_count\", \"dtype\": \"int64\", \"low\": 0, \"doc\": \"iterations, 0 if unknown\"},"
                           "              {\"name\": \"body\", \"dtype\": \"float32\", \"shape\": [2], \"low\": 0, \"doc\": \"instructions, loads\"},"
                           "              {\"name\": \"legal\", \"dtype\": \"int8\", \"shape\": [4], \"role\": \"mask\"}],"
                           "   \"advice\": {\"kind\": \"argmax\", \"name\": \"factor\", \"choices\": 4, \"doc\": \"log2 of the factor\"}}]}";

typedef struct {
  int64_t trip_count;
  float instructions, loads;
} loop;

static const loop LOOPS[] = {{4, 6, 1}, {1000, 3, 2}, {7, 12, 4}, {0, 5, 1}, {64, 90, 30}};
enum { COUNT = sizeof LOOPS / sizeof *LOOPS };

static int64_t heuristic(const loop *l) { return l->instructions < 8 ? 1 : 0; }

int main(int argc, char **argv) {
  mlcb_runner *runner = mlcb_open(argc > 1 ? argv[1] : "default:");
  if (mlcb_bind(runner, TASK) != MLCB_OK) {
    fprintf(stderr, "unroll: %s\n", mlcb_error(runner));
    mlcb_close(runner);
    return 1;
  }
  int64_t *trip_count = mlcb_tensor(runner, 0, "trip_count", MLCB_INT64);
  float *body = mlcb_tensor(runner, 0, "body", MLCB_FLOAT32);
  int8_t *legal = mlcb_tensor(runner, 0, "legal", MLCB_INT8);

  int failed = 0;
  for (int i = 0; i < COUNT && !failed; i++) {
    *trip_count = LOOPS[i].trip_count;
    body[0] = LOOPS[i].instructions, body[1] = LOOPS[i].loads;
    for (int log2 = 0; log2 < 4; log2++)
      legal[log2] = LOOPS[i].trip_count % (1 << log2) == 0;
    int64_t factor = heuristic(&LOOPS[i]);
    if (mlcb_decides(runner))
      failed = mlcb_choose(runner, 0, &factor) != MLCB_OK;
    if (!failed)
      printf("loop %d: unroll by %d\n", i, 1 << factor);
  }
  if (failed || mlcb_end(runner, MLCB_HORIZON, 0) != MLCB_OK) {
    fprintf(stderr, "unroll: %s\n", mlcb_error(runner));
    failed = 1;
  }
  mlcb_close(runner);
  return failed;
}
