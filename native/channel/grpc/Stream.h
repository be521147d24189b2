// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One gRPC stream: who works for its connection says what happened to it, who has its channel takes, puts and waits.
#pragma once

#include "channel/grpc/Driver.h"
#include "channel/grpc/TsanHandOver.h"

#include <deque>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>
#include <memory>
#include <optional>

namespace mlcb {

/// Messages both ways. What came and was not taken is little, and so is what was put and not sent: a slow end holds up the other.
///
/// An empty message announces that the next one is no bytes but the name of another stream: a descriptor that was sent along.
class Stream {
public:
  explicit Stream(Driver &Works) : Works(Works) {}
  virtual ~Stream() = default;

  Driver &driver() const { return Works; }

  /// Bytes that came; 0 where none are there.
  Expected<size_t> take(std::span<std::byte> Into);

  /// Copies bytes, to be sent after the name unless it is empty; 0 where others are under way.
  Expected<size_t> put(std::span<const ByteSpan> Pieces, const std::string &Name);

  std::optional<std::string> takeName();

  /// Readable when there is something to take. Whoever polls it does no work.
  int fileno();
  Expected<bool> waitToTake(Deadline Until, const InterruptCheck &Interrupted);
  Expected<bool> waitToPut(Deadline Until, const InterruptCheck &Interrupted);

  /// Ends the stream once all that was put is sent, which the other end is given until then to take.
  void hangUp(Deadline Until);

  /// Nothing more comes.
  bool isOver();

  /// Waits until the other end took the call, or the stream is done; false at the deadline.
  Expected<bool> waitForAnswer(Deadline Until, const InterruptCheck &Interrupted);

  /// How it ended; none while it has not.
  std::optional<grpc::Status> status();

protected:
  /// One at a time of each, which keeps the stream until it is done.
  class Doing final : public Operation {
  public:
    Doing(Stream &Owner, void (Stream::*Then)(bool)) : Owner(Owner), Then(Then) {}
    Operation *begin() {
      ++Owner.Pending;
      Operation *Tag = this;
      handOver(Tag);
      return Tag;
    }
    void done(bool Ok) override {
      const auto Kept = Owner.Self;
      (Owner.*Then)(Ok);
      if (--Owner.Pending == 0)
        Owner.close();
    }

  private:
    Stream &Owner;
    void (Stream::*Then)(bool);
  };

  /// gRPC holds on to it from here until nothing is pending after what finish() began.
  void begin(std::shared_ptr<Stream> This);
  void drop();

  const std::shared_ptr<Stream> &self() const { return Self; }

  /// Whether it can be waited for; false where descriptors are short.
  bool makeBells();

  /// Hears what the other end says.
  void listen();
  /// True where the call may be taken, which is an operation under way until onTaken().
  bool mayTake();
  /// From here on nothing but the end is begun.
  void markFinished();

  /// The other end said something, or took what was sent.
  virtual void onHeard() {}

  void onTaken(bool);
  void onAnswered(bool Ok);
  void onRead(bool Ok);
  void onWritten(bool Ok);
  void onFinished(bool);
  void onBroken();
  Doing Taken{*this, &Stream::onTaken}, Read{*this, &Stream::onRead}, Written{*this, &Stream::onWritten}, Finish{*this, &Stream::onFinished};
  grpc::Status How; // of use once it is done

private:
  virtual void startRead(grpc::ByteBuffer *Into) = 0;
  virtual void startWrite(const grpc::ByteBuffer *From) = 0;
  virtual void finish() = 0;              // nothing will be put any more; called once
  virtual bool readsToTheEnd() const = 0; // after finish() too
  virtual void cancel() = 0;

  struct Message {
    std::vector<grpc::Slice> Slices;
    size_t Next = 0, Offset = 0;
  };

  // With the lock held; what they return to be true is to be done without it, for gRPC may call back at once.
  bool keep();
  size_t copyOut(std::span<std::byte> Into);
  bool mayRead();
  void readOn();
  bool mayFinish();
  void proceed(std::unique_lock<std::mutex> Held);
  void close();

  Driver &Works;
  std::mutex Lock;
  Bell In, Out;
  std::atomic<size_t> Pending = 0;
  std::shared_ptr<Stream> Self;
  grpc::ByteBuffer Incoming;
  std::deque<Message> Came;
  size_t Waiting = 0; // bytes that came
  std::deque<std::string> Names;
  std::deque<grpc::ByteBuffer> Outgoing;                               // the first one is under way
  bool Reading = true, Named = false, Taking = true, Answered = false; // nothing is begun before it is taken or answered
  std::atomic<bool> Awaited = false;                                   // somebody waits to take
  bool Answering = false; // who took is about to answer: only then is it read on, for that says so to the other end, which takes as long
  bool Over = false;      // the other end says no more
  bool Broken = false;    // and hears no more
  bool Leaving = false;   // this end is gone
  bool Finished = false;  // finish() was called
  bool Ended = false;     // and what it began is done
  bool Done = false;      // and all else
};

} // namespace mlcb
