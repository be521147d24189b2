// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/observe/MachineVocabulary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace mlcb {

static cl::opt<std::string> MachineVocabularyPath("mlcb-machine-vocabulary", cl::desc("vocabulary (JSON) of machine instructions in observations"),
                                                  cl::value_desc("file"));

static constexpr double OpcodeWeight = 1, WrittenWeight = 0.5, OperandWeight = 0.2;

static StringRef nameOfOpcode(const MachineInstr &Instruction) {
  const MachineFunction &MF = *Instruction.getMF();
  return MF.getSubtarget().getInstrInfo()->getName(Instruction.getOpcode());
}

static StringRef nameOf(const MachineOperand &Operand) {
  switch (Operand.getType()) {
  case MachineOperand::MO_Register: {
    const MachineRegisterInfo &MRI = Operand.getParent()->getMF()->getRegInfo();
    const TargetRegisterClass *Class = Operand.getReg().isVirtual() ? MRI.getRegClassOrNull(Operand.getReg()) : nullptr;
    return Class ? MRI.getTargetRegisterInfo()->getRegClassName(Class) : "physical register";
  }
  case MachineOperand::MO_Immediate:
  case MachineOperand::MO_CImmediate:
  case MachineOperand::MO_FPImmediate: return "immediate";
  case MachineOperand::MO_FrameIndex: return "frame index";
  case MachineOperand::MO_ConstantPoolIndex:
  case MachineOperand::MO_JumpTableIndex: return "constant";
  case MachineOperand::MO_GlobalAddress:
  case MachineOperand::MO_ExternalSymbol:
  case MachineOperand::MO_BlockAddress: return "address";
  case MachineOperand::MO_MachineBasicBlock: return "block";
  default: return "other";
  }
}

static bool writes(const MachineOperand &Operand) { return Operand.isReg() && Operand.isDef(); }

static void add(const VocabularyFile::Section &Section, StringRef Name, double Weight, MutableArrayRef<float> Sum) {
  if (const auto Found = Section.find(Name); Found != Section.end())
    for (auto [Into, Element] : zip_equal(Sum, Found->second))
      Into += static_cast<float>(Weight * Element);
}

Expected<MachineVocabulary> MachineVocabulary::read(StringRef Path) {
  return VocabularyFile::read(Path, {"Opcodes", "Operands"}).map([](VocabularyFile Read) {
    MachineVocabulary Made;
    Made.Identity = std::move(Read.Identity);
    Made.Opcodes = std::move(Read.Sections["Opcodes"]);
    Made.Operands = std::move(Read.Sections["Operands"]);
    return Made;
  });
}

Expected<const MachineVocabulary *> MachineVocabulary::shared() {
  return readOnce<MachineVocabulary>(vocabularyPath("MLCB_MACHINE_VOCABULARY", MachineVocabularyPath, "mir-100d.json"));
}

void MachineVocabulary::embed(const MachineInstr &Instruction, MutableArrayRef<float> Sum) const {
  add(Opcodes, nameOfOpcode(Instruction), OpcodeWeight, Sum);
  for (const MachineOperand &Operand : Instruction.explicit_operands())
    add(Operands, nameOf(Operand), writes(Operand) ? WrittenWeight : OperandWeight, Sum);
}

void writeTriplets(const MachineFunction &MF, raw_ostream &Out) {
  for (const MachineBasicBlock &Block : MF) {
    const MachineInstr *Before = nullptr;
    for (const MachineInstr &Instruction : Block) {
      if (Instruction.isDebugInstr())
        continue;
      const StringRef Opcode = nameOfOpcode(Instruction);
      if (Before)
        Out << nameOfOpcode(*Before) << '\t' << Opcode << "\t1\n";
      Before = &Instruction;
      for (const auto &[Place, Operand] : enumerate(Instruction.explicit_operands()))
        Out << Opcode << '\t' << nameOf(Operand) << '\t' << (writes(Operand) ? 0 : Place + 2) << '\n';
    }
  }
}

} // namespace mlcb
