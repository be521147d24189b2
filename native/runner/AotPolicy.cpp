// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/AotPolicy.h"

#include "runner/AotSeal.h"

#include <dlfcn.h>
#include <filesystem>

#define MLCB_TEXT_OF(Name) #Name
#define MLCB_TEXT(Name) MLCB_TEXT_OF(Name)

namespace mlcb {

Expected<std::shared_ptr<const AotPolicy>> AotPolicy::open(const std::string &Path) {
  if (auto Sealed = checkSeal(Path); !Sealed)
    return Unexpected(Sealed.error());
  std::error_code Ignored; // a name without a folder would be looked for in the system's
  const std::string Absolute = std::filesystem::absolute(Path, Ignored).string();
  std::unique_ptr<void, int (*)(void *)> Library(::dlopen(Absolute.c_str(), RTLD_NOW | RTLD_LOCAL), &::dlclose);
  if (!Library)
    return fail(ErrorKind::SystemError, ::dlerror());
  const auto *Shown = static_cast<const mlcb_aot_policy *>(::dlsym(Library.get(), MLCB_TEXT(MLCB_AOT_SYMBOL)));
  if (!Shown)
    return fail(ErrorKind::InvalidArgument, Path + " is of another version: it has no symbol " MLCB_TEXT(MLCB_AOT_SYMBOL));
  auto Manifest = PolicyManifest::parse(Path, {Shown->manifest, Shown->manifest_size});
  if (!Manifest)
    return Unexpected(Manifest.error());
  if (Shown->agent_count != Manifest->Spec.Task.Agents.size())
    return fail(ErrorKind::SpecMismatch, Path + " has " + std::to_string(Shown->agent_count) + " models, its task " +
                                             std::to_string(Manifest->Spec.Task.Agents.size()) + " agents");
  return std::make_shared<const AotPolicy>(std::move(Library), std::move(*Manifest), std::span(Shown->agents, Shown->agent_count));
}

} // namespace mlcb
