// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "spec/Module.h"

#include "spec/OwnFolder.h"

#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

namespace mlcb {
namespace {

std::vector<std::string> folders() {
  const std::string Own = ownFolder();
  std::vector<std::string> Folders{Own, Own + "/lib", Own + "/../lib"};
  if (const char *Named = std::getenv("MLCB_SERIALIZERS"); Named && *Named)
    Folders.emplace(Folders.begin(), Named);
  return Folders;
}

} // namespace

Expected<void *> findInModule(const std::string &File, const char *Symbol) {
  for (const std::string &Folder : folders()) {
    const std::string Path = Folder + "/" + File;
    if (::access(Path.c_str(), F_OK) != 0)
      continue;
    void *Module = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void *Found = Module ? dlsym(Module, Symbol) : nullptr;
    return Found ? Expected<void *>(Found) : fail(ErrorKind::InvalidArgument, dlerror());
  }
  return fail(ErrorKind::InvalidArgument, "there is no " + File + " beside " + ownFolder());
}

} // namespace mlcb
