// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of mlcb_gym._native, each bound by the file of its name.
#pragma once

#include <nanobind/nanobind.h>

namespace mlcb::python {

void bindSpec(nanobind::module_ &Module);
void bindMemory(nanobind::module_ &Module);
void bindMessage(nanobind::module_ &Module);
void bindLearnerEnd(nanobind::module_ &Module);
void bindMlgoLearnerEnd(nanobind::module_ &Module);
void bindMlgoLog(nanobind::module_ &Module);
void bindCompiler(nanobind::module_ &Module);
void bindFrames(nanobind::module_ &Module);

} // namespace mlcb::python
