// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions about the registers of one module.
#pragma once

#include "llvm/task/Conversation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"

#include <functional>
#include <memory>
#include <vector>

namespace mlcb {

/// Asks what LLVM's advisors are asked, and can answer once more what it has asked. After a failure LLVM's own advisor decides.
class RegallocConversation final : public Conversation {
public:
  RegallocConversation(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure = nullptr)
      : Conversation(M, Policy, Request, std::move(Measure)), Forbidden(Request.Forbidden) {}

  /// From now on only these functions are asked about.
  void limitTo(std::shared_ptr<const llvm::StringSet<>> Names) { Functions = std::move(Names); }

  bool isAbout(llvm::StringRef Function) const { return !Functions || Functions->contains(Function); }

  bool isForbidden(int64_t Index) const { return llvm::is_contained(Forbidden, Index); }

  /// The policy's answer to what the tensors of an agent hold, an index or a value; none where LLVM's own is to stand.
  std::optional<int64_t> askIndex(size_t Agent = 0) { return answer<int64_t>(Agent); }
  std::optional<double> askValue() { return answer<double>(/*Agent=*/0); }

  /// Cost is that of the code which the function in progress has been given so far, in units of the metric cost: every decision has its reward.
  void chargeFor(std::function<double()> Cost) { Charge = std::move(Cost); }
  double charged() const { return Charge ? Charge() : 0; }

  /// From now on the answers are those that were given, from the first on, and the policy is not asked.
  void replay() { Replayed = 0; }

  /// The error of a replay that did not ask the same; nothing where it did.
  std::optional<Error> divergence() const;

private:
  template <class T> std::optional<T> answer(size_t Agent);
  std::optional<double> nextReplayed();

  std::vector<int64_t> Forbidden;
  std::shared_ptr<const llvm::StringSet<>> Functions; // all where it is null
  std::vector<double> Answers;                        // indices are small
  std::optional<size_t> Replayed;
  std::function<double()> Charge;
};

} // namespace mlcb
