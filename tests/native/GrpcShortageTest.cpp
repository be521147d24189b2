// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gRPC where the machine is short of descriptors or threads.
#include "Links.h"

#include <sys/resource.h>
#include <unistd.h>

namespace mlcb {
namespace {

using namespace test;

Expected<std::unique_ptr<GrpcRendezvous>> open(const std::string &Uri, bool Listens) { return openGrpc(Uri::parse(Uri), Listens); }

/// A limit of this process, for as long as it lives.
class Limited {
public:
  Limited(__rlimit_resource Which, rlim_t Limit) : Which(Which) {
    EXPECT_EQ(::getrlimit(Which, &Before), 0);
    const rlimit Now{Limit, Before.rlim_max};
    EXPECT_EQ(::setrlimit(Which, &Now), 0);
  }
  ~Limited() { ::setrlimit(Which, &Before); }

private:
  __rlimit_resource Which;
  rlimit Before{};
};

/// No descriptor can be opened.
class NoDescriptors {
  const FileDescriptor Lowest{::dup(0)};
  const Limited Limit{RLIMIT_NOFILE, static_cast<rlim_t>(Lowest.get())};
};

/// No thread can be made. The limit does not bind root, so that root is somebody else meanwhile.
class NoThreads {
public:
  NoThreads() : WasRoot(::setresuid(65534, 65534, 0) == 0) {}
  ~NoThreads() { EXPECT_EQ(WasRoot ? ::setresuid(0, 0, 0) : 0, 0); }

private:
  bool WasRoot;
  const Limited Limit{RLIMIT_NPROC, 0};
};

/// A server and a client that have spoken, so that gRPC has what it needs itself.
class GrpcShortage : public testing::Test {
protected:
  std::unique_ptr<GrpcRendezvous> Server = open("grpc://127.0.0.1:0", true).value();
  std::unique_ptr<GrpcRendezvous> Client = open("grpc://" + Server->address(), false).value();
  std::future<std::unique_ptr<Channel>> Called = std::async(std::launch::async, [this] { return Server->connect(patience(), {}).value(); });
  std::unique_ptr<Channel> Ours = Client->connect(patience(), {}).value(), Theirs = Called.get();
};

TEST_F(GrpcShortage, OfDescriptorsIsWhyAServerCannotListen) {
  const NoDescriptors Short;
  EXPECT_TRUE(failsWith(open("grpc://127.0.0.1:0", true), ErrorKind::SystemError, "socket: Too many open files"));
}

TEST_F(GrpcShortage, OfDescriptorsIsWhyACallCannotBeMade) {
  const NoDescriptors Short;
  EXPECT_TRUE(failsWith(Client->connect(patience(), {}), ErrorKind::SystemError, "a call cannot be made: Too many open files"));
}

TEST_F(GrpcShortage, OfThreadsIsAnErrorAtBothEnds) {
  const NoThreads Short;
  EXPECT_TRUE(failsWith(open("grpc://" + Server->address(), false), ErrorKind::SystemError, "a thread cannot be made"));
  EXPECT_TRUE(failsWith(open("grpc://127.0.0.1:0", true), ErrorKind::SystemError, "a thread cannot be made"));
}

} // namespace
} // namespace mlcb
