// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The one sentence that says how two bound specs differ.
#include "spec/SpecJson.h"

#include <optional>

namespace mlcb {
namespace {

using Sentence = std::optional<std::string>;

std::string nameOf(const Json &Object) { return stringOf(member(Object, "name"), "?"); }

/// A member as far as two ends must agree on it: the role of a heuristic's answer is documentation.
Json contract(const Json &Member) { return Member == "heuristic" ? Json("input") : Member; }

const Json *findNamed(const Json &List, const std::string &Name) {
  for (const Json &Item : List)
    if (nameOf(Item) == Name)
      return &Item;
  return nullptr;
}

/// The metrics that two ends must agree on.
Json contractual(const Json &Metrics) {
  if (!Metrics.is_array())
    return Metrics;
  Json Kept = Json::array();
  for (const Json &Metric : Metrics)
    if (stringOf(member(Metric, "role")) != AddedMetric)
      Kept.push_back(Metric);
  return Kept;
}

/// Compares what the compiler sends with what the other side wants; each function gives the first difference, or none.
class Comparison {
public:
  explicit Comparison(std::string_view Expecter) : Expecter(Expecter) {}

  Sentence specs(const Json &Sent, const Json &Wanted) const {
    const std::string Task = stringOf(member(Wanted, "task"));
    if (member(Sent, "task") != member(Wanted, "task"))
      return "compiler asks for task " + dumpJson(member(Sent, "task")) + expects("'" + Task + "'");
    if (auto Found = agents(Task, member(Sent, "agents"), member(Wanted, "agents")))
      return Found;
    if (auto Found = tensors(Task, contractual(member(Sent, "metrics")), contractual(member(Wanted, "metrics"))))
      return Found;
    if (auto Found = parameters(Task, member(Sent, "parameters"), member(Wanted, "parameters")))
      return Found;
    for (const char *Field : {"llvm", "digest"})
      if (member(Sent, Field) != member(Wanted, Field))
        return Task + ": compiler has " + Field + " " + dumpJson(member(Sent, Field)) + expects(dumpJson(member(Wanted, Field)));
    return {};
  }

private:
  std::string expects(const std::string &What) const { return ", " + Expecter + " expects " + What; }

  std::string differ(const std::string &Where, const std::string &Sent, const std::string &Wanted) const {
    return Where + ": compiler sends " + Sent + expects(Wanted);
  }

  Sentence tensor(const std::string &Where, const Json &Sent, const Json &Wanted) const {
    if (typeAndShape(Sent) != typeAndShape(Wanted))
      return differ(Where, typeAndShape(Sent), typeAndShape(Wanted));
    for (const char *Field : {"role", "low", "high"})
      if (contract(member(Sent, Field)) != contract(member(Wanted, Field)))
        return differ(Where, std::string(Field) + " " + dumpJson(member(Sent, Field)), dumpJson(member(Wanted, Field)));
    return {};
  }

  /// Lists of named things must agree in names, order, and in what Compare says of each pair.
  template <class Compare> Sentence lists(const std::string &Where, const Json &Sent, const Json &Wanted, Compare Pair) const {
    if (!Sent.is_array() || !Wanted.is_array())
      return Where + ": a bound spec without its lists of agents, inputs and metrics";
    for (const Json &Item : Wanted)
      if (!findNamed(Sent, nameOf(Item)))
        return differ(Where + "/" + nameOf(Item), "nothing", "it");
    for (const Json &Item : Sent)
      if (!findNamed(Wanted, nameOf(Item)))
        return differ(Where + "/" + nameOf(Item), "it", "nothing");
    for (size_t I = 0; I < Wanted.size() && I < Sent.size(); ++I) {
      const std::string Here = Where + "/" + nameOf(Wanted[I]);
      if (nameOf(Sent[I]) != nameOf(Wanted[I]))
        return differ(Here, "'" + nameOf(Sent[I]) + "' in its place", "it there");
      if (auto Found = Pair(Here, Sent[I], Wanted[I]))
        return Found;
    }
    return {};
  }

  Sentence tensors(const std::string &Where, const Json &Sent, const Json &Wanted) const {
    return lists(Where, Sent, Wanted, [this](const std::string &Here, const Json &S, const Json &W) { return tensor(Here, S, W); });
  }

  Sentence agents(const std::string &Task, const Json &Sent, const Json &Wanted) const {
    const bool Several = Wanted.size() > 1;
    return lists(Task, Sent, Wanted, [&](const std::string &Here, const Json &S, const Json &W) -> Sentence {
      const std::string &Where = Several ? Here : Task;
      if (auto Found = tensors(Where, member(S, "inputs"), member(W, "inputs")))
        return Found;
      return advice(Where, member(S, "advice"), member(W, "advice"));
    });
  }

  Sentence advice(const std::string &Where, const Json &Sent, const Json &Wanted) const {
    for (const char *Field : {"name", "kind", "choices"})
      if (member(Sent, Field) != member(Wanted, Field))
        return Where + ": compiler asks for advice of " + Field + " " + dumpJson(member(Sent, Field)) + ", " + Expecter + " gives " +
               dumpJson(member(Wanted, Field));
    return {};
  }

  Sentence parameters(const std::string &Task, const Json &Sent, const Json &Wanted) const {
    if (!Sent.is_object() || !Wanted.is_object())
      return Task + ": a bound spec without its parameters";
    for (auto Item = Wanted.begin(); Item != Wanted.end(); ++Item)
      if (member(Sent, Item.key()) != Item.value())
        return Task + ": parameter '" + Item.key() + "' is " + shortText(member(Sent, Item.key())) + " in the compiler" +
               expects(shortText(Item.value()));
    return {};
  }

  std::string Expecter;
};

} // namespace

std::string describeMismatch(std::string_view CompilerJson, std::string_view ExpectedJson, std::string_view Expecter) {
  const Json Sent = parseJson(CompilerJson), Wanted = parseJson(ExpectedJson);
  if (!Sent.is_object() || !Wanted.is_object())
    return "a bound spec is not a JSON object";
  if (auto Found = Comparison(Expecter).specs(Sent, Wanted))
    return *Found;
  return stringOf(member(Wanted, "task")) + ": the specs agree, their digests do not";
}

} // namespace mlcb
