// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/TaughtFor.h"

#include "spec/Json.h"
#include "llvm/deploy/LinkTime.h"
#include "llvm/pipeline/Level.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Module.h"

#include <mutex>

using namespace llvm;

namespace mlcb {

namespace {

/// As the attributes of functions tell levels apart.
StringRef inWords(const Level &L) { return L.MinSize ? "-Oz" : L.OptSize ? "-Os" : "-O1 to -O3"; }

const Level *levelOf(StringRef Pipeline) {
  return Pipeline.consume_front("default<") && Pipeline.consume_back(">") ? Level::named(Pipeline) : nullptr;
}

/// Of the pipeline that the policy was taught with; the task's own, where it has none, or one that is no level's. Null where it was that of its
/// programs.
const Level *taughtLevel(const ModelRunner &Policy, const TaskRegistration &Task) {
  const Json Parameters = parseJson(Policy.parameters());
  if (const Json &KeepsAttributes = member(Parameters, "optsize"); KeepsAttributes.is_boolean())
    return KeepsAttributes ? nullptr : &Level::O2;
  const std::string Pipeline = stringOf(member(Parameters, "pipeline"), Task.heuristic().str());
  const Level *Own = levelOf(Pipeline), *Usual = levelOf(Task.heuristic());
  return Own ? Own : Usual ? Usual : &Level::O2;
}

void warnOnce(const ModelRunner &Policy, const Twine &Why, const Module &M) {
  static std::mutex Alone;
  static StringSet<> Warned;
  const std::string Text = ("the policy for " + StringRef(Policy.task()) + " was taught " + Why).str();
  if (std::lock_guard Held(Alone); !Warned.insert(Text).second)
    return;
  if (isLinker()) // to whom --fatal-warnings makes an error of each
    errs() << "mlcb: warning: " << Text << '\n';
  else
    M.getContext().diagnose(DiagnosticInfoGeneric("mlcb: " + Text, DS_Warning));
}

} // namespace

bool isForOtherArchitecture(const ModelRunner &Policy, const Module &M) {
  const Triple::ArchType Taught = Triple(StringRef(Policy.target())).getArch(), Asked = M.getTargetTriple().getArch();
  return Taught != Triple::UnknownArch && Asked != Triple::UnknownArch && Taught != Asked;
}

void warnWhereNotTaught(const ModelRunner &Policy, const TaskRegistration &Task, const Module &M) {
  if (Policy.isRemote()) // a learner is being taught
    return;
  if (isForOtherArchitecture(Policy, M))
    return warnOnce(Policy,
                    "for " + StringRef(Policy.target()) + ", and is asked for " + M.getTargetTriple().getArchName() +
                        (Task.onOtherArchitecture() == OnOtherArchitecture::LeavesToLLVM ? ", where LLVM decides" : ""),
                    M);
  const Level *At = taughtLevel(Policy, Task), &Now = Level::ofMost(M);
  if (At && inWords(*At) != inWords(Now))
    warnOnce(Policy, "at " + inWords(*At) + ", and is asked at " + inWords(Now), M);
}

} // namespace mlcb
