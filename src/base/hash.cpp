#include "base/hash.h"

#include "base/text.h"

#include <deepgap/error.h>

#include <sys/random.h>
#include <xxhash.h>

#include <array>
#include <cstdint>

namespace deepgap {
namespace {

std::string to_hex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  return hex({reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest)});
}

}  // namespace

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

std::string content_hash(std::span<const std::byte> bytes) { return to_hex(XXH3_128bits(bytes.data(), bytes.size())); }
std::string content_hash(std::string_view text) { return content_hash(std::as_bytes(std::span(text.data(), text.size()))); }

Hasher::Hasher() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->xxh); }
Hasher::~Hasher() = default;
void Hasher::add(std::span<const std::byte> bytes) { XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size()); }
void Hasher::add(std::string_view text) {
  add_value(static_cast<uint64_t>(text.size()));
  add(std::as_bytes(std::span(text.data(), text.size())));
}
std::string Hasher::digest() const { return to_hex(XXH3_128bits_digest(state_->xxh)); }

std::string random_id() {
  std::array<char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(ErrorKind::internal, "the system gave no random bytes");
  }
  return hex({bytes.data(), bytes.size()});
}

}  // namespace deepgap
