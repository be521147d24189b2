// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parsed programs, kept for the episodes to come.
#pragma once

#include "spec/Error.h"
#include "llvm/worker/Limits.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <list>
#include <memory>
#include <string>

namespace mlcb {

/// A program as it was read: never changed here, for its readers are forks.
struct Program {
  std::string Path;
  std::string Identity; // of the file or of the bytes: another one means another content
  std::string Digest;   // of the content
  std::unique_ptr<llvm::LLVMContext> Context;
  std::unique_ptr<llvm::Module> Module;
  size_t Instructions = 0;
};

/// Keeps the programs used last, up to a number of instructions in all (an instruction is about half a kilobyte).
class ModuleCache {
public:
  explicit ModuleCache(size_t MaxInstructions) : MaxInstructions(MaxInstructions) {}

  /// A bitcode or .ll file. One that is absent, broken, without a function body, or not read within the limits of an episode is an error of one
  /// sentence. The program is valid until the next call.
  Expected<const Program *> load(llvm::StringRef Path, const Limits &Within);

  /// The same of bytes that came from elsewhere, under a name.
  Expected<const Program *> load(llvm::StringRef Name, llvm::StringRef Bytes, const Limits &Within);

private:
  const Program *find(llvm::StringRef Path, llvm::StringRef Identity);
  Expected<const Program *> read(llvm::StringRef Path, std::string Identity, llvm::MemoryBufferRef Bytes, const Limits &Within);
  void evict();

  std::list<Program> Programs; // the last used first
  size_t MaxInstructions;
};

} // namespace mlcb
