// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read as a file, and what is refused at once: it would be waited for, or have no end.
#include "spec/FileContents.h"
#include "Support.h"

#include <fstream>

namespace mlcb {
namespace {

using namespace test;

class FileContents : public testing::Test {
protected:
  FileContents() {
    std::string Made = testing::TempDir() + "mlcb-XXXXXX";
    Folder = ::mkdtemp(Made.data());
  }
  ~FileContents() override { std::filesystem::remove_all(Folder); }

  /// The path of a file with that text.
  std::string file(const std::string &Text) {
    std::ofstream(Folder / "file", std::ios::binary) << Text;
    return Folder / "file";
  }

  std::filesystem::path Folder;
};

TEST_F(FileContents, AreReadWhole) {
  const std::string Text = std::string(100'000, 'x') + std::string(1, '\0') + "end";
  EXPECT_EQ(readFile(file(Text)).value(), Text);
  EXPECT_EQ(readFile(file("")).value(), "");
}

TEST_F(FileContents, OfTheKernelAreReadAlthoughTheyHaveNoSize) { EXPECT_FALSE(readFile("/proc/self/status").value().empty()); }

TEST_F(FileContents, OfWhatIsNoRegularFileAreRefusedAtOnce) {
  const std::string Fifo = Folder / "fifo", Link = Folder / "link";
  ASSERT_EQ(::mkfifo(Fifo.c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", Link);
  for (const std::string &Path : {Fifo, Link, Folder.string(), std::string("/dev/zero")})
    EXPECT_TRUE(failsWith(readFile(Path), ErrorKind::InvalidArgument, Path + " is no regular file"));
}

TEST_F(FileContents, BeyondTheLimitAreRefused) {
  EXPECT_TRUE(succeeds(readFile(file("1234"), 4)));
  EXPECT_TRUE(failsWith(readFile(file("12345"), 4), ErrorKind::InvalidArgument, "is too large, expected at most 4 bytes"));
  EXPECT_TRUE(failsWith(readFile("/proc/self/status", 4), ErrorKind::InvalidArgument, "is too large"));
}

TEST_F(FileContents, ThatAreMissingAreNamed) {
  EXPECT_TRUE(failsWith(readFile("/no/such/file"), ErrorKind::SystemError, "/no/such/file: No such file or directory"));
}

} // namespace
} // namespace mlcb
