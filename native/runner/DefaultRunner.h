// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `default:`, the compiler's own heuristic: the baseline of every task.
#pragma once

#include "runner/ModelRunner.h"

namespace mlcb {

class DefaultRunner final : public ModelRunner {
public:
  bool decides() const override { return false; }
  std::string_view task() const override { return ""; }
  std::string_view parameters() const override { return "{}"; }

private:
  Expected<void> onBind() override { return {}; }
  Expected<int64_t> choose(size_t) override { return undecided(); }
  Expected<double> value(size_t) override { return undecided(); }

  static Unexpected undecided() { return fail(ErrorKind::NoAdvice, "'default:' is the compiler's own heuristic: it gives no advice"); }
};

} // namespace mlcb
