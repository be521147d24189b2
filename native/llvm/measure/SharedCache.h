// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A table of small records that a process and all its later forks read and write without locks.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace mlcb::measure {

struct Key {
  uint64_t Low = 0, High = 0;
  bool operator==(const Key &) const = default;
};

/// The XXH3 hash of some bytes.
Key hashBytes(llvm::ArrayRef<uint8_t> Bytes);

/// Fixed in size: when a bucket is full, a new record takes the place of an old one.
///
/// A record carries a checksum of its key and value, so a reader takes nothing that another process is still writing, or left half
/// written when it was killed. There is no state to repair.
class SharedCache {
public:
  static constexpr size_t ValueWords = 13;

  enum Counter { ModuleHits, ModuleMisses, FunctionHits, FunctionMisses, WholeModules, NumCounters };

  static llvm::Expected<SharedCache> create(size_t Bytes);
  SharedCache(SharedCache &&Other) noexcept;
  SharedCache &operator=(SharedCache &&) = delete;
  ~SharedCache();

  /// Takes all of this process's away: a fork that goes on to run what is not to be trusted does not write into those of others.
  static void abandonAll();

  template <class T> std::optional<T> find(Key K) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Words));
    Words Value;
    if (!read(K, Value))
      return std::nullopt;
    T Result;
    std::memcpy(static_cast<void *>(&Result), Value.data(), sizeof(T));
    return Result;
  }

  template <class T> void insert(Key K, const T &Record) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(Words));
    Words Value{};
    std::memcpy(Value.data(), &Record, sizeof(T));
    write(K, Value);
  }

  void count(Counter C, uint64_t By = 1) { Shared->Counters[C].fetch_add(By, std::memory_order_relaxed); }
  uint64_t counted(Counter C) const { return Shared->Counters[C].load(std::memory_order_relaxed); }

private:
  using Words = std::array<uint64_t, ValueWords>;

  struct alignas(64) Slot {
    std::atomic<uint64_t> Low, High, Check;
    std::array<std::atomic<uint64_t>, ValueWords> Value;
  };
  struct alignas(64) Header {
    std::array<std::atomic<uint64_t>, NumCounters> Counters;
  };
  static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(Slot) == 128);

  SharedCache(Header *Memory, size_t Bytes);
  std::span<Slot> bucket(Key K) const;
  bool read(Key K, Words &Value) const;
  void write(Key K, const Words &Value);

  Header *Shared;
  size_t MappedBytes;
  size_t NumBuckets;
};

} // namespace mlcb::measure
