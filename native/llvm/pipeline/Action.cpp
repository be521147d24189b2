// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/pipeline/Action.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace mlcb {

namespace {

// attributor miscompiles; the others crash (LLVM 22.1.8).
constexpr StringLiteral Forbidden[] = {"attributor", "attributor-cgscc", "codegenprepare", "unify-loop-exits", "fix-irreducible"};

// These write files, or open what shows them; one of them names its files after functions of the program.
constexpr StringLiteral WritesFiles[] = {"dot-", "view-", "insert-gcov-profiling"};

// These read files that the action names.
constexpr StringLiteral ReadsFiles[] = {"memprof-use", "extract-blocks"};

// These change what a program does, or what flags ask for, and are in no pipeline of LLVM's own.
constexpr StringLiteral ChangesMeaning[] = {"internalize",
                                            "metarenamer",
                                            "lower-invoke",
                                            "lower-atomic",
                                            "strip",
                                            "strip-nondebug",
                                            "strip-debug-declare",
                                            "strip-dead-debug-info",
                                            "debugify",
                                            "place-safepoints",
                                            "rewrite-statepoints-for-gc"};

// Parts of the names of options that do so.
constexpr StringLiteral OptionsOfMeaning[] = {
    "force-attribute", "force-remove-attribute", "unsafe", "ignore-aliasing", "thread-model-single", "x86-slh", "fp-math",
    "fp-contract",     "limit-float-precision",  "polly"};

// Words of the names of options that open files, show graphs, wait for others or start programs.
constexpr StringLiteral OptionsOfFiles[] = {"channel", "dot", "dump", "exec", "export", "file", "filename", "output", "plugin", "replay", "write"};

// LLVM's parser calls itself for what is nested, as deep as the text says.
constexpr int MaxDepth = 64;

bool isNameChar(char C) { return isAlnum(C) || C == '-' || C == '_' || C == '.'; }

Unexpected invalid(const Twine &Why) { return fail(ErrorKind::InvalidArgument, Why.str()); }

bool isTooDeep(StringRef Text) {
  int Depth = 0;
  for (size_t Pos = 0; Pos < Text.size() && Depth <= MaxDepth; ++Pos)
    Depth += (Text[Pos] == '(') - (Text[Pos] == ')');
  return Depth > MaxDepth;
}

/// Separates at ';' outside of angle brackets, which hold the parameters of a pass.
SmallVector<StringRef> splitStages(StringRef Text) {
  SmallVector<StringRef> Stages;
  size_t Begin = 0;
  int Depth = 0;
  for (size_t Pos = 0; Pos <= Text.size(); ++Pos) {
    char C = Pos == Text.size() ? ';' : Text[Pos];
    Depth += (C == '<') - (C == '>');
    if (Pos == Text.size() || (C == ';' && Depth == 0)) {
      Stages.push_back(Text.slice(Begin, Pos).trim());
      Begin = Pos + 1;
    }
  }
  return Stages;
}

/// Whether an option may make LLVM open a file, wait for another process, or start one. OptionScope refuses texts of all others.
bool opensFiles(StringRef Name) {
  return Name == "version" || Name.starts_with("help") ||
         any_of(split(Name, '-'), [](StringRef Part) { return Part.starts_with("view") || is_contained(OptionsOfFiles, Part); });
}

/// Whether an option may change what code means. Which of clang's levels a function has does not.
bool changesMeaning(StringRef Name, StringRef Value) {
  return any_of(OptionsOfMeaning, [&](StringRef Part) { return Name.contains(Part); }) && !is_contained({"minsize", "optsize"}, Value.trim());
}

/// Reads `{name=value,...}` at the beginning of a stage and takes it off.
Expected<std::vector<OptionSetting>> takeOptions(StringRef &Text) {
  std::vector<OptionSetting> Options;
  if (!Text.consume_front("{"))
    return Options;
  if (!Text.contains('}'))
    return invalid("a '{' without its '}'");
  auto [Inside, Rest] = Text.split('}');
  for (StringRef Setting : split(Inside, ',')) {
    auto [Name, Value] = Setting.trim().split('=');
    if (opensFiles(Name.trim().ltrim('-')) || Value.contains('/'))
      return invalid("option '" + Name.trim() + "' is never set by an action: it may open a file, or start a program");
    if (changesMeaning(Name, Value))
      return invalid("option '" + Name.trim() + "' is never set by an action: it changes what code means");
    Options.push_back({Name.trim().ltrim('-').str(), Value.trim().str()});
  }
  Text = Rest.trim();
  return Options;
}

/// The parameters of a pass, `<...>`, at the beginning of Text; empty where there are none.
StringRef parametersAt(StringRef Text) {
  if (!Text.starts_with("<"))
    return "";
  int Depth = 0;
  for (size_t Pos = 0; Pos < Text.size(); ++Pos) {
    Depth += (Text[Pos] == '<') - (Text[Pos] == '>');
    if (Depth == 0)
      return Text.take_front(Pos + 1);
  }
  return Text; // never closed: left to LLVM's parser to refuse
}

std::string withoutFixpointCheck(StringRef Parameters) {
  if (Parameters.empty())
    return "<no-verify-fixpoint>";
  if (Parameters.contains("verify-fixpoint"))
    return Parameters.str();
  return (Parameters.drop_back() + ";no-verify-fixpoint>").str();
}

/// The pipeline with every pass checked and instcombine made safe.
Expected<std::string> rewritePipeline(StringRef Text) {
  std::string Out;
  while (!Text.empty()) {
    StringRef Name = Text.take_while(isNameChar);
    if (Name.empty()) {
      Out += Text.front();
      Text = Text.drop_front();
      continue;
    }
    if (is_contained(Forbidden, Name))
      return invalid("pass '" + Name + "' is never an action: it miscompiles or crashes in LLVM 22");
    if (any_of(WritesFiles, [&](StringRef Begin) { return Name.starts_with(Begin); }))
      return invalid("pass '" + Name + "' is never an action: it writes files");
    if (is_contained(ReadsFiles, Name))
      return invalid("pass '" + Name + "' is never an action: it reads files");
    if (is_contained(ChangesMeaning, Name))
      return invalid("pass '" + Name + "' is never an action: it changes what a program does, or what flags ask for");
    Text = Text.drop_front(Name.size());
    StringRef Parameters = parametersAt(Text);
    Text = Text.drop_front(Parameters.size());
    Out += Name;
    Out += Name == "instcombine" ? withoutFixpointCheck(Parameters) : Parameters.str();
  }
  return Out;
}

Expected<Stage> parseStage(StringRef Text) {
  Expected<std::vector<OptionSetting>> Options = takeOptions(Text);
  if (!Options)
    return Unexpected(Options.error());
  if (Text.empty())
    return invalid("a stage without a pipeline");
  if (isTooDeep(Text))
    return invalid("a pipeline nested too deeply, expected at most " + Twine(MaxDepth) + " parentheses within each other");
  return rewritePipeline(Text).map([&](std::string Pipeline) { return Stage{std::move(*Options), std::move(Pipeline)}; });
}

} // namespace

Expected<Action> parseAction(StringRef Text) {
  Action Result{Text.str(), {}};
  if (Text.trim() == "stop")
    return Result;
  for (StringRef Part : splitStages(Text)) {
    Expected<Stage> Parsed = parseStage(Part);
    if (!Parsed)
      return invalid("action '" + Text + "': " + Parsed.error().Message);
    Result.Stages.push_back(std::move(*Parsed));
  }
  return Result;
}

} // namespace mlcb
