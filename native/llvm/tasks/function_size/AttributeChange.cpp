// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/AttributeChange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace mlcb {

static constexpr StringLiteral FramePointer = "frame-pointer=all", NoTailCalls = "disable-tail-calls=true", NoJumpTables = "no-jump-tables=true";

static bool readOne(StringRef Part, AttributeChange &Into) {
  if (Part == "-minsize") {
    Into.Removed.push_back(Attribute::MinSize);
    return true;
  }
  if (!Part.consume_front("+"))
    return false;
  const auto [Name, Value] = Part.split('=');
  Into.KeepsFramePointer |= Part == FramePointer;
  Into.EndsTailCalls |= Part == NoTailCalls;
  Into.Added.emplace_back(Name.str(), Value.str());
  return is_contained({FramePointer, NoTailCalls, NoJumpTables}, Part) || (Name == "tune-cpu" && !Value.empty());
}

Expected<AttributeChange> AttributeChange::parse(StringRef Text) {
  AttributeChange Read;
  Read.Text = Text.str();
  if (Text == "keep")
    return Read;
  for (const StringRef Part : split(Text, ' '))
    if (!readOne(Part, Read))
      return fail(ErrorKind::InvalidArgument, "action '" + Text.str() + "': '" + Part.str() + "', expected 'keep', or some of -minsize, +" +
                                                  FramePointer.str() + ", +" + NoTailCalls.str() + ", +" + NoJumpTables.str() + ", +tune-cpu=CPU");
  return Read;
}

bool AttributeChange::changes(const Function &F) const {
  return any_of(Removed, [&](Attribute::AttrKind Kind) { return F.hasFnAttribute(Kind); }) ||
         any_of(Added, [&](const auto &One) { return F.getFnAttribute(One.first).getValueAsString() != One.second; });
}

void AttributeChange::apply(Function &F) const {
  for (const Attribute::AttrKind Kind : Removed)
    F.removeFnAttr(Kind);
  for (const auto &[Name, Value] : Added)
    F.addFnAttr(Name, Value);
}

bool hasInlineAssembly(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    const auto *Call = dyn_cast<CallBase>(&I);
    return Call && Call->isInlineAsm();
  });
}

} // namespace mlcb
