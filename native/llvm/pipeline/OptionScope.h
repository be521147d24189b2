// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's global options (cl::opt) set for a while.
#pragma once

#include "spec/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <string>

namespace llvm::cl {
class Option;
} // namespace llvm::cl

namespace mlcb {

/// As on a command line: `-name=value`; an empty value for a flag.
struct OptionSetting {
  std::string Name, Value;
};

/// Whether LLVM has such options and takes the values. An option that takes any word is refused: it may name a file.
Expected<void> validateOptions(llvm::ArrayRef<OptionSetting> Settings);

/// Whether LLVM has such options. Of the values, words alone are tried.
Expected<void> checkOptions(llvm::ArrayRef<OptionSetting> Settings);

/// What to check the settings of several actions by, one action after another: trying costs a process, so that all are tried at once here, and again one
/// by one only to say whose is wrong.
auto checkOfEach(llvm::ArrayRef<OptionSetting> All) -> decltype(checkOptions) &;

/// Holds options at other values than their defaults; the defaults come back at its end. What the user's command line sets stays as it is there.
/// Settings must have been checked.
class OptionScope {
public:
  explicit OptionScope(llvm::ArrayRef<OptionSetting> Settings);
  ~OptionScope();
  OptionScope(const OptionScope &) = delete;
  OptionScope &operator=(const OptionScope &) = delete;

  /// An error of the first setting that LLVM refused, of those that were checked but not validated.
  const Expected<void> &taken() const { return Taken; }

private:
  Expected<void> Taken;
  llvm::SmallVector<llvm::cl::Option *> Held;
};

} // namespace mlcb
