// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/ObjectLayout.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/MC/MCAssembler.h"
#include "llvm/MC/MCSectionELF.h"

using namespace llvm;

namespace mlcb::measure {

bool isLoaded(const MCSection &Section, const Triple &Target) {
  if (Section.isBssSection())
    return false;
  if (Target.isOSBinFormatELF())
    return static_cast<const MCSectionELF &>(Section).getFlags() & ELF::SHF_ALLOC;
  return !Section.getName().contains("debug");
}

static bool isExecutable(const MCSection &Section, const Triple &Target) {
  if (Target.isOSBinFormatELF())
    return static_cast<const MCSectionELF &>(Section).getFlags() & ELF::SHF_EXECINSTR;
  return Section.isText();
}

Size sizeOf(const MCAssembler &Layout, const Triple &Target) {
  Size Sum;
  for (const MCSection &Section : Layout) {
    if (!isLoaded(Section, Target))
      continue;
    uint64_t Bytes = Layout.getSectionAddressSize(Section);
    Sum.Allocated += Bytes;
    if (isExecutable(Section, Target))
      Sum.Text += Bytes;
  }
  return Sum;
}

} // namespace mlcb::measure
