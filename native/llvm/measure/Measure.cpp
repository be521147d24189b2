// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Measure.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/Composer.h"
#include "llvm/measure/ObjectLayout.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/measure/Targets.h"
#include "llvm/measure/Throughput.h"
#include "llvm/measure/UseOrder.h"

using namespace llvm;

namespace mlcb::measure {

class Measurer::Impl {
public:
  Impl(std::unique_ptr<TargetMachine> TM, std::unique_ptr<CodeGenerator> Generator, SharedCache Cache, bool PerFunction)
      : TM(std::move(TM)), Generator(std::move(Generator)), Cache(std::move(Cache)), Functions(*this->Generator, this->Cache, targetKey()),
        PerFunction(PerFunction) {}

  Size size(const Module &M) {
    if (PerFunction && !M.getDataLayoutStr().empty())
      if (auto Composed = Functions.size(M))
        return *Composed;
    Cache.count(SharedCache::WholeModules);
    return remembered(bitcodeKey(M), [&] { return wholeModuleSize(M); });
  }

  Expected<double> throughput(const Module &M) {
    if (!Throughput) {
      auto Made = ThroughputMeter::create(*TM, Cache, targetKey());
      if (!Made)
        return Made.takeError();
      Throughput = std::move(*Made);
    }
    return remembered(relabel(bitcodeKey(M), "throughput"), [&] { return Throughput->cycles(*cloneExactly(M)); });
  }

  /// Code generation changes the IR.
  void layOut(const Module &M, function_ref<void(const MCAssembler &)> Show) {
    std::unique_ptr<Module> Clone = cloneExactly(M);
    if (Clone->getDataLayoutStr().empty())
      Clone->setDataLayout(TM->createDataLayout());
    Generator->run(*Clone, [](MachineFunction &) {}, [&](MCObjectStreamer &Streamer) { Show(Streamer.getAssembler()); });
  }

  std::unique_ptr<TargetMachine> TM;
  std::unique_ptr<CodeGenerator> Generator; // uses TM
  SharedCache Cache;

private:
  template <class Measure, class Result = std::invoke_result_t<Measure>> Result remembered(Key K, Measure Compute) {
    if (auto Known = Cache.find<Result>(K)) {
      Cache.count(SharedCache::ModuleHits);
      return *Known;
    }
    Cache.count(SharedCache::ModuleMisses);
    Result Fresh = Compute();
    Cache.insert(K, Fresh);
    return Fresh;
  }

  Key targetKey() const {
    HashStream S;
    S.add(TM->getTargetTriple().str());
    S.add(TM->getTargetCPU());
    return S.hash();
  }

  Key bitcodeKey(const Module &M) const {
    SmallVector<char, 0> Bytes;
    raw_svector_ostream OS(Bytes);
    WriteBitcodeToFile(M, OS, /*ShouldPreserveUseListOrder=*/true);
    HashStream S;
    S.add(targetKey());
    S.add(hashBytes(arrayRefFromStringRef(OS.str())));
    return S.hash();
  }

  Size wholeModuleSize(const Module &M) {
    Size Result;
    layOut(M, [&](const MCAssembler &Layout) { Result = sizeOf(Layout, TM->getTargetTriple()); });
    return Result;
  }

  Composer Functions;
  std::unique_ptr<ThroughputMeter> Throughput; // made when first asked for: not every CPU has one
  bool PerFunction;
};

Measurer::Measurer(std::unique_ptr<Impl> I) : Self(std::move(I)) {}
Measurer::~Measurer() = default;

Expected<std::unique_ptr<Measurer>> Measurer::create(const Triple &Target, StringRef Cpu, const CacheSettings &Settings, Setup When,
                                                     Reloc::Model Relocations) {
  auto TM = createTargetMachine(Target, Cpu, Relocations);
  if (!TM)
    return TM.takeError();
  auto Generator = std::make_unique<CodeGenerator>(**TM);
  if (When == Setup::Now)
    if (Error E = Generator->prepare())
      return E;
  auto Cache = SharedCache::create(Settings.Bytes);
  if (!Cache)
    return Cache.takeError();
  return std::unique_ptr<Measurer>(
      new Measurer(std::make_unique<Impl>(std::move(*TM), std::move(Generator), std::move(*Cache), Settings.PerFunction)));
}

Size Measurer::size(const Module &M) { return Self->size(M); }

void Measurer::layOut(const Module &M, function_ref<void(const MCAssembler &)> Show) { Self->layOut(M, Show); }

Expected<double> Measurer::throughput(const Module &M) { return Self->throughput(M); }

TargetMachine &Measurer::targetMachine() { return *Self->TM; }

CacheCounters Measurer::counters() const {
  const SharedCache &C = Self->Cache;
  return {C.counted(SharedCache::ModuleHits), C.counted(SharedCache::ModuleMisses), C.counted(SharedCache::FunctionHits),
          C.counted(SharedCache::FunctionMisses), C.counted(SharedCache::WholeModules)};
}

} // namespace mlcb::measure
