// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Recolouring.h"

using namespace llvm;

namespace mlcb::rl4real {

bool Recolouring::place(const LiveInterval &Range, unsigned Depth) {
  if (placeFree(Range))
    return true;
  return Depth && any_of(A.order(Range.reg()), [&](MCPhysReg Register) {
           return A.Matrix.checkInterference(Range, Register) == LiveRegMatrix::IK_VirtReg && placeAt(Range, Register, Depth);
         });
}

bool Recolouring::placeFree(const LiveInterval &Range) {
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Range, Register) == LiveRegMatrix::IK_Free) {
      change(Range, Register);
      return true;
    }
  return false;
}

bool Recolouring::placeAt(const LiveInterval &Range, MCRegister Register, unsigned Depth) {
  if (!Tries)
    return false;
  --Tries;
  const auto Others = interferers(A, Range, Register);
  if (any_of(Others, [&](const LiveInterval *Other) { return is_contained(Placed, Other); }))
    return false;
  const size_t ChangesBefore = Changes.size(), EvictionsBefore = Evicted.size();
  for (const LiveInterval *Other : Others)
    change(*Other, MCRegister());
  change(Range, Register);
  Placed.push_back(&Range);
  const bool Moved = all_of(Others, [&](const LiveInterval *Other) { return moveAway(*Other, Depth - 1); });
  Placed.pop_back();
  if (!Moved)
    undo(ChangesBefore, EvictionsBefore);
  return Moved;
}

bool Recolouring::moveAway(const LiveInterval &Range, unsigned Depth) {
  if (!Range.isSpillable())
    return place(Range, Depth);
  Evicted.push_back(Range.reg());
  return true;
}

void Recolouring::change(const LiveInterval &Range, MCRegister Register) {
  Changes.push_back({&Range, A.VRM.hasPhys(Range.reg()) ? MCRegister(A.VRM.getPhys(Range.reg())) : MCRegister()});
  if (Changes.back().Before)
    A.Matrix.unassign(Range);
  if (Register)
    A.Matrix.assign(Range, Register);
}

void Recolouring::undo(size_t To, size_t Evictions) {
  for (; Changes.size() > To; Changes.pop_back()) {
    const auto &[Range, Before] = Changes.back();
    if (A.VRM.hasPhys(Range->reg()))
      A.Matrix.unassign(*Range);
    if (Before)
      A.Matrix.assign(*Range, Before);
  }
  Evicted.truncate(Evictions);
}

} // namespace mlcb::rl4real
