// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/Parameters.h"

#include "llvm/task/Parameters.h"

#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace mlcb {

static SmallVector<const FixedAllocator *> fixedAllocatorsIn(StringRef Names, ParameterReader &From) {
  if (size_t Count = 0; to_integer(Names, Count, 10))
    return map_to_vector(fixedAllocators().take_front(std::min(Count, fixedAllocators().size())), [](const FixedAllocator &Each) { return &Each; });
  SmallVector<StringRef> Words;
  Names.split(Words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  SmallVector<const FixedAllocator *> Named;
  for (StringRef Word : Words)
    if (const FixedAllocator *Found = findFixedAllocator(Word.trim()))
      Named.push_back(Found);
    else
      From.reject("beside: '" + Word.trim() + "', expected a number, or fixed allocators, as " + fixedAllocators()[0].Name);
  return Named;
}

Expected<RegallocParameters> RegallocParameters::read(const BoundSpec &Spec) {
  ParameterReader From(Spec);
  From.zeroOrOne("told"); // shapes tensors, and nothing else
  return From.result(RegallocParameters{From.pipeline(), From.boolean("optsize"), fixedAllocatorsIn(From.text("beside"), From)});
}

} // namespace mlcb
