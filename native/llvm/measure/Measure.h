// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cost of a module: bytes of its object file, and cycles of its code.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Support/Error.h"
#include "llvm/TargetParser/Triple.h"

#include <cstdint>
#include <memory>

namespace llvm {
class MCAssembler;
class Module;
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

/// Bytes of a module's object file.
struct Size {
  uint64_t Allocated = 0; // all allocated sections that are not BSS
  uint64_t Text = 0;      // executable sections

  bool operator==(const Size &) const = default;
};

struct CacheSettings {
  size_t Bytes = 48u << 20; // of address space; pages are taken as they are used
  bool PerFunction = true;  // compose sizes of functions seen before where that is exact
};

/// When code generation is set up, which takes milliseconds: at once, so that forks share it and errors come early, or with the first module.
enum class Setup { Now, WhenMeasured };

/// How often the cache answered, summed over all processes that share it.
struct CacheCounters {
  uint64_t ModuleHits, ModuleMisses;     // questions for a whole module
  uint64_t FunctionHits, FunctionMisses; // of the modules missed, their functions
  uint64_t WholeModules;                 // modules whose size was not composed of functions
};

/// Measures modules for one target, at the default code generation level.
///
/// Made once per process and target; a fork inherits its parent's and shares its cache. Belongs to one thread.
class Measurer {
public:
  /// An unknown triple or CPU, or a target that cannot write objects, is an error.
  static llvm::Expected<std::unique_ptr<Measurer>> create(const llvm::Triple &Target, llvm::StringRef Cpu, const CacheSettings &Settings = {},
                                                          Setup When = Setup::Now, llvm::Reloc::Model Relocations = llvm::Reloc::PIC_);
  ~Measurer();

  /// Exact to the byte against the object file of a clone of the whole module. Does not change the module.
  Size size(const llvm::Module &M);

  /// Generates code for a clone of the whole module, and shows the final layout of its object.
  void layOut(const llvm::Module &M, llvm::function_ref<void(const llvm::MCAssembler &)> Show);

  /// Cycles that llvm-mca expects one call of each function to take that can be called from outside, callees included; each block is
  /// weighted by its frequency. Does not change the module. An error where the CPU has no scheduling model.
  llvm::Expected<double> throughput(const llvm::Module &M);

  llvm::TargetMachine &targetMachine();
  CacheCounters counters() const;

private:
  class Impl;
  explicit Measurer(std::unique_ptr<Impl> I);
  std::unique_ptr<Impl> Self;
};

} // namespace mlcb::measure
