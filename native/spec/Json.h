// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON from strangers, read without exceptions: what is absent or of another type is a default. For .cpp files only.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace mlcb {

using Json = nlohmann::json;

/// Values are written and compared by recursion.
inline constexpr int MaxJsonDepth = 64;

/// Whether brackets are nested deeper than MaxJsonDepth; of a text that is no JSON either answer will do.
inline bool isTooDeep(std::string_view Text) {
  int Depth = 0;
  bool Quoted = false;
  for (size_t I = 0; I < Text.size() && Depth <= MaxJsonDepth; ++I) {
    const char C = Text[I];
    if (C == '"')
      Quoted = !Quoted;
    else if (Quoted)
      I += C == '\\';
    else
      Depth += (C == '[' || C == '{') - (C == ']' || C == '}');
  }
  return Depth > MaxJsonDepth;
}

/// The value, or one for which is_discarded() holds where the text is no JSON, or is nested deeper than MaxJsonDepth.
inline Json parseJson(std::string_view Text) {
  // Not by a callback of the parser's, with which a list takes the square of its length.
  return isTooDeep(Text) ? Json(Json::value_t::discarded) : Json::parse(Text, nullptr, /*allow_exceptions=*/false);
}

/// The text of a value; never fails (bytes that are no UTF-8 are replaced).
inline std::string dumpJson(const Json &Value) { return Value.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// dumpJson(), cut where it would not fit in a sentence.
inline std::string shortText(const Json &Value) {
  std::string Text = dumpJson(Value);
  return Text.size() > 80 ? Text.substr(0, 77) + "..." : Text;
}

/// The member of that name; null where there is none, or the value is no object.
inline const Json &member(const Json &Object, std::string_view Name) {
  static const Json Null;
  if (!Object.is_object())
    return Null;
  auto Found = Object.find(Name);
  return Found == Object.end() ? Null : *Found;
}

inline std::string stringOf(const Json &Value, std::string_view Default = "") {
  const auto *Text = Value.get_ptr<const std::string *>();
  return Text ? *Text : std::string(Default);
}

} // namespace mlcb
