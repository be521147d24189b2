// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements from JSON text, checked against what was declared. For .cpp files only.
#pragma once

#include "serdes/NamedTensors.h"

#include <simdjson.h>

namespace mlcb::json {

/// A ProtocolError: "the payload is no JSON object of tensors: <Why>".
Unexpected malformed(simdjson::error_code Why);

/// Calls Take(name, value) for every member, as it comes, until one is an error.
template <class Fn> Expected<void> forEachMember(simdjson::ondemand::object From, Fn Take) {
  for (auto Next : From) {
    simdjson::ondemand::field Member;
    std::string_view Name;
    if (auto Why = std::move(Next).get(Member))
      return malformed(Why);
    if (auto Why = Member.unescaped_key().get(Name))
      return malformed(Why);
    if (Expected<void> Done = Take(Name, Member.value()); !Done)
      return Done;
  }
  return {};
}

/// Puts the elements of a tensor into Storage and gives its shape.
Expected<std::vector<int64_t>> readTensor(const TensorSpec &Spec, simdjson::ondemand::value From, std::vector<std::byte> &Storage);

} // namespace mlcb::json
