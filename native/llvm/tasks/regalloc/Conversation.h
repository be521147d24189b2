// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a policy is asked about the registers of one module, and what it answered.
#pragma once

#include "runner/ModelRunner.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace llvm {
class Module;
class Pass;
} // namespace llvm

namespace mlcb {

/// The conversation of one episode. Once it has failed, LLVM's own advisor answers what is still asked.
class RegallocConversation {
public:
  using Hook = std::function<void()>;

  /// Before and After are called around each question.
  RegallocConversation(ModelRunner &Policy, llvm::ArrayRef<int64_t> Barred, Hook Before = [] {}, Hook After = [] {})
      : Policy(Policy), Barred(Barred.begin(), Barred.end()), Before(std::move(Before)), After(std::move(After)) {}

  /// Whose tensors LLVM's features go to.
  ModelRunner &policy() { return Policy; }

  /// From now on only these functions are asked about.
  void limitTo(llvm::StringSet<> Names) { Functions = std::move(Names); }

  bool isAbout(llvm::StringRef Function) const { return !Functions || Functions->contains(Function); }

  bool isBarred(int64_t Index) const { return llvm::is_contained(Barred, Index); }

  /// The policy's answer to what its tensors hold, an index or a value; none where LLVM's own is to stand.
  std::optional<int64_t> askIndex() { return ask<int64_t>(); }
  std::optional<double> askValue() { return ask<double>(); }

  /// From now on the answers are those that were given, from the first on, and nobody is asked.
  void replay() { Replayed = 0; }

  /// Why what was replayed is not what was asked; nothing where it is.
  std::optional<Error> divergence() const;

  /// The end of questions.
  void fail(Error Why);

  size_t asked() const { return Answers.size(); }
  const std::optional<Error> &failure() const { return Failure; }

private:
  template <class T> std::optional<T> ask();

  ModelRunner &Policy;
  std::vector<int64_t> Barred;
  std::optional<llvm::StringSet<>> Functions;
  Hook Before, After;
  std::vector<double> Answers; // indices are small
  std::optional<size_t> Replayed;
  std::optional<Error> Failure;
};

/// Whoever is asked about the registers of a module by the advisor of a task, until the module is done; null where LLVM decides.
using OpenRegalloc = std::function<std::shared_ptr<RegallocConversation>(llvm::StringRef Task, llvm::Module &M)>;

/// Has the allocator of this thread ask while it lives.
class RegallocScope {
public:
  explicit RegallocScope(OpenRegalloc Open);
  ~RegallocScope();
  RegallocScope(const RegallocScope &) = delete;
  RegallocScope &operator=(const RegallocScope &) = delete;

private:
  OpenRegalloc Outer;
};

/// As the innermost scope of this thread has it; without one, the policies of the command line. Asking is a pass of the code generation.
std::shared_ptr<RegallocConversation> openRegalloc(llvm::StringRef Task, llvm::Module &M, const llvm::Pass &Asking);

} // namespace mlcb
