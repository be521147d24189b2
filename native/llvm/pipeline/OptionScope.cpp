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

static Expected<void> checkAllDeclared(ArrayRef<OptionSetting> Settings) {
  for (const OptionSetting &Setting : Settings)
    if (auto Valid = checkDeclared(Setting); !Valid)
      return Valid;
  return {};
}

/// Whether a value is neither a number nor yes or no, nor one of the attributes that an action may name.
static bool isWord(StringRef Value) {
  double Number;
  return !is_contained({"", "true", "false", "minsize", "optsize"}, Value) && Value.getAsDouble(Number);
}

/// Whether an option refuses the value, or takes any other word too. Where it is tried, options may do anything.
static bool refuses(const OptionSetting &Setting) {
  cl::Option &Option = *find(Setting);
  const bool Refused = set(Option, Setting);
  Option.reset();
  const bool TakesAny = isWord(Setting.Value) && !set(Option, {Setting.Name, "mlcb-any-word"});
  Option.reset();
  return Refused || TakesAny;
}

static Unexpected refused(const OptionSetting &Setting) {
  return fail(ErrorKind::InvalidArgument,
              "option '" + Setting.Name + "' does not take '" + Setting.Value + "', expected a number, true, false, or a word that LLVM lists");
}

/// LLVM says what it thinks of a value on stderr, and some options end the process: all are tried in one other process, which says how many were taken
/// before the first that was not.
static Expected<void> tryOut(ArrayRef<OptionSetting> Settings) {
  while (!Settings.empty()) {
    const auto Tried = probe([&] { return std::to_string(find_if(Settings, refuses) - Settings.begin()); });
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
    if (auto First = tryOut(Settings.take_front(Settings.size() / 2)); !First)
      return First;
    Settings = Settings.drop_front(Settings.size() / 2);
  }
  return {};
}

Expected<void> validateOptions(ArrayRef<OptionSetting> Settings) {
  return checkAllDeclared(Settings).and_then([&] { return tryOut(Settings); });
}

Expected<void> checkOptions(ArrayRef<OptionSetting> Settings) {
  SmallVector<OptionSetting> Words;
  copy_if(Settings, std::back_inserter(Words), [](const OptionSetting &S) { return isWord(S.Value); });
  return checkAllDeclared(Settings).and_then([&] { return tryOut(Words); });
}

auto checkOfEach(ArrayRef<OptionSetting> All) -> decltype(checkOptions) & { return validateOptions(All) ? checkAllDeclared : validateOptions; }

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
