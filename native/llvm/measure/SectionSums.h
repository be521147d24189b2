// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes of an object's sections, as pieces are laid one after another.
#pragma once

#include "llvm/measure/FunctionCode.h"
#include "llvm/measure/Measure.h"

namespace llvm {
class GlobalVariable;
class TargetMachine;
} // namespace llvm

namespace mlcb::measure {

class SectionSums {
public:
  enum Section {
    Text,
    TextHot,
    TextUnlikely,
    Rodata,
    Const4,
    Const8,
    Const16,
    Const32,
    DataRelRo,
    Data,
    ThreadData,
    Strings // .rodata.strN.A: three character sizes times eight alignments
  };

  void add(unsigned Section, uint64_t Bytes, unsigned LogAlign);
  void add(unsigned Section, Piece P) { add(Section, P.Bytes, P.LogAlign); }

  /// Constants and jump tables; they lie before the globals, which are printed last.
  void addTables(const FunctionCode &Code);
  void addText(TextSection Section, Piece P);
  /// A frame description, the first of which brings the CIE.
  void addFrame(uint32_t CieBytes, uint32_t Bytes);
  /// Whether nothing but its kind says where it lies.
  static bool isPlain(const llvm::GlobalVariable &G);
  /// False where it lies in a section not known here.
  bool addGlobal(const llvm::GlobalVariable &G, const llvm::TargetMachine &TM);

  Size size() const;

private:
  std::array<uint64_t, Strings + 3 * 8> Sums{};
  uint64_t Frames = 0;
};

} // namespace mlcb::measure
