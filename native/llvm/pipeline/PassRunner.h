// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pipelines of the new pass manager, parsed and run.
#pragma once

#include "llvm/pipeline/Action.h"

#include "llvm/IR/PassManager.h"

#include <functional>
#include <memory>

namespace llvm {
class PassBuilder;
class TargetMachine;
} // namespace llvm

namespace mlcb {

/// Parses and runs pipelines. What a pipeline does depends on the module alone: each run begins with no analysis cached, because
/// some passes use what they find cached, and the inliner's advisor does not outlive its pipeline. Functions that are `optnone` are left
/// alone, as clang leaves them.
class PassRunner {
public:
  /// Extend registers what a task adds to the pipelines of a builder.
  using Extension = std::function<void(llvm::PassBuilder &Builder)>;

  explicit PassRunner(llvm::TargetMachine &Target, const Extension &Extend = [](llvm::PassBuilder &) {});
  ~PassRunner();
  PassRunner(const PassRunner &) = delete;
  PassRunner &operator=(const PassRunner &) = delete;

  /// Parses under the stage's options: `default<Oz>`, which is clang's here, reads some when it is built.
  template <class ManagerT = llvm::ModulePassManager> Expected<ManagerT> parse(const Stage &S);

  /// Runs a parsed stage once. A pass may keep state of its run (the inliner keeps its advisor, the inliner's wrapper gives its
  /// pipeline away), so a pass manager is used up by it.
  llvm::PreservedAnalyses run(llvm::ModulePassManager Passes, const Stage &S, llvm::Module &M);

  /// Likewise passes of a function, which may run any number of times.
  void run(llvm::FunctionPassManager &Passes, const Stage &S, llvm::Function &F);

  /// For analyses that a task adds.
  llvm::ModuleAnalysisManager &modules();

  /// Parses and runs a pipeline that is known to be right.
  void run(llvm::StringRef Pipeline, llvm::Module &M);

private:
  struct Managers; // LLVM's, whose headers cost seconds
  std::unique_ptr<Managers> Own;
};

} // namespace mlcb
