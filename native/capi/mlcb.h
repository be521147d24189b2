/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* How a compiler written in C asks a policy: open a runner and bind the task, fill tensors, ask. docs/integration.md has examples.
 *
 *   mlcb_runner *runner = mlcb_open("onnx:policy/");
 *   if (mlcb_bind(runner, TASK)) fprintf(stderr, "%s\n", mlcb_error(runner));
 *   float *size = mlcb_tensor(runner, 0, "size", MLCB_FLOAT32);
 *
 *   *size = 42;
 *   if (mlcb_choose(runner, 0, &choice)) choice = our_own_heuristic();
 *
 * Errors are values: a call that fails says so, and mlcb_error() has the sentence. A runner that could not be opened fails at
 * every later call with the reason of the first, so that one check, of mlcb_bind(), is enough. Nothing is printed, no C++
 * exception comes out; where memory is exhausted the process ends.
 *
 * A runner belongs to one thread at a time; several runners may be used by several threads at once. A model is loaded once for
 * all runners of a process.
 */
#ifndef MLCB_H
#define MLCB_H

#include <stddef.h>
#include <stdint.h>

/* Grows by one where a compiler built with an older header would not run with the library. */
#define MLCB_API_VERSION 1 /* NOLINT(modernize-macro-to-enum): compared by #if */

#ifdef __cplusplus
extern "C" {
#define MLCB_AS_INT : int /* so that any value a caller gives can be looked at */
#define MLCB_NOEXCEPT noexcept
#else
#define MLCB_AS_INT
#define MLCB_NOEXCEPT
#endif

#define MLCB_API __attribute__((visibility("default")))

typedef struct mlcb_runner mlcb_runner;

typedef enum MLCB_AS_INT {
  MLCB_OK,               /* 0: success */
  MLCB_INVALID_ARGUMENT, /* the caller asked for something that cannot be */
  MLCB_SPEC_MISMATCH,    /* the two ends, or a policy and a compiler, disagree on the task */
  MLCB_PROTOCOL_ERROR,   /* what the learner sent is foreign, truncated, too long, or out of turn */
  MLCB_PEER_GONE,        /* the learner closed its channel or died */
  MLCB_TIMEOUT,          /* a deadline passed */
  MLCB_PEER_ERROR,       /* the learner said why it gives up */
  MLCB_SYSTEM_ERROR,     /* the machine: a file, a descriptor */
  MLCB_INTERRUPTED,      /* whoever waits was told to stop waiting */
  MLCB_NO_ADVICE         /* no failure: default:, the compiler's own heuristic decides */
} mlcb_status;

typedef enum MLCB_AS_INT {
  MLCB_INT8,
  MLCB_INT16,
  MLCB_INT32,
  MLCB_INT64,
  MLCB_UINT8,
  MLCB_FLOAT32,
  MLCB_FLOAT64,
  MLCB_BOOL,
  MLCB_UINT16,
  MLCB_UINT32,
  MLCB_UINT64
} mlcb_dtype;

typedef enum MLCB_AS_INT { MLCB_HORIZON, MLCB_STOPPED, MLCB_NO_DECISIONS, MLCB_EXHAUSTED } mlcb_end_reason;

/* MLCB_API_VERSION of the library. */
MLCB_API int mlcb_api_version(void) MLCB_NOEXCEPT;

/* Opens the runner of a URI: pipe:BASE, shm:PATH or grpc://HOST:PORT (waits at most a minute for the learner), onnx:FOLDER,
 * onnx:MODEL.onnx, aot:POLICY.so or default:. Never NULL; mlcb_close() frees it, opened or not. */
MLCB_API mlcb_runner *mlcb_open(const char *uri) MLCB_NOEXCEPT;

/* Ends the conversation and frees the runner with all its tensors. NULL is fine. */
MLCB_API void mlcb_close(mlcb_runner *runner) MLCB_NOEXCEPT;

/* One sentence: why the last call failed that did. Empty if none did. Valid until the next call with the runner. */
MLCB_API const char *mlcb_error(const mlcb_runner *runner) MLCB_NOEXCEPT;

/* Whether a policy decides; 0 for default: (the compiler follows its own heuristic) and for a runner that was not opened. Where it
 * is 0, tensors need not be filled: there is no advice to ask for. */
MLCB_API int mlcb_decides(const mlcb_runner *runner) MLCB_NOEXCEPT;

/* The task that the policy or learner is for, empty if for any; and the parameters it wants it bound with, a JSON object.
 * Valid until the next call with the runner. */
MLCB_API const char *mlcb_task(mlcb_runner *runner) MLCB_NOEXCEPT;
MLCB_API const char *mlcb_parameters(mlcb_runner *runner) MLCB_NOEXCEPT;

/* Binds a task of the compiler's own, declared as JSON (docs/integration.md); or one of this library's, by the JSON of its bound
 * spec. Once for a runner; all its tensors are zero then. */
MLCB_API mlcb_status mlcb_bind(mlcb_runner *runner, const char *spec) MLCB_NOEXCEPT;

/* Binds a task that this library declares. Parameters: a JSON object, or NULL for those that the policy or learner wants. */
MLCB_API mlcb_status mlcb_bind_task(mlcb_runner *runner, const char *task, const char *parameters) MLCB_NOEXCEPT;

/* The elements of an input of an agent (its index in the spec), row major, to be filled before each question. The place stays for
 * the life of the runner. NULL where there is no such input, or it is of another type. */
MLCB_API void *mlcb_tensor(mlcb_runner *runner, size_t agent, const char *input, mlcb_dtype type) MLCB_NOEXCEPT;

/* Whether the policy looks at an input; one that it does not read need not be filled. */
MLCB_API int mlcb_reads(mlcb_runner *runner, size_t agent, const char *input) MLCB_NOEXCEPT;

/* Gives an input with varying dimensions its true shape, for the questions from here on. */
MLCB_API mlcb_status mlcb_resize(mlcb_runner *runner, size_t agent, const char *input, const int64_t *shape, size_t rank) MLCB_NOEXCEPT;

/* Copies a text into an input of type string. */
MLCB_API mlcb_status mlcb_text(mlcb_runner *runner, size_t agent, const char *input, const char *text) MLCB_NOEXCEPT;

/* Whether the learner wants a metric beside its observations, and where to put it; as mlcb_tensor(). */
MLCB_API int mlcb_wants(mlcb_runner *runner, const char *metric) MLCB_NOEXCEPT;
MLCB_API void *mlcb_metric(mlcb_runner *runner, const char *metric, mlcb_dtype type) MLCB_NOEXCEPT;

/* The advice of an agent for what its tensors hold: an index that its mask allows, or a value. *index or *value is left as it is
 * where there is none, which is MLCB_NO_ADVICE with default: and another status on failure. */
MLCB_API mlcb_status mlcb_choose(mlcb_runner *runner, size_t agent, int64_t *index) MLCB_NOEXCEPT;
MLCB_API mlcb_status mlcb_value(mlcb_runner *runner, size_t agent, double *value) MLCB_NOEXCEPT;

/* Tells the learner that the episode is over; the agent's tensors and the metrics hold the last state. */
MLCB_API mlcb_status mlcb_end(mlcb_runner *runner, mlcb_end_reason why, size_t agent) MLCB_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif
