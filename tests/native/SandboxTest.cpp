// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is left to a process in each room of the sandbox, and what is not. tests/test_sandbox.py has what programs try.
#include "sandbox/Sandbox.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mlcb {
namespace {

enum Room { WorkerOfPaths, Worker, Episode, Program };

bool opens(const char *Path, int Flags) { return open(Path, Flags, 0600) >= 0; }

bool forks(unsigned long Flags) {
  const auto Child = static_cast<pid_t>(syscall(SYS_clone, Flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (Child == 0)
    _exit(0);
  return Child > 0 && waitpid(Child, nullptr, 0) == Child;
}

bool pairs(int Kind) {
  int Ends[2];
  return socketpair(AF_UNIX, Kind | SOCK_CLOEXEC, 0, Ends) == 0;
}

bool runsAnother() {
  char Path[] = "/bin/false";
  char *Arguments[] = {Path, nullptr};
  return execve(Path, Arguments, nullptr) == 0 || (errno != EPERM && errno != EACCES);
}

/// What is tried, and the rooms that leave it to a process.
struct Try {
  const char *Name;
  bool (*Succeeds)();
  std::vector<Room> Where;
};

const Try Tries[] = {
    {"ReadFileOfTheUser", [] { return opens("/etc/passwd", O_RDONLY); }, {WorkerOfPaths}},
    {"ReadFileNamed", [] { return opens("/etc/hostname", O_RDONLY); }, {WorkerOfPaths, Worker, Episode, Program}},
    {"ReadLibrary", [] { return opens("/usr/bin/env", O_RDONLY); }, {WorkerOfPaths, Worker, Episode, Program}},
    {"WriteFile", [] { return opens("/etc/passwd", O_WRONLY); }, {}},
    {"MakeFile", [] { return opens("/tmp/mlcb-made", O_WRONLY | O_CREAT); }, {}},
    {"WriteNull", [] { return opens("/dev/null", O_RDWR); }, {WorkerOfPaths, Worker, Episode, Program}},
    {"Fork", [] { return forks(0); }, {WorkerOfPaths, Worker, Episode}},
    {"MakeNamespace", [] { return forks(CLONE_NEWUSER); }, {}},
    {"RunAnother", runsAnother, {}},
    {"Socket", [] { return socket(AF_UNIX, SOCK_STREAM, 0) >= 0; }, {}},
    {"PairOfStreams", [] { return pairs(SOCK_STREAM); }, {WorkerOfPaths, Worker, Episode}},
    {"PairForDatagrams", [] { return pairs(SOCK_DGRAM); }, {}},
    {"SignalParent", [] { return kill(getppid(), 0) == 0; }, {}},
    {"SignalItself", [] { return kill(getpid(), 0) == 0; }, {WorkerOfPaths, Worker, Episode, Program}},
    {"OutliveParent", [] { return prctl(PR_SET_PDEATHSIG, 0) == 0; }, {WorkerOfPaths, Worker, Episode}},
    {"NameItself", [] { return prctl(PR_SET_NAME, "named") == 0; }, {WorkerOfPaths, Worker, Episode, Program}},
    {"MemoryForCode",
     [] { return mmap(nullptr, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED; },
     {WorkerOfPaths, Worker, Episode, Program}},
};

Expected<void> enter(const Sandbox &Box, Room Which) {
  const auto Entered = Box.enterAsWorker(Which == WorkerOfPaths);
  if (!Entered || Which == WorkerOfPaths || Which == Worker)
    return Entered;
  const auto Further = Box.enterAsEpisode();
  return Further && Which == Program ? Box.enterAsProgram() : Further;
}

/// In a process that ends with 0 or 1, or with 2 where it cannot enter.
[[noreturn]] void tryIn(Room Which, const Try &What) {
  const auto Box = Sandbox::create(SandboxLevel::Whole, {"/etc/hostname"});
  if (!Box || !enter(*Box, Which))
    _exit(2);
  _exit(What.Succeeds() ? 1 : 0);
}

class SandboxDeathTest : public testing::TestWithParam<std::tuple<Try, Room>> {
protected:
  void SetUp() override {
    if (const auto Missing = Sandbox::lacks())
      GTEST_SKIP() << *Missing;
  }
};

TEST_P(SandboxDeathTest, LeavesWhatItIsSaidTo) {
  const auto &[What, Which] = GetParam();
  const int Expected = std::ranges::find(What.Where, Which) != What.Where.end() ? 1 : 0;
  EXPECT_EXIT(tryIn(Which, What), testing::ExitedWithCode(Expected), "");
}

std::string nameOf(const testing::TestParamInfo<std::tuple<Try, Room>> &Case) {
  constexpr const char *Rooms[] = {"WorkerOfPaths", "Worker", "Episode", "Program"};
  return std::string(std::get<Try>(Case.param).Name) + "In" + Rooms[std::get<Room>(Case.param)];
}

INSTANTIATE_TEST_SUITE_P(Rooms, SandboxDeathTest,
                         testing::Combine(testing::ValuesIn(Tries), testing::Values(WorkerOfPaths, Worker, Episode, Program)), nameOf);

TEST(Sandbox, NoneLeavesEverything) {
  const auto Box = Sandbox::create(SandboxLevel::None, {});
  ASSERT_TRUE(Box && Box->enterAsWorker(false) && Box->enterAsEpisode() && Box->enterAsProgram());
  EXPECT_TRUE(opens("/etc/passwd", O_RDONLY));
}

} // namespace
} // namespace mlcb
