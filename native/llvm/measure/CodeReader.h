// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes each function's share out of the layout of an object.
#pragma once

#include "llvm/measure/FunctionCode.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace llvm {
class Function;
class MachineFunction;
class MCAssembler;
class MCFragment;
class MCObjectStreamer;
class MCSection;
class MCSymbol;
} // namespace llvm

namespace mlcb::measure {

class CodeReader {
public:
  struct Entry {
    const llvm::Function *F;
    FunctionCode Code;
    const llvm::MCSymbol *Symbol;
    uint64_t Start = 0; // in its section
  };

  /// The index of a jump's target among the references of its function; none where the jump is always long.
  using JumpResolver = llvm::function_ref<std::optional<uint16_t>(const llvm::Function &From, llvm::StringRef Target)>;

  /// For each function before it is printed.
  void note(llvm::MachineFunction &MF);
  /// Once the layout is final.
  void read(llvm::MCObjectStreamer &Streamer, JumpResolver Resolve);

  llvm::ArrayRef<Entry> functions() const { return Entries; }

private:
  void readText(const llvm::MCAssembler &Layout, Entry &E);
  void readJumps(const llvm::MCAssembler &Layout, const llvm::MCSection &Section, JumpResolver Resolve);
  void readFrames(llvm::MCObjectStreamer &Streamer);

  llvm::SmallVector<Entry, 0> Entries;
};

} // namespace mlcb::measure
