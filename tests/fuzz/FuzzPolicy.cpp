// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any bytes as a policy.json: they are refused in one line, or name a file beside it for each agent, and nothing elsewhere.
#include "runner/PolicyManifest.h"

#include <algorithm>
#include <cstdlib>

static bool isBeside(const std::string &File) { return !File.empty() && File.find('/') == File.npos && File != "." && File != ".."; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  const auto Read = mlcb::PolicyManifest::parse("policy.json", {reinterpret_cast<const char *>(Data), Size});
  if (!Read) {
    if (Read.error().Message.find('\n') != std::string::npos)
      std::abort();
    return 0;
  }
  if (Read->Models.size() != Read->Spec.Task.Agents.size() || !std::ranges::all_of(Read->Models, isBeside, &mlcb::PolicyModel::File))
    std::abort();
  if (!Read->CustomOperators.empty() && !isBeside(Read->CustomOperators))
    std::abort();
  return 0;
}
