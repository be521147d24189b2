// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Configurations.h"

#include "llvm/process/ForkedProbe.h"
#include "llvm/task/TaskRegistration.h"

#include "llvm/TargetParser/Host.h"

using namespace llvm;

namespace mlcb {

/// LLVM ends the process for triples that it has no code generator for after all, so a target is set up elsewhere first.
static Expected<void> examine(const Triple &Target, StringRef Cpu) {
  if (Target == Triple(sys::getDefaultTargetTriple()) && Cpu.empty())
    return {};
  return examineInFork(
      [&]() -> std::string {
        auto Made = measure::Measurer::create(Target, Cpu);
        return Made ? "" : toString(Made.takeError());
      },
      "target " + Target.str() + ": LLVM has no code generator for it");
}

Expected<const Configuration *> Configurations::add(const Hello &Asked) {
  const TaskSpec *Task = findTask(Asked.Task);
  if (!Task || !TaskRegistration::find(Asked.Task))
    return fail(ErrorKind::InvalidArgument, "this compiler has no task '" + Asked.Task + "'");
  Expected<BoundSpec> Spec = bindTask(*Task, Asked.Parameters);
  if (!Spec)
    return Unexpected(Spec.error());
  Expected<const Serializer *> Codec = findSerializer(Asked.Serializer);
  if (!Codec)
    return Unexpected(Codec.error());
  Configuration New{std::move(*Spec), *Codec, Asked.Metrics};
  if (auto Prepared = prepare(New, sys::getDefaultTargetTriple(), ""); !Prepared)
    return Unexpected(Prepared.error());
  return &(ByDigest[New.Spec.Digest] = std::move(New));
}

Expected<const Configuration *> Configurations::find(StringRef Digest) const {
  auto Found = ByDigest.find(Digest);
  if (Found == ByDigest.end())
    return fail(ErrorKind::InvalidArgument, "no configuration has the digest '" + Digest.str() + "'");
  return &Found->second;
}

Expected<measure::Measurer *> Configurations::measurer(StringRef Triple, StringRef Cpu) {
  std::unique_ptr<measure::Measurer> &Known = Measurers[{Triple.str(), Cpu.str()}];
  if (!Known) {
    if (auto Sound = examine(llvm::Triple(Triple), Cpu); !Sound)
      return Unexpected(Sound.error());
    auto Made = measure::Measurer::create(llvm::Triple(Triple), Cpu);
    if (!Made)
      return fail(ErrorKind::InvalidArgument, toString(Made.takeError()));
    Known = std::move(*Made);
  }
  return Known.get();
}

Expected<BoundTask *> Configurations::prepare(const Configuration &C, StringRef Triple, StringRef Cpu) {
  std::unique_ptr<BoundTask> &Known = Tasks[{C.Spec.Digest, {Triple.str(), Cpu.str()}}];
  if (!Known) {
    Expected<measure::Measurer *> Target = measurer(Triple, Cpu);
    if (!Target)
      return Unexpected(Target.error());
    auto Made = TaskRegistration::find(C.Spec.Task.Name)->prepare(C.Spec, **Target);
    if (!Made)
      return Unexpected(Made.error());
    if (auto Ready = (*Made)->prepareAll(); !Ready)
      return Unexpected(Ready.error());
    Known = std::move(*Made);
  }
  return Known.get();
}

} // namespace mlcb
