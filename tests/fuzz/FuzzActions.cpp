// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as the text of an action: they are refused, or give stages that read and refuse the same once more, and LLVM's parser makes of them
// no pass that is refused.
#include "llvm/pipeline/Action.h"

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

#include <cstdlib>

using namespace llvm;

namespace {

/// LLVM's parser, and the passes' names as it prints them.
struct Parser {
  PassInstrumentationCallbacks Names;
  PassBuilder Builder{nullptr, PipelineTuningOptions(), std::nullopt, &Names};

  std::string passesOf(StringRef Pipeline) {
    ModulePassManager Passes;
    if (llvm::Error Why = Builder.parsePassPipeline(Passes, Pipeline)) {
      consumeError(std::move(Why));
      return "";
    }
    std::string Printed;
    raw_string_ostream Out(Printed);
    Passes.printPipeline(Out, [&](StringRef Class) { return Names.getPassNameForClassName(Class); });
    return Printed;
  }
};

/// What the parser of actions makes of a pipeline; nothing where it refuses it.
std::optional<std::string> rewritten(StringRef Pipeline) {
  const auto Again = mlcb::parseAction(Pipeline);
  if (!Again || Again->Stages.size() != 1)
    return {};
  return Again->Stages[0].Pipeline;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  static Parser Llvm;
  const auto Read = mlcb::parseAction({reinterpret_cast<const char *>(Data), Size});
  if (!Read)
    return 0;
  for (const mlcb::Stage &Each : Read->Stages)
    if (const std::string Printed = Llvm.passesOf(Each.Pipeline);
        !Printed.empty() && (rewritten(Each.Pipeline) != Each.Pipeline || !mlcb::parseAction(Printed)))
      std::abort();
  return 0;
}
