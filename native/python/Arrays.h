// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensors as NumPy arrays.
#pragma once

#include "protocol/ReceiveBuffer.h"
#include "python/Errors.h"
#include "serdes/Serializer.h"

#include <span>

namespace mlcb::python {

/// The dictionaries of an observation: tensors by name, metrics as Python numbers by name.
struct Dicts {
  nanobind::dict Tensors, Metrics;
};

/// Copies the views into one block of memory that dies with the last array; but a tensor that is most of what it was received in
/// stays there.
Dicts toDicts(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, const ReceivedMemory &Received = {});

/// The caller's value of a tensor, as bytes of its declared type; keeps the array alive.
class Given {
public:
  /// InvalidArgument where the value is not of the declared shape.
  Given(const TensorSpec &Spec, nanobind::handle Value);

  const TensorView &view() const { return View; }

private:
  nanobind::object Keep;
  TensorView View;
};

} // namespace mlcb::python
