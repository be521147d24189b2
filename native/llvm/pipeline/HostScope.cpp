// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/HostScope.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

thread_local const HostScope *HostScope::Innermost = nullptr;

static constexpr StringLiteral Slp = "SLPVectorizerPass", Loops = "LoopVectorizePass", Forced = ";vectorize-forced-only";

std::string classesOf(PassBuilder &Builder, OptimizationLevel At) {
  std::string Text;
  raw_string_ostream Out(Text);
  Builder.buildPerModuleDefaultPipeline(At).printPipeline(Out, [](StringRef Class) { return Class; });
  return Text;
}

/// Its user asks for clang's levels, and its builder knows nothing of clang's vectorizers.
static bool isOpt() { return cl::getRegisteredOptions().contains("passes"); }

static SmallVector<StringRef> vectorizersWithout(StringRef Classes, OptimizationLevel At) {
  SmallVector<StringRef> Missing;
  if (!Classes.contains(Slp))
    Missing.push_back(Slp);
  // At -Oz clang vectorizes those loops alone whose source asks for it.
  if (At != OptimizationLevel::Oz && Classes.contains(Forced))
    Missing.push_back(Loops);
  return Missing;
}

void HostScope::extend(FunctionAnalysisManager &Functions, PassInstrumentationCallbacks &Callbacks) const {
  Functions.registerPass([&] { return PassInstrumentationAnalysis(&Callbacks); }); // not the host's, which leaves out passes of its own pipeline
  Builder.registerFunctionAnalyses(Functions);
  if (isOpt())
    return;
  Callbacks.registerShouldRunOptionalPassCallback(
      [Missing = vectorizersWithout(classesOf(Builder, At), At)](StringRef Class, const Any &) { return !is_contained(Missing, Class); });
}

} // namespace mlcb
