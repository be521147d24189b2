// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/Tasks.h"

#include "spec/TaskSpec.h"

#include <algorithm>

namespace mlcb {
namespace {

// The words of a declaration.
[[maybe_unused]] constexpr auto argmax = AdviceKind::Argmax;
[[maybe_unused]] constexpr auto value = AdviceKind::Value;
[[maybe_unused]] constexpr Dim at_most(int64_t Size) { return {Dim::Kind::AtMost, Size, {}}; }

constexpr Dim dim(int64_t Size) { return {Dim::Kind::Fixed, Size, {}}; }
constexpr Dim dim(Dim D) { return D; }

template <class... Dims> std::vector<Dim> shape(Dims... Sizes) { return {dim(Sizes)...}; }

} // namespace

#define MLCB_TASK_VISITOR "spec/DefineTask.inc"
#include "AllTasks.inc"
#undef MLCB_TASK_VISITOR

const std::vector<TaskSpec> &allTasks() {
  static const std::vector<TaskSpec> Tasks{
#define MLCB_TASK_VISITOR "spec/ListTask.inc"
#include "AllTasks.inc"
#undef MLCB_TASK_VISITOR
  };
  return Tasks;
}

const TaskSpec *findTask(std::string_view Name) {
  const auto &Tasks = allTasks();
  auto Found = std::ranges::find(Tasks, Name, &TaskSpec::Name);
  return Found == Tasks.end() ? nullptr : &*Found;
}

} // namespace mlcb
