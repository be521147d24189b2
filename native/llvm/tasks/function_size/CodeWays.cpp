// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/CodeWays.h"

#include "llvm/deploy/Compilation.h"
#include "llvm/pipeline/CodeOptimizations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace mlcb {

bool CodeWays::differ() const {
  return !Without.empty() || any_of(All, [](const Choices &Own) { return any_of(Own.Others, [&](size_t Other) { return Other != Own.Kept; }); });
}

Comparison CodeWays::ofCandidates(size_t FirstNumber) const {
  size_t Most = 0;
  for (const Choices &Own : All)
    Most = std::max<size_t>(Most, Own.Others.size());
  if (Most == 0)
    return Comparison(M);
  Comparison Compared(M, [this, Most](ArrayRef<Way> Ways) { return leastOfEach(Ways, Most); }, names());
  for (size_t Other = 0; Other < Most; ++Other)
    Compared.add("candidate " + std::to_string(FirstNumber + Other), taking(Other));
  return Compared;
}

std::function<void()> CodeWays::taking(size_t Other) const {
  return [this, Other] {
    take(to_vector(map_range(All, [&](const Choices &Own) { return Other < Own.Others.size() ? Own.Others[Other] : Own.Kept; })));
  };
}

Way CodeWays::leastOfEach(ArrayRef<Way> Ways, size_t Kept) const {
  std::vector<size_t> Least;
  for (const auto [Number, Own] : enumerate(All)) {
    const auto BytesOf = [Number = Number](const Way &Of) { return Of.Found ? Of.Found->Functions[Number] : UINT64_MAX; };
    const auto Best = min_element(Ways.take_front(Kept + 1), [&](const Way &A, const Way &B) { return BytesOf(A) < BytesOf(B); });
    const size_t Index = Best - Ways.begin();
    Least.push_back(Index < Own.Others.size() && BytesOf(*Best) < BytesOf(Ways[Kept]) ? Own.Others[Index] : Own.Kept);
  }
  return {"the least of each function", [this, Least = std::move(Least)] { take(Least); }};
}

void CodeWays::take(ArrayRef<size_t> ByFunction) const {
  setForGood(Without);
  for (const auto [Own, Action] : zip_equal(All, ByFunction))
    if (auto Done = Actions.take(Action, *Own.F); !Done)
      failCompilation(M, Done.error());
  Actions.finish(M);
}

std::vector<std::string> CodeWays::names() const {
  std::vector<std::string> Names;
  for (const Choices &Own : All)
    Names.push_back(GlobalValue::dropLLVMManglingEscape(Own.F->getName()).str());
  return Names;
}

} // namespace mlcb
