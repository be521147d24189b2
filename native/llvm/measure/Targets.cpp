// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/Targets.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

#include <mutex>

using namespace llvm;

namespace mlcb::measure {

static void initializeBackend(StringRef Name) {
#define LLVM_TARGET(X)                                                                                                                               \
  if (Name == #X) {                                                                                                                                  \
    LLVMInitialize##X##Target();                                                                                                                     \
    LLVMInitialize##X##TargetMC();                                                                                                                   \
  }
#include "llvm/Config/Targets.def"
#define LLVM_ASM_PRINTER(X)                                                                                                                          \
  if (Name == #X)                                                                                                                                    \
    LLVMInitialize##X##AsmPrinter();
#include "llvm/Config/AsmPrinters.def"
  // Inline assembly is parsed when it becomes an object.
#define LLVM_ASM_PARSER(X)                                                                                                                           \
  if (Name == #X)                                                                                                                                    \
    LLVMInitialize##X##AsmParser();
#include "llvm/Config/AsmParsers.def"
  // What llvm-mca knows of the target beside its scheduling models.
#define LLVM_TARGETMCA(X)                                                                                                                            \
  if (Name == #X)                                                                                                                                    \
    LLVMInitialize##X##TargetMCA();
#include "llvm/Config/TargetMCAs.def"
}

static void initializeInfosOnce() {
  static std::once_flag Initialized;
  std::call_once(Initialized, InitializeAllTargetInfos);
}

/// The threads of a thin link share what is registered.
static void initializeBackendOnce(StringRef Name) {
  static std::mutex Initializing;
  static StringSet<> Initialized;
  const std::scoped_lock Lock(Initializing);
  if (Initialized.insert(Name).second)
    initializeBackend(Name);
}

static Error checkCpu(const TargetMachine &Machine, StringRef Cpu) {
  if (Cpu.empty() || Machine.getMCSubtargetInfo()->isCPUStringValid(Cpu))
    return Error::success();
  return createStringError("target " + Machine.getTargetTriple().str() + ": unknown cpu '" + Cpu + "'");
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(const Triple &Named, StringRef Cpu, Reloc::Model Relocations) {
  initializeInfosOnce();
  const Triple Used = Named.empty() ? Triple(sys::getDefaultTargetTriple()) : Named;
  std::string Why;
  const Target *Found = TargetRegistry::lookupTarget(Used, Why);
  if (!Found)
    return createStringError("target " + Used.str() + ": " + Why);
  initializeBackendOnce(Found->getBackendName());
  std::unique_ptr<TargetMachine> Machine(
      Found->createTargetMachine(Used, Cpu, "", TargetOptions(), Relocations, std::nullopt, CodeGenOptLevel::Default));
  if (!Machine)
    return createStringError("target " + Used.str() + ": has no code generator");
  if (Error E = checkCpu(*Machine, Cpu))
    return E;
  return Machine;
}

} // namespace mlcb::measure
