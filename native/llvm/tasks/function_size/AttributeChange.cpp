// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/function_size/AttributeChange.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
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

static bool namesFramePointer(StringRef Assembly) {
  // Of x86 (bp, ebp, rbp, bpl), AArch64 (x29, w29, fp) and RISC-V (s0, x8, fp).
  static constexpr StringLiteral Names[] = {"bp", "29", "fp", "s0", "x8"};
  return any_of(Names, [&](StringRef Name) { return Assembly.contains(Name); });
}

bool canKeepFramePointer(const Function &F) {
  return none_of(instructions(F), [](const Instruction &I) {
    const auto *Call = dyn_cast<CallBase>(&I);
    const auto *Asm = Call ? dyn_cast<InlineAsm>(Call->getCalledOperand()) : nullptr;
    return Asm && (namesFramePointer(Asm->getAsmString()) || namesFramePointer(Asm->getConstraintString()));
  });
}

} // namespace mlcb
