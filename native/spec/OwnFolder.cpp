// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/OwnFolder.h"

#include <dlfcn.h>
#include <filesystem>

namespace mlcb {

std::string ownFolder() {
  Dl_info Info{};
  if (!dladdr(reinterpret_cast<const void *>(&ownFolder), &Info) || !Info.dli_fname)
    return ".";
  std::error_code Unknown;
  const std::filesystem::path Path = std::filesystem::canonical(Info.dli_fname, Unknown);
  return Unknown ? "." : Path.parent_path().string();
}

} // namespace mlcb
