// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's global options (cl::opt) set for a while.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>

namespace mlcb {

/// As on a command line: `-name=value`; an empty value for a flag.
struct OptionSetting {
  std::string Name, Value;
};

/// Whether LLVM has such an option, takes this value, and the command line leaves it alone.
Expected<void> validateOption(const OptionSetting &Setting);

/// Holds options at other values than their defaults; the defaults come back at its end. Settings must have been validated.
class OptionScope {
public:
  explicit OptionScope(llvm::ArrayRef<OptionSetting> Settings);
  ~OptionScope();
  OptionScope(const OptionScope &) = delete;
  OptionScope &operator=(const OptionScope &) = delete;

private:
  llvm::ArrayRef<OptionSetting> Settings;
};

} // namespace mlcb
