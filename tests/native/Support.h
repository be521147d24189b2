// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common part of the tests of the wire: both ends in one process, a small bound task, and matchers of errors.
#pragma once

#include "channel/FdChannel.h"
#include "spec/TaskSpec.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <initializer_list>
#include <sys/stat.h>
#include <vector>

namespace mlcb::test {

inline std::vector<std::byte> bytes(std::initializer_list<int> Values) {
  std::vector<std::byte> Result;
  for (int Value : Values)
    Result.push_back(static_cast<std::byte>(Value));
  return Result;
}

/// A deadline for what must happen, and one for what must not.
inline Deadline patience() { return after(10); }
inline Deadline soon() { return after(0.01); }

/// The result is an error of that kind, in one line that contains Part.
template <class T> testing::AssertionResult failsWith(const Expected<T> &Result, ErrorKind Kind, std::string_view Part) {
  if (Result)
    return testing::AssertionFailure() << "it succeeded";
  const std::string &Message = Result.error().Message;
  if (Result.error().Kind != Kind)
    return testing::AssertionFailure() << "error of kind " << static_cast<int>(Result.error().Kind) << ": " << Message;
  if (Message.find(Part) == Message.npos || Message.find('\n') != Message.npos)
    return testing::AssertionFailure() << "it says: " << Message;
  return testing::AssertionSuccess();
}

template <class T> testing::AssertionResult succeeds(const Expected<T> &Result) {
  if (Result)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << Result.error().Message;
}

/// Both ends of a connected pair of sockets.
struct Ends {
  FileDescriptor Ours, Theirs;

  Ends() {
    auto Pair = socketPair().value();
    Ours = std::move(Pair.first);
    Theirs = std::move(Pair.second);
  }

  std::unique_ptr<Channel> ours() { return socketChannel(std::move(Ours)); }
  std::unique_ptr<Channel> theirs() { return socketChannel(std::move(Theirs)); }
};

/// BASE.in and BASE.out in a folder that goes with the test.
class FifoTest : public testing::Test {
protected:
  FifoTest() {
    std::string Folder = testing::TempDir() + "mlcb-XXXXXX";
    Base = std::string(::mkdtemp(Folder.data())) + "/channel";
    for (const char *End : {".in", ".out"})
      EXPECT_EQ(::mkfifo((Base + End).c_str(), 0600), 0);
  }
  ~FifoTest() override { std::filesystem::remove_all(std::filesystem::path(Base).parent_path()); }

  std::string Base;
};

inline const TaskSpec &posetrlTask() { return *findTask("posetrl"); }

/// Three actions and small tensors.
inline BoundSpec smallSpec() { return bindTask(posetrlTask(), R"({"actions": ["a", "b", "stop"], "dimension": 2, "history": 1})").value(); }

} // namespace mlcb::test
