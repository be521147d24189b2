// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/Level.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/OptimizationLevel.h"

#include <array>

using namespace llvm;

namespace mlcb {

static constexpr Level All[] = {
    {"default<O0>", &OptimizationLevel::O0}, {"default<O1>", &OptimizationLevel::O1},       {"default<O2>", &OptimizationLevel::O2},
    {"default<O3>", &OptimizationLevel::O3}, {"default<Os>", &OptimizationLevel::Os, true}, {"default<Oz>", &OptimizationLevel::Oz, true, true},
};

constinit const Level &Level::O2 = All[2], &Level::O3 = All[3], &Level::Os = All[4], &Level::Oz = All[5];

static void set(Function &F, Attribute::AttrKind Kind, bool IsSet) {
  if (IsSet)
    F.addFnAttr(Kind);
  else
    F.removeFnAttr(Kind);
}

void Level::setAttributes(Module &M) const {
  for (Function &F : M) {
    set(F, Attribute::OptimizeForSize, OptSize);
    set(F, Attribute::MinSize, MinSize);
  }
}

const Level &Level::of(const OptimizationLevel &Built) {
  const auto *Found = find_if(All, [&](const Level &L) { return *L.Built == Built; });
  return Found == std::end(All) ? Oz : *Found;
}

const Level &Level::ofMost(const Module &M) {
  const std::array<const Level *, 3> Told{&O2, &Os, &Oz};
  std::array<size_t, Told.size()> Counts{};
  for (const Function &F : M)
    if (!F.isDeclaration() && !F.hasOptNone())
      ++Counts[F.hasMinSize() ? 2 : F.hasOptSize()];
  return *Told[max_element(Counts) - Counts.begin()];
}

const Level *Level::named(StringRef Name) {
  const auto *Found = find_if(All, [&](const Level &L) { return L.Pipeline == ("default<" + Name + ">").str(); });
  return Found == std::end(All) ? nullptr : Found;
}

} // namespace mlcb
