// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The payload of a learner's Begin frame.
#pragma once

#include "protocol/Messages.h"
#include "spec/Error.h"
#include "llvm/worker/Limits.h"

#include <string>
#include <string_view>
#include <vector>

namespace mlcb {

/// The target of compilation; an empty triple stands for the program's own.
struct TargetName {
  std::string Triple, Cpu;
};

struct BeginRequest {
  std::string Digest;  // of the configuration
  std::string Program; // a path, or only a name where Bitcode has the bytes
  std::string Bitcode;
  std::vector<std::string> Metrics;
  Measure When = Measure::Always; // metrics are wanted
  Limits Bounds;
  std::vector<int64_t> Forbidden;
  TargetName Target;
  bool Verify = false;
  bool Models = false; // may be expected

  /// Any other text is a ProtocolError that names the member.
  static Expected<BeginRequest> fromJson(std::string_view Text);
};

} // namespace mlcb
