// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/TaughtFor.h"

#include "spec/Json.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"

#include <array>
#include <mutex>

using namespace llvm;

namespace mlcb {

namespace {

/// Levels as the attributes of functions tell them apart.
constexpr std::array<StringRef, 3> Levels{"-O1 to -O3", "-Os", "-Oz"};

size_t levelOf(const Function &F) { return F.hasMinSize() ? 2 : F.hasOptSize() ? 1 : 0; }

/// That of most functions.
StringRef levelOf(const Module &M) {
  std::array<size_t, Levels.size()> Counts{};
  for (const Function &F : M)
    if (!F.isDeclaration() && !F.hasOptNone())
      ++Counts[levelOf(F)];
  return Levels[std::max_element(Counts.begin(), Counts.end()) - Counts.begin()];
}

/// Of the pipeline that the policy was taught with; the task's own, where it has none. Empty where it was that of its programs.
StringRef taughtLevel(const ModelRunner &Policy, const TaskRegistration &Task) {
  const Json Parameters = parseJson(Policy.parameters());
  const std::string Pipeline = stringOf(member(Parameters, "pipeline"), Task.heuristic().str());
  if (const Json &KeepsAttributes = member(Parameters, "optsize"); KeepsAttributes.is_boolean())
    return KeepsAttributes ? StringRef() : Levels[0];
  return StringRef(Pipeline).contains("<Oz>") ? Levels[2] : StringRef(Pipeline).contains("<Os>") ? Levels[1] : Levels[0];
}

void warnOnce(const ModelRunner &Policy, const Twine &Why, const Module &M) {
  static std::mutex Alone;
  static StringSet<> Warned;
  const std::string Text = ("mlcb: the policy for " + StringRef(Policy.task()) + " was taught " + Why).str();
  if (std::lock_guard Held(Alone); !Warned.insert(Text).second)
    return;
  M.getContext().diagnose(DiagnosticInfoGeneric(Text, DS_Warning));
}

} // namespace

void warnWhereNotTaught(const ModelRunner &Policy, const TaskRegistration &Task, const Module &M) {
  const Triple Taught{StringRef(Policy.target())};
  const Triple &Asked = M.getTargetTriple();
  if (Taught.getArch() != Triple::UnknownArch && Asked.getArch() != Triple::UnknownArch && Taught.getArch() != Asked.getArch())
    return warnOnce(Policy, "for " + Taught.getArchName() + ", and is asked for " + Asked.getArchName(), M);
  if (const StringRef At = taughtLevel(Policy, Task), Now = levelOf(M); !At.empty() && At != Now)
    warnOnce(Policy, "at " + At + ", and is asked at " + Now, M);
}

} // namespace mlcb
