// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `aot:POLICY.so`, a policy compiled ahead of time: no library, no start-up, the caller's own thread.
#pragma once

#include "runner/InProcessRunner.h"

namespace mlcb {

struct AotPolicy;

class AotRunner final : public InProcessRunner {
public:
  static Expected<std::unique_ptr<AotRunner>> open(const std::string &Path);

  bool readsInput(size_t Input, size_t Agent) const override;

private:
  explicit AotRunner(std::shared_ptr<const AotPolicy> Policy);

  Expected<void> onBind() override;
  Expected<void> run(size_t Agent) override;

  std::shared_ptr<const AotPolicy> Loaded;
  std::vector<std::vector<const void *>> Addresses; // [agent][input]
  std::vector<std::vector<const int64_t *>> Shapes; // likewise
};

} // namespace mlcb
