// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python/Arrays.h"

#include "python/Bindings.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace mlcb::python {
namespace {

constexpr size_t Alignment = alignof(std::max_align_t);

constexpr size_t alignUp(size_t Offset) { return (Offset + Alignment - 1) & ~(Alignment - 1); }

/// Objects that every array needs of NumPy; kept for as long as the process lives.
struct Numpy {
  nb::handle Array;
  std::array<nb::handle, static_cast<size_t>(DType::String)> Types;

  Numpy() {
    const nb::module_ Module = nb::module_::import_("numpy");
    Array = nb::object(Module.attr("ndarray")).release();
    for (size_t Type = 0; Type < Types.size(); ++Type)
      Types[Type] = Module.attr("dtype")(std::string(name(static_cast<DType>(Type)))).release();
  }
};

const Numpy &numpy() {
  static const Numpy Only;
  return Only;
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
    else if constexpr (std::is_same_v<T, bool>) // a byte of a peer's, which need be neither 0 nor 1
      return nb::int_(static_cast<int>(read<uint8_t>(Bytes) != 0));
    else
      return nb::int_(read<T>(Bytes));
  });
}

nb::str key(std::string_view Name) { return nb::str(Name.data(), Name.size()); }

nb::tuple toTuple(const std::vector<int64_t> &Shape) {
  auto Sizes = nb::steal<nb::tuple>(PyTuple_New(static_cast<Py_ssize_t>(Shape.size())));
  for (size_t D = 0; D < Shape.size(); ++D)
    PyTuple_SetItem(Sizes.ptr(), static_cast<Py_ssize_t>(D), PyLong_FromLongLong(Shape[D]));
  return Sizes;
}

/// Memory that arrays are in, and that they keep.
class Memory {
public:
  explicit Memory(const ReceivedMemory &Received) : Bytes(Received.Bytes.get()), Owner(nb::cast(Received)) {}
  explicit Memory(size_t Size) : Memory({std::make_shared_for_overwrite<std::byte[]>(Size), Size}) {}

  std::byte *bytes() const { return Bytes; }

  nb::object array(DType Type, const std::vector<int64_t> &Shape, const std::byte *At) const {
    return numpy().Array(toTuple(Shape), numpy().Types[static_cast<size_t>(Type)], Owner, At - Bytes);
  }

private:
  std::byte *Bytes;
  nb::object Owner;
};

/// Whether a tensor is most of the memory that it was received in: then it stays there, for little else is kept with it.
bool fills(const TensorView &View, const ReceivedMemory &Received) {
  const auto Offset = static_cast<size_t>(View.Bytes.data() - Received.Bytes.get()); // of another memory it is too large
  return 2 * View.Bytes.size() > Received.Capacity && Offset + View.Bytes.size() <= Received.Capacity;
}

bool isArray(const TensorSpec &Spec) { return !Spec.isMetric() && Spec.Type != DType::String; }

/// Bytes of the arrays that do not stay where they were received.
size_t copiedSize(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, const ReceivedMemory &Received) {
  size_t Size = 0;
  for (size_t I = 0; I < Specs.size(); ++I)
    if (isArray(Specs[I]) && !fills(Views[I], Received))
      Size += alignUp(Views[I].Bytes.size());
  return Size;
}

/// Of a Python object that NumPy looks into.
int lookInto(PyObject *Self, Py_buffer *View, int Flags) noexcept {
  const auto &Received = *nb::inst_ptr<ReceivedMemory>(Self);
  return PyBuffer_FillInfo(View, Self, Received.Bytes.get(), static_cast<Py_ssize_t>(Received.Capacity), 0, Flags);
}

PyType_Slot MemorySlots[] = {{Py_bf_getbuffer, reinterpret_cast<void *>(lookInto)}, {0, nullptr}};

} // namespace

void bindMemory(nb::module_ &Module) {
  nb::class_<ReceivedMemory>(Module, "Memory", nb::type_slots(MemorySlots), "What the arrays of a message are in.");
}

Dicts toDicts(std::span<const TensorSpec> Specs, std::span<const TensorView> Views, const ReceivedMemory &Received) {
  Dicts Result;
  const Memory Copies(copiedSize(Specs, Views, Received) + 1);
  std::byte *Next = Copies.bytes();
  for (size_t I = 0; I < Specs.size(); ++I) {
    const TensorSpec &Spec = Specs[I];
    const TensorView &View = Views[I];
    if (Spec.isMetric()) {
      Result.Metrics[key(Spec.Name)] = toNumber(Spec.Type, View.Bytes);
    } else if (Spec.Type == DType::String) {
      Result.Tensors[key(Spec.Name)] = toStr({reinterpret_cast<const char *>(View.Bytes.data()), View.Bytes.size()});
    } else if (fills(View, Received)) {
      Result.Tensors[key(Spec.Name)] = Memory(Received).array(Spec.Type, View.Shape, View.Bytes.data());
    } else {
      std::memcpy(Next, View.Bytes.data(), View.Bytes.size());
      Result.Tensors[key(Spec.Name)] = Copies.array(Spec.Type, View.Shape, Next);
      Next += alignUp(View.Bytes.size());
    }
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
  if (Spec.Shape.empty() && nb::cast<size_t>(Keep.attr("size")) == 1) // observations have a scalar as a vector of one
    Keep = Keep.attr("reshape")(nb::make_tuple());
  const auto Array = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(Keep);
  for (size_t D = 0; D < Array.ndim(); ++D)
    View.Shape.push_back(static_cast<int64_t>(Array.shape(D)));
  if (!Spec.allows(View.Shape))
    raise({ErrorKind::InvalidArgument, "tensor " + std::string(Spec.Name) + " is of another shape than declared"});
  View.Bytes = {static_cast<const std::byte *>(Array.data()), Array.nbytes()};
}

} // namespace mlcb::python
