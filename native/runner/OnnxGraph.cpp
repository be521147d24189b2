// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/OnnxGraph.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace mlcb {
namespace {

using Bytes = std::span<const std::byte>;

/// The parts of onnx.proto that are looked at, by their numbers.
enum ModelField : uint64_t { ModelGraph = 7, ModelFunctions = 25 };
enum GraphField : uint64_t { GraphNode = 1, GraphInitializer = 5, GraphSparse = 15 };
enum NodeField : uint64_t { NodeOperator = 4, NodeAttribute = 5 };
enum AttributeField : uint64_t {
  AttributeTensor = 5,
  AttributeGraph = 6,
  AttributeTensors = 10,
  AttributeGraphs = 11,
  AttributeSparse = 22,
  AttributeSparses = 23
};
enum SparseField : uint64_t { SparseValues = 1, SparseIndices = 2 };
enum TensorField : uint64_t { TensorElsewhere = 13 };

/// Branches within branches; protobuf itself reads fewer.
constexpr int MaxDepth = 64;

/// A field of a protobuf message; Value is empty where it is a number.
struct Field {
  uint64_t Number = 0;
  Bytes Value;
};

/// The fields of a message, one after another.
class Fields {
public:
  explicit Fields(Bytes Left) : Left(Left) {}

  bool atEnd() const { return Left.empty(); }

  /// False for what is no message, and for groups, which ONNX has none of. Of a key, protobuf drops what is beyond 32 bits.
  bool next(Field &To) {
    uint64_t Key = 0, Length = 0;
    if (!number(Key) || Key > UINT32_MAX || Key >> 3 == 0)
      return false;
    To = {Key >> 3, {}};
    switch (Key & 7) {
    case 0: return number(Length);
    case 1: return take(8, nullptr);
    case 2: return number(Length) && take(Length, &To.Value);
    case 5: return take(4, nullptr);
    default: return false;
    }
  }

private:
  bool number(uint64_t &To) {
    To = 0;
    for (unsigned Shift = 0; Shift < 64 && !Left.empty(); Shift += 7) {
      const auto Byte = static_cast<uint64_t>(Left.front());
      Left = Left.subspan(1);
      To |= (Byte & 0x7f) << Shift;
      if (Byte < 0x80)
        return true;
    }
    return false;
  }

  bool take(uint64_t Length, Bytes *To) {
    if (Length > Left.size())
      return false;
    if (To)
      *To = Left.first(Length);
    Left = Left.subspan(Length);
    return true;
  }

  Bytes Left;
};

class Check {
public:
  explicit Check(const std::string &Name) : Name(Name) {}

  Expected<void> model(Bytes Message) const {
    return each(Message, [&](const Field &Part) -> Expected<void> {
      if (Part.Number == ModelFunctions)
        return refused("has functions of its own, expected a model in which they are inlined");
      return Part.Number == ModelGraph ? graph(Part.Value, MaxDepth) : Expected<void>();
    });
  }

private:
  template <class ActT> Expected<void> each(Bytes Message, ActT Act) const {
    Fields All(Message);
    for (Field Part; !All.atEnd();) {
      if (!All.next(Part))
        return refused("cannot be read, expected an ONNX model");
      if (auto Done = Act(Part); !Done)
        return Done;
    }
    return {};
  }

  Expected<void> graph(Bytes Message, int Depth) const {
    if (Depth == 0)
      return refused("is nested too deeply, expected at most " + std::to_string(MaxDepth) + " branches within each other");
    return each(Message, [&](const Field &Part) -> Expected<void> {
      switch (Part.Number) {
      case GraphNode: return node(Part.Value, Depth);
      case GraphInitializer: return tensor(Part.Value);
      case GraphSparse: return sparse(Part.Value);
      default: return {};
      }
    });
  }

  /// ONNX Runtime would read its values from a file that it names.
  Expected<void> tensor(Bytes Message) const {
    return each(Message, [&](const Field &Part) -> Expected<void> {
      return Part.Number == TensorElsewhere ? refused("has a tensor whose values are elsewhere, expected all in the model itself") : Expected<void>();
    });
  }

  Expected<void> sparse(Bytes Message) const {
    return each(Message, [&](const Field &Part) {
      return Part.Number == SparseValues || Part.Number == SparseIndices ? tensor(Part.Value) : Expected<void>();
    });
  }

  /// Of all operators that have graphs, If alone runs them at most once.
  Expected<void> node(Bytes Message, int Depth) const {
    std::string_view Operator;
    std::vector<Bytes> Graphs;
    auto Read = each(Message, [&](const Field &Part) -> Expected<void> {
      if (Part.Number == NodeOperator)
        Operator = {reinterpret_cast<const char *>(Part.Value.data()), Part.Value.size()};
      return Part.Number == NodeAttribute ? graphsOf(Part.Value, Graphs) : Expected<void>();
    });
    if (Read && !Graphs.empty() && Operator != "If")
      return refused("has the operator " + std::string(Operator.substr(0, 64)) + ", expected a model without loops");
    for (size_t I = 0; Read && I < Graphs.size(); ++I)
      Read = graph(Graphs[I], Depth - 1);
    return Read;
  }

  Expected<void> graphsOf(Bytes Attribute, std::vector<Bytes> &To) const {
    return each(Attribute, [&](const Field &Part) -> Expected<void> {
      switch (Part.Number) {
      case AttributeTensor:
      case AttributeTensors: return tensor(Part.Value);
      case AttributeSparse:
      case AttributeSparses: return sparse(Part.Value);
      case AttributeGraph:
      case AttributeGraphs: To.push_back(Part.Value); return {};
      default: return {};
      }
    });
  }

  Unexpected refused(const std::string &Why) const { return fail(ErrorKind::InvalidArgument, Name + " " + Why); }

  const std::string &Name;
};

} // namespace

Expected<void> checkGraph(const std::string &Name, Bytes Model) { return Check(Name).model(Model); }

} // namespace mlcb
