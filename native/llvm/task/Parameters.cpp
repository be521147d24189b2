// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/task/Parameters.h"

#include "llvm/pipeline/Action.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace mlcb {

Unexpected invalidParameter(const BoundSpec &Spec, const Twine &Why) {
  return fail(ErrorKind::InvalidArgument, (Twine(StringRef(Spec.Task.Name)) + "/" + Why).str());
}

ParameterReader::ParameterReader(const BoundSpec &Spec) : Spec(Spec) {
  llvm::Expected<json::Value> Parsed = json::parse(Spec.Parameters);
  if (!Parsed)
    reject("parameters: " + toString(Parsed.takeError()));
  else if (json::Object *Root = Parsed->getAsObject())
    Values = std::move(*Root);
  else
    reject("parameters: expected an object");
}

void ParameterReader::reject(const Twine &Why) {
  if (!FirstError)
    FirstError = invalidParameter(Spec, Why).value();
}

std::string ParameterReader::pipeline(StringRef Expected) {
  const std::string Text = text("pipeline");
  if (Text.empty()) {
    if (!Expected.empty())
      reject("pipeline: expected " + Expected);
    return "";
  }
  auto Parsed = parseAction(Text);
  if (!Parsed)
    reject("pipeline: " + Parsed.error().Message);
  else if (Parsed->Stages.size() != 1 || !Parsed->Stages.front().Options.empty())
    reject("pipeline: '" + Text + "', expected one pipeline without options");
  else
    return std::move(Parsed->Stages.front().Pipeline);
  return "";
}

bool ParameterReader::boolean(StringRef Name) {
  const std::optional<bool> Value = Values.getBoolean(Name);
  if (!Value)
    reject(Name + ": expected true or false");
  return Value.value_or(false);
}

bool ParameterReader::zeroOrOne(StringRef Name) {
  const int64_t Value = Values.getInteger(Name).value_or(-1);
  if (Value != 0 && Value != 1)
    reject(Name + ": expected 0 or 1");
  return Value == 1;
}

int64_t ParameterReader::integer(StringRef Name, int64_t Least) {
  const std::optional<int64_t> Value = Values.getInteger(Name);
  if (!Value || *Value < Least)
    reject(Name + ": expected at least " + Twine(Least));
  return Value.value_or(Least);
}

double ParameterReader::number(StringRef Name, int64_t Least) {
  const double Value = Values.getNumber(Name).value_or(NAN);
  if (!(Value >= static_cast<double>(Least)))
    reject(Name + ": expected at least " + Twine(Least));
  return Value;
}

std::string ParameterReader::text(StringRef Name) { return Values.getString(Name).value_or("").str(); }

std::vector<std::string> ParameterReader::listed(StringRef Name) {
  std::vector<std::string> Texts;
  const json::Array *List = Values.getArray(Name);
  if (!List) {
    reject(Name + ": expected a list");
    return Texts;
  }
  for (const json::Value &Item : *List)
    if (const std::optional<StringRef> Text = Item.getAsString())
      Texts.push_back(Text->str());
    else
      reject(Name + ": something that is no text");
  return Texts;
}

std::vector<std::string> ParameterReader::texts(StringRef Name, StringRef Items) {
  if (const json::Array *List = Values.getArray(Name); !List || List->empty())
    reject(Name + ": expected a list of " + Items);
  return listed(Name);
}

size_t ParameterReader::oneOf(StringRef Name, ArrayRef<StringRef> Words) {
  const std::string Word = text(Name);
  const auto Found = find(Words, Word);
  if (Found != Words.end())
    return static_cast<size_t>(Found - Words.begin());
  std::string Known = ("'" + Words.front() + "'").str();
  for (StringRef Other : Words.drop_front())
    Known += (Other == Words.back() ? " or '" : ", '") + Other.str() + "'";
  reject(Name + ": '" + Word + "', expected " + Known);
  return 0;
}

void ParameterReader::expectIdentity(const Expected<const VocabularyIdentity *> &OfProcess) {
  if (!OfProcess)
    FirstError = OfProcess.error();
  else if (auto Same = (*OfProcess)->expect(integer("dimension"), text("vocabulary")); !Same)
    FirstError = Error{ErrorKind::SpecMismatch, std::string(Spec.Task.Name) + "/" + Same.error().Message};
}

} // namespace mlcb
