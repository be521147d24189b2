// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Pass.h"

#include "llvm/deploy/PolicySet.h"
#include "llvm/process/ForkedProbe.h"
#include "llvm/task/Remark.h"
#include "llvm/tasks/regalloc/AllocatorScope.h"
#include "llvm/tasks/regalloc/Scope.h"
#include "llvm/tasks/regalloc/rl4real/Agents.h"
#include "llvm/tasks/regalloc/rl4real/Allocation.h"
#include "llvm/tasks/regalloc/rl4real/Optimum.h"
#include "llvm/tasks/regalloc/rl4real/Parameters.h"

#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/ProfileSummaryInfo.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/InitializePasses.h"
#include "llvm/PassRegistry.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mlcb::rl4real {

static cl::opt<std::string> DeciderName("mlcb-regalloc-decider", cl::init("heuristic"), cl::Hidden,
                                        cl::desc("Who decides for -regalloc=mlcb: heuristic, optimum, first, last or random:SEED"));
static cl::opt<unsigned> MaxSplits("mlcb-regalloc-splits", cl::init(8), cl::Hidden,
                                   cl::desc("How often -regalloc=mlcb may split a live range and what it was split into"));
static cl::opt<unsigned> MaxRangesOfFunction("mlcb-regalloc-max-ranges", cl::init(4000), cl::Hidden,
                                             cl::desc("With more live ranges than this, a function is left to LLVM's greedy allocator"));
static cl::opt<std::string> TripletFile("mlcb-machine-triplets", cl::Hidden, cl::value_desc("file"),
                                        cl::desc("Write what stands beside what in the code that -regalloc=mlcb gets, for mlcb vocab train"));

namespace {

class AllocatorPass final : public MachineFunctionPass {
public:
  /// By is a decider that decides about all functions; without one, policies decide, or the one that the option names.
  explicit AllocatorPass(StringRef By = "") : MachineFunctionPass(ID), Stock(createGreedyRegisterAllocator()), By(By) {}

private:
  StringRef getPassName() const override { return "mlcb register allocator"; }
  void preparePassManager(PMStack &Managers) override;
  void getAnalysisUsage(AnalysisUsage &AU) const override;
  MachineFunctionProperties getRequiredProperties() const override { return MachineFunctionProperties().setNoPHIs(); }
  MachineFunctionProperties getClearedProperties() const override { return MachineFunctionProperties().setIsSSA(); }
  bool doInitialization(Module &M) override;
  void openTalks(Module &M);
  bool doFinalization(Module &M) override;
  bool runOnMachineFunction(MachineFunction &MF) override;
  bool runStock(MachineFunction &MF);
  bool leaveToGreedy(MachineFunction &MF, const Twine &Why);
  std::optional<Counts> allocate(MachineFunction &MF, RegallocConversation *Talk);

