// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/LinkTime.h"

#include "llvm/deploy/PipelineStart.h"
#include "llvm/deploy/PolicySet.h"
#include "llvm/process/OneThread.h"

#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <dlfcn.h>
#include <mutex>

using namespace llvm;

namespace mlcb {

static cl::opt<bool> LinkAsks("mlcb-at-link", cl::desc("the link that optimizes asks the policies too: nobody needs to be told that nothing "
                                                       "before it does"));

static cl::opt<bool> OneThread("mlcb-one-thread", cl::desc("the thin link is by one thread (-Wl,--thinlto-jobs=1): policies may set options of LLVM, "
                                                           "which all threads share"));

namespace {

/// The folder of the options, as clang calls that of its configuration.
constexpr StringRef Beside = "<CFGDIR>";

/// Whether LLVM took an option of ours, as in -mlcb-runner=URI.
bool take(StringRef Text, StringRef Folder) {
  auto [Name, Given] = Text.split('=');
  const auto [Before, After] = Given.split(Beside);
  const std::string Value = Given.contains(Beside) ? (Before + Folder + After).str() : Given.str();
  cl::Option *Option = Name.consume_front("-mlcb-") ? cl::getRegisteredOptions().lookup(("mlcb-" + Name).str()) : nullptr;
  return Option && !Option->addOccurrence(/*pos=*/0, Option->ArgStr, Value);
}

bool HasOptionsBeside = false;

void readOptions() {
  Dl_info Self{};
  if (!dladdr(reinterpret_cast<const void *>(&readOptionsBesidePlugin), &Self) || !Self.dli_fname)
    return;
  const auto Text = MemoryBuffer::getFile(Self.dli_fname + Twine(".options"), /*IsText=*/true);
  if (!Text)
    return;
  HasOptionsBeside = true;
  for (const StringRef Line : make_range(line_iterator(**Text), line_iterator()))
    if (!take(Line, sys::path::parent_path(Self.dli_fname)))
      reportFatalUsageError(Twine("mlcb: ") + Self.dli_fname + ".options: '" + Line + "', expected an option as -mlcb-runner=URI");
}

bool isBeforeLink(ThinOrFullLTOPhase Phase) { return Phase == ThinOrFullLTOPhase::ThinLTOPreLink || Phase == ThinOrFullLTOPhase::FullLTOPreLink; }

void sayThatNobodyDecides() {
  static std::once_flag Said;
  std::call_once(Said, [] {
    errs() << "mlcb: warning: -flto: policies decide in a link by lld with a file of 'mlcb clang-config --lto'; nobody does in this bitcode\n";
  });
}

/// What the pipelines of a builder share.
struct Shared {
  std::shared_ptr<bool> IsBeforeLink; // of the pipeline that is being built
  std::optional<PolicySet::Suspension> Now;
};

class BeginPass : public PassInfoMixin<BeginPass> {
public:
  BeginPass(std::shared_ptr<Shared> Own) : Own(std::move(Own)), IsBeforeLink(this->Own->IsBeforeLink) {}

  static bool isRequired() { return true; }

  PreservedAnalyses run(Module &, ModuleAnalysisManager &) {
    if (*IsBeforeLink && !PolicySet::ofCommandLine().isEmpty()) {
      if (!LinkAsks)
        sayThatNobodyDecides();
      Own->Now.emplace();
    }
    return PreservedAnalyses::all();
  }

private:
  std::shared_ptr<Shared> Own;
  std::shared_ptr<bool> IsBeforeLink;
};

} // namespace

void readOptionsBesidePlugin() {
  static std::once_flag Read;
  std::call_once(Read, readOptions);
}

bool isLinker() { return HasOptionsBeside; }

/// A linker does not tell how many threads it has: that it has one is believed until a second one asks.
static bool isSaidToBeAlone() { return OneThread && isOneThread(); }

static void sayOnce(std::once_flag &Said, StringRef What) {
  std::call_once(Said, [&] {
    errs() << "mlcb: warning: " << What
           << (OneThread ? " by several threads: expected -Wl,--thinlto-jobs=1\n" : ": expected -Wl,--thinlto-jobs=1 and -mlcb-one-thread\n");
  });
}

bool maySetOptions(ThinOrFullLTOPhase Phase) {
  const bool May = Phase != ThinOrFullLTOPhase::ThinLTOPostLink || isSaidToBeAlone();
  static std::once_flag Said;
  if (!May)
    sayOnce(Said, "a policy that sets options of LLVM does not decide in a thin link");
  return May;
}

/// What lld calls the whole program, of which it has threads compile partitions.
constexpr StringLiteral WholeProgram = "ld-temp.o";

bool compilesAlone(const Module &M) {
  const bool Alone = isMainThread() || (M.getModuleIdentifier() != WholeProgram && isSaidToBeAlone());
  static std::once_flag Said;
  if (!Alone)
    sayOnce(Said, "-mlcb-guard keeps what stock does in a link");
  return Alone;
}

void leaveDecisionsToLink(PassBuilder &Builder, function_ref<void()> Deploy) {
  auto Own = std::make_shared<Shared>();
  Builder.registerPipelineStartEPCallback([Own](ModulePassManager &Passes, OptimizationLevel) {
    Own->IsBeforeLink = std::make_shared<bool>(false);
    Passes.addPass(BeginPass(Own));
  });
  // The first that is told the phase, though not the first to run.
  Builder.registerPipelineEarlySimplificationEPCallback([Own](ModulePassManager &, OptimizationLevel, ThinOrFullLTOPhase Phase) {
    if (Own->IsBeforeLink)
      *Own->IsBeforeLink = isBeforeLink(Phase);
  });
  Deploy();
  runAtPipelineEnd(Builder, [Own](Module &, const HostPipeline &) {
    Own->Now.reset();
    return false;
  });
}

} // namespace mlcb
