// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The learner's end of a conversation with an untouched opt, clang or llc, in LLVM's own format.
#pragma once

#include "channel/Channel.h"
#include "protocol/LearnerEnd.h"
#include "protocol/Mlgo.h"

namespace mlcb {

/// Where in the features of a compiler each input of a task lies. Names decide, not the order; dimensions of 1 do not count. A mask
/// may be of any integers; one that does not come bars nothing. An input without elements need not come.
class MlgoBinding {
public:
  /// One sentence as a SpecMismatch where the compiler does not ask what the task declares.
  static Expected<MlgoBinding> of(const MlgoHeader &Header, const BoundSpec &Spec);

  /// The inputs of an observation; valid as long as Packed and this are.
  std::span<const TensorView> views(std::span<const std::byte> Packed);

  /// The bytes of an advice as the compiler wants them.
  std::vector<std::byte> encode(int64_t Index) const;
  std::vector<std::byte> encode(double Value) const;

private:
  struct Source {
    size_t Offset, Bytes; // in an observation
    DType Type;
  };

  void readMask(const Source &From, std::span<const std::byte> Packed);

  std::vector<std::optional<Source>> Sources; // [input]; none where it does not come
  std::vector<TensorView> Views;              // [input]
  std::vector<std::byte> Mask;
  std::optional<size_t> MaskAt;
  DType Answer = DType::Int64;
};

class MlgoEnd {
public:
  MlgoEnd(std::unique_ptr<Channel> Link, BoundSpec Spec) : Link(std::move(Link)), Spec(std::move(Spec)) {}

  /// The next observation, with its context (of register allocation: the function) as text; or Bye, when the compiler has ended,
  /// perhaps without a question. After a Timeout it may be called again; any other error is the last word,
  /// and said again.
  Expected<Message> receive(Deadline Until);

  /// Whether receive() would not wait.
  Expected<bool> readable(Deadline Until);

  /// Answers the last observation. An index that its mask bars, or a value that is NaN, is an InvalidArgument, and the observation still waits.
  Expected<void> advise(int64_t Index, Deadline Until);
  Expected<void> advise(double Value, Deadline Until);

  AdviceKind asked() const { return Spec.Task.Agents[0].Advice.Kind; }

  void close() { Link.reset(); }
  int fileno() const { return Link ? Link->fileno() : -1; }

private:
  void take(MlgoRecord Record);
  Expected<bool> listen(Deadline Until);
  Expected<Message> over() const;
  const AdviceSpec *asking() const { return Asking ? &Spec.Task.Agents[0].Advice : nullptr; }
  Expected<void> send(std::span<const std::byte> Bytes, Deadline Until);

  std::unique_ptr<Channel> Link;
  BoundSpec Spec;
  MlgoDecoder Decoder;
  std::optional<MlgoBinding> Binding;
  std::string Context;
  std::optional<Expected<Message>> Pending;
  std::span<const TensorView> Views; // of the last observation
  bool Asking = false;
};

} // namespace mlcb
