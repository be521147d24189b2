// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/HugePages.h"

#include <cstdlib>
#include <cstring>
#include <link.h>
#include <sys/mman.h>

// glibc names it from 2.37 on, Linux has it from 6.1 on.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace mlcb {

namespace {

constexpr uintptr_t PageBytes = 2u << 20;

uintptr_t pageBelow(uintptr_t Address) { return Address / PageBytes * PageBytes; }
uintptr_t pageAbove(uintptr_t Address) { return pageBelow(Address + PageBytes - 1); }

/// Puts a copy in the place of whole pages. Either takes effect as a whole or not at all.
void move(void *Code, size_t Bytes) {
  const size_t Reserved = Bytes + PageBytes;
  void *const Space = mmap(nullptr, Reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Space == MAP_FAILED)
    return;
  auto *const Copy = reinterpret_cast<void *>(pageAbove(reinterpret_cast<uintptr_t>(Space)));
  madvise(Copy, Bytes, MADV_HUGEPAGE);
  std::memcpy(Copy, Code, Bytes);
  if (madvise(Copy, Bytes, MADV_COLLAPSE) == 0 && mprotect(Copy, Bytes, PROT_READ | PROT_EXEC) == 0)
    mremap(Copy, Bytes, Bytes, MREMAP_MAYMOVE | MREMAP_FIXED, Code);
  munmap(Space, Reserved); // what was moved away is no longer there
}

/// Moves the segment that holds the address, if it is of this library.
int moveCodeOf(dl_phdr_info *Library, size_t, void *Address) {
  for (const auto *Segment = Library->dlpi_phdr; Segment != Library->dlpi_phdr + Library->dlpi_phnum; ++Segment) {
    const uintptr_t Start = Library->dlpi_addr + Segment->p_vaddr, Offset = *static_cast<uintptr_t *>(Address) - Start;
    if (Segment->p_type != PT_LOAD || Offset >= Segment->p_memsz)
      continue;
    const uintptr_t Begin = pageAbove(Start), End = pageBelow(Start + Segment->p_memsz);
    if (Begin < End)
      move(reinterpret_cast<void *>(Begin), End - Begin);
    return 1;
  }
  return 0;
}

} // namespace

void moveCodeToHugePages(uintptr_t Address) {
  if (!std::getenv("MLCB_DEBUG"))
    dl_iterate_phdr(moveCodeOf, &Address);
}

} // namespace mlcb