  static char ID;
  std::unique_ptr<FunctionPass> Stock; // LLVM's own allocator
  StringRef By;
  bool IsFast = false; // where nothing is optimized: that one decides
  RegisterClassInfo Classes;
  RegallocConversations Talks;
  bool LeavesOthers = false; // to greedy: the functions that no policy decides about
  std::unique_ptr<raw_ostream> Triplets;
};

char AllocatorPass::ID = 0;

/// LLVM asks its registry for an allocator whether or not it optimizes, and says nothing about it. Without the optimizations nothing would rewrite
/// the registers after this pass, and the analyses of greedy would lose debug values.
void AllocatorPass::preparePassManager(PMStack &Managers) {
  Pass *Config = Managers.top()->getTopLevelManager()->findAnalysisPass(&TargetPassConfig::ID);
  IsFast = Config && !static_cast<TargetPassConfig *>(Config)->getOptimizeRegAlloc();
  if (IsFast)
    Stock.reset(createFastRegisterAllocator());
}

/// A superset of those of LLVM's own, so that it can run in this pass's place.
void AllocatorPass::getAnalysisUsage(AnalysisUsage &AU) const {
  Stock->getAnalysisUsage(AU);
  if (IsFast)
    return;
  AU.addRequired<AAResultsWrapperPass>();
  AU.addRequired<ProfileSummaryInfoWrapperPass>();
}

static unsigned liveRanges(const MachineRegisterInfo &MRI) {
  return count_if(seq(MRI.getNumVirtRegs()), [&](unsigned I) { return !MRI.reg_nodbg_empty(Register::index2VirtReg(I)); });
}

static void report(const MachineFunction &MF, const Counts &Done) {
  remark("Allocated",
         "allocated " + Twine(Done.Ranges) + " live ranges: " + Twine(Done.Evictions) + " evictions, " + Twine(Done.Splits) + " splits, " +
             Twine(Done.Spills) + " spills, " + Twine(Done.Recoloured) + " recolourings, " + Twine(Done.Illegal) + " illegal answers, " +
             Twine(Done.Refused) + " splits refused",
         MF.getFunction());
}

static std::unique_ptr<raw_ostream> openTriplets() {
  if (TripletFile.empty() || isProbe())
    return nullptr;
  std::error_code Failed;
  auto Opened = std::make_unique<raw_fd_ostream>(TripletFile, Failed, sys::fs::OF_Append);
  if (Failed)
    reportFatalUsageError("mlcb: -mlcb-machine-triplets=" + Twine(TripletFile) + ": " + Failed.message());
  return Opened;
}

bool AllocatorPass::doInitialization(Module &M) {
  MachineFunctionPass::doInitialization(M);
  if (IsFast)
    return Stock->doInitialization(M);
  Triplets = openTriplets();
  if (By.empty())
    openTalks(M);
  return Stock->doInitialization(M);
}

void AllocatorPass::openTalks(Module &M) {
  Talks = openRegalloc("rl4real", M, *this);
  LeavesOthers = isRegallocScoped() || !Talks.Talks.empty() || PolicySet::ofCommandLine().names(*TaskRegistration::find("rl4real")).value_or(true);
}

bool AllocatorPass::doFinalization(Module &M) {
  Talks = {};
  return Stock->doFinalization(M);
}

/// LLVM configures X86's tiles after an allocation of their own, which it leaves out where an option names the allocator.
static void refuseTiles(const MachineFunction &MF, const VirtRegMap &VRM) {
  const MachineRegisterInfo &MRI = MF.getRegInfo();
  const auto IsTile = [&](unsigned I) {
    const Register R = Register::index2VirtReg(I);
    return !VRM.hasPhys(R) && !MRI.reg_nodbg_empty(R) &&
           StringRef(MRI.getTargetRegisterInfo()->getRegClassName(MRI.getRegClass(R))).starts_with("TILE");
  };
  if (any_of(seq(MRI.getNumVirtRegs()), IsTile))
    reportFatalUsageError("mlcb: -regalloc=mlcb: '" + MF.getName() +
                          "' has tile registers, which LLVM configures only without -regalloc; expected a policy in clang instead");
}

bool AllocatorPass::runOnMachineFunction(MachineFunction &MF) {
  if (!IsFast)
    refuseTiles(MF, getAnalysis<VirtRegMapWrapperLegacy>().getVRM());
  RegallocConversation *Talk = Talks.about(MF.getName());
  if (IsFast || (!Talk && LeavesOthers))
    return runStock(MF);
  if (const unsigned Ranges = liveRanges(MF.getRegInfo()); Ranges > MaxRangesOfFunction)
    return leaveToGreedy(MF, Twine(Ranges) + " live ranges, " + Twine(MaxRangesOfFunction) + " at most");
  if (Triplets)
    writeTriplets(MF, *Triplets);
  const std::optional<Counts> Done = allocate(MF, Talk);
  if (!Done)
    return leaveToGreedy(MF, "too large for an optimum, or of registers that form tuples");
  if (Done->Failed)
    return leaveToGreedy(MF, "of " + Twine(Done->Ranges) + " live ranges, one got no register and cannot be spilled");
  report(MF, *Done);
  return true;
}

bool AllocatorPass::leaveToGreedy(MachineFunction &MF, const Twine &Why) {
  remark("LeftToGreedy", "left to greedy: " + Why, MF.getFunction());
  return runStock(MF);
}

/// The pass manager does not know it: it is shown the analyses that this pass was given for it.
bool AllocatorPass::runStock(MachineFunction &MF) {
  AnalysisUsage Usage;
  Stock->getAnalysisUsage(Usage);
  if (!Stock->getResolver())
    Stock->setResolver(new AnalysisResolver(getResolver()->getPMDataManager())); // the pass owns it
  Stock->getResolver()->clearAnalysisImpls();
  for (const AnalysisID Required : Usage.getRequiredSet())
    Stock->getResolver()->addAnalysisImplsPair(Required, getResolver()->findImplPass(Required));
  return Stock->runOnFunction(MF.getFunction());
}

/// The policy's agents, or the decider of a name; null where the function is too large for it.
static std::unique_ptr<Decider> deciderFor(const Analyses &A, FactsOfFunction &Facts, RegallocConversation *Talk, StringRef Name) {
  if (Talk)
    return std::make_unique<Agents>(A, Facts, *Talk);
  if (Name == "optimum")
    return Optimum::find(A, Facts);
  std::unique_ptr<Decider> Named = makeDecider(Name);
  if (!Named)
    reportFatalUsageError("mlcb: -mlcb-regalloc-decider=" + Twine(Name) + ": expected heuristic, optimum, first, last or random:SEED");
  return Named;
}

/// Those of the policy; else those of the options.
static AllocatorParameters parametersOf(RegallocConversation *Talk) {
  if (MaxSplits > MostSplits)
    reportFatalUsageError("mlcb: -mlcb-regalloc-splits=" + Twine(MaxSplits) + ": expected at most " + Twine(MostSplits));
  const AllocatorParameters OfOptions{MaxSplits};
  if (!Talk)
    return OfOptions;
  const auto Read = AllocatorParameters::read(Talk->policy().spec());
  if (!Read)
    Talk->abandon(Read.error());
  return Read.value_or(OfOptions);
}

std::optional<Counts> AllocatorPass::allocate(MachineFunction &MF, RegallocConversation *Talk) {
  auto &LIS = getAnalysis<LiveIntervalsWrapperPass>().getLIS();
  auto &VRM = getAnalysis<VirtRegMapWrapperLegacy>().getVRM();
  auto &Loops = getAnalysis<MachineLoopInfoWrapperPass>().getLI();
  auto &Frequencies = getAnalysis<MachineBlockFrequencyInfoWrapperPass>().getMBFI();
  MF.getRegInfo().freezeReservedRegs();
  Classes.runOnMachineFunction(MF);
  VirtRegAuxInfo Weights(MF, LIS, VRM, Loops, Frequencies, &getAnalysis<ProfileSummaryInfoWrapperPass>().getPSI());
  Weights.calculateSpillWeightsAndHints();
  const Analyses A{MF,
                   MF.getRegInfo(),
                   LIS,
                   getAnalysis<LiveStacksWrapperLegacy>().getLS(),
                   getAnalysis<LiveDebugVariablesWrapperLegacy>().getLDV(),
                   VRM,
                   getAnalysis<LiveRegMatrixWrapperLegacy>().getLRM(),
                   getAnalysis<MachineDominatorTreeWrapperPass>().getDomTree(),
                   Loops,
                   Frequencies,
                   Weights,
                   Classes};
  const AllocatorParameters Parameters = parametersOf(Talk);
  FactsOfFunction Facts(A, Parameters.Seeds);
  const std::unique_ptr<Decider> Deciding = deciderFor(A, Facts, Talk, By.empty() ? StringRef(DeciderName) : By);
  if (!Deciding)
    return std::nullopt;
  return Allocation(A, Facts, *Deciding, {Deciding->splits() ? Parameters.Splits : 0, MaxRangesOfFunction}).run();
}

RegisterRegAlloc Registered("mlcb", "the register allocator of mlcb_gym", createAllocator);

} // namespace

// The pass manager owns them.
FunctionPass *createAllocator() { return new AllocatorPass(); }
FunctionPass *createOptimalAllocator() { return new AllocatorPass("optimum"); }

/// Once there is a default, LLVM does not look at its option.
void useAllocator() {
  if (const cl::Option *Chosen = cl::getRegisteredOptions().lookup("regalloc"); !Chosen || Chosen->getNumOccurrences() == 0)
    RegisterRegAlloc::setDefault(createAllocator);
}

} // namespace mlcb::rl4real
