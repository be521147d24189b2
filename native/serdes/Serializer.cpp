// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "serdes/Bitstream.h"

namespace mlcb {

Serializer::~Serializer() = default;

const Serializer *findSerializer(std::string_view Name) {
  static const Bitstream TheBitstream;
  static const Serializer *const All[] = {&TheBitstream};
  for (const Serializer *Candidate : All)
    if (Candidate->name() == Name)
      return Candidate;
  return SerializerRegistration::find(Name);
}

constinit const SerializerRegistration *SerializerRegistration::Head = nullptr;

const Serializer *SerializerRegistration::find(std::string_view Name) {
  for (const SerializerRegistration *One = Head; One; One = One->Next)
    if (One->New.name() == Name)
      return &One->New;
  return nullptr;
}

} // namespace mlcb
