// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/worker/HugePages.h"

#include "llvm/Support/Alignment.h"
#include "llvm/Support/MathExtras.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <link.h>
#include <sys/mman.h>

// glibc names it from 2.37 on.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

using namespace llvm;

namespace mlcb {

namespace {

constexpr int Attempts = 3;

struct Wanted {
  uintptr_t Address;
  uintptr_t PageBytes;
};

/// 0 where the system has none.
uintptr_t hugePageBytes() {
  if (madvise(nullptr, 0, MADV_COLLAPSE) != 0)
    return 0;
  uintptr_t Bytes = 0;
  std::ifstream("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size") >> Bytes;
  return Bytes;
}

/// Memory that begins where a huge page does, or nullptr.
void *reserve(size_t Bytes, uintptr_t PageBytes) {
  void *const Space = mmap(nullptr, Bytes + PageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Space == MAP_FAILED)
    return nullptr;
  auto *const First = static_cast<char *>(Space);
  const size_t Before = offsetToAlignment(reinterpret_cast<uintptr_t>(Space), Align(PageBytes));
  if (Before > 0)
    munmap(First, Before);
  munmap(First + Before + Bytes, PageBytes - Before);
  return First + Before;
}

bool collapse(void *Start, size_t Bytes) {
  for (int Left = Attempts; Left > 0; --Left) {
    if (madvise(Start, Bytes, MADV_COLLAPSE) == 0)
      return true;
    if (errno != EAGAIN)
      return false;
  }
  return false;
}

/// Fills a copy of the code, and has it take the code's place.
bool replace(void *Code, void *Copy, size_t Bytes) {
  if (madvise(Copy, Bytes, MADV_HUGEPAGE) != 0)
    return false;
  std::memcpy(Copy, Code, Bytes);
  return collapse(Copy, Bytes) && mprotect(Copy, Bytes, PROT_READ | PROT_EXEC) == 0 &&
         mremap(Copy, Bytes, Bytes, MREMAP_MAYMOVE | MREMAP_FIXED, Code) != MAP_FAILED;
}

void move(uintptr_t Begin, uintptr_t End, uintptr_t PageBytes) {
  if (Begin >= End)
    return;
  void *const Copy = reserve(End - Begin, PageBytes);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the loader gives addresses as numbers
  if (Copy && !replace(reinterpret_cast<void *>(Begin), Copy, End - Begin))
    munmap(Copy, End - Begin);
}

/// Moves the segment that holds the address, if it is code of this library.
int moveCodeOf(dl_phdr_info *Library, size_t, void *What) {
  const auto [Address, PageBytes] = *static_cast<Wanted *>(What);
  for (const auto *Segment = Library->dlpi_phdr; Segment != Library->dlpi_phdr + Library->dlpi_phnum; ++Segment) {
    const uintptr_t Start = Library->dlpi_addr + Segment->p_vaddr;
    if (Segment->p_type != PT_LOAD || (Segment->p_flags & (PF_X | PF_W)) != PF_X || Address - Start >= Segment->p_memsz)
      continue;
    move(alignTo(Start, PageBytes), alignDown(Start + Segment->p_memsz, PageBytes), PageBytes);
    return 1;
  }
  return 0;
}

} // namespace

void moveCodeToHugePages(uintptr_t Address) {
  if (std::getenv("MLCB_DEBUG"))
    return;
  Wanted What{Address, hugePageBytes()};
  if (What.PageBytes > 0)
    dl_iterate_phdr(moveCodeOf, &What);
}

} // namespace mlcb
