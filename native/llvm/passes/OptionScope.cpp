// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/passes/OptionScope.h"

#include "llvm/passes/Probe.h"

#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::Option *find(const OptionSetting &Setting) { return cl::getRegisteredOptions().lookup(Setting.Name); }

/// True where the option refused the value, as LLVM has it.
static bool set(cl::Option &Option, const OptionSetting &Setting) {
  return Option.addOccurrence(/*pos=*/0, Setting.Name, Setting.Value);
}

Expected<void> validateOption(const OptionSetting &Setting) {
  cl::Option *Option = find(Setting);
  if (!Option)
    return fail(ErrorKind::InvalidArgument, "LLVM has no option '" + Setting.Name + "'");
  // Restoring goes back to the default, not to what a user set.
  if (Option->getNumOccurrences() > 0)
    return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' is set on the command line already");
  if (Setting.Value.empty() && Option->getValueExpectedFlag() == cl::ValueRequired)
    return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' needs a value");
  // LLVM says what it thinks of a value on stderr, and some options (help, version) end the process.
  std::optional<std::string> Answer = probe([&] { return std::string(set(*Option, Setting) ? "refused" : ""); });
  if (!Answer)
    return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' ends the compiler, or cannot be tried");
  if (!Answer->empty())
    return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' does not take '" + Setting.Value + "'");
  return {};
}

OptionScope::OptionScope(ArrayRef<OptionSetting> Settings) : Settings(Settings) {
  for (const OptionSetting &Setting : Settings)
    set(*find(Setting), Setting);
}

OptionScope::~OptionScope() {
  for (const OptionSetting &Setting : Settings)
    find(Setting)->reset();
}

} // namespace mlcb
