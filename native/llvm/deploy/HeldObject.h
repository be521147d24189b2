// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a way to compile a module comes to, and what a fork that is held tells about the object that it is about to write.
#pragma once

#include "llvm/measure/Measure.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace llvm {
class PassBuilder;
} // namespace llvm

namespace mlcb {

struct ObjectReport {
  uint64_t Bytes = 0;              // what the module takes in a linked program
  uint64_t Limits = 0;             // that its functions pass: see limitsPassed()
  std::vector<uint64_t> Functions; // the shares of those that were asked for

  static std::optional<ObjectReport> parse(llvm::StringRef Text);
  std::string text() const;
  std::string inWords() const; // for a remark
};

/// Of a module as it is now; Functions are the names of those whose shares are wanted.
ObjectReport measured(const llvm::Module &M, measure::Measurer &Target, llvm::ArrayRef<std::string> Functions);

/// From now on a fork that is held tells the shares of these functions.
void tellAbout(std::vector<std::string> Functions);

/// Where all passes have been over a module: a fork that is held generates its code, and waits before it writes it.
void holdObject(llvm::Module &M);

/// A fork that is held ends before passes that write what they are given.
void endBeforeWriting(llvm::PassBuilder &Builder);

} // namespace mlcb
