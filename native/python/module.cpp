// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/Bindings.h"
#include "python/Errors.h"

NB_MODULE(_native, Module) {
  using namespace mlcb::python;
  Module.attr("__doc__") = "The native half: specs, serializers, and both ends of a conversation.";
  Module.attr("__version__") = MLCB_VERSION;
  bindErrors(Module);
  bindSpec(Module);
  bindMemory(Module);
  bindMessage(Module);
  bindLearnerEnd(Module);
  bindMlgoLearnerEnd(Module);
  bindMlgoLog(Module);
  bindCompiler(Module);
  bindFrames(Module);
}
