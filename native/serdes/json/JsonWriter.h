// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON text of tensors: the shortest digits that give the same number back.
#pragma once

#include "serdes/Serializer.h"

#include <string>

namespace mlcb::json {

/// How JSON, which has no such numbers, writes them.
inline constexpr std::string_view NotANumber = "NaN", Infinity = "Infinity", MinusInfinity = "-Infinity";

/// The members of a tensor with varying dimensions.
inline constexpr std::string_view ShapeKey = "shape", DataKey = "data";

/// Writes one object, `"name": value` by `"name": value`, into a buffer that it replaces.
class Writer {
public:
  explicit Writer(std::vector<std::byte> &Out) : Out(Out) { Out.clear(); }

  void tensor(const TensorSpec &Spec, const TensorView &View);
  void end();

private:
  void text(std::string_view Text);
  void string(std::string_view Text);
  void key(std::string_view Before, std::string_view Name);
  void elements(DType Type, std::span<const std::byte> Bytes);
  template <class T> void elements(std::span<const std::byte> Bytes);

  std::vector<std::byte> &Out;
  bool First = true;
};

} // namespace mlcb::json
