// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/DefaultPipeline.h"

#include "llvm/pipeline/Level.h"
#include "llvm/pipeline/Outliner.h"
#include "llvm/pipeline/RecursionToLoops.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

static constexpr StringLiteral LlvmName = "default<", OurName = "clang-default<";
static constexpr StringLiteral LlvmOutliner = "iroutliner", OurOutliner = "right-iroutliner";

/// As clang's driver decides (shouldEnableVectorizerAtOLevel) and its front end (-funroll-loops).
static PipelineTuningOptions tuningFor(OptimizationLevel Level) {
  bool Eager = Level.getSpeedupLevel() > 1;
  PipelineTuningOptions Tuning;
  Tuning.LoopUnrolling = Tuning.LoopInterleaving = Tuning.SLPVectorization = Eager;
  Tuning.LoopVectorization = Eager && Level != OptimizationLevel::Oz;
  return Tuning;
}

/// Whether a level and a '>' come first. A name that is no level is left to LLVM's own parser, which refuses it as the user wrote it.
static bool startsWithLevel(StringRef Text) { return Text.contains('>') && Level::named(Text.split('>').first); }

std::string asClangHasIt(StringRef Pipeline) {
  std::string Result;
  while (!Pipeline.empty()) {
    StringRef Name = Pipeline.take_while([](char C) { return isAlnum(C) || C == '-' || C == '_'; });
    StringRef Rest = Pipeline.drop_front(Name.size());
    StringRef Word = Pipeline.take_front(Name.size() + 1);
    if (Name == LlvmOutliner)
      (Result += OurOutliner) += Word.drop_front(Name.size());
    else
      Result += Word == LlvmName && startsWithLevel(Rest.drop_front()) ? StringRef(OurName) : Word;
    Pipeline = Rest.drop_front(Rest.empty() ? 0 : 1);
  }
  return Result;
}

std::string asWritten(std::string Message) {
  for (size_t At = 0; (At = Message.find(OurOutliner, At)) != std::string::npos; At += LlvmOutliner.size())
    Message.replace(At, OurOutliner.size(), LlvmOutliner);
  return Message;
}

void addDefaultPipelines(PassBuilder &Builder, TargetMachine &Target, PassInstrumentationCallbacks &Callbacks,
                         std::function<void(PassBuilder &)> Extend) {
  Builder.registerPipelineParsingCallback(
      [&, Extend = std::move(Extend)](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (Name == OurOutliner) {
          Passes.addPass(OutlinerPass());
          return true;
        }
        if (Name == RecursionToLoopsPass::Name) {
          Passes.addPass(RecursionToLoopsPass());
          return true;
        }
        const Level *Known = Name.consume_front(OurName) && Name.consume_back(">") ? Level::named(Name) : nullptr;
        if (!Known)
          return false;
        PassBuilder Clang(&Target, tuningFor(*Known->Built), /*PGOOpt=*/std::nullopt, &Callbacks);
        Extend(Clang);
        Passes.addPass(Clang.buildPerModuleDefaultPipeline(*Known->Built));
        return true;
      });
}

} // namespace mlcb
