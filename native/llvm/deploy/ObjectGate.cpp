// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/deploy/ObjectGate.h"

#include "llvm/MC/MCAsmBackend.h"
#include "llvm/MC/MCCodeEmitter.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCELFObjectWriter.h"
#include "llvm/MC/MCObjectStreamer.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace mlcb {

namespace {

/// Passes everything on. The assembler writes first when the layout is final.
class Gate final : public raw_pwrite_stream {
public:
  Gate(raw_pwrite_stream &Out, AtObject Run) : Out(Out), Run(std::move(Run)) { SetUnbuffered(); }

  const MCObjectStreamer *Streamer = nullptr; // owned by the AsmPrinter

private:
  void open() {
    if (const AtObject Once = std::exchange(Run, nullptr))
      Once(const_cast<MCObjectStreamer *>(Streamer)->getAssembler());
  }
  void write_impl(const char *Bytes, size_t Size) override {
    open();
    Out.write(Bytes, Size);
  }
  void pwrite_impl(const char *Bytes, size_t Size, uint64_t Offset) override { Out.pwrite(Bytes, Size, Offset); }
  uint64_t current_pos() const override { return Out.tell(); }

  raw_pwrite_stream &Out;
  AtObject Run;
};

/// What is gated; LLVM's registry takes functions without a state.
struct {
  std::optional<Target> Original; // without what a target adds to a streamer: the gated one adds it
  AtObject Run;
  void (*Otherwise)() = nullptr;
  std::vector<std::unique_ptr<Gate>> Gates;
} Gated;

MCStreamer *createGated(const Triple &T, MCContext &Context, std::unique_ptr<MCAsmBackend> &&Backend, std::unique_ptr<MCObjectWriter> &&Writer,
                        std::unique_ptr<MCCodeEmitter> &&Emitter) {
  auto &Direct = static_cast<ELFObjectWriter &>(*Writer);
  if (Direct.DwoOS)
    Gated.Otherwise();
  Gate &Through = *Gated.Gates.emplace_back(std::make_unique<Gate>(Direct.OS, Gated.Run));
  auto Own = std::make_unique<ELFObjectWriter>(std::move(Direct.TargetObjectWriter), Through, Direct.IsLittleEndian);
  MCStreamer *Made =
      Gated.Original->createMCObjectStreamer(T, Context, std::move(Backend), std::move(Own), std::move(Emitter), *Context.getSubtargetInfo());
  Through.Streamer = static_cast<MCObjectStreamer *>(Made);
  return Made;
}

MCTargetStreamer *refuseAssembly(MCStreamer &, formatted_raw_ostream &, MCInstPrinter *) {
  Gated.Otherwise();
  return nullptr;
}

} // namespace

void gateObjects(const Triple &For, AtObject Run, void (*Otherwise)()) {
  std::string Unknown;
  const Target *Found = TargetRegistry::lookupTarget(For, Unknown);
  if (!Found || !For.isOSBinFormatELF())
    return Otherwise();
  Gated.Original = *Found;
  TargetRegistry::RegisterObjectTargetStreamer(*Gated.Original, nullptr);
  Gated.Run = std::move(Run);
  Gated.Otherwise = Otherwise;
  auto &Changed = const_cast<Target &>(*Found);
  TargetRegistry::RegisterELFStreamer(Changed, createGated);
  TargetRegistry::RegisterAsmTargetStreamer(Changed, refuseAssembly);
}

} // namespace mlcb
