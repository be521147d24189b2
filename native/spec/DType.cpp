// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/DType.h"

#include <algorithm>
#include <array>

namespace mlcb {
namespace {

struct Row {
  std::string_view Name;
  size_t Bytes;
};

// In the order of DType.
constexpr std::array<Row, 12> Rows{{{"int8", 1},
                                    {"int16", 2},
                                    {"int32", 4},
                                    {"int64", 8},
                                    {"uint8", 1},
                                    {"float32", 4},
                                    {"float64", 8},
                                    {"bool", 1},
                                    {"uint16", 2},
                                    {"uint32", 4},
                                    {"uint64", 8},
                                    {"string", 0}}};
static_assert(Rows.size() == static_cast<size_t>(DType::String) + 1);

} // namespace

std::string_view name(DType Type) { return Rows[static_cast<size_t>(Type)].Name; }

std::optional<DType> dtype(std::string_view Name) {
  const auto Found = std::ranges::find(Rows, Name, &Row::Name);
  if (Found == Rows.end())
    return {};
  return static_cast<DType>(Found - Rows.begin());
}

size_t byteSize(DType Type) { return Rows[static_cast<size_t>(Type)].Bytes; }

} // namespace mlcb
