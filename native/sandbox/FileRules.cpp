// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sandbox/FileRules.h"

#include <algorithm>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace mlcb {

namespace {

/// The headers of Linux 6.1, which Debian 12 builds with, end with version 2. Names and numbers are those of later ones.
namespace later {
constexpr uint64_t Truncate = 1ull << 14;                                    // version 3, Linux 6.2
constexpr uint64_t DeviceIoctl = 1ull << 15;                                 // version 5, Linux 6.10
constexpr uint64_t BindTcp = 1ull << 0, ConnectTcp = 1ull << 1;              // version 4, Linux 6.7
constexpr uint64_t ScopeAbstractSocket = 1ull << 0, ScopeSignal = 1ull << 1; // version 6, Linux 6.12

struct RulesetAttributes {
  uint64_t Files, Net, Scoped;
};
} // namespace later

constexpr int WithSignals = 6;
constexpr uint64_t OfFiles = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE;
constexpr uint64_t Reading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

/// Zero where there is none.
int version() {
  static const int Version = static_cast<int>(std::max(0l, syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION)));
  return Version;
}

/// All that a version can refuse.
later::RulesetAttributes everything(int Version) {
  later::RulesetAttributes All{(LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1, 0, 0};
  if (Version >= 2)
    All.Files |= LANDLOCK_ACCESS_FS_REFER;
  if (Version >= 3)
    All.Files |= later::Truncate;
  if (Version >= 4)
    All.Net = later::BindTcp | later::ConnectTcp;
  if (Version >= 5)
    All.Files |= later::DeviceIoctl;
  if (Version >= WithSignals)
    All.Scoped = later::ScopeAbstractSocket | later::ScopeSignal;
  return All;
}

bool isFolder(int Fd) {
  struct stat Status;
  return fstat(Fd, &Status) == 0 && S_ISDIR(Status.st_mode);
}

} // namespace

std::optional<std::string> FileRules::lacks() {
  if (version() == 0)
    return "Landlock: files and other processes are as open as to the user";
  if (version() < WithSignals)
    return "signals in Landlock (Linux 6.12): other processes of the user can be signalled";
  return std::nullopt;
}

Expected<FileRules> FileRules::create(const std::vector<std::string> &Readable) {
  FileRules Result;
  if (version() == 0)
    return Result;
  const later::RulesetAttributes All = everything(version());
  Result.Rules.reset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &All, sizeof All, 0))); // closes on exec
  if (!Result.Rules)
    return failErrno("landlock_create_ruleset");
  for (const std::string &Path : Readable)
    if (auto Allowed = Result.allow(Path, Reading); !Allowed)
      return Unexpected(Allowed.error());
  return Result.allow("/dev/null", Reading | LANDLOCK_ACCESS_FS_WRITE_FILE).map([&] { return std::move(Result); });
}

Expected<void> FileRules::allow(const std::string &Path, uint64_t Rights) {
  const FileDescriptor Where(open(Path.c_str(), O_PATH | O_CLOEXEC));
  if (!Where)
    return {};
  const landlock_path_beneath_attr Beneath{isFolder(Where.get()) ? Rights : Rights & OfFiles, Where.get()};
  if (syscall(SYS_landlock_add_rule, Rules.get(), LANDLOCK_RULE_PATH_BENEATH, &Beneath, 0) != 0)
    return failErrno("landlock_add_rule for " + Path);
  return {};
}

Expected<void> FileRules::enter() const {
  if (Rules && syscall(SYS_landlock_restrict_self, Rules.get(), 0) != 0)
    return failErrno("landlock_restrict_self");
  return {};
}

} // namespace mlcb
