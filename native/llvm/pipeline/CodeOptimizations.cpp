// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/CodeOptimizations.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static constexpr StringRef Known[] = {"lsr", "machine-licm", "machine-cse", "machine-sink", "postra-machine-licm", "postra-machine-sink"};

Expected<std::vector<OptionSetting>> withoutOptimizations(ArrayRef<std::string> Names) {
  std::vector<OptionSetting> Settings;
  for (const std::string &Name : Names) {
    if (!is_contained(Known, Name))
      return fail(ErrorKind::InvalidArgument, "'" + Name + "', expected some of " + join(ArrayRef(Known), ", "));
    Settings.push_back({"disable-" + Name, "true"});
  }
  return Settings;
}

void setForGood(ArrayRef<OptionSetting> Settings) {
  for (const OptionSetting &Setting : Settings)
    if (cl::Option *Option = cl::getRegisteredOptions().lookup(Setting.Name); Option && Option->getNumOccurrences() == 0)
      Option->addOccurrence(/*pos=*/0, Setting.Name, Setting.Value);
}

} // namespace mlcb
