// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policies of a command line, each for the task that it was trained for.
#pragma once

#include "llvm/measure/Measure.h"
#include "llvm/task/TaskRegistration.h"

#include <map>

namespace mlcb {

/// Who decides a task on a module.
enum class Decider {
  Nobody,    // every policy is for another task
  Heuristic, // `default:`, or the guard prefers it
  Policy
};

/// Who decides a task on a module, and with what.
struct Choice {
  Decider Who = Decider::Nobody;
  std::unique_ptr<ModelRunner> Runner;       // and the rest, if it is the policy
  std::unique_ptr<measure::Measurer> Target; // outlives what is bound
  std::unique_ptr<BoundTask> Bound;
  std::optional<size_t> Answer; // that is taken, where the policy is not asked

  /// Runs the policy on the module, or does what the answer says.
  Expected<void> run(llvm::Module &M);
};

/// The policies that -mlcb-runner names, and the guard that -mlcb-guard asks for. One a thread, as a runner belongs to one.
class PolicySet {
public:
  static PolicySet &ofCommandLine();

  PolicySet() = default;
  PolicySet(const PolicySet &) = delete;
  PolicySet &operator=(const PolicySet &) = delete;

  /// Makes the sets of this thread empty while it lives.
  class Suspension {
  public:
    Suspension();
    ~Suspension();
    Suspension(const Suspension &) = delete;
    Suspension &operator=(const Suspension &) = delete;
  };

  bool isEmpty() const;
  bool isGuarded() const;

  /// How many answers the guard tries instead of asking policies, where it can; 0 to ask.
  unsigned candidates() const;

  /// Whether a policy is for this task and no other; it stays where it is.
  Expected<bool> names(const TaskRegistration &Task);

  /// The policy for a task inside a compiler; null where there is none, it is `default:`, or it leaves the module's architecture to LLVM. An error
  /// where a learner wants a metric, which it does not measure, or where the guard has no measure of the task. Without the guard, a policy that was
  /// not taught for such a module is warned about.
  Expected<std::unique_ptr<ModelRunner>> deciderInHost(const TaskRegistration &Task, const llvm::Module &M);

  /// The tasks of a kind that a policy decides inside a compiler. An error where there is one of any of those policies, or of its guard.
  Expected<llvm::SmallVector<const TaskRegistration *>> decided(Guard Kind, const llvm::Module &M);

  /// The error of a task without a policy: it lists the tasks of the others.
  Error noPolicyFor(const TaskRegistration &Task) const;

  /// The guard runs a policy twice: an error where it is asked for and the policy is a learner.
  Expected<void> checkGuard(const ModelRunner &Policy) const;

  /// Measures for the target of a module.
  static Expected<std::unique_ptr<measure::Measurer>> measurerFor(const llvm::Module &M, measure::Setup When);

  /// The policy for a task, ready to decide on a module.
  Expected<Choice> choose(const TaskRegistration &Task, llvm::Module &M);

  /// Likewise; with -mlcb-guard only if its result is not larger than that of the task's heuristic.
  Expected<Choice> chooseSmaller(const TaskRegistration &Task, llvm::Module &M);

  /// From now on the policies for these tasks, and for no others, take no part; choose() takes the answer, if there is one, of all others.
  void passOver(llvm::ArrayRef<const TaskRegistration *> Tasks, std::optional<size_t> InsteadOfOthers = std::nullopt) {
    PassedOver.assign(Tasks.begin(), Tasks.end());
    Answer = InsteadOfOthers;
  }

private:
  bool decidesAbout(const ModelRunner &Policy, const TaskRegistration &Task, const llvm::Module &M) const;
  Expected<std::unique_ptr<ModelRunner>> runnerFor(const TaskRegistration &Task);
  Expected<std::unique_ptr<ModelRunner>> open(const std::string &Uri);
  bool isClaimedByOther(const std::string &Uri, llvm::StringRef Task) const;

  llvm::SmallVector<const TaskRegistration *> PassedOver;
  std::optional<size_t> Answer;
  std::map<std::string, std::unique_ptr<ModelRunner>> Unclaimed; // by URI: opened, and for another task; a learner connects only once
  std::map<std::string, std::string> Claimed;                    // by URI: its task, so that others need not ask a learner that is gone
};

} // namespace mlcb
