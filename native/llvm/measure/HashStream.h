// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A sequence of words and texts to be hashed as one.
#pragma once

#include "llvm/measure/SharedCache.h"

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>

namespace mlcb::measure {

/// Everything added is self-delimiting: two streams are equal only if what was added to them is.
class HashStream {
public:
  void add(uint64_t Word) { Words.push_back(Word); }

  void add(Key K) {
    Words.push_back(K.Low);
    Words.push_back(K.High);
  }

  void add(llvm::StringRef Text) {
    size_t Start = Words.size() + 1;
    Words.push_back(Text.size());
    Words.resize(Start + (Text.size() + 7) / 8);
    std::ranges::copy(Text, reinterpret_cast<char *>(Words.data() + Start));
  }

  void add(const llvm::APInt &Value) {
    Words.push_back(Value.getBitWidth());
    Words.append(Value.getRawData(), Value.getRawData() + Value.getNumWords());
  }

  Key hash() const { return hashBytes({reinterpret_cast<const uint8_t *>(Words.data()), Words.size() * sizeof(uint64_t)}); }
  void clear() { Words.clear(); }

private:
  llvm::SmallVector<uint64_t, 0> Words;
};

/// Keys of another kind of record about the same thing.
inline Key relabel(Key K, llvm::StringRef Label) {
  HashStream S;
  S.add(K);
  S.add(Label);
  return S.hash();
}

} // namespace mlcb::measure
