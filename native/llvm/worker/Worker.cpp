// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/Worker.h"

#include "channel/FdChannel.h"
#include "runner/LocalModel.h"
#include "llvm/worker/EpisodeProcess.h"
#include "llvm/worker/ProcessTiming.h"

#include "llvm/Target/TargetMachine.h"

#include <cstring>
#include <unistd.h>

using namespace llvm;

namespace mlcb {

namespace {

constexpr double HelloSeconds = 60;
constexpr size_t MaxCachedInstructions = 250'000;
constexpr size_t KnownBytes = 1u << 20;

bool sameTarget(const Triple &A, const Triple &B) {
  return A.getArch() == B.getArch() && A.getOS() == B.getOS() && A.getEnvironment() == B.getEnvironment();
}

/// The triple an episode compiles for. A program that was made for another one is refused.
Expected<std::string> chooseTriple(const Module &Program, const std::string &Wanted, StringRef Path) {
  const Triple &Own = Program.getTargetTriple();
  if (Own.empty())
    return fail(ErrorKind::InvalidArgument, "program '" + Path.str() + "' does not say what target it is for");
  Triple Normal(Triple::normalize(Wanted.empty() ? Own.str() : Wanted));
  if (!sameTarget(Triple(Triple::normalize(Own.str())), Normal))
    return fail(ErrorKind::InvalidArgument, "program '" + Path.str() + "' is for target " + Own.str() + ", expected " + Normal.str());
  return sameTarget(Own, Normal) ? Own.str() : Normal.str(); // where the own one leaves a part out
}

/// Everything that the first question depends on.
measure::Key keyOf(std::string_view Request, const Program &P) {
  return measure::hashBytes(arrayRefFromStringRef((Twine(Request) + P.Identity).str()));
}

} // namespace

Worker::Worker(FileDescriptor ControlSocket, SnapshotLimits Limits, Terms Granted, const Sandbox &Box)
    : Control(socketChannel(std::move(ControlSocket))), Programs(MaxCachedInstructions), Known(cantFail(measure::SharedCache::create(KnownBytes))),
      Recurring(Limits), Granted(Granted), Box(Box) {}

void Worker::serve() {
  endWithPeer(Control.fileno()); // also in the middle of long work
  while (Control.isOpen()) {
    Expected<Frame> Asked = Control.receive(Never);
    if (!Asked || Asked->Kind == FrameKind::Bye)
      return;
    if (Asked->Kind == FrameKind::Begin && Asked->Attached) {
      if (auto Begun = begin(Asked->text(), Asked->Attached); !Begun)
        (void)Framed(socketChannel(std::move(Asked->Attached))).refuse(Begun.error());
    } else if (Asked->Kind == FrameKind::Hello) {
      if (auto Answered = answerHello(*Asked); !Answered)
        rejectRequest(Answered.error());
    } else {
      rejectRequest({ErrorKind::ProtocolError, "a worker takes Hello, and Begin with the episode's channel attached"});
    }
  }
}

void Worker::rejectRequest(Error Why) {
  if (Why.Kind == ErrorKind::ProtocolError)
    (void)Control.refuse(std::move(Why));
  else
    (void)Control.decline(std::move(Why));
}

Expected<void> Worker::answerHello(const Frame &Asked) {
  Expected<Hello> Request = Hello::fromJson(Asked.text());
  if (!Request)
    return Unexpected(Request.error());
  Expected<const Configuration *> Added = Configs.add(*Request);
  if (!Added)
    return Unexpected(Added.error());
  return Control.send(FrameKind::Hello, bytesOf((*Added)->Spec.toJson()), after(HelloSeconds));
}

Expected<void> Worker::begin(std::string_view Payload, FileDescriptor &Channel) {
  Expected<BeginRequest> Request = BeginRequest::fromJson(Payload);
  if (!Request)
    return Unexpected(Request.error());
  if (auto Allowed = Granted.applyTo(*Request); !Allowed)
    return Allowed;
  Expected<const Configuration *> Config = Configs.find(Request->Digest);
  if (!Config)
    return Unexpected(Config.error());
  Expected<const Program *> Loaded = Request->Bitcode.empty() ? Programs.load(Request->Program, Request->Bounds)
                                                              : Programs.load(Request->Program, Request->Bitcode, Request->Bounds);
  if (!Loaded)
    return Unexpected(Loaded.error());
  Module &M = *(*Loaded)->Module;
  Expected<std::string> Triple = chooseTriple(M, Request->Target.Triple, Request->Program);
  if (!Triple)
    return Unexpected(Triple.error());
  Expected<BoundTask *> Task = Configs.prepare(**Config, *Triple, Request->Target.Cpu);
  if (!Task)
    return Unexpected(Task.error());

  const measure::Key Asked = keyOf(Payload, **Loaded);
  if (Recurring.begin(Asked, Channel))
    return {};
  if (Request->Models)
    LocalModel::prepare();
  FileDescriptor Snapshot = Recurring.admit(Asked, M.getInstructionCount());
  pid_t Self = getpid();
  pid_t Child = fork();
  if (Child < 0)
    return fail(ErrorKind::SystemError, std::string("fork: ") + std::strerror(errno));
  if (Child == 0) {
    Control.close(); // its end of file is for the worker alone
    Recurring.close();
    measure::Measurer &Target = **Configs.measurer(*Triple, Request->Target.Cpu);
    ProcessTiming Timing(Target, Granted.Runs, Box);
    EpisodeRequest Episode{Request->Forbidden, Request->Verify, (*Loaded)->Digest, &Known, &Timing};
    runEpisode({**Config, **Task, M, std::move(Episode), std::move(*Request), std::move(Channel), std::move(Snapshot), Self, Target, Box});
  }
  return {};
}

} // namespace mlcb
