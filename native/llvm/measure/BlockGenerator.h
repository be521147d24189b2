// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a module to its machine code, block by block, with what runs how often and calls whom.
#pragma once

#include "llvm/measure/CodeGenPasses.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace llvm {
class Function;
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

struct CodeBlock {
  double Frequency = 0; // runs for each entry of its function
  llvm::SmallVector<llvm::MCInst, 0> Instructions;
  llvm::SmallVector<const llvm::Function *, 2> Callees; // those known
};

/// The target's code generation pipeline, built once and run for many modules. Nothing is encoded or laid out, so it does not matter in
/// which section a function lies.
class BlockGenerator {
public:
  /// A target without a code printer is an error.
  static llvm::Expected<std::unique_ptr<BlockGenerator>> create(llvm::TargetMachine &TM);
  ~BlockGenerator();

  using Listener = llvm::function_ref<void(const llvm::Function &, llvm::ArrayRef<CodeBlock>)>;

  /// Calls OnFunction for each function; the blocks are gone when it returns. Uses the IR of the module up.
  void run(llvm::Module &M, Listener OnFunction);

private:
  class FrequencyTap;
  class InstructionTap;
  class Recorder;
  class RecordingStreamer;
  explicit BlockGenerator(llvm::TargetMachine &TM);

  std::unique_ptr<Recorder> Record; // outlives the pipeline, whose last pass writes to it
  CodeGenPipeline Pipeline;
};

} // namespace mlcb::measure
