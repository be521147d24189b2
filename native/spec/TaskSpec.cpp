// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/TaskSpec.h"

#include <algorithm>

namespace mlcb {

bool TensorSpec::varies() const { return std::ranges::any_of(Shape, &Dim::varies); }

size_t TensorSpec::maxElements() const {
  size_t Product = 1;
  for (const Dim &D : Shape)
    if (__builtin_mul_overflow(Product, static_cast<size_t>(D.Size), &Product))
      return SIZE_MAX;
  return Product;
}

std::vector<int64_t> TensorSpec::maxShape() const {
  std::vector<int64_t> Sizes;
  for (const Dim &D : Shape)
    Sizes.push_back(D.Size);
  return Sizes;
}

bool TensorSpec::allows(std::span<const int64_t> Lengths) const { return std::ranges::equal(Shape, Lengths, &Dim::allows); }

int AgentSpec::maskIndex() const {
  auto Found = std::ranges::find(Inputs, TensorRole::Mask, &TensorSpec::Role);
  return Found == Inputs.end() ? -1 : static_cast<int>(Found - Inputs.begin());
}

} // namespace mlcb
