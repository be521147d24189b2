// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The size of a module from the sizes of its functions: code is generated for those not seen before.
#pragma once

#include "llvm/measure/CodeGenerator.h"
#include "llvm/measure/Fingerprint.h"
#include "llvm/measure/FunctionCode.h"
#include "llvm/measure/Measure.h"
#include "llvm/measure/SectionSums.h"
#include "llvm/measure/SharedCache.h"

namespace mlcb::measure {

class Composer {
public:
  /// Target stands for the triple, CPU and options that the generator has.
  Composer(CodeGenerator &Generator, SharedCache &Cache, Key Target) : Generator(Generator), Cache(Cache), Target(Target) {}

  /// None where something in the module, or this target, is not modelled here: then only the whole module tells.
  std::optional<Size> size(const llvm::Module &M);

  struct Part {
    const llvm::Function *F;
    FunctionPrint Print;
    FunctionCode Code;
  };

private:
  /// The text of functions that lie together.
  struct Stretch {
    Piece Text;
    uint32_t FrameBytes = 0;
    bool Composable = false;
  };
  using Parts = llvm::ArrayRef<const Part *>;

  bool complete(const llvm::Module &M, Key Context, llvm::MutableArrayRef<Part> All);
  bool generate(const llvm::Module &M, Key Context, llvm::ArrayRef<Part *> Unknown);
  std::optional<Size> sum(const llvm::Module &M, Key Context, llvm::ArrayRef<Part> All);
  bool addText(const llvm::Module &M, Parts InSection, SectionSums &Sums);
  Stretch stretch(const llvm::Module &M, Parts Run);
  Stretch generateStretch(const llvm::Module &M, Parts Run);
  uint64_t frameworkBytes(const llvm::Module &M, Key Context);

  CodeGenerator &Generator;
  SharedCache &Cache;
  Key Target;
};

} // namespace mlcb::measure
