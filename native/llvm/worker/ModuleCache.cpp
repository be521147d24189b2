// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/ModuleCache.h"

#include "spec/Digest.h"
#include "llvm/process/ForkedProbe.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/Verifier.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace llvm;

namespace mlcb {

namespace {

Unexpected broken(StringRef Path, const Twine &Why) { return fail(ErrorKind::InvalidArgument, ("program '" + Path + "': " + Why).str()); }

/// Changes when the file is written or replaced.
std::string identityOf(const sys::fs::file_status &Status) {
  return join_items('/', utostr(Status.getUniqueID().getDevice()), utostr(Status.getUniqueID().getFile()), utostr(Status.getSize()),
                    itostr(Status.getLastModificationTime().time_since_epoch().count()));
}

struct Silent final : DiagnosticHandler {
  bool handleDiagnostics(const DiagnosticInfo &) override { return true; }
};

Expected<Program> parse(StringRef Path, MemoryBufferRef Bytes) {
  Program Result;
  Result.Context = std::make_unique<LLVMContext>();
  Result.Context->setDiagnosticHandler(std::make_unique<Silent>());
  SMDiagnostic Diagnostic;
  Result.Module = parseIR(Bytes, Diagnostic, *Result.Context);
  if (!Result.Module)
    return broken(Path, Diagnostic.getMessage());
  if (all_of(*Result.Module, [](const Function &F) { return F.isDeclaration(); }))
    return broken(Path, "no function has a body");
  return Result;
}

/// LLVM's readers crash on some broken files, and a small file may hold a large module: so a file is read elsewhere first.
Expected<void> examine(StringRef Path, MemoryBufferRef Bytes, const Limits &Within) {
  return examineInFork(
      [&]() -> std::string {
        Within.apply();
        Expected<Program> Parsed = parse(Path, Bytes);
        if (!Parsed)
          return Parsed.error().Message;
        std::string Why;
        raw_string_ostream Stream(Why);
        if (verifyModule(*Parsed->Module, &Stream))
          return broken(Path, "LLVM's verifier refuses it: " + StringRef(Why).split('\n').first).value().Message;
        return "";
      },
      broken(Path, "LLVM crashes when it reads it, or it takes more than the limits of an episode").value().Message);
}

} // namespace

const Program *ModuleCache::find(StringRef Path, StringRef Identity) {
  auto Known = find_if(Programs, [&](const Program &P) { return P.Path == Path && P.Identity == Identity; });
  if (Known == Programs.end())
    return nullptr;
  Programs.splice(Programs.begin(), Programs, Known);
  return &Programs.front();
}

Expected<const Program *> ModuleCache::load(StringRef Path, const Limits &Within) {
  sys::fs::file_status Status;
  if (std::error_code Error = sys::fs::status(Path, Status))
    return broken(Path, Error.message());
  if (!sys::fs::is_regular_file(Status)) // a FIFO would never end, nor /dev/zero
    return broken(Path, "it is no regular file");
  std::string Identity = identityOf(Status);
  if (const Program *Known = find(Path, Identity))
    return Known;
  auto Bytes = MemoryBuffer::getFile(Path);
  if (!Bytes)
    return broken(Path, Bytes.getError().message());
  return read(Path, std::move(Identity), **Bytes, Within);
}

Expected<const Program *> ModuleCache::load(StringRef Name, StringRef Bytes, const Limits &Within) {
  std::string Identity = hexDigest(Bytes);
  if (const Program *Known = find(Name, Identity))
    return Known;
  return read(Name, std::move(Identity), *MemoryBuffer::getMemBufferCopy(Bytes, Name), Within);
}

Expected<const Program *> ModuleCache::read(StringRef Path, std::string Identity, MemoryBufferRef Bytes, const Limits &Within) {
  if (auto Sound = examine(Path, Bytes, Within); !Sound)
    return Unexpected(Sound.error());
  Expected<Program> Parsed = parse(Path, Bytes);
  if (!Parsed)
    return Unexpected(Parsed.error());
  Parsed->Path = Path.str();
  Parsed->Identity = std::move(Identity);
  Parsed->Digest = hexDigest(Bytes.getBuffer());
  Parsed->Instructions = Parsed->Module->getInstructionCount();
  Programs.push_front(std::move(*Parsed));
  evict();
  return &Programs.front();
}

void ModuleCache::evict() {
  size_t Instructions = 0;
  auto First = find_if(Programs, [&](const Program &P) {
    Instructions += P.Instructions;
    return Instructions > MaxInstructions && &P != &Programs.front();
  });
  Programs.erase(First, Programs.end());
}

} // namespace mlcb
