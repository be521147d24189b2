// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LLVM's training log for Python.
#include "protocol/MlgoLog.h"
#include "python/Arrays.h"
#include "python/Bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace mlcb::python {
namespace {

nb::dict arrays(std::span<const TensorSpec> Specs, std::span<const std::byte> Packed) {
  std::vector<TensorView> Views;
  for (size_t I = 0, Offset = 0; I < Specs.size(); ++I) {
    const size_t Size = packedSize(Specs.subspan(I, 1));
    Views.push_back({Specs[I].maxShape(), Packed.subspan(Offset, Size)});
    Offset += Size;
  }
  return toDicts(Specs, Views).Tensors;
}

class Reader {
public:
  explicit Reader(const std::string &Path) : Log(unwrap(MlgoLogReader::open(Path))) {}

  std::string header() const { return Log.header().toJson(); }

  nb::tuple next() {
    const auto Entry = unwrap(Log.next());
    if (!Entry)
      throw nb::stop_iteration();
    nb::object Score = nb::none();
    if (Entry->Score)
      Score = nb::object(arrays({&*Log.header().Score, 1}, *Entry->Score)[toStr(Log.header().Score->Name)]);
    return nb::make_tuple(toStr(Entry->Context), Entry->Number, arrays(Log.header().Features, Entry->Tensors), Score);
  }

private:
  MlgoLogReader Log;
};

class Writer {
public:
  Writer(const std::string &Path, const std::string &HeaderJson)
      : Header(unwrap(readMlgoHeader(HeaderJson))), Log(unwrap(MlgoLogWriter::open(Path, Header))) {}

  void write(const std::string &Context, nb::dict Tensors, nb::object Score) {
    std::vector<Given> Keep;
    std::vector<std::span<const std::byte>> Raw;
    for (const TensorSpec &Spec : Header.Features) {
      const nb::str Name = toStr(Spec.Name);
      if (!Tensors.contains(Name))
        raise({ErrorKind::InvalidArgument, "tensor " + std::string(Spec.Name) + " is missing"});
      Raw.push_back(Keep.emplace_back(Spec, Tensors[Name]).view().Bytes);
    }
    if (Score.is_none() && Header.Score)
      raise({ErrorKind::InvalidArgument, "the score is missing"});
    std::optional<std::span<const std::byte>> Earned;
    if (Header.Score)
      Earned = Keep.emplace_back(*Header.Score, Score).view().Bytes;
    unwrap(Log.write(Context, Raw, Earned));
  }

  void close() { unwrap(Log.close()); }

private:
  MlgoHeader Header;
  MlgoLogWriter Log;
};

} // namespace

void bindMlgoLog(nb::module_ &Module) {
  Module.def(
      "log_header", [](const std::string &Spec, bool Reward) { return unwrap(mlgoHeaderOf(unwrap(readSpec(Spec)), Reward)).toJson(); }, "spec"_a,
      "reward"_a, "The header of a log of a task's episodes: its inputs, its decision as the last feature, and the reward as score.");
  nb::class_<Reader>(Module, "LogReader", "What was seen and decided, from a file in the format of LLVM's -training-log.")
      .def(nb::init<const std::string &>(), "path"_a)
      .def_prop_ro("header", &Reader::header, "The declaration of features, score and advice, as JSON.")
      .def(
          "__iter__", [](nb::object Self) { return Self; }, nb::sig("def __iter__(self) -> LogReader"))
      .def("__next__", &Reader::next, "(context, number in it, tensors by name, score or None).",
           nb::sig("def __next__(self) -> tuple[str, int, dict[str, typing.Any], typing.Any]"));
  nb::class_<Writer>(Module, "LogWriter", "Writes such a file, in place of one that is there.")
      .def(nb::init<const std::string &, const std::string &>(), "path"_a, "header"_a)
      .def("write", &Writer::write, "context"_a, "tensors"_a, "score"_a = nb::none(),
           "What was seen before one decision, the decision, and what it earned.",
           nb::sig("def write(self, context: str, tensors: dict[str, typing.Any], score: typing.Any = None) -> None"))
      .def("close", &Writer::close, "Writes what is left; harmless if closed already.");
}

} // namespace mlcb::python
