// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Measure.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/ObjectLayout.h"
#include "llvm/measure/SharedCache.h"
#include "llvm/measure/Targets.h"

using namespace llvm;

namespace mlcb::measure {

class Measurer::Impl {
public:
  Impl(std::unique_ptr<TargetMachine> TM, std::unique_ptr<CodeGenerator> Generator, SharedCache Cache)
      : TM(std::move(TM)), Generator(std::move(Generator)), Cache(std::move(Cache)) {}

  Size size(const Module &M) {
    Key K = bitcodeKey(M);
    if (auto Known = Cache.find<Size>(K)) {
      Cache.count(SharedCache::ModuleHits);
      return *Known;
    }
    Cache.count(SharedCache::ModuleMisses);
    Size Result = wholeModuleSize(M);
    Cache.insert(K, Result);
    return Result;
  }

  std::unique_ptr<TargetMachine> TM;
  std::unique_ptr<CodeGenerator> Generator; // uses TM
  SharedCache Cache;

private:
  Key bitcodeKey(const Module &M) const {
    SmallVector<char, 0> Bytes;
    raw_svector_ostream OS(Bytes);
    OS << "size\0" << TM->getTargetTriple().str() << '\0' << TM->getTargetCPU() << '\0';
    WriteBitcodeToFile(M, OS);
    return hashBytes({reinterpret_cast<const uint8_t *>(Bytes.data()), Bytes.size()});
  }

  /// Code generation changes the IR, and may depend on the order of use lists: a clone's order follows from the module's text.
  Size wholeModuleSize(const Module &M) {
    Size Result;
    std::unique_ptr<Module> Clone = CloneModule(M);
    Generator->run(*Clone, [](MachineFunction &) {},
                   [&](MCObjectStreamer &Streamer) { Result = sizeOf(Streamer.getAssembler(), TM->getTargetTriple()); });
    return Result;
  }
};

Measurer::Measurer(std::unique_ptr<Impl> I) : Self(std::move(I)) {}
Measurer::~Measurer() = default;

Expected<std::unique_ptr<Measurer>> Measurer::create(const Triple &Target, StringRef Cpu, const CacheSettings &Settings) {
  auto TM = createTargetMachine(Target, Cpu);
  if (!TM)
    return TM.takeError();
  auto Generator = CodeGenerator::create(**TM);
  if (!Generator)
    return Generator.takeError();
  auto Cache = SharedCache::create(Settings.Bytes);
  if (!Cache)
    return Cache.takeError();
  return std::unique_ptr<Measurer>(new Measurer(std::make_unique<Impl>(std::move(*TM), std::move(*Generator), std::move(*Cache))));
}

Size Measurer::size(const Module &M) { return Self->size(M); }

Expected<double> Measurer::throughput(const Module &) { return createStringError("throughput: not built yet"); }

TargetMachine &Measurer::targetMachine() { return *Self->TM; }

CacheCounters Measurer::counters() const {
  const SharedCache &C = Self->Cache;
  return {C.counted(SharedCache::ModuleHits), C.counted(SharedCache::ModuleMisses), C.counted(SharedCache::FunctionHits),
          C.counted(SharedCache::FunctionMisses), C.counted(SharedCache::WholeModules)};
}

} // namespace mlcb::measure
