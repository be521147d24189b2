// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The contract of a compiler and a policy: the tensors, metrics, agents and parameters of a task.
#pragma once

#include "spec/DType.h"
#include "spec/Error.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mlcb {

/// One dimension of a declared shape: fixed, the value (or length) of a parameter, or varying up to a maximum.
struct Dim {
  enum class Kind { Fixed, Param, AtMost };
  Kind How = Kind::Fixed;
  int64_t Size = 0;       // Fixed, AtMost; for Param, set by binding
  std::string_view Param; // of Kind::Param

  bool varies() const { return How == Kind::AtMost; }

  /// Whether a tensor may be that long here. Only of a bound spec.
  bool allows(int64_t Length) const { return varies() ? Length >= 0 && Length <= Size : Length == Size; }
};

enum class TensorRole {
  Input,
  Mask,
  Heuristic, // an input that holds the answer of the compiler's own heuristic
  Metric,
  AddedMetric // declared after policies were exported: no part of the digest, so that they stay valid
};

struct TensorSpec {
  std::string_view Name;
  DType Type;
  std::vector<Dim> Shape;
  double Low, High;
  std::string_view Doc;
  TensorRole Role;

  bool isMetric() const { return Role == TensorRole::Metric || Role == TensorRole::AddedMetric; }

  /// Whether a dimension varies.
  bool varies() const;

  /// Elements of a tensor of the maximal shape (SIZE_MAX where that overflows). Only of a bound spec.
  size_t maxElements() const;

  /// The maximal shape. Only of a bound spec.
  std::vector<int64_t> maxShape() const;

  /// Whether a tensor may be of that shape. Only of a bound spec.
  bool allows(std::span<const int64_t> Lengths) const;
};

enum class AdviceKind { Argmax, Value };

struct AdviceSpec {
  AdviceKind Kind;
  std::string_view Name;
  Dim Choices; // Argmax: number of logits
  std::string_view Doc;

  /// How many floats a model gives for it: a logit for each choice, or the value. Only of a bound spec.
  size_t outputs() const { return Kind == AdviceKind::Argmax ? static_cast<size_t>(Choices.Size) : 1; }
};

/// An agent sees its own tensors and mask and gives its own advice.
struct AgentSpec {
  std::string_view Name;
  std::vector<TensorSpec> Inputs; // all but metrics, in declared order
  AdviceSpec Advice;

  /// Index of the mask among the inputs, or -1.
  int maskIndex() const;
};

struct ParamSpec {
  std::string_view Name;
  std::string_view Default; // JSON text
  std::string_view Doc;
  bool Added = false; // declared after policies were exported: no part of the digest at its default
};

/// A task as declared in native/tasks/<name>.def, or by a compiler of its own in JSON.
struct TaskSpec {
  std::string_view Name;
  std::string_view Doc;
  std::vector<ParamSpec> Params;
  std::vector<AgentSpec> Agents;
  std::vector<TensorSpec> Metrics;

  /// The text that the names above are views of, if they were read; it lives as long as any copy of the task.
  std::shared_ptr<const void> Text = nullptr;
};

/// A task whose parameters have values: every shape is known, and a digest names it.
/// The digest covers tensors, agents, all parameters (action texts and vocabulary digest among them) and LLVM's major version.
struct BoundSpec {
  TaskSpec Task;          // every Dim of Kind::Param carries its Size
  std::string Parameters; // canonical JSON object: every declared parameter, keys sorted
  std::string Digest;     // 32 hex digits
  int Llvm = 0;           // major version of the LLVM whose program is observed; 0 where there is none

  std::string toJson() const;
};

/// Every task this build declares, in the order of native/tasks/*.def.
const std::vector<TaskSpec> &allTasks();
const TaskSpec *findTask(std::string_view Name);

/// Binds a task with a JSON object of parameters; a parameter that is absent takes its default, an unknown one is an error.
Expected<BoundSpec> bindTask(const TaskSpec &Task, std::string_view ParametersJson);

/// Binds again what the JSON of a bound spec binds. A task this build lacks or declares otherwise is a SpecMismatch.
Expected<BoundSpec> rebind(std::string_view BoundJson);

/// The bound spec of any task, from its JSON (docs/integration.md): as rebind() for one of this build's, else as it is declared
/// there; so a compiler brings a task of its own. What is wrong with the declaration is InvalidArgument, a digest that is
/// given and not its own SpecMismatch.
Expected<BoundSpec> readSpec(std::string_view BoundJson);

/// One sentence naming the first difference between what the compiler sends and what the Expecter expects, as
/// "posetrl/embedding: compiler sends float32[75], this build expects float32[300]". Both are JSON of bound specs.
std::string describeMismatch(std::string_view CompilerJson, std::string_view ExpectedJson, std::string_view Expecter = "this build");

} // namespace mlcb
