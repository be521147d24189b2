// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The address of the other end: `scheme:path?key=value&key=value`.
#pragma once

#include "spec/Error.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mlcb {

/// The parts of a URI, as views into its text.
struct Uri {
  std::string_view Text, Scheme, Path;
  std::vector<std::pair<std::string_view, std::string_view>> Options;

  static Uri parse(std::string_view Text);

  std::optional<std::string_view> option(std::string_view Key) const;

  /// An option of another name is an InvalidArgument that names it.
  Expected<void> allow(std::span<const std::string_view> Keys) const;

  Unexpected invalid(const std::string &Why) const;
};

} // namespace mlcb
