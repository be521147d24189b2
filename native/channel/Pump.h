// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Joins two channels into one.
#pragma once

#include "channel/Channel.h"

#include <memory>

namespace mlcb {

/// Carries bytes and descriptors both ways in a thread of its own, until either end closes; then closes the other. Where no thread can be made
/// both are closed at once.
Expected<void> pump(std::unique_ptr<Channel> A, std::unique_ptr<Channel> B);

} // namespace mlcb
