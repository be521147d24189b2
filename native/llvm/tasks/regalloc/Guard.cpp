// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Guard.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

namespace mlcb {

namespace {

/// The result in words, and then the functions that are kept by an alternative, a line each: its number and the name.
std::string inLines(ArrayRef<Alternative> Alternatives, const Allocations &Own, ArrayRef<Allocations> Others) {
  const SmallVector<BetterFunction> Better = worthTheirBytes(Own, Others);
  const double Greedy = Own.sum().Cost;
  std::string Tried, Kept, Names;
  for (auto [By, Each] : enumerate(Alternatives)) {
    const auto Count = count_if(Better, [By = By](const BetterFunction &F) { return F.By == By; });
    Tried += formatv("{0}: {1:f4}, ", Each.Name, Others[By].sum().Cost);
    Kept += formatv("{0}{1} in {2}", By ? ", " : "", Each.Name, Count);
  }
  for (const BetterFunction &F : Better)
    Names += ("\n" + Twine(F.By) + " " + F.Name).str();
  return Tried + formatv("greedy: {0:f4}; kept: {1} of {2} functions, {3:f4}", Greedy, Kept, Own.Functions.size(), Greedy - totalGain(Better)).str() +
         Names;
}

} // namespace

std::vector<StringSet<>> betterFunctions(Module &M, TargetMachine &Machine, ArrayRef<Alternative> Alternatives) {
  const auto Try = [&] {
    const Allocations Own = allocate(M, Machine, {"greedy", unadvised});
    return inLines(Alternatives, Own, map_to_vector(Alternatives, [&](const Alternative &By) { return allocate(M, Machine, By); }));
  };
  const std::string Result = M.getTargetTriple().isOSBinFormatELF()
                                 ? tryInFork(M, Try).value_or("policy: failed; kept: greedy")
                                 : "policy: not tried, for the bytes of a function are known in ELF alone; kept: greedy";
  SmallVector<StringRef> Lines;
  StringRef(Result).split(Lines, '\n');
  remark("Guard", Lines[0], M);
  std::vector<StringSet<>> Better(Alternatives.size());
  for (StringRef Line : drop_begin(Lines)) {
    const auto [By, Name] = Line.split(' ');
    if (size_t Index = 0; to_integer(By, Index, 10) && Index < Better.size())
      Better[Index].insert(Name);
  }
  return Better;
}

} // namespace mlcb
