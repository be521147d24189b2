// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ways to generate the code of a module whose functions have choices.
#pragma once

#include "llvm/deploy/Comparison.h"
#include "llvm/pipeline/OptionScope.h"
#include "llvm/tasks/function_size/Conversation.h"

namespace mlcb {

/// Each with the settings that the policy has code generated with. It outlives its comparisons.
class CodeWays {
public:
  CodeWays(llvm::Module &M, FunctionActions &Actions, std::vector<Choices> Given, std::vector<OptionSetting> Without)
      : M(M), Actions(Actions), All(std::move(Given)), Without(std::move(Without)) {}

  /// Whether there is a way that differs from what stock does.
  bool differ() const;

  /// The first other of all functions, the second, and so on, of which the names are candidates from this number on. The caller adds keeping(), if
  /// anything, as the next one; last of all comes the least of these in each function, if there are others.
  Comparison ofCandidates(size_t FirstNumber) const;

  /// One of the others in all functions; those that have fewer take what they keep.
  std::function<void()> taking(size_t Other) const;

  /// In all functions what they keep.
  std::function<void()> keeping() const { return taking(SIZE_MAX); }

private:
  Way leastOfEach(llvm::ArrayRef<Way> Ways, size_t Kept) const;
  void take(llvm::ArrayRef<size_t> ByFunction) const;
  std::vector<std::string> names() const;

  llvm::Module &M;
  FunctionActions &Actions;
  std::vector<Choices> All;
  std::vector<OptionSetting> Without;
};

} // namespace mlcb
