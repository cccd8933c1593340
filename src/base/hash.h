// Content hashes (XXH3, 128 bits): identity of Points, models and cache entries. Not for security.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace deepgap {

std::string content_hash(std::span<const std::byte> bytes);  // 32 hex digits
std::string content_hash(std::string_view text);

// Many pieces, one hash. Pieces are not separated: add lengths where that matters.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text);  // with its length, so that "ab","c" differs from "a","bc"
  template <typename T>
  void add_value(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(std::as_bytes(std::span(&value, 1)));
  }
  std::string digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string random_id();  // 32 hex digits from the system's generator

}  // namespace deepgap
