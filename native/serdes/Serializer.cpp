// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/Bitstream.h"
#include "serdes/SerializerModule.h"
#include "spec/Module.h"

#include <algorithm>

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
  auto Get = findInModule("libmlcb_serdes_" + std::string(Name) + ".so", "mlcbSerializerV1");
  return Get ? Expected<const Serializer *>(reinterpret_cast<decltype(&mlcbSerializerV1)>(*Get)()) : invalid(Name, Get.error().Message);
}

constinit const SerializerRegistration *SerializerRegistration::Head = nullptr;

const Serializer *SerializerRegistration::find(std::string_view Name) {
  for (const SerializerRegistration *One = Head; One; One = One->Next)
    if (One->New.name() == Name)
      return &One->New;
  return nullptr;
}

} // namespace mlcb
