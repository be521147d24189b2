// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/Arrays.h"

#include <cstring>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace mlcb::python {
namespace {

constexpr size_t Alignment = 64;

constexpr size_t alignUp(size_t Offset) { return (Offset + Alignment - 1) & ~(Alignment - 1); }

nb::dlpack::dtype dlpackType(DType Type) {
  auto Of = [&](nb::dlpack::dtype_code Code) {
    return nb::dlpack::dtype{static_cast<uint8_t>(Code), static_cast<uint8_t>(byteSize(Type) * 8), 1};
  };
  switch (Type) {
  case DType::Float32:
  case DType::Float64:
    return Of(nb::dlpack::dtype_code::Float);
  case DType::UInt8:
  case DType::UInt16:
  case DType::UInt32:
  case DType::UInt64:
    return Of(nb::dlpack::dtype_code::UInt);
  case DType::Bool:
    return Of(nb::dlpack::dtype_code::Bool);
  default:
    return Of(nb::dlpack::dtype_code::Int);
  }
}

template <class T> T read(std::span<const std::byte> Bytes) {
  T Value;
  std::memcpy(&Value, Bytes.data(), sizeof Value);
  return Value;
}

nb::object toNumber(DType Type, std::span<const std::byte> Bytes) {
  return withElementType(Type, [&]<class T>(T) -> nb::object {
    if constexpr (std::is_floating_point_v<T>)
      return nb::float_(static_cast<double>(read<T>(Bytes)));
    else
      return nb::int_(read<T>(Bytes));
  });
}

nb::str toStr(std::span<const std::byte> Bytes) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(reinterpret_cast<const char *>(Bytes.data()), static_cast<Py_ssize_t>(Bytes.size()), "replace"));
}

nb::str key(std::string_view Name) { return nb::str(Name.data(), Name.size()); }

size_t blockSize(std::span<const TensorSpec> Specs, std::span<const TensorView> Views) {
  size_t Size = 0;
  for (size_t I = 0; I < Specs.size(); ++I)
    if (Specs[I].Role != TensorRole::Metric)
      Size = alignUp(Size) + Views[I].Bytes.size();
  return Size;
}

/// Memory that belongs to a Python capsule.
struct Block {
  std::byte *Bytes;
  nb::capsule Owner;

  explicit Block(size_t Size)
      : Bytes(new(std::align_val_t(Alignment)) std::byte[Size + 1]), Owner(Bytes, [](void *Memory) noexcept {
          ::operator delete[](Memory, std::align_val_t(Alignment));
        }) {}
};

} // namespace

Dicts toDicts(std::span<const TensorSpec> Specs, std::span<const TensorView> Views) {
  Dicts Result;
  const Block Memory(blockSize(Specs, Views));
  size_t Offset = 0;
  for (size_t I = 0; I < Specs.size(); ++I) {
    const TensorSpec &Spec = Specs[I];
    const TensorView &View = Views[I];
    if (Spec.Role == TensorRole::Metric) {
      Result.Metrics[key(Spec.Name)] = toNumber(Spec.Type, View.Bytes);
      continue;
    }
    if (Spec.Type == DType::String) {
      Result.Tensors[key(Spec.Name)] = toStr(View.Bytes);
      continue;
    }
    Offset = alignUp(Offset);
    std::memcpy(Memory.Bytes + Offset, View.Bytes.data(), View.Bytes.size());
    const std::vector<size_t> Shape(View.Shape.begin(), View.Shape.end());
    const nb::ndarray<nb::numpy> Array(Memory.Bytes + Offset, Shape.size(), Shape.data(), Memory.Owner, nullptr,
                                       dlpackType(Spec.Type));
    Result.Tensors[key(Spec.Name)] = nb::cast(Array);
    Offset += View.Bytes.size();
  }
  return Result;
}

Given::Given(const TensorSpec &Spec, nb::handle Value) {
  if (Spec.Type == DType::String) {
    Keep = nb::str(Value).attr("encode")();
    View.Bytes = std::as_bytes(std::span(PyBytes_AsString(Keep.ptr()), static_cast<size_t>(PyBytes_Size(Keep.ptr()))));
    return;
  }
  const std::string Type(name(Spec.Type));
  // asarray(order="C") rather than ascontiguousarray(), which turns a scalar into one dimension.
  Keep = nb::module_::import_("numpy").attr("asarray")(Value, nb::arg("dtype") = Type, nb::arg("order") = "C");
  const auto Array = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(Keep);
  bool Fits = Array.ndim() == Spec.Shape.size();
  for (size_t D = 0; D < Array.ndim(); ++D) {
    const auto Size = static_cast<int64_t>(Array.shape(D));
    View.Shape.push_back(Size);
    Fits = Fits && (Spec.Shape[D].How == Dim::Kind::AtMost ? Size <= Spec.Shape[D].Size : Size == Spec.Shape[D].Size);
  }
  if (!Fits)
    raise({ErrorKind::InvalidArgument, "tensor " + std::string(Spec.Name) + " is of another shape than declared"});
  View.Bytes = {static_cast<const std::byte *>(Array.data()), Array.nbytes()};
}

} // namespace mlcb::python
