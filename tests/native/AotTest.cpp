// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A compiled policy of two agents from C++ and from C, and the seal that is looked at before any of its code runs.
#include "OwnTasks.h"
#include "Support.h"
#include "capi/mlcb.h"
#include "runner/AotSeal.h"
#include "runner/ModelRunner.h"
#include "spec/FileContents.h"

#include <fstream>

namespace mlcb {
namespace {

using namespace test;

enum Agent : size_t { Picker, Judge };
enum Picking : size_t { X, Legal };
enum Judging : size_t { Unread, Y };

/// The shared object that CMake builds of TwoAgents.c, sealed, in a folder that goes with the test.
class Aot : public testing::Test {
protected:
  Aot() {
    std::string Folder = testing::TempDir() + "mlcb-XXXXXX";
    Path = std::string(::mkdtemp(Folder.data())) + "/policy.so";
    Library = readFile(TWO_AGENTS).value();
  }
  ~Aot() override { std::filesystem::remove_all(std::filesystem::path(Path).parent_path()); }

  std::string uri() const { return "aot:" + Path; }

  void write(std::string_view Contents, std::string_view Cpu) { std::ofstream(Path, std::ios::binary) << Contents << sealOf(Library, Cpu).value(); }

  std::string Path, Library;
};

TEST_F(Aot, EachAgentAsksItsOwnModel) {
  write(Library, "baseline");
  auto Runner = openRunner(uri());
  ASSERT_TRUE(succeeds(Runner));
  EXPECT_EQ((*Runner)->task(), "two");
  ASSERT_TRUE(succeeds((*Runner)->bind(readSpec(PickerAndJudge).value())));
  auto Mask = (*Runner)->tensor<int8_t>(Legal, Picker);
  std::ranges::fill(Mask, 1);
  EXPECT_EQ((*Runner)->evaluate<int64_t>(Picker).value(), 2);
  Mask[2] = 0;
  EXPECT_EQ((*Runner)->evaluate<int64_t>(Picker).value(), 1);
  (*Runner)->tensor<float>(X, Picker)[0] = 5;
  EXPECT_EQ((*Runner)->evaluate<int64_t>(Picker).value(), 0);
  std::ranges::fill(Mask, 0);
  EXPECT_TRUE(failsWith((*Runner)->evaluate<int64_t>(Picker), ErrorKind::InvalidArgument, "agent 'picker' allows nothing"));
  (*Runner)->tensor<int32_t>(Y, Judge)[0] = 21;
  EXPECT_EQ((*Runner)->evaluate<double>(Judge).value(), 42);
}

TEST_F(Aot, SaysWhatItReads) {
  write(Library, "baseline");
  auto Runner = openRunner(uri()).value();
  EXPECT_TRUE(Runner->reads(X, Picker));
  EXPECT_FALSE(Runner->reads(Legal, Picker));
  EXPECT_FALSE(Runner->reads(Unread, Judge));
  EXPECT_TRUE(Runner->reads(Y, Judge));
  EXPECT_FALSE(Runner->observesEnd());
}

TEST_F(Aot, AnswersACompilerInC) {
  write(Library, "baseline");
  mlcb_runner *Runner = mlcb_open(uri().c_str());
  ASSERT_EQ(mlcb_bind(Runner, PickerAndJudge), MLCB_OK) << mlcb_error(Runner);
  auto *Mask = static_cast<int8_t *>(mlcb_tensor(Runner, Picker, "legal", MLCB_INT8));
  Mask[0] = Mask[1] = 1;
  *static_cast<int32_t *>(mlcb_tensor(Runner, Judge, "y", MLCB_INT32)) = 4;
  int64_t Choice = -1;
  double Cost = -1;
  EXPECT_EQ(mlcb_choose(Runner, Picker, &Choice), MLCB_OK);
  EXPECT_EQ(mlcb_value(Runner, Judge, &Cost), MLCB_OK);
  EXPECT_EQ(Choice, 1);
  EXPECT_EQ(Cost, 8);
  EXPECT_TRUE(mlcb_reads(Runner, Judge, "y"));
  EXPECT_FALSE(mlcb_reads(Runner, Judge, "unread"));
  mlcb_close(Runner);
}

TEST_F(Aot, ContentsThatWereNotSealedAreNotLoaded) {
  std::string Other = Library;
  Other[Other.size() / 2] ^= 1;
  write(Other, "baseline");
  EXPECT_TRUE(failsWith(openRunner(uri()), ErrorKind::InvalidArgument, "is damaged"));
  std::filesystem::resize_file(Path, 20);
  EXPECT_TRUE(failsWith(openRunner(uri()), ErrorKind::InvalidArgument, "is no policy that `mlcb aot` compiled"));
}

TEST_F(Aot, CodeForAnotherCpuIsNotLoaded) {
  write(Library, "x86-64-v9");
  EXPECT_TRUE(failsWith(openRunner(uri()), ErrorKind::InvalidArgument, "compiled for a CPU of level x86-64-v9"));
  EXPECT_TRUE(failsWith(sealOf(Library, "a name with blanks"), ErrorKind::InvalidArgument, "expected a name as x86-64-v3"));
}

TEST_F(Aot, TakesNoOption) { EXPECT_TRUE(failsWith(openRunner("aot:x.so?serdes=json"), ErrorKind::InvalidArgument, "aot takes no option")); }

} // namespace
} // namespace mlcb
