// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "llvm/measure/SharedCache.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"

#include <cerrno>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <vector>

using namespace llvm;

namespace mlcb::measure {

static constexpr size_t SlotsPerBucket = 8;
static constexpr auto Relaxed = std::memory_order_relaxed;

Key hashBytes(ArrayRef<uint8_t> Bytes) {
  XXH128_hash_t Hash = xxh3_128bits(Bytes);
  return {Hash.low64, Hash.high64};
}

static uint64_t checksum(Key K, ArrayRef<uint64_t> Value) {
  std::array<uint64_t, SharedCache::ValueWords + 2> Record{K.Low, K.High};
  llvm::copy(Value, Record.begin() + 2);
  // Never 0: an untouched slot is all zero and must not check.
  return xxh3_64bits({reinterpret_cast<const uint8_t *>(Record.data()), sizeof(Record)}) | 1;
}

/// All caches of this process; each thread of a thin link has its own.
static struct {
  std::mutex Lock;
  std::vector<std::pair<void *, size_t>> All;
} Mappings;

/// A fork has no thread that would unlock what another one has locked.
static void keepUsableInForks() {
  static constexpr auto Unlock = [] { Mappings.Lock.unlock(); };
  [[maybe_unused]] static const int Kept = pthread_atfork([] { Mappings.Lock.lock(); }, Unlock, Unlock);
}

Expected<SharedCache> SharedCache::create(size_t Bytes) {
  void *Memory = mmap(nullptr, Bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Memory == MAP_FAILED)
    return createStringError(errnoAsErrorCode(), "size cache: cannot map %zu bytes", Bytes);
  keepUsableInForks();
  const std::scoped_lock Alone(Mappings.Lock);
  Mappings.All.emplace_back(Memory, Bytes);
  return SharedCache(static_cast<Header *>(Memory), Bytes);
}

void SharedCache::abandonAll() {
  const std::scoped_lock Alone(Mappings.Lock);
  for (const auto &[Memory, Bytes] : Mappings.All)
    munmap(Memory, Bytes);
}

SharedCache::SharedCache(Header *Memory, size_t Bytes)
    : Shared(Memory), MappedBytes(Bytes), NumBuckets(bit_floor((Bytes - sizeof(Header)) / (sizeof(Slot) * SlotsPerBucket))) {}

SharedCache::SharedCache(SharedCache &&Other) noexcept
    : Shared(std::exchange(Other.Shared, nullptr)), MappedBytes(Other.MappedBytes), NumBuckets(Other.NumBuckets) {}

SharedCache::~SharedCache() {
  if (!Shared)
    return;
  const std::scoped_lock Alone(Mappings.Lock);
  erase_if(Mappings.All, [&](const auto &Mapping) { return Mapping.first == Shared; });
  munmap(Shared, MappedBytes);
}

std::span<SharedCache::Slot> SharedCache::bucket(Key K) const {
  auto *Slots = reinterpret_cast<Slot *>(Shared + 1);
  return {Slots + (K.Low & (NumBuckets - 1)) * SlotsPerBucket, SlotsPerBucket};
}

bool SharedCache::read(Key K, Words &Value) const {
  for (Slot &S : bucket(K)) {
    if (S.Low.load(Relaxed) != K.Low || S.High.load(Relaxed) != K.High)
      continue;
    for (size_t I = 0; I < ValueWords; ++I)
      Value[I] = S.Value[I].load(Relaxed);
    if (S.Check.load(Relaxed) == checksum(K, Value))
      return true;
  }
  return false;
}

void SharedCache::write(Key K, const Words &Value) {
  std::span<Slot> Bucket = bucket(K);
  Slot *Target = nullptr;
  for (Slot &S : Bucket)
    if (S.Check.load(Relaxed) == 0 || (S.Low.load(Relaxed) == K.Low && S.High.load(Relaxed) == K.High)) {
      Target = &S;
      break;
    }
  if (!Target)
    Target = &Bucket[K.High % SlotsPerBucket];
  Target->Low.store(K.Low, Relaxed);
  Target->High.store(K.High, Relaxed);
  for (size_t I = 0; I < ValueWords; ++I)
    Target->Value[I].store(Value[I], Relaxed);
  Target->Check.store(checksum(K, Value), Relaxed);
}

} // namespace mlcb::measure
