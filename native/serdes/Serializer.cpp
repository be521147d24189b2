// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/Bitstream.h"
#include "serdes/SerializerModule.h"
#include "spec/OwnFolder.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

namespace mlcb {
namespace {

Unexpected invalid(std::string_view Name, const std::string &Why) {
  return fail(ErrorKind::InvalidArgument, "unknown serializer '" + std::string(Name) + "': " + Why);
}

/// The name comes from the other end, and becomes part of a path here.
bool isWord(std::string_view Name) {
  return !Name.empty() && Name.size() < 64 &&
         std::ranges::all_of(Name, [](char C) { return (C >= 'a' && C <= 'z') || (C >= '0' && C <= '9') || C == '_'; });
}

std::vector<std::string> folders() {
  const std::string Own = ownFolder();
  std::vector<std::string> Folders{Own, Own + "/lib", Own + "/../lib"};
  if (const char *Named = std::getenv("MLCB_SERIALIZERS"); Named && *Named)
    Folders.emplace(Folders.begin(), Named);
  return Folders;
}

/// Opened again and again, it is one; it is never closed, for its serializer is handed out.
Expected<const Serializer *> openModule(std::string_view Name, const std::string &Path) {
  void *Module = dlopen(Path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto *Get = Module ? reinterpret_cast<decltype(&mlcbSerializerV1)>(dlsym(Module, "mlcbSerializerV1")) : nullptr;
  if (!Get)
    return invalid(Name, dlerror());
  return Get();
}

} // namespace

Serializer::~Serializer() = default;

const Serializer &defaultSerializer() {
  static const Bitstream Default;
  return Default;
}

Expected<const Serializer *> findSerializer(std::string_view Name) {
  if (Name == defaultSerializer().name())
    return &defaultSerializer();
  if (const Serializer *Own = SerializerRegistration::find(Name))
    return Own;
  if (!isWord(Name))
    return invalid(Name, "expected lower-case letters, digits and _");
  const std::string File = "/libmlcb_serdes_" + std::string(Name) + ".so";
  for (const std::string &Folder : folders())
    if (const std::string Path = Folder + File; ::access(Path.c_str(), F_OK) == 0)
      return openModule(Name, Path);
  return invalid(Name, "there is no " + File.substr(1) + " beside " + ownFolder());
}

constinit const SerializerRegistration *SerializerRegistration::Head = nullptr;

const Serializer *SerializerRegistration::find(std::string_view Name) {
  for (const SerializerRegistration *One = Head; One; One = One->Next)
    if (One->New.name() == Name)
      return &One->New;
  return nullptr;
}

} // namespace mlcb
