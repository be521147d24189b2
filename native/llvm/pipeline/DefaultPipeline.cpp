// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/DefaultPipeline.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

namespace {

constexpr StringLiteral LlvmName = "default<", OurName = "clang-default<";

struct NamedLevel {
  StringRef Name;
  const OptimizationLevel &Level;
};
const NamedLevel Levels[] = {{"O0", OptimizationLevel::O0}, {"O1", OptimizationLevel::O1}, {"O2", OptimizationLevel::O2},
                             {"O3", OptimizationLevel::O3}, {"Os", OptimizationLevel::Os}, {"Oz", OptimizationLevel::Oz}};

/// As clang's driver decides (shouldEnableVectorizerAtOLevel) and its front end (-funroll-loops).
PipelineTuningOptions tuningFor(OptimizationLevel Level) {
  bool Eager = Level.getSpeedupLevel() > 1;
  PipelineTuningOptions Tuning;
  Tuning.LoopUnrolling = Tuning.LoopInterleaving = Tuning.SLPVectorization = Eager;
  Tuning.LoopVectorization = Eager && Level != OptimizationLevel::Oz;
  return Tuning;
}

/// Whether what stands behind `default<` is a level; what is none, LLVM's own parser refuses by the name that the user wrote.
bool namesLevel(StringRef Text) {
  return any_of(Levels, [&](const NamedLevel &L) { return Text.starts_with((L.Name + ">").str()); });
}

} // namespace

std::string asClangHasIt(StringRef Pipeline) {
  std::string Result;
  while (!Pipeline.empty()) {
    StringRef Name = Pipeline.take_while([](char C) { return isAlnum(C) || C == '-' || C == '_'; });
    StringRef Rest = Pipeline.drop_front(Name.size());
    StringRef Word = Pipeline.take_front(Name.size() + 1);
    Result += Word == LlvmName && namesLevel(Rest.drop_front()) ? StringRef(OurName) : Word;
    Pipeline = Rest.drop_front(Rest.empty() ? 0 : 1);
  }
  return Result;
}

void addDefaultPipelines(PassBuilder &Builder, TargetMachine &Target, PassInstrumentationCallbacks &Callbacks,
                         std::function<void(PassBuilder &)> Extend) {
  Builder.registerPipelineParsingCallback(
      [&, Extend = std::move(Extend)](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        auto *Known = find_if(Levels, [&](const NamedLevel &L) { return Name == (OurName + L.Name + ">").str(); });
        if (Known == std::end(Levels))
          return false;
        PassBuilder Clang(&Target, tuningFor(Known->Level), /*PGOOpt=*/std::nullopt, &Callbacks);
        Extend(Clang);
        Passes.addPass(Clang.buildPerModuleDefaultPipeline(Known->Level));
        return true;
      });
}

std::string defaultPipeline(unsigned SpeedupLevel, unsigned SizeLevel) {
  auto *Found = find_if(Levels, [&](const NamedLevel &L) {
    return L.Level.getSpeedupLevel() == SpeedupLevel && L.Level.getSizeLevel() == SizeLevel;
  });
  return (LlvmName + (Found == std::end(Levels) ? "Oz" : Found->Name) + ">").str();
}

} // namespace mlcb
