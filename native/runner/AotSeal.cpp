// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runner/AotSeal.h"

#include "spec/Digest.h"
#include "spec/FileContents.h"

#include <algorithm>

namespace mlcb {
namespace {

// `mlcb-aot:CPU:DIGEST`, the CPU padded with blanks.
constexpr std::string_view Magic = "\nmlcb-aot:";
constexpr size_t CpuSize = 16, DigestSize = 32, SealSize = Magic.size() + CpuSize + 1 + DigestSize;

std::string padded(std::string_view Cpu) {
  std::string Field(Cpu);
  Field.resize(CpuSize, ' ');
  return Field;
}

bool thisCpuIs(std::string_view Level) {
  if (Level == "baseline")
    return true;
#ifdef __x86_64__
  if (Level == "x86-64-v2")
    return __builtin_cpu_supports("x86-64-v2");
  if (Level == "x86-64-v3")
    return __builtin_cpu_supports("x86-64-v3");
  if (Level == "x86-64-v4")
    return __builtin_cpu_supports("x86-64-v4");
#endif
  return false;
}

} // namespace

Expected<std::string> sealOf(std::string_view SharedObject, std::string_view Cpu) {
  if (Cpu.empty() || Cpu.size() > CpuSize || Cpu.find(' ') != Cpu.npos)
    return fail(ErrorKind::InvalidArgument, "CPU '" + std::string(Cpu) + "', expected a name as x86-64-v3, or baseline");
  return std::string(Magic) + padded(Cpu) + ":" + hexDigest(SharedObject);
}

Expected<void> checkSeal(const std::string &Path) {
  auto File = readFile(Path);
  if (!File)
    return Unexpected(File.error());
  const std::string_view All = *File;
  const std::string_view Body = All.substr(0, All.size() - std::min(All.size(), SealSize)), Seal = All.substr(Body.size());
  if (!Seal.starts_with(Magic))
    return fail(ErrorKind::InvalidArgument, Path + " is no policy that `mlcb aot` compiled, or has lost its end");
  const std::string_view Field = Seal.substr(Magic.size(), CpuSize), Cpu = Field.substr(0, Field.find(' '));
  if (Seal.substr(SealSize - DigestSize) != hexDigest(Body))
    return fail(ErrorKind::InvalidArgument, Path + " is damaged: its contents are not those that were sealed");
  if (!thisCpuIs(Cpu))
    return fail(ErrorKind::InvalidArgument, Path + " is compiled for a CPU of level " + std::string(Cpu) +
                                                ", which this one is not: compile it with --cpu baseline, or deploy it with onnx:");
  return {};
}

} // namespace mlcb
