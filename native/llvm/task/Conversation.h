// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions of one episode: the part that is the same in every task.
#pragma once

#include "llvm/task/BoundTask.h"
#include "llvm/task/WorkClock.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

#include <functional>
#include <optional>

namespace mlcb {

/// Asks a policy about one module, counts, and ends the episode. A task derives from it: it fills the tensors, asks, and acts on the
/// answer. After the first failure a task follows the compiler's own heuristic.
class Conversation {
public:
  using Measurement = std::function<Expected<void>()>;

  /// Measure writes the metrics of the module before each question, unless the learner wants those of the end alone.
  Conversation(llvm::Module &M, ModelRunner &Policy, const EpisodeRequest &Request, Measurement Measure = nullptr);
  virtual ~Conversation();
  Conversation(const Conversation &) = delete;
  Conversation &operator=(const Conversation &) = delete;

  /// Ends the episode. Measure writes the metrics of the final module. Without a reason it is NoDecisions or Exhausted. Returns the first
  /// failure of the conversation instead, if there was one.
  Expected<EndReason>
  finish(llvm::function_ref<Expected<void>()> Measure = [] { return Expected<void>(); }, std::optional<EndReason> Why = std::nullopt);

  /// An error where LLVM's verifier is wanted and refuses the module. Culprit is the subject of its sentence.
  Expected<void> verify(const llvm::Twine &Culprit) const;

  /// Ends the questions. Returns the first failure, which may be an earlier one.
  const Error &abandon(Error Why);

  /// Whether metrics are written before each question.
  bool isMeasured() const { return Measure && !Policy.measuresEndAlone(); }

  ModelRunner &policy() { return Policy; }
  size_t asked() const { return Asked; }
  const std::optional<Error> &failure() const { return Failure; }

  /// The time that the compiler works; pause it for what is not the compiler's own work.
  WorkClock &clock() { return Work; }

protected:
  /// The policy's advice for what the agent's tensors hold, an index or a value.
  template <class T> Expected<T> ask(size_t Agent = 0) {
    if (auto Ready = endTurn(); !Ready)
      return Unexpected(abandon(Ready.error()));
    Expected<T> Advice = Policy.evaluate<T>(Agent);
    beginTurn();
    return Advice ? Advice : Unexpected(abandon(Advice.error()));
  }

  llvm::Module &module() { return M; }

private:
  Expected<void> endTurn();
  void beginTurn();
  void writeSeconds();

  llvm::Module &M;
  ModelRunner &Policy;
  Measurement Measure;
  bool Verifies;
  std::optional<size_t> SecondsMetric; // `llvm_seconds`, where the task declares it
  WorkClock Work;
  size_t Asked = 0;
  std::optional<Error> Failure;
};

} // namespace mlcb
