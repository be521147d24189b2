// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/OptionScope.h"

#include "llvm/process/ForkedProbe.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace mlcb {

static cl::Option *find(const OptionSetting &Setting) { return cl::getRegisteredOptions().lookup(Setting.Name); }

/// True where the option refused the value, as LLVM has it.
static bool set(cl::Option &Option, const OptionSetting &Setting) { return Option.addOccurrence(/*pos=*/0, Setting.Name, Setting.Value); }

/// Checks a setting without trying it.
static Expected<void> checkDeclared(const OptionSetting &Setting) {
  cl::Option *Option = find(Setting);
  if (!Option)
    return fail(ErrorKind::InvalidArgument, "LLVM has no option '" + Setting.Name + "'");
  if (Setting.Value.empty() && Option->getValueExpectedFlag() == cl::ValueRequired)
    return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' needs a value");
  return {};
}

static Unexpected refused(const OptionSetting &Setting) {
  return fail(ErrorKind::InvalidArgument, "option '" + Setting.Name + "' does not take '" + Setting.Value + "'");
}

Expected<void> checkOptions(ArrayRef<OptionSetting> Settings) {
  for (const OptionSetting &Setting : Settings)
    if (auto Valid = checkDeclared(Setting); !Valid)
      return Valid;
  return {};
}

/// LLVM says what it thinks of a value on stderr, and some options (help, version) end the process: all are tried in one other process,
/// which says how many were taken before the first that was not.
Expected<void> validateOptions(ArrayRef<OptionSetting> Settings) {
  if (auto Checked = checkOptions(Settings); !Checked)
    return Checked;
  while (!Settings.empty()) {
    const auto Tried = probe([&] {
      auto Refused = find_if(Settings, [](const OptionSetting &S) {
        const bool Failed = set(*find(S), S);
        find(S)->reset();
        return Failed;
      });
      return std::to_string(Refused - Settings.begin());
    });
    if (!Tried)
      return Unexpected(Tried.error());
    const std::optional<std::string> &Taken = *Tried;
    size_t Count = 0;
    if (Taken && to_integer(*Taken, Count, 10) && Count == Settings.size())
      return {};
    if (Taken)
      return refused(Settings[Count]);
    if (Settings.size() == 1)
      return fail(ErrorKind::InvalidArgument, "option '" + Settings[0].Name + "' ends the compiler, or cannot be tried");
    // One of them ends the process: which half has it?
    if (auto First = validateOptions(Settings.take_front(Settings.size() / 2)); !First)
      return First;
    Settings = Settings.drop_front(Settings.size() / 2);
  }
  return {};
}

auto checkOfEach(ArrayRef<OptionSetting> All) -> decltype(checkOptions) & { return validateOptions(All) ? checkOptions : validateOptions; }

OptionScope::OptionScope(ArrayRef<OptionSetting> Settings) {
  for (const OptionSetting &Setting : Settings) {
    cl::Option *Option = find(Setting);
    if (!is_contained(Held, Option)) { // a list is set once for each of its values
      if (Option->getNumOccurrences() > 0)
        continue;
      Held.push_back(Option);
    }
    if (set(*Option, Setting) && Taken)
      Taken = refused(Setting);
  }
}

OptionScope::~OptionScope() {
  for (cl::Option *Option : Held)
    Option->reset();
}

} // namespace mlcb
