// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/HeldObject.h"

#include "llvm/deploy/GuardTrial.h"
#include "llvm/deploy/ObjectGate.h"
#include "llvm/measure/FunctionBytes.h"
#include "llvm/measure/LinkedSize.h"
#include "llvm/measure/ObjectLayout.h"
#include "llvm/task/Remark.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/Passes/PassBuilder.h"

using namespace llvm;

namespace mlcb {

static std::vector<std::string> ToldAbout;

std::optional<ObjectReport> ObjectReport::parse(StringRef Text) {
  ObjectReport Read;
  if (Text.consumeInteger(10, Read.Bytes) || !Text.consume_front(" ") || Text.consumeInteger(10, Read.Limits))
    return std::nullopt;
  while (Text.consume_front(" "))
    if (Text.consumeInteger(10, Read.Functions.emplace_back()))
      return std::nullopt;
  return Text.empty() ? std::optional(std::move(Read)) : std::nullopt;
}

std::string ObjectReport::text() const {
  std::string Text = utostr(Bytes) + ' ' + utostr(Limits);
  for (const uint64_t Share : Functions)
    Text += ' ' + utostr(Share);
  return Text;
}

std::string ObjectReport::inWords() const { return utostr(Bytes) + " bytes" + (Limits ? " (" + utostr(Limits) + " limits passed)" : ""); }

static ObjectReport reportOf(const Module &M, const MCAssembler &Layout, ArrayRef<std::string> Functions) {
  const measure::Size Size = measure::sizeOf(Layout, M.getTargetTriple());
  return {measure::linkedSize(M, Size.Allocated), limitsPassed(), measure::functionBytes(Layout, Functions)};
}

ObjectReport measured(const Module &M, measure::Measurer &Target, ArrayRef<std::string> Functions) {
  if (Functions.empty())
    return {measure::linkedSize(M, Target.size(M).Allocated), limitsPassed(), {}};
  ObjectReport Report;
  Target.layOut(M, [&](const MCAssembler &Layout) { Report = reportOf(M, Layout, Functions); });
  return Report;
}

void tellAbout(std::vector<std::string> Functions) { ToldAbout = std::move(Functions); }

void holdObject(Module &M) {
  if (!HeldFork::isHeld())
    return;
  if (!TargetPassConfig::willCompleteCodeGenPipeline()) // MIR is written then, through no gate
    HeldFork::refuse();
  gateObjects(
      M.getTargetTriple(), [&M](const MCAssembler &Layout) { remark("Guard", askToFinish(reportOf(M, Layout, ToldAbout).text()), M); },
      HeldFork::refuse);
}

void endBeforeWriting(PassBuilder &Builder) {
  if (auto *Callbacks = Builder.getPassInstrumentationCallbacks())
    Callbacks->registerBeforeNonSkippedPassCallback([](StringRef Class, const Any &) {
      if (HeldFork::isHeld() && is_contained({"BitcodeWriterPass", "PrintModulePass", "ThinLTOBitcodeWriterPass", "EmbedBitcodePass"}, Class))
        HeldFork::refuse();
    });
}

} // namespace mlcb
