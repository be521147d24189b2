// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sandbox/Sandbox.h"

#include <filesystem>
#include <link.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mlcb {

namespace {

/// What libraries, LLVM and ONNX Runtime among them, may read of any machine.
constexpr const char *OfTheSystem[] = {"/usr",
                                       "/lib",
                                       "/lib64",
                                       "/etc/ld.so.cache",
                                       "/etc/localtime",
                                       "/dev/zero",
                                       "/dev/urandom",
                                       "/dev/random",
                                       "/proc/cpuinfo",
                                       "/proc/meminfo",
                                       "/proc/sys/vm",
                                       "/proc/version",
                                       "/sys/devices/system/cpu",
                                       "/sys/devices/system/node"};

/// The folders of the libraries that this process has loaded: what is loaded later depends on the same.
std::vector<std::string> foldersOfLibraries() {
  std::vector<std::string> Folders;
  dl_iterate_phdr(
      [](dl_phdr_info *Library, size_t, void *To) {
        std::error_code Unknown;
        const std::filesystem::path Path(Library->dlpi_name), Real = std::filesystem::canonical(Path, Unknown);
        if (Path.is_absolute() && !Unknown) // neither this program nor what the kernel maps
          static_cast<std::vector<std::string> *>(To)->push_back(Real.parent_path());
        return 0;
      },
      &Folders);
  return Folders;
}

/// As root a process could raise its limits, or take pages from the machine, by calls that all others may make too.
Expected<void> giveUpCapabilities() {
  __user_cap_header_struct Self{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct None[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &Self, None) != 0)
    return failErrno("capset");
  return {};
}

std::vector<std::string> withThoseOfAll(std::vector<std::string> Readable) {
  for (std::string &Folder : foldersOfLibraries())
    Readable.push_back(std::move(Folder));
  Readable.insert(Readable.end(), std::begin(OfTheSystem), std::end(OfTheSystem));
  return Readable;
}

} // namespace

std::optional<std::string> Sandbox::lacks() { return FileRules::lacks(); }

Expected<Sandbox> Sandbox::create(SandboxLevel Level, const std::vector<std::string> &Readable) {
  if (Level == SandboxLevel::None)
    return Sandbox(std::nullopt);
  if (const auto Missing = lacks(); Missing && Level == SandboxLevel::Whole)
    return fail(ErrorKind::SystemError, "this kernel has no " + *Missing);
  Expected<FileRules> All = FileRules::create({"/"});
  Expected<FileRules> Own = FileRules::create(withThoseOfAll(Readable));
  Expected<SystemCalls> Compiler = SystemCalls::ofCompilers(), Program = SystemCalls::ofPrograms();
  for (const Expected<FileRules> *Made : {&All, &Own})
    if (!*Made)
      return Unexpected(Made->error());
  for (const Expected<SystemCalls> *Made : {&Compiler, &Program})
    if (!*Made)
      return Unexpected(Made->error());
  return Sandbox(Rooms{std::move(*All), std::move(*Own), std::move(*Compiler), std::move(*Program)});
}

Expected<void> Sandbox::enterAsWorker(bool OpensPrograms) const {
  if (!Has)
    return {};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return failErrno("PR_SET_NO_NEW_PRIVS");
  return (OpensPrograms ? Has->All.enter() : enterAsEpisode()).and_then([&] { return Has->Compiler.enter(); });
}

Expected<void> Sandbox::enterAsEpisode() const {
  return Has ? Has->Own.enter().and_then([] { return giveUpCapabilities(); }) : Expected<void>();
}

Expected<void> Sandbox::enterAsProgram() const {
  return Has ? Has->Own.enter().and_then([&] { return Has->Program.enter(); }) : Expected<void>();
}

} // namespace mlcb
