// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/tasks/regalloc/rl4real/Moves.h"

#include "llvm/tasks/regalloc/rl4real/CopyCosts.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace llvm;

namespace mlcb::rl4real {

static constexpr unsigned Rounds = 4;
static constexpr unsigned MostInTheWay = 2; // of live ranges
static constexpr double LeastGain = 1e-9;   // of a sum whose terms may be in another order

/// From a register to what a live range costs there: its save, less the copies that it spares.
auto Moves::costs(const LiveInterval &Range) const {
  return [this, Saved = Saves.in(A.blocks(Range.reg())), Spared = copiesOf(A, Range.reg(), /*OnlyFixed=*/false)](MCRegister Register) {
    return Saves.of(Register, Saved) - Spared.lookup(A.unit(Register));
  };
}

void Moves::spareCopies() {
  A.Matrix.invalidateVirtRegs();
  bool Moved = true;
  for (unsigned Round = 0; Round < Rounds && std::exchange(Moved, false); ++Round)
    for (const unsigned I : seq(A.MRI.getNumVirtRegs()))
      if (const Register R = Register::index2VirtReg(I); canMove(R))
        Moved |= improve(A.LIS.getInterval(R));
}

/// The target may not leave a choice.
bool Moves::canMove(Register R) const {
  if (A.MRI.reg_nodbg_empty(R) || !A.VRM.hasPhys(R) || Given.contains(R))
    return false;
  SmallVector<MCPhysReg, 16> Hints;
  return !A.MRI.getTargetRegisterInfo()->getRegAllocationHints(R, A.order(R), Hints, A.MF, &A.VRM, &A.Matrix);
}

bool Moves::improve(const LiveInterval &Range) {
  const CopyCosts Spared = copiesOf(A, Range.reg(), /*OnlyFixed=*/false);
  if (Spared.empty())
    return false;
  const double Now = Spared.lookup(A.unit(A.VRM.getPhys(Range.reg())));
  return any_of(A.order(Range.reg()), [&](MCPhysReg Other) { return Spared.lookup(A.unit(Other)) > Now && move(Range, Other); });
}

/// Undone unless all of them cost less then.
bool Moves::move(const LiveInterval &Range, MCRegister To) {
  const auto Way = A.Matrix.checkInterference(Range, To);
  if (Way != LiveRegMatrix::IK_Free && Way != LiveRegMatrix::IK_VirtReg)
    return false;
  const auto Others = interferers(A, Range, To, MostInTheWay + 1);
  if (Others.size() > MostInTheWay || !all_of(Others, [&](const LiveInterval *Each) { return canMove(Each->reg()); }))
    return false;
  MachineBasicBlock *const SaveBefore = Saves.saveBlock();
  SmallVector<std::pair<const LiveInterval *, MCRegister>, MostInTheWay + 1> Before{{&Range, A.VRM.getPhys(Range.reg())}};
  for (const LiveInterval *Each : Others)
    Before.push_back({Each, A.VRM.getPhys(Each->reg())});
  double Gain = 0;
  for (const auto &[Each, Register] : Before)
    Gain += costs(*Each)(Register);
  for (const auto &[Each, Register] : Before)
    A.Matrix.unassign(*Each);
  Gain -= costs(Range)(To);
  assign(Range, To);
  for (const LiveInterval *Each : Others)
    Gain -= Gain > LeastGain ? assignCheapest(*Each) : 0;
  if (Gain > LeastGain)
    return true;
  for (const auto &[Each, Register] : Before)
    if (A.VRM.hasPhys(Each->reg()))
      A.Matrix.unassign(*Each);
  for (const auto &[Each, Register] : Before)
    A.Matrix.assign(*Each, Register);
  Saves.setSaveBlock(SaveBefore);
  return false;
}

/// What it costs then; infinite where no register is free.
double Moves::assignCheapest(const LiveInterval &Range) {
  const auto Costs = costs(Range);
  MCRegister Best;
  double Least = HUGE_VAL;
  for (const MCPhysReg Register : A.order(Range.reg()))
    if (A.Matrix.checkInterference(Range, Register) == LiveRegMatrix::IK_Free)
      if (const double Cost = Costs(Register); Cost < Least) {
        Least = Cost;
        Best = Register;
      }
  if (Best)
    assign(Range, Best);
  return Least;
}

void Moves::assign(const LiveInterval &Range, MCRegister Register) {
  Saves.use(Register, Range);
  A.Matrix.assign(Range, Register);
}

} // namespace mlcb::rl4real
