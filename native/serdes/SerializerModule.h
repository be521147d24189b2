// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interface of a libmlcb_serdes_NAME.so: the serializer of that name.
#pragma once

#include "serdes/Serializer.h"

/// The one serializer of the module that defines this. The version is that of Serializer and all that it is passed.
extern "C" [[gnu::visibility("default")]] const mlcb::Serializer *mlcbSerializerV1();
